/* push_engine.c - makes the pushes that are due: a resident that claims, sends, and notes what
 * became of it (spec 04 section 9.2).
 *
 * One per job worker; stations.push_claim settles who does what. A push that a crash cut off is
 * made again when its lease is over: it is a hint, and twice is no harm. */
#include <stdio.h>
#include <stdlib.h>

#include "push.h"
#include "wharf/hash.h"

enum {
    RUNNING_MOST = 200, /* pushes under way */
    CLAIM_MOST = 50,
    LOOK_MS = 1000,
    AWAY_MS = 500,
    FIRST_WAIT_MS = 1000, /* before the second try; doubled */
    LAST_WAIT_MS = 60000 /* longest wait */
};
#define TRY_FOR_US 600000000LL /* a push is tried */
#define END_US     10000000LL

struct pusher {
    char server[48];
    size_t running;
    wharf_pusher *fcm;
    int64_t due_ms;
};

void *push_need(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void push_free(struct push *p)
{
    free(p->device_token);
    free(p->body);
    free(p);
}

/* ---- what became of it ---- */

/* Returns the wait: 1, 2, 4 ... 60 s, between the half and the whole of it, in milliseconds. */
static int64_t wait_of(const struct push *p)
{
    int64_t whole = p->attempts > 6 ? LAST_WAIT_MS : FIRST_WAIT_MS << (p->attempts - 1);
    uint32_t h = wharf_hash32(WHARF_HASH32_START + (uint32_t)p->attempts, p->id, strlen(p->id));

    whole = whole < LAST_WAIT_MS ? whole : LAST_WAIT_MS;
    return whole / 2 + (int64_t)(h % 1000) * whole / 2000;
}

static wharf_status push_note_end(
    wharf_req *req, const struct push *p, const struct push_outcome *o, const char *status)
{
    static const char sql[] =
        "UPDATE stations.print_push_delivery SET status = $3::text, http_status = "
        "NULLIF($4::bigint, 0)::integer, error = $5::text,"
        " server = NULL, due_at = NULL, ended_at = $6::timestamptz WHERE organization_id = "
        "$2::text AND id = $1::text AND status = 'waiting'";
    const wharf_val args[] = {val_text(z(p->id)), val_text(W->req->organization(req)),
        val_text(z(status)), val_int(o->status), o->error ? val_text(z(o->error)) : val_null(),
        val_time(W->req->now_us(req))};

    return W->db->exec(req, sql, args, 6, NULL);
}

static wharf_status note_again(
    wharf_req *req, const struct push *p, const struct push_outcome *o, int64_t wait_ms)
{
    static const char sql[] = "UPDATE stations.print_push_delivery SET http_status = "
                              "NULLIF($3::bigint, 0)::integer, error = $4::text, "
                              "server = NULL,"
                              " due_at = $5::timestamptz WHERE organization_id = $2::text AND id = "
                              "$1::text AND status = 'waiting'";
    const wharf_val args[] = {val_text(z(p->id)), val_text(W->req->organization(req)),
        val_int(o->status), o->error ? val_text(z(o->error)) : val_null(),
        val_time(W->req->now_us(req) + wait_ms * 1000)};

    return W->db->exec(req, sql, args, 5, NULL);
}

/* Notes that the device token is as good as the station's last push; one that was changed
 * meanwhile is not judged by the old one. */
static wharf_status note_good(wharf_req *req, const struct push *p)
{
    static const char sql[] = "UPDATE stations.print_station SET push = push || $4::jsonb WHERE "
                              "organization_id = $2::text AND id = $1::text"
                              " AND device_token = $3::text";
    wharf_out *out = W->json->writer(req);
    wharf_val args[4] = {
        val_text(z(p->station)), val_text(W->req->organization(req)), val_text(z(p->device_token))};

    W->json->open(out, NULL, '{');
    W->json->put(out, "status", val_text(WHARF_S("ok")));
    W->json->put(out, "last_delivery_at", val_time(W->req->now_us(req)));
    W->json->close(out);
    args[3] = val_text(W->json->result_text(out));
    return W->db->exec(req, sql, args, 4, NULL);
}

static wharf_status note_dead(wharf_req *req, const struct push *p)
{
    static const char sql[] =
        "UPDATE stations.print_station SET push = push || '{\"status\": \"invalid\"}', version = "
        "version + 1"
        " WHERE organization_id = $2::text AND id = $1::text AND device_token = $3::text"
        " AND push ->> 'status' IS DISTINCT FROM 'invalid' AND deleted_at IS NULL";
    const wharf_val args[] = {
        val_text(z(p->station)), val_text(W->req->organization(req)), val_text(z(p->device_token))};
    uint64_t changed = 0;
    wharf_status s = W->db->exec(req, sql, args, 3, &changed);

    return s == WHARF_OK && changed ? W->event->emit(req, "print_station.push_invalid",
                                          "print_station", z(p->station), NULL)
                                    : s;
}

static wharf_status push_engine_note(
    wharf_req *req, const struct push *p, const struct push_outcome *o)
{
    int64_t wait_ms = o->later_ms ? o->later_ms : wait_of(p);
    bool again = o->end == PUSH_AGAIN &&
                 W->req->now_us(req) + wait_ms * 1000 <= p->first_us + TRY_FOR_US;
    wharf_status s;

    if (again)
        return note_again(req, p, o, wait_ms);
    s = push_note_end(req, p, o, o->end == PUSH_DELIVERED ? "delivered" : "failed");
    if (s == WHARF_OK && o->end == PUSH_DELIVERED)
        s = note_good(req, p);
    return s == WHARF_OK && o->end == PUSH_DEAD ? note_dead(req, p) : s;
}

/* Notes it and forgets it. What can't be noted is made again when its lease is over. */
static void push_settle(wharf_req *req, struct push *p, const struct push_outcome *o)
{
    wharf_status s = print_events->act_for(req, z(p->organization));

    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s == WHARF_OK) {
        s = push_engine_note(req, p, o);
        if (s != WHARF_OK || W->db->commit(req) != WHARF_OK)
            W->db->rollback(req);
    }
    W->err->clear(req);
    print_events->act_for(req, WHARF_S(""));
    push_free(p);
}

/* ---- sending ---- */

static void send_by_fcm(wharf_req *req, struct pusher *g, struct push *p)
{
    wharf_str names[PUSH_TEXTS], values[PUSH_TEXTS];
    wharf_push_message m = {.head = WHARF_HEAD(wharf_push_message),
        .kind = WHARF_PUSH_FCM,
        .ttl_s = (uint32_t)p->ttl,
        .token = z(p->device_token),
        .names = names,
        .values = values,
        .n_data = push_texts(req, p, names, values),
        .organization = z(p->organization),
        .urgent = true,
        .tag = p};

    g->running++;
    print_push->send(req, g->fcm, &m);
}

static void push_engine_send(wharf_req *req, struct pusher *g, struct push *p)
{
    static const struct push_outcome not_sent = {
        .end = PUSH_FAILED, .error = "the URL is not one that the server sends to"};
    wharf_fetch *f;

    if (!strcmp(p->driver, "fcm")) {
        send_by_fcm(req, g, p);
        return;
    }
    if (push_send(req, p, &f) == WHARF_OK) {
        g->running++;
        return;
    }
    W->err->clear(req);
    push_settle(req, p, &not_sent);
}

/* Ends a push of Pushy or the webhook. */
static void push_finish(wharf_req *req, struct pusher *g, wharf_fetch *f)
{
    struct push *p = print_fetch->tag(f);
    struct push_outcome o = push_judge(req, p, f);

    print_fetch->done(req, f);
    g->running--;
    push_settle(req, p, &o);
}

/* Ends the pushes of FCM that are over. */
static void finish_fcm(wharf_req *req, struct pusher *g)
{
    static const enum push_end ends[] = {[WHARF_PUSH_TAKEN] = PUSH_DELIVERED,
        [WHARF_PUSH_DEAD] = PUSH_DEAD,
        [WHARF_PUSH_AGAIN] = PUSH_AGAIN,
        [WHARF_PUSH_REFUSED] = PUSH_FAILED};
    wharf_push_result r = {.head = WHARF_HEAD(wharf_push_result)};
    struct push_outcome o;

    while (print_push->next(req, g->fcm, &r)) {
        o = (struct push_outcome){.end = ends[r.end],
            .status = r.http_status,
            .error = r.error.n ? r.error.p : NULL,
            .later_ms = r.later_ms};
        g->running--;
        push_settle(req, r.tag, &o);
    }
}

/* Ends what is over; waits for it at most so long. */
static void push_collect(wharf_req *req, struct pusher *g, int64_t wait_ms)
{
    wharf_fetch *f;

    for (; (f = print_fetch->next(req, wait_ms)); wait_ms = 0) {
        if (!print_push->finished(req, g->fcm, f))
            push_finish(req, g, f);
    }
    finish_fcm(req, g);
}

/* ---- claiming ---- */

static struct push *push_of(const wharf_rows *rows, size_t r)
{
    struct push *p = push_need(calloc(1, sizeof(*p)));

    snprintf(p->organization, sizeof(p->organization), "%s", row_text(rows, r, 0).p);
    snprintf(p->id, sizeof(p->id), "%s", row_text(rows, r, 1).p);
    snprintf(p->station, sizeof(p->station), "%s", row_text(rows, r, 2).p);
    snprintf(p->job, sizeof(p->job), "%s", row_text(rows, r, 3).p);
    p->seq = row_int(rows, r, 4);
    snprintf(p->type, sizeof(p->type), "%s", row_text(rows, r, 5).p);
    snprintf(p->driver, sizeof(p->driver), "%s", row_text(rows, r, 6).p);
    p->attempts = row_int(rows, r, 7);
    p->at_us = row_int(rows, r, 8);
    p->first_us = row_int(rows, r, 9);
    p->ttl = row_int(rows, r, 10);
    p->device_token = push_need(strdup(row_text(rows, r, 11).p));
    return p;
}

static wharf_status push_engine_claim(wharf_req *req, struct pusher *g)
{
    static const char sql[] =
        "SELECT organization_id, id, station_id, job_id, seq, type, driver, attempts, at_us, "
        "first_us, ttl, device_token"
        " FROM stations.push_claim($1::text, $2::bigint::integer)";
    static const char due_sql[] = "SELECT stations.push_due()";
    const wharf_val args[] = {val_text(z(g->server)), val_int(CLAIM_MOST)};
    struct push *list[CLAIM_MOST];
    const wharf_rows *rows;
    size_t n;
    wharf_status s = query_alone(req, sql, args, 2, &rows);

    if (s != WHARF_OK)
        return s;
    n = W->db->count(rows);
    for (size_t i = 0; i < n; i++)
        list[i] = push_of(rows, i);
    for (size_t i = 0; i < n; i++)
        push_engine_send(req, g, list[i]);
    g->due_ms = 0;
    if (n)
        return WHARF_OK;
    s = query_alone(req, due_sql, NULL, 0, &rows);
    g->due_ms = s == WHARF_OK ? row_int(rows, 0, 0) : AWAY_MS;
    return s;
}

/* ---- the loop ---- */

static void push_round_of(wharf_req *req, struct pusher *g)
{
    wharf_scope *scope = W->mem->scope_begin(req);

    g->due_ms = LOOK_MS;
    push_collect(req, g, 0);
    if (g->running < RUNNING_MOST && push_engine_claim(req, g) != WHARF_OK)
        g->due_ms = AWAY_MS; /* the database is away */
    W->err->clear(req);
    W->mem->scope_end(req, scope);
}

static void push_wind_up(wharf_req *req, struct pusher *g)
{
    static const char sql[] = "SELECT stations.push_interrupt($1::text)";
    int64_t until = W->req->now_us(req) + END_US;
    const wharf_val server = val_text(z(g->server));
    const wharf_rows *rows;

    while (g->running && W->req->now_us(req) < until) {
        push_collect(req, g, 100);
        print_events->wait(req, 0); /* reads the clock */
    }
    query_alone(req, sql, &server, 1, &rows);
    W->err->clear(req);
}

wharf_status push_run(wharf_req *req, void *arg)
{
    struct pusher *g = push_need(calloc(1, sizeof(*g)));
    wharf_push_account account = push_account();

    g->fcm = print_push->open(req, &account);
    snprintf(g->server, sizeof(g->server), "%s", W->req->new_id(req, "peng").p);
    while (!W->req->cancelled(req)) {
        if (is(push_first(), "stream")) { /* no driver is configured */
            print_events->wait(req, LOOK_MS);
            continue;
        }
        push_round_of(req, g);
        print_events->wait(req, g->due_ms);
    }
    push_wind_up(req, g);
    print_push->close(req, g->fcm);
    free(g);
    return WHARF_OK;
}
