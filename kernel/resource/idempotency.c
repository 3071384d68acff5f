/* idempotency.c - see idempotency.h. */
#include "resource/idempotency.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernel_queries.gen.h"
#include "resource/access.h"
#include "resource/envelope.h"
#include "resource/plan.h"
#include "resource/write.h"
#include "process/board.h"
#include "util/digest.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum { BODY_MAX = 1 << 20 }; /* bytes of an answer that is kept */
enum { FINGERPRINT = 2 + 2 * DIGEST_BYTES }; /* as hex, "\x" before it */

static void fingerprint(const struct wharf_req *req, char out[FINGERPRINT + 1])
{
    static const char digits[] = "0123456789abcdef";
    wharf_str parts[] = {
        str_z(req->head.method), req->head.path, req->head.raw_query, req->body_text};
    unsigned char hashes[4 * DIGEST_BYTES], whole[DIGEST_BYTES];

    for (size_t i = 0; i < 4; i++)
        digest_sha256(&parts[i], 1, hashes + i * DIGEST_BYTES);
    digest_sha256(&(wharf_str){(const char *)hashes, sizeof(hashes)}, 1, whole);
    memcpy(out, "\\x", 2);
    for (size_t i = 0; i < sizeof(whole); i++) {
        out[2 + 2 * i] = digits[whole[i] >> 4];
        out[3 + 2 * i] = digits[whole[i] & 15];
    }
    out[FINGERPRINT] = 0;
}

static struct sql_arg idempotency_arg(wharf_str s)
{
    return (struct sql_arg){s.n ? s.p : NULL, s.n};
}

static struct sql_arg idempotency_moment(struct wharf_req *req, int64_t us)
{
    return idempotency_arg(time_iso(req->arena, us));
}

/* ---- answering again ---- */

/* Renders the row as it is now, when the answer was too large to keep. */
static void render_row(struct wharf_req *req, const char *resource, wharf_str id, int status)
{
    const struct resource *res = engine_resource(req->engine, resource);
    struct view view = {.in = status == 201 && res ? res->def->creates.view : IN_RETRIEVE,
        .datetime = req->head.datetime_format,
        .who = &req->access.who->access,
        .writer = res && req_may_write(&req->access, res)};
    PGresult *r = res ? retrieve_row(req, res, id) : NULL;
    struct wharf_rec *rec;

    if (!r || !PQntuples(r)) {
        if (!req->problems.n)
            req_problem(req, ERR_NOT_FOUND, id, NULL, str_z(""));
        return;
    }
    rec = record_from_result(req->arena, res, r, 0);
    if (compute_fields(req, res, &rec, 1, &view) == WHARF_OK)
        answer_row(req, rec, &view, status, status == 201 ? "created" : "updated");
}

enum {
    C_FINGERPRINT_EQUAL,
    C_STATUS,
    C_BODY,
    C_RESOURCE,
    C_RESOURCE_ID,
    C_LOCATION,
    C_DATETIME,
    C_REACH,
    C_AREAS,
    C_AUDIENCE
};

/* Judges whether the answer is given again: to who reaches and reads as much as who got it
 * first, and may see its row as it is now. Of an answer that is not one row nobody knows which
 * rows it shows; where some may be for some users only it is for the same user. */
static bool may_be_shown(struct wharf_req *req, const PGresult *r)
{
    const struct resource *res = engine_resource(req->engine, PQgetvalue(r, 0, C_RESOURCE));
    wharf_str areas = PQgetisnull(r, 0, C_AREAS)
                          ? str_z("[]")
                          : arena_dupz(req->arena, PQgetvalue(r, 0, C_AREAS));

    return check_request_reach(req, arena_dupz(req->arena, PQgetvalue(r, 0, C_REACH)), areas) &&
           check_request_audience(req, arena_dupz(req->arena, PQgetvalue(r, 0, C_AUDIENCE))) &&
           (!res ||
               check_access_of(req, res, arena_dupz(req->arena, PQgetvalue(r, 0, C_RESOURCE_ID))));
}

static void replay(struct wharf_req *req, const PGresult *r)
{
    struct req_reply *reply = &req->reply;
    int status = (int)strtol(PQgetvalue(r, 0, C_STATUS), NULL, 10);

    if (strcmp(PQgetvalue(r, 0, C_FINGERPRINT_EQUAL), "t") != 0) {
        req_fail(req, ERR_IDEMPOTENCY_KEY_REUSED, NULL, NULL);
        return;
    }
    if (!may_be_shown(req, r))
        return;
    if (status == 204) {
        reply->status = status;
    } else if (PQgetisnull(r, 0, C_BODY)) {
        render_row(req, PQgetvalue(r, 0, C_RESOURCE),
            arena_dupz(req->arena, PQgetvalue(r, 0, C_RESOURCE_ID)), status);
        if (req->problems.n)
            return;
    } else {
        req_respond(reply, status, str_z("ok"));
        reply->replay = arena_dup(
            req->arena, PQgetvalue(r, 0, C_BODY), (size_t)PQgetlength(r, 0, C_BODY));
        req->head.datetime_format = (enum datetime_format)strtol(
            PQgetvalue(r, 0, C_DATETIME), NULL, 10);
    }
    reply->location_header = arena_dupz(req->arena, PQgetvalue(r, 0, C_LOCATION));
    reply->replayed = true;
    atomic_fetch_add_explicit(&req->engine->board->idempotent_replays, 1, memory_order_relaxed);
}

/* Claims the key. Returns true when it is free, and ours until the transaction ends. Else the
 * answer or the problem is on the request. */
static bool idempotency_claim(struct wharf_req *req, const char *mark)
{
    static const char lock_sql[] =
        "SELECT pg_try_advisory_xact_lock(hashtextextended($1::text || ' ' || $2::text, 8))";
    static const char read_sql[] = "SELECT fingerprint = $3::bytea, status, body, resource, "
                                   "resource_id, location, datetime_format, reach::text, "
                                   "areas::text, audience::text"
                                   " FROM wharf.idempotency WHERE organization_id = $1::text AND "
                                   "key = $2::text AND created_at > $4::timestamptz";
    struct sql_arg args[4] = {idempotency_arg(req->access.who->organization),
        idempotency_arg(req->head.idempotency_key), {mark, FINGERPRINT},
        idempotency_moment(req, req->now_us - (int64_t)IDEMPOTENCY_KEPT_S * 1000000)};
    PGresult *r = req_query(req, lock_sql, args, 2);

    if (!r)
        return false;
    if (strcmp(PQgetvalue(r, 0, 0), "t") != 0) {
        req->reply.retry_after = 1;
        req_fail(req, ERR_IDEMPOTENCY_IN_PROGRESS, NULL, NULL);
        return false;
    }
    r = req_query(req, read_sql, args, 4);
    if (r && PQntuples(r))
        replay(req, r);
    return r && !PQntuples(r);
}

/* ---- remembering ---- */

static bool shown_once(const struct req_reply *reply, wharf_str field)
{
    for (size_t i = 0; i < sizeof(reply->one_time) / sizeof(*reply->one_time) && reply->one_time[i];
         i++) {
        if (str_eqz(field, reply->one_time[i]))
            return true;
    }
    return false;
}

/* Returns the body without what was shown this once. */
static wharf_str without_secrets(struct wharf_req *req, wharf_str body)
{
    struct json_error e;
    const struct wharf_json *whole = json_parse(req->arena, body, &e);
    const struct wharf_json *data = whole ? json_get(whole, "data") : NULL;

    if (!req->reply.one_time[0] || !json_is(data, JSON_OBJECT))
        return body;
    for (struct wharf_json *m = data->child; m; m = m->next) {
        if (shown_once(&req->reply, m->key)) {
            m->type = JSON_NULL;
            m->child = NULL;
        }
    }
    return jw_text(req->arena, whole);
}

static bool idempotency_remember(struct wharf_req *req, const char *mark)
{
    struct req_reply *reply = &req->reply;
    static const char sql[] = QUERY_IDEMPOTENCY_REMEMBER;
    wharf_str status = arena_printf(req->arena, "%d", reply->status), body = {"", 0},
              datetime = arena_printf(req->arena, "%d", (int)req->head.datetime_format);
    const char *resource = reply->answered ? reply->answered->def->name : "";
    struct buf b;

    if (reply->status != 204) {
        buf_init(&b, 256u << 20);
        envelope_write(&b, req, reply->status);
        body = without_secrets(req, arena_dup_str(req->arena, buf_str(&b)));
        buf_done(&b);
    }
    if (reply->answered && (body.n > BODY_MAX || reply->answered->def->events.has_fresh))
        body = (wharf_str){"", 0};
    return req_query(req, sql,
               (struct sql_arg[]){idempotency_arg(req->access.who->organization),
                   idempotency_arg(req->head.idempotency_key), {mark, FINGERPRINT},
                   idempotency_moment(req, req->now_us), idempotency_arg(status),
                   idempotency_arg(body), idempotency_arg(str_z(resource)),
                   idempotency_arg(reply->answered_id), idempotency_arg(reply->location_header),
                   idempotency_arg(datetime), idempotency_arg(req->access.who->access.reach),
                   idempotency_arg(request_areas(req)),
                   idempotency_arg(reply->answered ? str_z("") : request_audience(req))},
               13) != NULL;
}

/* ---- the whole ---- */

/* Makes one try. Returns true when it may be tried again. Bytes that are no envelope are not kept:
 * they are made again for the same key. */
static bool attempt(struct wharf_req *req, void (*run)(struct wharf_req *req), const char *mark)
{
    if (req_begin(req) != WHARF_OK)
        return false;
    if (!idempotency_claim(req, mark)) {
        req_rollback(req);
        return false;
    }
    run(req);
    while (req->tx.depth > 1)
        req_rollback(req);
    if (req->problems.n || !(req->reply.raw_type || idempotency_remember(req, mark))) {
        req_rollback(req);
        return req_lost_a_race(&req->problems);
    }
    return req_commit(req) != WHARF_OK && req_lost_a_race(&req->problems);
}

static bool in_one_transaction(const struct route *r)
{
    return r->kind != ROUTE_KERNEL &&
           !(r->kind == ROUTE_PLUGIN && r->declared->flags & (WHARF_R_NO_TX | WHARF_R_READONLY));
}

bool idempotency_key_good(wharf_str key)
{
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] < 0x20 || key.p[i] > 0x7e)
            return false;
    }
    return key.n >= 1 && key.n <= IDEMPOTENCY_KEY_MAX;
}

void idempotent_run(struct wharf_req *req, void (*run)(struct wharf_req *req))
{
    char mark[FINGERPRINT + 1];

    if (req->route->kind == ROUTE_PLUGIN && req->route->declared->flags & WHARF_R_NO_TX) {
        req_fail(req, ERR_PARAM_INVALID, "Idempotency-Key",
            "This route takes no Idempotency-Key; leave it out");
        return;
    }
    if (!in_one_transaction(req->route)) {
        run(req); /* it changes nothing */
        return;
    }
    fingerprint(req, mark);
    for (int i = 0; i < RACE_TRIES; i++) {
        if (i)
            req_clear_problems(&req->problems);
        if (!attempt(req, run, mark))
            return;
    }
}
