/* integration_engine.c - makes the requests of outgoing integrations: a resident job that
 * claims what is due, sends it, and notes what became of it (spec 07 section 12).
 *
 * One per job worker; integrations.claim settles who does what. Requests are sent at least once,
 * with the event's id as webhook-id; after a crash they are due again when their lease is over.
 * Where the integration has a workflow, its run is queued instead: once, as the request notes its
 * run in the same transaction. Leaves to others: what wants which event (outgoing.c), telling of
 * errors (notices.c). */
#include <stdio.h>
#include <stdlib.h>

#include "integrations.gen.h"
#include "integrations.h"
#include "wharf/hash.h"

enum {
    IN_FLIGHT_MOST = 200, /* requests of one engine */
    EACH_MOST = 20, /* of one integration, over all engines */
    CLAIM_MOST = 100, /* requests that are claimed at once */
    WAIT_MS = 1000,
    FULL_WAIT_MS = 100, /* until integrations that had as many as they may are asked again */
    GRACE_US = 10000000, /* for running requests when the server ends */
    CONNECT_MS = 5000, /* until the connection stands */
    TOTAL_MS = 15000, /* one request */
    ANSWER_BYTES = 64 * 1024, /* bytes of an answer that are read */
    HEADERS_MAX = 26,
    REFERENCE_MAX = 64,
};

struct flight { /* one request */
    struct flight *next;
    char organization[48], id[48];
    char *body; /* lives until the fetch is over */
    char *request; /* JSON of it, as the log shows it */
    int64_t retries;
};

struct failure { /* an error that is to be told of, perhaps */
    struct failure *next;
    char organization[48], id[48];
};

struct engine {
    char server[48];
    size_t running;
    wharf_out *over; /* of this round: what is to be noted */
    size_t n_over;
    struct failure *failures;
    int64_t due_ms;
};

struct work { /* what integrations.claim says, in the order of its columns */
    wharf_str organization, id, integration_id, event_id, url, method, sealed_headers;
    int64_t attempts, retries;
    bool usable;
    wharf_str workflow_id, run_id, name, provider, owner_key;
    const wharf_json *locations; /* that it is for; or NULL */
};

struct outcome {
    const char *status;
    int64_t wait_ms, duration_us;
    bool counts;
    wharf_str request; /* JSON, or empty */
    const wharf_json *response, *error;
};

static void *integration_must(void *p)
{
    if (!p)
        abort();
    return p;
}

static char *integration_copy_of(wharf_str s)
{
    char *p = integration_must(malloc(s.n + 1));

    memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return p;
}

/* ---- what became of it ---- */

static void integration_report(
    wharf_req *req, struct engine *g, wharf_str organization, wharf_str id, const struct outcome *o)
{
    const wharf_json *request = NULL;

    if (!g->over) {
        g->over = W->json->writer(req);
        W->json->open(g->over, NULL, '[');
    }
    if (o->request.n && W->json->parse(req, o->request, &request) != WHARF_OK)
        W->err->clear(req);
    W->json->open(g->over, NULL, '{');
    W->json->put(g->over, "o", val_text(organization));
    W->json->put(g->over, "i", val_text(id));
    W->json->put(g->over, "st", val_text(z(o->status)));
    W->json->put(g->over, "n", val_int(o->wait_ms));
    W->json->put(g->over, "c", val_bool(o->counts));
    W->json->put(g->over, "rq", val_json(request));
    W->json->put(g->over, "rs", val_json(o->response));
    W->json->put(g->over, "er", val_json(o->error));
    W->json->put(g->over, "ms", val_int(o->duration_us / 1000));
    W->json->close(g->over);
    g->n_over++;
}

static void integration_give_up(wharf_req *req, struct engine *g, const struct work *w,
    const char *status, const char *code, const char *message)
{
    struct outcome o = {.status = status, .request = WHARF_S("")};

    if (error_made(req, code, message, &o.error) != WHARF_OK)
        W->err->clear(req);
    integration_report(req, g, w->organization, w->id, &o);
}

static double integration_random_of(const char *id)
{
    return (double)wharf_hash32(WHARF_HASH32_START, id, strlen(id)) / 4294967296.0;
}

/* Tells whether another try is worth it. Refusals that one would not change are final; waiting is
 * what servers that are busy or away are given. */
static bool worth_another_try(const wharf_json *response)
{
    int64_t status = 0;

    if (!response)
        return true;
    W->json->integer(W->json->get(response, "status"), &status);
    return status == 408 || status == 429 || status >= 500;
}

static void integration_finish(wharf_req *req, struct engine *g, wharf_fetch *f)
{
    struct flight *x = int_fetch->tag(f);
    struct outcome o = {
        .status = "success", .duration_us = int_fetch->elapsed_us(f), .request = z(x->request)};
    int64_t asked_ms = 0;

    if (int_rules->answer(req, f, &o.response, &o.error, &asked_ms) != WHARF_OK)
        W->err->clear(req);
    if (o.error) {
        o.status = "error";
        if (worth_another_try(o.response) && int_rules->retry_wait("balanced", (uint32_t)x->retries,
                                                 integration_random_of(x->id), &o.wait_ms)) {
            o.status = "pending";
            o.counts = true;
            o.wait_ms = asked_ms > o.wait_ms ? asked_ms : o.wait_ms;
        }
    }
    integration_report(req, g, z(x->organization), z(x->id), &o);
    g->running--;
    int_fetch->done(req, f);
    free(x->body);
    free(x->request);
    free(x);
}

/* ---- sending ---- */

/* Fills in the value of a header: each {{key}} is replaced by the secret of that key. Returns
 * false when there is no such secret. */
static bool fill_in(wharf_req *req, wharf_str integration_id, wharf_str value, wharf_str *ret)
{
    wharf_str done = WHARF_S(""), secret;

    for (;;) {
        const char *open = strstr(value.p, "{{"), *close = open ? strstr(open, "}}") : NULL;
        size_t before = close ? (size_t)(open - value.p) : value.n;

        done = W->mem->format(req, "%.*s%.*s", (int)done.n, done.p, (int)before, value.p);
        if (!close)
            break;
        wharf_str key = {open + 2, (size_t)(close - open) - 2};

        if (key.n > REFERENCE_MAX || secret_value(req, integration_id, key, &secret) != WHARF_OK ||
            !secret.n || strpbrk(secret.p, "\r\n"))
            return false;
        done = W->mem->format(req, "%.*s%.*s", (int)done.n, done.p, (int)secret.n, secret.p);
        value = (wharf_str){close + 2, value.n - (size_t)(close + 2 - value.p)};
    }
    *ret = done;
    return true;
}

struct lines {
    const char *line[HEADERS_MAX];
    size_t n;
    wharf_out *shown;
};

static void integration_add_line(
    wharf_req *req, struct lines *l, wharf_str name, wharf_str value, bool secret)
{
    if (l->n == HEADERS_MAX)
        return;
    l->line[l->n++] =
        W->mem->format(req, "%.*s: %.*s", (int)name.n, name.p, (int)value.n, value.p).p;
    W->json->put(
        l->shown, W->mem->dup(req, name.p, name.n).p, val_text(secret ? WHARF_S("***") : value));
}

/* Adds the integration's own headers. Returns NULL when they are good; else why the request can't
 * be made. */
static const char *add_own(wharf_req *req, struct lines *l, const struct work *w)
{
    const wharf_json *headers;
    wharf_str values, value;

    if (!w->sealed_headers.n)
        return NULL;
    if (!int_crypto->open(req, "integrations.integration", "sealed_headers", w->integration_id,
            w->sealed_headers, &values) ||
        W->json->parse(req, values, &headers) != WHARF_OK)
        return "The headers do not open with the keys of this machine";
    for (const wharf_json *m = W->json->at(headers, 0); m; m = W->json->next(m)) {
        if (!W->json->text(m, &value) || !fill_in(req, w->integration_id, value, &value))
            return "A header asks for a secret that the integration does not have";
        integration_add_line(req, l, W->json->key(m), value, true);
    }
    return NULL;
}

static void integration_start(
    wharf_req *req, struct engine *g, const struct work *w, const wharf_event *e)
{
    struct lines l = {.shown = W->json->writer(req)};
    struct flight *x = integration_must(calloc(1, sizeof(*x)));
    const char *problem;
    wharf_fetch *f;
    wharf_fetch_request r = {.head = WHARF_HEAD(wharf_fetch_request),
        .method = w->method.n ? w->method.p : "POST",
        .url = w->url,
        .family = "webhook",
        .headers = l.line,
        .flags = WHARF_FETCH_HTTP_IF_SET | WHARF_FETCH_PORT_80 | WHARF_FETCH_NO_FRAGMENT |
                 WHARF_FETCH_REUSE | WHARF_FETCH_GZIP | WHARF_FETCH_ANY_STATUS |
                 WHARF_FETCH_ANY_BODY,
        .max_bytes = ANSWER_BYTES,
        .connect_ms = CONNECT_MS,
        .first_byte_ms = TOTAL_MS,
        .stall_ms = TOTAL_MS,
        .stall_bytes = 1,
        .total_ms = TOTAL_MS,
        .per_host = EACH_MOST,
        .organization = w->organization,
        .tag = x};

    W->json->open(l.shown, NULL, '{');
    W->json->put(l.shown, "method", val_text(z(r.method)));
    W->json->put(l.shown, "url", val_text(w->url));
    W->json->open(l.shown, "headers", '{');
    integration_add_line(req, &l, WHARF_S("content-type"), WHARF_S("application/json"), false);
    integration_add_line(req, &l, WHARF_S("user-agent"), WHARF_S("Wharf-Integrations/1"), false);
    integration_add_line(req, &l, WHARF_S("webhook-id"), e->id, false);
    integration_add_line(req, &l, WHARF_S("wharf-integration"), w->integration_id, false);
    integration_add_line(req, &l, WHARF_S("wharf-event-type"), e->type, false);
    problem = add_own(req, &l, w);
    W->json->close(l.shown);
    W->json->close(l.shown);
    snprintf(x->organization, sizeof(x->organization), "%s", w->organization.p);
    snprintf(x->id, sizeof(x->id), "%s", w->id.p);
    x->retries = w->retries;
    x->body = integration_copy_of(e->body);
    x->request = integration_copy_of(W->json->result_text(l.shown));
    r.body = (wharf_str){x->body, e->body.n};
    r.n_headers = l.n;
    if (!problem && int_fetch->start(req, &r, &f) == WHARF_OK) {
        g->running++;
        return;
    }
    W->err->clear(req);
    integration_give_up(req, g, w, "error", "not_sent",
        problem ? problem : "The URL is not one that the server sends to");
    free(x->body);
    free(x->request);
    free(x);
}

/* ---- workflows ---- */

/* Requests that a claim brought of one organization, whose integrations have workflows. */
struct flows {
    const struct work **work;
    wharf_workflow_start **starts;
    size_t n;
};

/* Adds a request: the workflow gets the event, and makes the request. */
static wharf_status integration_add_run(
    wharf_req *req, struct flows *list, const struct work *w, const wharf_event *e)
{
    const struct shown_integration shown = {
        w->integration_id, w->name, w->provider, w->url, w->method};
    wharf_workflow_start *start = W->mem->alloc(req, sizeof(*start));
    const wharf_json *body;
    wharf_status s = int_events->parsed(req, e, &body);

    *start = (wharf_workflow_start){.head = WHARF_HEAD(wharf_workflow_start),
        .workflow_id = w->workflow_id,
        .location_id = e->location_id,
        .event_id = e->id,
        .resource_type = e->resource_type,
        .resource_id = e->resource_id,
        .depth = e->depth};
    if (s == WHARF_OK)
        runs_input(req, &shown, "event", body, start);
    list->work[list->n] = w;
    list->starts[list->n++] = start;
    return s;
}

/* Starts the workflows, in one go, and notes which run each request became. */
static wharf_status start_runs(wharf_req *req, const struct flows *list)
{
    static const char sql[] = QUERY_OUTGOING_RUNS;
    wharf_out *rows = W->json->writer(req);
    wharf_status s = runs_start(req, list->starts, list->n);
    size_t kept = 0;

    W->json->open(rows, NULL, '[');
    for (size_t i = 0; i < list->n && s == WHARF_OK; i++) {
        if (list->starts[i]->code)
            continue;
        W->json->open(rows, NULL, '{');
        W->json->put(rows, "i", val_text(list->work[i]->id));
        W->json->put(rows, "r", val_text(list->starts[i]->run_id));
        W->json->close(rows);
        kept++;
    }
    W->json->close(rows);
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(W->json->result_text(rows))};

    return s == WHARF_OK && kept ? W->db->exec(req, sql, args, 2, NULL) : s;
}

static void report_run(wharf_req *req, struct engine *g, const struct work *w)
{
    const struct outcome o = {.status = "success", .request = WHARF_S("")};

    integration_report(req, g, w->organization, w->id, &o);
}

/* Tells what became of the requests: a run that is queued is a success, and tells by itself how it
 * ends. */
static void report_runs(wharf_req *req, struct engine *g, const struct flows *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const wharf_workflow_start *x = list->starts[i];

        if (x->code)
            integration_give_up(req, g, list->work[i], "error", x->code, x->why);
        else
            report_run(req, g, list->work[i]);
    }
}

/* ---- what was claimed ---- */

/* Begins what a request is for, with the event as the integration's key sees it now. */
static wharf_status integration_begin_one(wharf_req *req, struct engine *g, const struct work *w,
    const wharf_event *event, const wharf_event_reader *reader, struct flows *list)
{
    const wharf_event *e = event ? int_events->for_reader(req, reader, w->locations, event) : NULL;

    if (!w->usable)
        integration_give_up(req, g, w, "skipped", "integration_disabled",
            "The integration was disabled or deleted");
    else if (!event)
        integration_give_up(req, g, w, "skipped", "event_expired", "The event has expired");
    else if (!e)
        integration_give_up(req, g, w, "skipped", "event_not_seen",
            "The key of the integration may not see the event any more");
    else if (w->run_id.n) /* it was started before the server ended */
        report_run(req, g, w);
    else if (w->workflow_id.n)
        return integration_add_run(req, list, w, e);
    else
        integration_start(req, g, w, e);
    return WHARF_OK;
}

/* Starts what was claimed of one organization. */
static wharf_status start_all(wharf_req *req, struct engine *g, const struct work *list, size_t n)
{
    struct flows flows = {.work = W->mem->alloc(req, n * sizeof(*flows.work)),
        .starts = W->mem->alloc(req, n * sizeof(*flows.starts))};
    const wharf_event_reader **readers = W->mem->alloc(req, n * sizeof(*readers));
    wharf_str *ids = W->mem->alloc(req, n * sizeof(*ids)),
              *keys = W->mem->alloc(req, n * sizeof(*keys));
    const wharf_event *const *events;
    wharf_status s = int_events->act_for(req, list[0].organization);

    for (size_t i = 0; i < n; i++) {
        ids[i] = list[i].event_id;
        keys[i] = list[i].owner_key;
    }
    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = int_events->read(req, ids, n, &events);
    if (s == WHARF_OK)
        s = int_events->readers(req, keys, n, readers);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        s = integration_begin_one(req, g, &list[i], events[i], readers[i], &flows);
    if (s == WHARF_OK && flows.n)
        s = start_runs(req, &flows);
    if (s != WHARF_OK) {
        W->db->rollback(req);
        return s;
    }
    s = W->db->commit(req);
    if (s == WHARF_OK)
        report_runs(req, g, &flows);
    return s;
}

static int by_organization(const void *a, const void *b)
{
    return strcmp(
        ((const struct work *)a)->organization.p, ((const struct work *)b)->organization.p);
}

static wharf_status integration_claim(wharf_req *req, struct engine *g)
{
    static const char sql[] =
        "SELECT organization_id, id, integration_id, event_id, attempts, retries, url, method, "
        "sealed_headers, usable, workflow_id, run_id, name, provider, owner_key, location_ids "
        "FROM integrations.claim($1::text, $2::integer, $3::integer)";
    static const char due_sql[] = "SELECT integrations.next_due()";
    size_t room = IN_FLIGHT_MOST - g->running, n;
    const wharf_val args[] = {val_text(z(g->server)),
        val_int((int64_t)(room < CLAIM_MOST ? room : CLAIM_MOST)), val_int(EACH_MOST)};
    const wharf_rows *rows;
    struct work *list;
    wharf_status s = query_alone(req, sql, args, 3, &rows);

    if (s != WHARF_OK)
        return s;
    n = W->db->count(rows);
    if (!n) {
        s = query_alone(req, due_sql, NULL, 0, &rows);
        g->due_ms = s == WHARF_OK ? row_int(rows, 0, 0) : WAIT_MS;
        g->due_ms = g->due_ms < FULL_WAIT_MS ? FULL_WAIT_MS : g->due_ms;
        return s;
    }
    g->due_ms = 0;
    list = W->mem->alloc(req, n * sizeof(*list));
    for (size_t i = 0; i < n; i++)
        list[i] = (struct work){row_text(rows, i, 0), row_text(rows, i, 1), row_text(rows, i, 2),
            row_text(rows, i, 3), row_text(rows, i, 6), row_text(rows, i, 7), row_text(rows, i, 8),
            row_int(rows, i, 4), row_int(rows, i, 5), row_bool(rows, i, 9), row_text(rows, i, 10),
            row_text(rows, i, 11), row_text(rows, i, 12), row_text(rows, i, 13),
            row_text(rows, i, 14), row_json(rows, i, 15)};
    qsort(list, n, sizeof(*list), by_organization);
    for (size_t from = 0, to; s == WHARF_OK && from < n; from = to) {
        for (to = from + 1; to < n && same(list[to].organization, list[from].organization);)
            to++;
        s = start_all(req, g, list + from, to - from);
    }
    int_events->act_for(req, WHARF_S(""));
    return s; /* what was claimed and not started comes back when its lease is over */
}

/* ---- settling ---- */

static wharf_status integration_settle(wharf_req *req, struct engine *g)
{
    static const char sql[] =
        "SELECT organization_id, id FROM integrations.complete($1::text, $2::json)";
    const wharf_rows *rows;
    wharf_status s;

    if (!g->n_over)
        return WHARF_OK;
    W->json->close(g->over);
    const wharf_val args[] = {val_text(z(g->server)), val_text(W->json->result_text(g->over))};

    g->over = NULL;
    g->n_over = 0;
    s = query_alone(req, sql, args, 2, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        struct failure *f = integration_must(calloc(1, sizeof(*f)));

        snprintf(f->organization, sizeof(f->organization), "%s", row_text(rows, i, 0).p);
        snprintf(f->id, sizeof(f->id), "%s", row_text(rows, i, 1).p);
        f->next = g->failures;
        g->failures = f;
    }
    return s;
}

static wharf_status integration_tell(wharf_req *req, const struct failure *f)
{
    const wharf_rec *rec;
    wharf_status s = int_events->act_for(req, z(f->organization));

    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = W->res->fetch(req, "outgoing_integration", z(f->id), WHARF_FOR_UPDATE, &rec);
    if (s == WHARF_OK)
        s = notice_error(req, OUTGOING_NOTICE, z(f->id));
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}

/* Tells of all failures. Must be called outside of memory scopes: it acts for organizations, one
 * after the other. */
static void integration_tell_all(wharf_req *req, struct engine *g)
{
    struct failure *f;

    while ((f = g->failures)) {
        g->failures = f->next;
        if (integration_tell(req, f) != WHARF_OK)
            W->log->write(int_self, req, WHARF_LOG_WARN, "integrations.notice",
                "error of %s is not told of", f->id);
        W->err->clear(req);
        int_events->act_for(req, WHARF_S(""));
        free(f);
    }
}

/* ---- the loop ---- */

/* Runs one round. Whatever goes wrong with the database is tried again after a while: what could
 * not be noted is made again when its lease is over. */
static void integration_round_of(wharf_req *req, struct engine *g)
{
    wharf_scope *scope = W->mem->scope_begin(req);
    wharf_fetch *f;
    wharf_status s;

    g->due_ms = WAIT_MS;
    while (g->n_over < CLAIM_MOST && (f = int_fetch->next(req, 0)))
        integration_finish(req, g, f);
    s = integration_settle(req, g);
    if (s == WHARF_OK && g->running < IN_FLIGHT_MOST)
        s = integration_claim(req, g);
    if (s == WHARF_OK)
        s = integration_settle(req, g); /* what could not be sent */
    if (s != WHARF_OK)
        W->log->write(int_self, req, WHARF_LOG_WARN, "integrations.round",
            "the database is away, or refused a statement; tried again");
    g->over = NULL;
    g->n_over = 0;
    W->err->clear(req);
    W->mem->scope_end(req, scope);
}

static void integration_wind_up(wharf_req *req, struct engine *g)
{
    static const char sql[] = "SELECT integrations.interrupt($1::text)";
    int64_t until = W->req->now_us(req) + GRACE_US;
    const wharf_val server = val_text(z(g->server));
    const wharf_rows *rows;
    wharf_fetch *f;

    while (g->running && W->req->now_us(req) < until) {
        f = int_fetch->next(req, 100);
        if (f)
            integration_finish(req, g, f);
        int_events->wait(req, 0); /* reads the clock */
    }
    integration_settle(req, g);
    query_alone(req, sql, &server, 1, &rows);
    W->err->clear(req);
    integration_tell_all(req, g);
}

wharf_status outgoing_run(wharf_req *req, void *arg)
{
    struct engine *g = integration_must(calloc(1, sizeof(*g)));

    (void)arg;
    snprintf(g->server, sizeof(g->server), "%s", W->req->new_id(req, "ieng").p);
    while (!W->req->cancelled(req)) {
        integration_round_of(req, g);
        integration_tell_all(req, g);
        int_events->wait(req, g->due_ms);
    }
    integration_wind_up(req, g);
    free(g);
    return WHARF_OK;
}
