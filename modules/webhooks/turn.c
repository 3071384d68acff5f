/* turn.c - the engine and the database: turns, in which what is over is settled and what is
 * due is claimed (spec 07 section 7). See webhook_engine.h.
 *
 * One turn runs at a time, beside the engine (wharf.events side_statement): while the database
 * works at it, requests are sent and their ends collected, which the next turn tells. So turns grow
 * with what there is to do, and shrink when there is little. */
#include <stdio.h>
#include <stdlib.h>

#include "webhook_engine.h"

enum {
    CLAIM_MOST = 200, /* deliveries in one turn */
    AGAIN_US = 200000, /* after a turn that did not work out */
    BUSY_WAIT_US = 20000, /* until queues that somebody held are tried again */
    DUE_MOST_MS = 1000,
};

/* ---- asking ---- */

static size_t turn_room_of(const struct engine *g, int64_t now)
{
    size_t taken = g->running + g->unsent + g->n_over,
           room = taken < IN_FLIGHT_MOST ? IN_FLIGHT_MOST - taken : 0;

    if (g->ends || now < g->locked_until_us)
        return 0;
    return room < g->wanted ? room : g->wanted;
}

int64_t turn_wait_us(wharf_req *req, const struct engine *g)
{
    int64_t now = W->req->now_us(req), at = now + DUE_MOST_MS * 1000;

    if (g->asked)
        return DUE_MOST_MS * 1000;
    if (turn_room_of(g, now)) /* else nothing is claimed, whatever is due */
        at = hooks_events->news(req) != g->seen ? now : g->due_us;
    if (g->n_busy && g->busy_until_us < at)
        at = g->busy_until_us;
    if (g->n_over > g->n_busy)
        at = now;
    if (at < g->again_us)
        at = g->again_us;
    return at > now ? at - now : 0;
}

static wharf_str reports_of(wharf_req *req, struct job *jobs)
{
    size_t bytes = 3;
    char *given, *to;

    for (struct job *j = jobs; j; j = j->next)
        bytes += j->report_bytes + 1;
    given = to = W->mem->alloc(req, bytes);
    for (struct job *j = jobs; j; j = j->next) {
        *to++ = j == jobs ? '[' : ',';
        memcpy(to, j->report, j->report_bytes);
        to += j->report_bytes;
    }
    *to++ = ']';
    return (wharf_str){given, (size_t)(to - given)};
}

static wharf_str turn_new_ids(wharf_req *req, size_t n)
{
    wharf_out *ids = W->json->writer(req);

    W->json->open(ids, NULL, '[');
    for (size_t i = 0; i < n; i++)
        W->json->put(ids, NULL, val_text(W->req->new_id(req, "out_whk")));
    W->json->close(ids);
    return W->json->result_text(ids);
}

/* Keeps all that was told, to tell it again, before what was over since. */
static void turn_failed(wharf_req *req, struct engine *g)
{
    struct job **last = &g->reported;

    W->log->write(hooks_self, req, WHARF_LOG_WARN, "webhooks.round",
        "the database is away, or refused a statement; tried again");
    W->err->clear(req);
    while (*last)
        last = &(*last)->next;
    if (last != &g->reported) {
        *last = g->over;
        if (!g->over)
            g->over_last = last;
        g->over = g->reported;
    }
    g->n_over += g->n_reported;
    g->reported = NULL;
    g->n_reported = 0;
    g->again_us = W->req->now_us(req) + AGAIN_US;
}

void turn_ask(wharf_req *req, struct engine *g)
{
    static const char sql[] =
        "SELECT organization_id, webhook_id, version, attempt_id, started_at, lane, resource_type, "
        "resource_id, delivery_id, delivery_at, event_id, event_type, sequence, attempt, retries, "
        "trigger, superseded, traceparent, body, what, parts, parts_seen, parts_at"
        " FROM webhooks.turn($1::text, $2::json, ARRAY(SELECT json_array_elements_text($3::json)))";
    wharf_val args[] = {val_text(z(g->server)), val_null(), val_null()};

    g->seen = hooks_events->news(req);
    g->room = turn_room_of(g, W->req->now_us(req));
    g->reported = g->over;
    if (g->reported)
        args[1] = val_text(reports_of(req, g->reported));
    args[2] = val_text(turn_new_ids(req, g->room));
    g->over = NULL;
    g->over_last = &g->over;
    g->n_reported = g->n_over;
    g->n_over = g->n_busy = 0;
    g->asked = hooks_events->side_statement(req, sql, args, 3) == WHARF_OK;
    if (!g->asked)
        turn_failed(req, g);
}

/* ---- what became of it ---- */

static bool row_is(const wharf_rows *rows, size_t i, const char *what)
{
    return is(row_text(rows, i, 19), what);
}

static bool held(const wharf_rows *rows, wharf_str attempt)
{
    for (size_t i = 0; i < W->db->count(rows) && row_is(rows, i, "busy"); i++) {
        if (same(row_text(rows, i, 3), attempt))
            return true;
    }
    return false;
}

/* Looks at the figures of each webhook that failed, once. */
static void turn_look_after(
    wharf_req *req, struct engine *g, const struct job *jobs, const struct job *j)
{
    static const char sql[] = "SELECT webhooks.judge($1::text, $2::text, true)";
    const wharf_val args[] = {val_text(j->organization), val_text(j->webhook)};
    const wharf_rows *rows;

    for (const struct job *o = jobs; o != j; o = o->next) {
        if (!o->held && o->failed == j->failed && o->disable == j->disable &&
            same(o->webhook, j->webhook))
            return;
    }
    if (j->disable)
        engine_ask_for_care(g, j->organization, j->webhook, WHARF_S("receiver_request"));
    else if (engine_call(req, sql, args, 2, &rows) == WHARF_OK && row_text(rows, 0, 0).n)
        engine_ask_for_care(g, j->organization, j->webhook, row_text(rows, 0, 0));
    W->err->clear(req);
}

static void settled(wharf_req *req, struct engine *g, const wharf_rows *rows)
{
    struct job *jobs = g->reported, *next;

    for (struct job *j = jobs; j; j = j->next) {
        j->held = held(rows, j->attempt); /* nothing of it is counted yet */
        if (!j->held && (j->failed || j->disable))
            turn_look_after(req, g, jobs, j);
    }
    g->reported = NULL;
    g->n_reported = 0;
    for (struct job *j = jobs; j; j = next) {
        next = j->next;
        if (!j->held) {
            job_free(j);
            continue;
        }
        j->next = NULL;
        *g->over_last = j;
        g->over_last = &j->next;
        g->n_over++;
        g->n_busy++;
        g->busy_until_us = W->req->now_us(req) + BUSY_WAIT_US;
    }
}

/* Notes what was claimed, and when to ask again. */
static void claimed(wharf_req *req, struct engine *g, const wharf_rows *rows)
{
    size_t n = 0;

    g->due_us = W->req->now_us(req);
    for (size_t i = 0; i < W->db->count(rows); i++) {
        n += row_is(rows, i, "send");
        if (row_is(rows, i, "due"))
            g->due_us += row_integer(rows, i, 14, DUE_MOST_MS) * 1000;
    }
    if (n && n == g->room)
        g->wanted = g->wanted * 2 < CLAIM_MOST ? g->wanted * 2 : CLAIM_MOST;
    else if (n < g->wanted / 4)
        g->wanted = g->wanted / 2 > CLAIM_LEAST ? g->wanted / 2 : CLAIM_LEAST;
    g->unsent = n;
}

/* Sends what was claimed. What can't be sent comes back when its lease is over. */
static void send_claimed(wharf_req *req, struct engine *g, const wharf_rows *rows)
{
    if (g->unsent && endpoints_learn(req, &g->endpoints, rows) != WHARF_OK) {
        W->log->write(hooks_self, req, WHARF_LOG_WARN, "webhooks.endpoints",
            "%zu deliveries wait for a minute: their webhooks could not be read", g->unsent);
        W->err->clear(req);
        g->unsent = 0;
    }
    for (size_t i = 0; g->unsent && i < W->db->count(rows); i++) {
        if (row_is(rows, i, "send")) {
            job_send(req, g, job_of(req, g, rows, i));
            g->unsent--;
        }
    }
}

void turn_end(wharf_req *req, struct engine *g)
{
    const wharf_rows *rows;
    wharf_status s;

    if (!g->asked || !hooks_events->side_statement_over(req, &s, &rows))
        return;
    g->asked = false;
    if (s != WHARF_OK) {
        turn_failed(req, g);
        return;
    }
    settled(req, g, rows);
    claimed(req, g, rows);
    jobs_collect(req, g);
    if (turn_wait_us(req, g) == 0)
        turn_ask(req, g); /* the database works while these are sent */
    send_claimed(req, g, rows);
}
