/* watch.c - what time does to print jobs and stations: expiry, leases, silence, offline, rerouting, erasing of bytes (spec 04 sections 8 and 9.4).
 *
 * A resident: each job worker looks every second; who does what is settled by row locks. Each finding is one transaction, as the system of its
 * organization.
 */
#include "printing.h"
#include "stations.gen.h"

enum { LOOK_MS = 1000, BATCH = 200, FORGET_EVERY_S = 3600, OFFLINE_EVERY_S = 5 };

struct finding {
    wharf_str organization, id, kind;
};

static wharf_status expire(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "SELECT 1 FROM stations.print_job WHERE organization_id = $2::text AND id = $1::text AND status = 'queued'"
        " AND expires_at <= $3::timestamptz FOR UPDATE SKIP LOCKED";
    wharf_val now = val_time(W->req->now_us(req));
    wharf_val args[3] = {val_text(id), val_text(W->req->organization(req)), now};
    const struct job_set sets[] = {{PRINT_JOB_STATUS, val_text(WHARF_S("timed_out"))},
        {PRINT_JOB_REASON, val_text(WHARF_S("nobody took it in time"))},
        {PRINT_JOB_REASON_CODE, val_text(WHARF_S("expired"))}, {PRINT_JOB_ENDED_AT, now}};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    return s == WHARF_OK && W->db->count(rows) ? job_write(req, id, sets, sizeof(sets) / sizeof(sets[0])) : s;
}

static wharf_status end_lease(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "SELECT 1 FROM stations.print_job WHERE organization_id = $2::text AND id = $1::text AND status = 'processing'"
        " AND stage IN ('claimed', 'downloading', 'converting') AND lease_expires_at <= $3::timestamptz FOR UPDATE "
        "SKIP LOCKED";
    wharf_val args[3] = {val_text(id), val_text(W->req->organization(req)), val_time(W->req->now_us(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    return s == WHARF_OK && W->db->count(rows) ? job_give_back(req, id, "its lease ran out") : s;
}

/* Paper may exist: never retried by itself. */
static wharf_status end_silence(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "SELECT 1 FROM stations.print_job WHERE organization_id = $2::text AND id = $1::text AND status = 'processing'"
        " AND reported_at <= $3::timestamptz - make_interval(secs => $4::bigint) FOR UPDATE SKIP LOCKED";
    wharf_val now = val_time(W->req->now_us(req));
    wharf_val args[4] = {
        val_text(id), val_text(W->req->organization(req)), now, val_int(print_setting("processing_timeout", 600))};
    const struct job_set sets[] = {{PRINT_JOB_STATUS, val_text(WHARF_S("timed_out"))}, {PRINT_JOB_STAGE, val_null()},
        {PRINT_JOB_REASON, val_text(WHARF_S("the print station does not report; look whether it was printed"))},
        {PRINT_JOB_REASON_CODE, val_text(WHARF_S("processing_timeout"))}, {PRINT_JOB_LEASE_EXPIRES_AT, val_null()},
        {PRINT_JOB_ENDED_AT, now}};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    return s == WHARF_OK && W->db->count(rows) ? job_write(req, id, sets, sizeof(sets) / sizeof(sets[0])) : s;
}

static wharf_status set_offline(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "SELECT 1 FROM stations.print_station WHERE organization_id = $2::text AND id = $1::text AND status = 'online'"
        " AND managed AND deleted_at IS NULL AND last_seen_at <= $3::timestamptz - make_interval(secs => $4::bigint) "
        "FOR UPDATE SKIP LOCKED";
    wharf_val args[4] = {val_text(id), val_text(W->req->organization(req)), val_time(W->req->now_us(req)),
        val_int(print_setting("offline_after", 90))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    return s == WHARF_OK && W->db->count(rows) ? station_set_status(req, id, "offline", "heartbeat_missed") : s;
}

/* The bytes of what was over long enough ago are erased. */
static wharf_status erase_bytes(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "UPDATE stations.print_job SET source_file = NULL, prepared_file = NULL FROM (SELECT source_file AS a, "
        "prepared_file AS b"
        " FROM stations.print_job WHERE organization_id = $2::text AND id = $1::text FOR UPDATE) old"
        " WHERE organization_id = $2::text AND id = $1::text RETURNING old.a, old.b";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);

    for (size_t c = 0; s == WHARF_OK && c < 2 && W->db->count(rows); c++) {
        wharf_str file = row_text(rows, 0, c);

        if (file.n && print_blob->remove(req, file) == WHARF_UNAVAILABLE)
            s = WHARF_UNAVAILABLE;
    }
    return s;
}

static wharf_status settle(wharf_req *req, const struct finding *f)
{
    if (is(f->kind, "expired"))
        return expire(req, f->id);
    if (is(f->kind, "lease"))
        return end_lease(req, f->id);
    if (is(f->kind, "silent"))
        return end_silence(req, f->id);
    if (is(f->kind, "offline"))
        return set_offline(req, f->id);
    return erase_bytes(req, f->id);
}

static void settle_one(wharf_req *req, const struct finding *f)
{
    wharf_status s = print_events->act_for(req, f->organization);

    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK) {
        W->err->clear(req);
        return;
    }
    s = settle(req, f);
    if (s != WHARF_OK || W->db->commit(req) != WHARF_OK)
        W->db->rollback(req); /* found again at the next look */
    W->err->clear(req);
}

static size_t look(wharf_req *req)
{
    static const char sql[] =
        "SELECT organization_id, id, kind FROM stations.due($1::timestamptz, make_interval(secs => $2::bigint),"
        " make_interval(secs => $3::bigint), make_interval(hours => $4::bigint::integer), $5::bigint::integer)";
    wharf_val args[5] = {val_time(W->req->now_us(req)), val_int(print_setting("processing_timeout", 600)),
        val_int(print_setting("offline_after", 90)), val_int(print_setting("retention_hours", 72)), val_int(BATCH)};
    const wharf_rows *rows;
    struct finding *list;
    size_t n;

    if (print_events->act_for(req, WHARF_S("")) != WHARF_OK || query_alone(req, sql, args, 5, &rows) != WHARF_OK) {
        W->err->clear(req);
        return 0;
    }
    n = W->db->count(rows);
    list = W->mem->alloc(req, (n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++)
        list[i] = (struct finding){row_text(rows, i, 0), row_text(rows, i, 1), row_text(rows, i, 2)};
    for (size_t i = 0; i < n && !W->req->cancelled(req); i++) {
        wharf_scope *scope = W->mem->scope_begin(req);

        settle_one(req, &list[i]);
        W->mem->scope_end(req, scope);
    }
    return n;
}

static void forget(wharf_req *req)
{
    static const char sql[] = "SELECT stations.forget($1::timestamptz, 10000)";
    wharf_val now = val_time(W->req->now_us(req));
    const wharf_rows *rows;

    if (print_events->act_for(req, WHARF_S("")) != WHARF_OK || query_alone(req, sql, &now, 1, &rows) != WHARF_OK)
        W->err->clear(req);
}

wharf_status print_watch(wharf_req *req, void *arg)
{
    int64_t next_forget = 0;

    while (!W->req->cancelled(req)) {
        wharf_scope *scope = W->mem->scope_begin(req);
        int64_t now = W->req->now_us(req);

        if (now >= next_forget) {
            next_forget = now + FORGET_EVERY_S * SECOND_US;
            forget(req);
        }
        if (look(req) < BATCH)
            print_events->wait(req, LOOK_MS);
        W->mem->scope_end(req, scope);
    }
    return WHARF_OK;
}
