/* engine.c - the delivery engine: a resident job that claims what is due, sends it, and settles what is over (spec 07 sections 2 and 7).
 *
 * One per job worker; in the database it is settled who does what (webhooks.claim, webhooks.complete). Between the rounds of its loop it keeps
 * the requests that run, and the webhooks they go to as they last were (endpoints.c). Leaves to others: what a request carries (attempt.c), what
 * its end means (outcome.c), how long a retry waits (schedule.c), what failures mean for the webhook (health.c).
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

#define W hooks_host

enum {
    CLAIM_MOST = 200, /* deliveries in one claim */
    CLAIM_LEAST = 16, /* asked for, whatever the last claim found */
    SETTLE_MOST = 200,
    IN_FLIGHT_MOST = 1000, /* requests of one engine */
    WAIT_MS = 1000,
    AGAIN_MS = 200, /* after a round that did not work out */
    BUSY_WAIT_MS = 20, /* until queues that somebody held are tried again */
    GRACE_US = 10000000, /* for running requests when the server ends */
};

struct care { /* what a webhook's health asks for, done between the rounds */
    struct care *next;
    char organization[40], webhook[40], what[24];
};

struct engine {
    char server[48];
    struct care *care, **care_last;
    struct endpoints endpoints;
    struct job *over, **over_last; /* to be settled */
    size_t n_over, running;
    size_t wanted; /* deliveries that the next claim asks for: follows what there is */
    bool busy; /* some of them were held by somebody */
    int64_t due_ms, minute_us, second_us;
    int64_t locked_until_us; /* no claims before: this machine could not open a secret */
    bool leads; /* does what is done by time */
};

/* ---- claiming ---- */

static struct job *job_of(struct engine *g, const wharf_rows *rows, size_t i)
{
    struct job *j = engine_need(calloc(1, sizeof(*j)));

    j->organization = row_text(rows, i, 0);
    j->webhook = row_text(rows, i, 1);
    j->attempt = row_text(rows, i, 3);
    j->lane = row_text(rows, i, 5);
    j->resource_type = row_text(rows, i, 6);
    j->resource_id = row_text(rows, i, 7);
    j->event = row_text(rows, i, 10);
    j->type = row_text(rows, i, 11);
    j->trigger = row_text(rows, i, 15);
    j->traceparent = row_text(rows, i, 17);
    j->body = row_text(rows, i, 18);
    j->request = WHARF_S("");
    j->sequence = row_integer(rows, i, 12, 0);
    j->number = row_integer(rows, i, 13, 1);
    j->retries = row_integer(rows, i, 14, 0);
    j->superseded = row_integer(rows, i, 16, 0);
    j->endpoint = endpoints_find(&g->endpoints, j->organization, j->webhook);
    if (j->endpoint)
        j->endpoint->users++;
    return j;
}

static void free_job(struct job *j)
{
    endpoint_leave(j->endpoint);
    free(j->memory);
    free(j->report);
    free(j);
}

/* It is over: settled with the next set. */
static void finish_job(wharf_req *req, struct engine *g, struct job *j, const struct result *r)
{
    job_report(req, j, r);
    j->next = NULL;
    *g->over_last = j;
    g->over_last = &j->next;
    g->n_over++;
}

static bool target_from(wharf_req *req, const struct endpoint *e, struct target *ret)
{
    *ret = (struct target){.webhook_id = {e->id, strlen(e->id)}, .url = e->url, .timeout_ms = e->timeout_ms};
    if (e->headers.n && W->json->parse(req, e->headers, &ret->headers) != WHARF_OK)
        return false;
    return secrets_read(req, e->secrets, W->req->now_us(req), &ret->secrets) == WHARF_OK && ret->secrets.n;
}

/* This machine can't sign (docs/secrets.md): no retry is used up, and for a while others are left to it. */
static void give_back(wharf_req *req, struct engine *g, struct job *j)
{
    static const struct result locked = {.outcome = OUT_FAILURE,
        .error = "interrupted",
        .error_text = {"The webhook's secret does not open with the keys of this machine; it is tried again", 83},
        .headers = {"", 0},
        .body = {"", 0},
        .encoding = {"", 0}};

    j->unsigned_here = true;
    g->locked_until_us = W->req->now_us(req) + LOCKED_US;
    finish_job(req, g, j, &locked);
}

static void send_job(wharf_req *req, struct engine *g, struct job *j)
{
    static const struct result expired = {.outcome = OUT_FAILURE,
        .error = "protocol",
        .error_text = {"The event has expired", 21},
        .headers = {"", 0},
        .body = {"", 0},
        .encoding = {"", 0},
        .abort = true};
    struct message m = {.event_id = j->event,
        .type = j->type,
        .lane = j->lane,
        .traceparent = j->traceparent,
        .sequence = j->sequence,
        .number = j->number,
        .superseded = j->superseded};
    struct target t;
    wharf_str request;
    wharf_fetch *f;

    if (is(m.lane, "manual"))
        m.lane = WHARF_S("direct");
    j->memory = engine_keep(
        (wharf_str *const[]){&j->organization, &j->webhook, &j->attempt, &j->lane, &j->resource_type, &j->resource_id,
            &j->event, &j->type, &j->trigger, &j->traceparent, &j->body},
        11);
    m.body = j->body;
    if (!j->body.n) {
        finish_job(req, g, j, &expired);
    } else if (!j->endpoint || !target_from(req, j->endpoint, &t) ||
               attempt_start(req, &t, &m, j, &f, &request) != WHARF_OK) {
        W->err->clear(req);
        give_back(req, g, j);
    } else {
        char *copy = engine_need(malloc(request.n + 1));

        memcpy(copy, request.p, request.n + 1);
        j->request = (wharf_str){copy, request.n};
        g->running++;
    }
}

static wharf_status claim(wharf_req *req, struct engine *g)
{
    static const char sql[] =
        "SELECT organization_id, webhook_id, version, attempt_id, started_at, lane, resource_type, resource_id, "
        "delivery_id,"
        " delivery_at, event_id, event_type, sequence, attempt, retries, trigger, superseded, traceparent, body"
        " FROM webhooks.claim($1::text, ARRAY(SELECT json_array_elements_text($2::json)))";
    static const char due_sql[] = "SELECT webhooks.next_due()";
    size_t room = IN_FLIGHT_MOST - g->running, n;
    wharf_out *ids = W->json->writer(req);
    const wharf_rows *rows;
    wharf_status s;

    if (room > g->wanted)
        room = g->wanted;
    W->json->open(ids, NULL, '[');
    for (size_t i = 0; i < room; i++)
        W->json->put(ids, NULL, text(W->req->new_id(req, "out_whk")));
    W->json->close(ids);
    const wharf_val args[] = {textz(g->server), text(W->json->result_text(ids))};

    s = engine_call(req, sql, args, 2, &rows);
    if (s == WHARF_OK)
        s = endpoints_learn(req, &g->endpoints, rows);
    if (s != WHARF_OK)
        return s; /* what was claimed comes back when its lease is over */
    n = W->db->count(rows);
    if (n == room)
        g->wanted = g->wanted * 2 < CLAIM_MOST ? g->wanted * 2 : CLAIM_MOST;
    else if (n < g->wanted / 4)
        g->wanted = g->wanted / 2 > CLAIM_LEAST ? g->wanted / 2 : CLAIM_LEAST;
    for (size_t i = 0; i < n; i++)
        send_job(req, g, job_of(g, rows, i));
    g->due_ms = 0;
    if (n)
        return WHARF_OK;
    s = engine_call(req, due_sql, NULL, 0, &rows);
    if (s == WHARF_OK)
        g->due_ms = row_integer(rows, 0, 0, WAIT_MS);
    return s;
}

static void collect(wharf_req *req, struct engine *g)
{
    wharf_fetch *f;

    while (g->n_over < SETTLE_MOST && (f = hooks_fetch->next(req, 0))) {
        struct job *j = hooks_fetch->tag(f);
        struct result r;

        attempt_judge(req, f, &r);
        g->running--;
        finish_job(req, g, j, &r);
        hooks_fetch->done(req, f);
    }
}

/* ---- settling ---- */

static bool listed(const wharf_rows *rows, wharf_str attempt)
{
    for (size_t i = 0; i < W->db->count(rows); i++) {
        if (same(row_text(rows, i, 0), attempt))
            return true;
    }
    return false;
}

static void ask_for_care(struct engine *g, wharf_str organization, wharf_str webhook, wharf_str what)
{
    struct care *c = engine_need(calloc(1, sizeof(*c)));

    snprintf(c->organization, sizeof(c->organization), "%s", organization.p);
    snprintf(c->webhook, sizeof(c->webhook), "%s", webhook.p);
    snprintf(c->what, sizeof(c->what), "%s", what.p);
    *g->care_last = c;
    g->care_last = &c->next;
}

/* Looks at the figures of each webhook that failed, once. */
static void look_after(wharf_req *req, struct engine *g, const struct job *jobs, const struct job *j)
{
    static const char sql[] = "SELECT webhooks.judge($1::text, $2::text, true)";
    const wharf_val args[] = {text(j->organization), text(j->webhook)};
    const wharf_rows *rows;

    for (const struct job *o = jobs; o != j; o = o->next) {
        if (o->failed == j->failed && o->disable == j->disable && same(o->webhook, j->webhook))
            return;
    }
    if (j->disable)
        ask_for_care(g, j->organization, j->webhook, WHARF_S("receiver_request"));
    else if (engine_call(req, sql, args, 2, &rows) == WHARF_OK && row_text(rows, 0, 0).n)
        ask_for_care(g, j->organization, j->webhook, row_text(rows, 0, 0));
    W->err->clear(req);
}

static wharf_status settle(wharf_req *req, struct engine *g)
{
    static const char sql[] = "SELECT busy FROM webhooks.complete($1::text, $2::json)";
    struct job *jobs = g->over, *next;
    const wharf_rows *rows;
    size_t bytes = 3;
    char *given, *to;
    wharf_status s;

    for (struct job *j = jobs; j; j = j->next)
        bytes += j->report_bytes + 1;
    given = to = W->mem->alloc(req, bytes);
    for (struct job *j = jobs; j; j = j->next) {
        *to++ = j == jobs ? '[' : ',';
        memcpy(to, j->report, j->report_bytes);
        to += j->report_bytes;
    }
    *to++ = ']';
    const wharf_val args[] = {textz(g->server), text((wharf_str){given, (size_t)(to - given)})};

    s = engine_call(req, sql, args, 2, &rows);
    if (s != WHARF_OK)
        return s; /* all of them are tried again */
    for (struct job *j = jobs; j; j = j->next) {
        if (j->failed || j->disable)
            look_after(req, g, jobs, j);
    }
    g->over = NULL;
    g->over_last = &g->over;
    g->n_over = 0;
    g->busy = W->db->count(rows) > 0;
    for (struct job *j = jobs; j; j = next) {
        next = j->next;
        if (g->busy && listed(rows, j->attempt)) {
            j->next = NULL;
            j->failed = j->disable = false;
            *g->over_last = j;
            g->over_last = &j->next;
            g->n_over++;
        } else {
            free_job(j);
        }
    }
    return WHARF_OK;
}

/* ---- timers ---- */

static wharf_status care_by_time(wharf_req *req, struct engine *g)
{
    static const char sql[] =
        "SELECT organization_id, webhook_id, care FROM webhooks.due_for_care() WHERE care IS NOT NULL";
    const wharf_rows *rows;
    wharf_status s = engine_call(req, sql, NULL, 0, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        ask_for_care(g, row_text(rows, i, 0), row_text(rows, i, 1), row_text(rows, i, 2));
    return s;
}

/* Outside of memory scopes: it acts for organizations, one after the other. */
static void give_care(wharf_req *req, struct engine *g)
{
    struct care *c;

    while ((c = g->care)) {
        g->care = c->next;
        health_care(req, (wharf_str){c->organization, strlen(c->organization)},
            (wharf_str){c->webhook, strlen(c->webhook)}, (wharf_str){c->what, strlen(c->what)});
        W->err->clear(req);
        free(c);
    }
    g->care_last = &g->care;
}

static wharf_status timers(wharf_req *req, struct engine *g)
{
    static const char late_sql[] = "SELECT webhooks.interrupt('')", drop_sql[] = "SELECT webhooks.drop_overdue()";
    int64_t now = W->req->now_us(req);
    const wharf_rows *rows;
    wharf_status s = WHARF_OK;

    if (now >= g->second_us && now < g->second_us + SECOND_US)
        return WHARF_OK;
    g->second_us = now;
    s = engine_call(req, late_sql, NULL, 0, &rows);
    if (s == WHARF_OK)
        s = care_by_time(req, g);
    if (s == WHARF_OK && (now >= g->minute_us + MINUTE_US || now < g->minute_us)) {
        g->minute_us = now;
        s = engine_call(req, drop_sql, NULL, 0, &rows);
        if (g->endpoints.n > CACHE_MOST)
            endpoints_empty(&g->endpoints);
    }
    return s;
}

/* ---- the loop ---- */

/* Whatever goes wrong with the database is tried again after a while. */
static void round_of(wharf_req *req, struct engine *g)
{
    wharf_scope *scope = W->mem->scope_begin(req);
    wharf_status s;

    g->busy = false;
    g->due_ms = WAIT_MS;
    collect(req, g);
    s = g->n_over ? settle(req, g) : WHARF_OK;
    if (s == WHARF_OK && g->leads)
        s = timers(req, g);
    if (s == WHARF_OK && g->running < IN_FLIGHT_MOST && W->req->now_us(req) >= g->locked_until_us)
        s = claim(req, g);
    if (s != WHARF_OK) {
        W->log->write(hooks_self, req, WHARF_LOG_WARN, "webhooks.round",
            "the database is away, or refused a statement; tried again");
        g->due_ms = AGAIN_MS;
        g->busy = false;
    }
    W->err->clear(req);
    W->mem->scope_end(req, scope);
}

/* Requests that run are given some time to end; what does not is sent again by whoever comes next. */
static void wind_up(wharf_req *req, struct engine *g)
{
    static const char sql[] = "SELECT webhooks.interrupt($1::text)";
    int64_t until = W->req->now_us(req) + GRACE_US;
    const wharf_val server = textz(g->server);
    const wharf_rows *rows;

    while (g->running && W->req->now_us(req) < until) {
        wharf_fetch *f = hooks_fetch->next(req, 100);

        if (f) {
            struct job *j = hooks_fetch->tag(f);
            struct result r;

            attempt_judge(req, f, &r);
            g->running--;
            finish_job(req, g, j, &r);
            hooks_fetch->done(req, f);
        }
        hooks_events->wait(req, 0); /* reads the clock */
    }
    for (int i = 0; i < 10 && g->over && settle(req, g) == WHARF_OK;)
        i++;
    engine_call(req, sql, &server, 1, &rows);
    W->err->clear(req);
}

wharf_status engine_run(wharf_req *req, void *arg)
{
    struct engine *g = engine_need(calloc(1, sizeof(*g)));

    snprintf(g->server, sizeof(g->server), "%s", W->req->new_id(req, "eng").p);
    g->over_last = &g->over;
    g->care_last = &g->care;
    g->leads = arg != NULL;
    g->wanted = CLAIM_LEAST;
    hooks_fetch->under_way(req);
    if (g->leads)
        ask_for_care(g, WHARF_S(""), WHARF_S(""), WHARF_S("urls"));
    while (!W->req->cancelled(req)) {
        round_of(req, g);
        give_care(req, g);
        if (g->due_ms || g->running >= IN_FLIGHT_MOST)
            hooks_events->wait(req, g->busy && g->due_ms > BUSY_WAIT_MS ? BUSY_WAIT_MS : g->due_ms);
        else
            hooks_events->wait(req, 0);
    }
    wind_up(req, g);
    while (g->over) {
        struct job *j = g->over;

        g->over = j->next;
        free_job(j);
    }
    endpoints_empty(&g->endpoints);
    free(g);
    return WHARF_OK;
}
