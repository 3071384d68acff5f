/* station_watch.c - what time does to print jobs and stations: expiry, leases, silence, offline,
 * rerouting, erasing of bytes (spec 04 sections 7, 8 and 9.4).
 *
 * A resident: each job worker looks every second; who does what is settled by row locks. Each
 * finding is one transaction, as the system of its organization. */
#include "printing.h"
#include "stations.gen.h"

enum {
    LOOK_EVERY_S = 1, /* between two looks */
    BATCH = 200, /* jobs of one look */
    FORGET_EVERY_S = 3600, /* between two rounds that remove old rows */
    REROUTE_EVERY_S = 30 /* between two looks for jobs that are stranded */
};

struct finding {
    wharf_str organization, id, kind;
};

static wharf_status station_watch_expire(wharf_req *req, wharf_str id)
{
    static const char sql[] = "SELECT 1 FROM stations.print_job WHERE organization_id = $2::text "
                              "AND id = $1::text AND status = 'queued'"
                              " AND expires_at <= $3::timestamptz FOR UPDATE SKIP LOCKED";
    wharf_val now = val_time(W->req->now_us(req));
    wharf_val args[3] = {val_text(id), val_text(W->req->organization(req)), now};
    const struct job_set sets[] = {{PRINT_JOB_STATUS, job_status_value(JOB_TIMED_OUT)},
        {PRINT_JOB_REASON, val_text(WHARF_S("nobody took it in time"))},
        {PRINT_JOB_REASON_CODE, val_text(WHARF_S("expired"))}, {PRINT_JOB_ENDED_AT, now}};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    return s == WHARF_OK && W->db->count(rows)
               ? job_write(req, id, sets, sizeof(sets) / sizeof(sets[0]))
               : s;
}

static wharf_status end_lease(wharf_req *req, wharf_str id)
{
    static const char sql[] = QUERY_LEASE_OVER;
    wharf_val args[3] = {
        val_text(id), val_text(W->req->organization(req)), val_time(W->req->now_us(req))};
    const wharf_rows *rows;
    wharf_status s = station_hold_of(req, id);

    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 3, &rows);
    return s == WHARF_OK && W->db->count(rows) ? job_give_back(req, id, "its lease ran out") : s;
}

/* Ends a job that is not reported. Paper may exist: it is never retried by itself. */
static wharf_status end_silence(wharf_req *req, wharf_str id)
{
    static const char sql[] = "SELECT 1 FROM stations.print_job WHERE organization_id = $2::text "
                              "AND id = $1::text AND status = 'processing'"
                              " AND reported_at <= $3::timestamptz - make_interval(secs => "
                              "$4::bigint) FOR UPDATE SKIP LOCKED";
    wharf_val now = val_time(W->req->now_us(req));
    wharf_val args[4] = {val_text(id), val_text(W->req->organization(req)), now,
        val_int(print_setting("processing_timeout"))};
    const struct job_set sets[] = {{PRINT_JOB_STATUS, job_status_value(JOB_TIMED_OUT)},
        {PRINT_JOB_STAGE, val_null()},
        {PRINT_JOB_REASON,
            val_text(WHARF_S("the print station does not report; look whether it was printed"))},
        {PRINT_JOB_REASON_CODE, val_text(WHARF_S("processing_timeout"))},
        {PRINT_JOB_LEASE_EXPIRES_AT, val_null()}, {PRINT_JOB_ENDED_AT, now}};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    return s == WHARF_OK && W->db->count(rows)
               ? job_write(req, id, sets, sizeof(sets) / sizeof(sets[0]))
               : s;
}

static wharf_status set_offline(wharf_req *req, wharf_str id)
{
    static const char sql[] = "SELECT 1 FROM stations.print_station WHERE organization_id = "
                              "$2::text AND id = $1::text AND status = 'online'"
                              " AND managed AND deleted_at IS NULL AND last_seen_at <= "
                              "$3::timestamptz - make_interval(secs => $4::bigint) "
                              "FOR UPDATE SKIP LOCKED";
    wharf_val args[4] = {val_text(id), val_text(W->req->organization(req)),
        val_time(W->req->now_us(req)), val_int(print_setting("offline_after"))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 4, &rows);

    return s == WHARF_OK && W->db->count(rows)
               ? station_set_status(req, id, "offline", "heartbeat_missed")
               : s;
}

/* Erases the bytes of what was over long enough ago. */
static wharf_status erase_bytes(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "UPDATE stations.print_job SET source_file = NULL, prepared_file = NULL FROM (SELECT "
        "source_file AS a, prepared_file AS b"
        " FROM stations.print_job WHERE organization_id = $2::text AND id = $1::text FOR UPDATE) "
        "old"
        " WHERE organization_id = $2::text AND id = $1::text RETURNING old.a, old.b";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);

    for (size_t c = 0; s == WHARF_OK && c < 2 && W->db->count(rows); c++) {
        wharf_str file = row_text(rows, 0, c);

        wharf_status gone = file.n ? print_blob->remove(req, file) : WHARF_OK;

        if (gone != WHARF_OK && gone != WHARF_NOT_FOUND)
            s = gone;
    }
    return s;
}

static wharf_status write_route(
    wharf_req *req, wharf_str id, const struct printer_at *to, size_t candidates)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *routing;
    struct job_set sets[6];
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "automatic", val_bool(true));
    W->json->put(out, "candidates", val_int((int64_t)candidates));
    W->json->put(out, "reason", val_text(WHARF_S("rerouted")));
    W->json->close(out);
    s = W->json->result(req, out, &routing);
    sets[0] = (struct job_set){PRINT_JOB_PRINT_STATION_ID, val_text(to->station_id)};
    sets[1] = (struct job_set){PRINT_JOB_PRINTER_ID, to->pooled ? val_null() : val_text(to->id)};
    sets[2] = (struct job_set){
        PRINT_JOB_PRINTER_NAME, to->pooled ? val_null() : val_text(to->name)};
    sets[3] = (struct job_set){PRINT_JOB_PRINTER_MODEL, val_text(to->model)};
    sets[4] = (struct job_set){PRINT_JOB_POOL, val_bool(to->pooled)};
    sets[5] = (struct job_set){PRINT_JOB_ROUTING, val_json(routing)};
    return s == WHARF_OK ? job_write(req, id, sets, sizeof(sets) / sizeof(sets[0])) : s;
}

/* Reroutes a job to the best printer that answers, among those that whoever made the job may use;
 * without one the job stays where it is. */
static wharf_status reroute(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "SELECT location_id, paper_size, configuration, COALESCE(created_by, ''), "
        "print_station_id, COALESCE(printer_id, '') FROM stations.print_job WHERE "
        "organization_id = $2::text AND id = $1::text AND status = 'queued' AND NOT raw"
        " AND (routing ->> 'automatic')::boolean FOR UPDATE SKIP LOCKED";
    const struct printer_at *best;
    const wharf_json *configuration;
    struct printers printers;
    struct papers papers;
    struct wish w = {.papers = &papers};
    const wharf_rows *rows;
    const char *reason, *gone;
    size_t n;
    wharf_status s = query_about(req, sql, id, &rows);

    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    s = W->db->lock(req, "print_route", row_text(rows, 0, 0));
    if (s == WHARF_OK)
        s = papers_load(req, &papers);
    if (s == WHARF_OK)
        s = printers_load(req, row_text(rows, 0, 3), row_text(rows, 0, 0), WHARF_S(""), &printers);
    if (s != WHARF_OK)
        return s;
    configuration = row_json(rows, 0, 2);
    w.paper = paper_find(&papers, row_text(rows, 0, 1));
    w.color = json_truth(W->json->get(configuration, "color_print"));
    w.double_sided = json_truth(W->json->get(configuration, "double_sided"));
    best = printer_choose(&printers, &w, &n, &reason);
    if (!best || !printer_reachable(best) ||
        (same(best->station_id, row_text(rows, 0, 4)) &&
            same(best->pooled ? WHARF_S("") : best->id,
                row_text(rows, 0, 5)))) /* it is where it should be */
        return WHARF_OK;
    s = printer_hold(
        req, best->station_id, best->pooled ? WHARF_S("") : best->id, best->model, &gone);
    return s == WHARF_OK && !gone ? write_route(req, id, best, n) : s;
}

static wharf_status station_watch_settle(wharf_req *req, const struct finding *f)
{
    if (is(f->kind, "expired"))
        return station_watch_expire(req, f->id);
    if (is(f->kind, "lease"))
        return end_lease(req, f->id);
    if (is(f->kind, "silent"))
        return end_silence(req, f->id);
    if (is(f->kind, "offline"))
        return set_offline(req, f->id);
    return is(f->kind, "stranded") ? reroute(req, f->id) : erase_bytes(req, f->id);
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
    s = station_watch_settle(req, f);
    if (s != WHARF_OK || W->db->commit(req) != WHARF_OK)
        W->db->rollback(req); /* found again at the next look */
    W->err->clear(req);
}

/* Looks for what is due. grace: whoever was silent while nobody listened has time to be heard
 * again. */
static size_t station_watch_look(wharf_req *req, bool grace)
{
    static const char sql[] =
        "SELECT organization_id, id, kind FROM stations.due($1::timestamptz, "
        "make_interval(secs => $2::bigint), make_interval(secs => "
        "$3::bigint), make_interval(hours => $4::bigint::integer), $5::bigint::integer)";
    wharf_val args[5] = {val_time(W->req->now_us(req)),
        val_int(print_setting("processing_timeout")), val_int(print_setting("offline_after")),
        val_int(print_setting("retention_hours")), val_int(BATCH)};
    const wharf_rows *rows;
    struct finding *list;
    size_t n, settled = 0;

    if (print_events->act_for(req, WHARF_S("")) != WHARF_OK ||
        query_alone(req, sql, args, 5, &rows) != WHARF_OK) {
        W->err->clear(req);
        return 0;
    }
    n = W->db->count(rows);
    list = W->mem->alloc(req, (n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++)
        list[i] = (struct finding){
            row_text(rows, i, 0), row_text(rows, i, 1), row_text(rows, i, 2)};
    for (size_t i = 0; i < n && !W->req->cancelled(req); i++) {
        wharf_scope *scope = W->mem->scope_begin(req);

        if (!grace || !is(list[i].kind, "offline")) {
            settle_one(req, &list[i]);
            settled++;
        }
        W->mem->scope_end(req, scope);
    }
    return settled;
}

/* Looks for stranded jobs, not at each look: where there is no better printer nothing changes. */
static void look_for_stranded(wharf_req *req)
{
    static const char sql[] =
        "SELECT organization_id, id FROM stations.stranded($1::timestamptz, make_interval(secs "
        "=> $2::bigint), $3::bigint::integer)";
    wharf_val args[3] = {
        val_time(W->req->now_us(req)), val_int(print_setting("reroute_after")), val_int(BATCH)};
    const wharf_rows *rows;

    if (print_events->act_for(req, WHARF_S("")) != WHARF_OK ||
        query_alone(req, sql, args, 3, &rows) != WHARF_OK) {
        W->err->clear(req);
        return;
    }
    for (size_t i = 0; i < W->db->count(rows) && !W->req->cancelled(req); i++) {
        const struct finding f = {row_text(rows, i, 0), row_text(rows, i, 1), WHARF_S("stranded")};
        wharf_scope *scope = W->mem->scope_begin(req);

        settle_one(req, &f);
        W->mem->scope_end(req, scope);
    }
}

static void station_watch_forget(wharf_req *req)
{
    static const char sql[] = "SELECT stations.forget($1::timestamptz, 10000)";
    wharf_val now = val_time(W->req->now_us(req));
    const wharf_rows *rows;

    if (print_events->act_for(req, WHARF_S("")) != WHARF_OK ||
        query_alone(req, sql, &now, 1, &rows) != WHARF_OK)
        W->err->clear(req);
}

/* Tells whether it is due. The kernel clock may be set back. */
static bool due(int64_t now, int64_t next, int64_t every_s)
{
    return now >= next || next - now > every_s * SECOND_US;
}

wharf_status print_watch(wharf_req *req, void *arg)
{
    int64_t next_forget = 0, next_reroute = 0, next_look = 0, begun = W->req->now_us(req);

    while (!W->req->cancelled(req)) {
        wharf_scope *scope = W->mem->scope_begin(req);
        int64_t now = W->req->now_us(req);

        if (now < begun)
            begun = 0; /* the clock was set back: as if it ran for long */
        if (due(now, next_forget, FORGET_EVERY_S)) {
            next_forget = now + FORGET_EVERY_S * SECOND_US;
            station_watch_forget(req);
        }
        if (print_setting("reroute_after") > 0 && due(now, next_reroute, REROUTE_EVERY_S)) {
            next_reroute = now + REROUTE_EVERY_S * SECOND_US;
            look_for_stranded(req);
        }
        /* each event of anybody ends the wait: what is due here comes with time alone */
        if (due(now, next_look, LOOK_EVERY_S)) {
            bool grace = now - begun < print_setting("offline_after") * SECOND_US;

            next_look = station_watch_look(req, grace) < BATCH ? now + LOOK_EVERY_S * SECOND_US
                                                               : now;
        }
        print_events->wait(req, (next_look - now) / 1000);
        W->mem->scope_end(req, scope);
    }
    return WHARF_OK;
}
