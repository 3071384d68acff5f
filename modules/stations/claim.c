/* claim.c - handing jobs to their station: claims that may wait, and giving back (spec 04
 * sections 8.4 and 9.3). */
#include "printing.h"
#include "stations.gen.h"

enum {
    CLAIM_MAX = 16, /* jobs of one claim */
    LINK_S = 3600 /* the link to a document is good */
};

/* ---- which ---- */

static const char candidates_sql[] = QUERY_CLAIM_CANDIDATES;

struct claim {
    struct station_row st;
    wharf_str session;
    int64_t max, wait;
    const wharf_json *printers;
};

static wharf_status read_claim(wharf_req *req, struct claim *c)
{
    const wharf_json *body, *v;
    wharf_status s = W->req->body(req, &body);

    if (s != WHARF_OK)
        return s;
    c->session = json_text(body, "session_id");
    c->max = 1;
    c->wait = 0;
    if ((v = W->json->get(body, "max")))
        W->json->integer(v, &c->max);
    if ((v = W->json->get(body, "wait")))
        W->json->integer(v, &c->wait);
    c->printers = W->json->get(body, "printer_ids");
    return WHARF_OK;
}

/* Computes the room of a station. Whoever takes the station over ends the session under the same
 * lock: after that nothing is handed to the old one. */
static wharf_status claim_room_of(wharf_req *req, const struct claim *c, int64_t *ret)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM stations.print_job WHERE organization_id = $2::text AND "
        "print_station_id = $1::text AND status = 'processing' AND deleted_at IS NULL), EXISTS "
        "(SELECT 1 FROM stations.print_session WHERE organization_id = $2::text AND id = $3::text "
        "AND ended_at IS NULL)";
    wharf_val args[3] = {
        val_text(c->st.id), val_text(W->req->organization(req)), val_text(c->session)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    if (s != WHARF_OK)
        return s;
    if (!row_bool(rows, 0, 1))
        return W->err->fail(req, ERR_PRINT_STATION_SESSION_SUPERSEDED, "session_id", NULL);
    *ret = c->st.max_inflight - row_int(rows, 0, 0);
    if (*ret > c->max)
        *ret = c->max;
    return WHARF_OK;
}

static wharf_val printer_array(wharf_req *req, const wharf_json *list)
{
    size_t n = list ? W->json->count(list) : 0, i = 0;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));

    for (const wharf_json *e = n ? W->json->at(list, 0) : NULL; e; e = W->json->next(e))
        i += W->json->text(e, &ids[i]);
    return val_array(req, ids, i);
}

/* ---- taking ---- */

/* Locks a job that is still to be had. Somebody may have canceled it in between; who holds the row
 * decides. */
static wharf_status lock_queued(wharf_req *req, wharf_str id, int64_t *ret_attempt, bool *ret_there)
{
    static const char sql[] =
        "SELECT attempt FROM stations.print_job WHERE organization_id = $2::text AND id = "
        "$1::text AND status = 'queued' AND deleted_at IS NULL FOR UPDATE SKIP LOCKED";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);

    *ret_there = s == WHARF_OK && W->db->count(rows) != 0;
    if (*ret_there)
        *ret_attempt = row_int(rows, 0, 0);
    return s;
}

static wharf_status claim_take(
    wharf_req *req, const struct claim *c, const wharf_rows *rows, size_t r, bool *ret_taken)
{
    int64_t now = W->req->now_us(req), attempt = 0;
    wharf_status s = lock_queued(req, row_text(rows, r, 0), &attempt, ret_taken);
    const struct job_set sets[] = {{PRINT_JOB_STATUS, job_status_value(JOB_PROCESSING)},
        {PRINT_JOB_STAGE, val_text(WHARF_S("claimed"))}, {PRINT_JOB_ATTEMPT, val_int(attempt + 1)},
        {PRINT_JOB_CLAIMED_AT, val_time(now)}, {PRINT_JOB_REPORTED_AT, val_time(now)},
        {PRINT_JOB_LEASE_EXPIRES_AT, val_time(now + LEASE_S * SECOND_US)},
        {PRINT_JOB_HELD_BY, val_text(c->session)},
        {PRINT_JOB_PRINTER_ID, val_text(row_text(rows, r, 1))},
        {PRINT_JOB_PRINTER_NAME, val_text(row_text(rows, r, 2))},
        {PRINT_JOB_PRINTER_MODEL, val_text(row_text(rows, r, 3))}};

    if (s != WHARF_OK || !*ret_taken)
        return s;
    return job_write(req, row_text(rows, r, 0), sets, sizeof(sets) / sizeof(sets[0]));
}

/* Claims of a station come one after the other, so that no printer gets more than it takes. */
static wharf_status claim_take_all(
    wharf_req *req, const struct claim *c, wharf_str *ids, size_t *ret_n)
{
    wharf_val args[5];
    const wharf_rows *rows;
    int64_t room = 0;
    wharf_status s = W->db->lock(req, "print_claim", c->st.id);

    *ret_n = 0;
    if (s == WHARF_OK)
        s = claim_room_of(req, c, &room);
    if (s != WHARF_OK || c->st.draining || room <= 0)
        return s;
    args[0] = val_text(W->req->organization(req));
    args[1] = val_text(c->st.id);
    args[2] = val_int(room);
    args[3] = printer_array(req, c->printers);
    args[4] = val_time(W->req->now_us(req));
    s = W->db->query(req, candidates_sql, args, 5, &rows);
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows) && *ret_n < CLAIM_MAX; r++) {
        bool taken;

        s = claim_take(req, c, rows, r, &taken);
        if (s == WHARF_OK && taken)
            ids[(*ret_n)++] = row_text(rows, r, 0);
    }
    return s;
}

/* ---- the answer ---- */

/* Writes the job as it is retrieved, and what only its station needs. */
static wharf_status put_job(wharf_req *req, wharf_out *out, wharf_str id)
{
    wharf_out *own = W->json->builder(req);
    wharf_str file, url, type, hash;
    const wharf_json *job;
    const wharf_rec *rec;
    wharf_status s = W->res->fetch(req, "print_job", id, 0, &rec);

    if (s != WHARF_OK)
        return s;
    file = field_text(rec, PRINT_JOB_PREPARED_FILE);
    type = file.n ? WHARF_S("application/pdf")
                  : json_text(field_json(rec, PRINT_JOB_DOCUMENT), "content_type");
    hash = field_text(rec, PRINT_JOB_PREPARED_SHA256);
    if (!file.n)
        file = field_text(rec, PRINT_JOB_SOURCE_FILE);
    s = print_blob->link(req, file, WHARF_BLOB_GET, LINK_S, &url);
    if (s != WHARF_OK)
        return s;
    W->res->encode(req, own, NULL, rec);
    s = W->json->result(req, own, &job);
    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    for (const wharf_json *m = W->json->at(job, 0); m; m = W->json->next(m))
        W->json->put(out, W->json->key(m).p, val_json(m));
    W->json->put(out, "document_url", val_text(url));
    W->json->put(out, "document_type", val_text(type));
    W->json->put(out, "document_sha256", val_text(hash));
    W->json->put(out, "lease_expires_at", val_time(field_int(rec, PRINT_JOB_LEASE_EXPIRES_AT)));
    W->json->close(out);
    return WHARF_OK;
}

static wharf_status claim_answer(wharf_req *req, const wharf_str *ids, size_t n)
{
    wharf_out *out = W->req->respond(
        req, 200, W->mem->format(req, "%zu print job%s claimed", n, n == 1 ? "" : "s").p);
    wharf_status s = WHARF_OK;

    W->json->open(out, NULL, '{');
    W->json->open(out, "jobs", '[');
    for (size_t i = 0; i < n && s == WHARF_OK; i++)
        s = put_job(req, out, ids[i]);
    W->json->close(out);
    W->json->close(out);
    return s;
}

/* Notes that the station is there, as a claim shows, at most every few seconds. */
static wharf_status claim_seen(wharf_req *req, const struct claim *c)
{
    static const char sql[] =
        "UPDATE stations.print_station SET last_seen_at = $3::timestamptz, managed = true WHERE "
        "organization_id = $2::text AND id = $1::text"
        " AND (last_seen_at IS NULL OR last_seen_at < $3::timestamptz - interval '5 seconds')";
    wharf_val args[3] = {
        val_text(c->st.id), val_text(W->req->organization(req)), val_time(W->req->now_us(req))};
    wharf_status s = W->db->exec(req, sql, args, 3, NULL);

    if (s == WHARF_OK && !c->st.draining && !is(c->st.status, "online"))
        s = station_comes_online(req, c->st.id);
    return s;
}

wharf_status job_claim(wharf_req *req, void *arg)
{
    struct claim c = {.max = 1};
    wharf_str ids[CLAIM_MAX], channel;
    int64_t seq = 0;
    size_t n = 0;
    wharf_status s = read_claim(req, &c);

    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = station_enter(req, c.session, &c.st);
    channel = c.st.id;
    if (s == WHARF_OK) /* before the look: what comes after it ends the wait */
        s = print_channel->last(req, channel, &seq);
    if (s == WHARF_OK)
        s = claim_seen(req, &c);
    if (s == WHARF_OK)
        s = claim_take_all(req, &c, ids, &n);
    if (s == WHARF_OK)
        s = W->db->commit(req);
    else
        W->db->rollback(req);
    if (s != WHARF_OK)
        return s;
    if (!n && c.wait && print_channel->park(req, channel, seq, c.wait * 1000))
        return WHARF_OK;
    return claim_answer(req, ids, n);
}

/* ---- giving back ---- */

/* Aborts a job whose printer or station went while it was processed: nobody would ever claim it
 * (rule 4). */
static wharf_status abort_homeless(wharf_req *req, wharf_str id, const char *code)
{
    const struct job_set sets[] = {{PRINT_JOB_STATUS, job_status_value(JOB_ABORTED)},
        {PRINT_JOB_REASON,
            val_text(*code == 's' ? WHARF_S("print station deleted") : WHARF_S("printer removed"))},
        {PRINT_JOB_REASON_CODE, val_text(z(code))},
        {PRINT_JOB_ENDED_AT, val_time(W->req->now_us(req))}};

    return job_write(req, id, sets, sizeof(sets) / sizeof(sets[0]));
}

wharf_status job_give_back(wharf_req *req, wharf_str id, const char *reason)
{
    static const char sql[] =
        "SELECT attempt < max_attempts, pool, print_station_id, printer_id, printer_model FROM "
        "stations.print_job WHERE organization_id = $2::text AND id = $1::text AND status = "
        "'processing'"
        " AND stage IN ('claimed', 'downloading', 'converting') FOR UPDATE";
    wharf_val now = val_time(W->req->now_us(req));
    const struct job_set again[] = {{PRINT_JOB_STATUS, job_status_value(JOB_QUEUED)},
        {PRINT_JOB_STAGE, val_null()}, {PRINT_JOB_HELD_BY, val_null()},
        {PRINT_JOB_LEASE_EXPIRES_AT, val_null()}, {PRINT_JOB_PRINTER_ID, val_null()},
        {PRINT_JOB_PRINTER_NAME, val_null()}};
    const struct job_set failed[] = {{PRINT_JOB_STATUS, job_status_value(JOB_FAILED)},
        {PRINT_JOB_STAGE, val_null()},
        {PRINT_JOB_REASON,
            val_text(W->mem->format(req, "the print station did not print it (%s)", reason))},
        {PRINT_JOB_REASON_CODE, val_text(WHARF_S("station_lost"))},
        {PRINT_JOB_LEASE_EXPIRES_AT, val_null()}, {PRINT_JOB_ENDED_AT, now}};
    size_t n = sizeof(again) / sizeof(again[0]);
    const char *gone;
    const wharf_rows *rows;
    bool pool;
    wharf_status s = station_hold_of(req, id);

    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    if (!row_bool(rows, 0, 0))
        return job_write(req, id, failed, sizeof(failed) / sizeof(failed[0]));
    pool = row_bool(rows, 0, 1);
    s = printer_hold(req, row_text(rows, 0, 2), pool ? WHARF_S("") : row_text(rows, 0, 3),
        row_text(rows, 0, 4), &gone);
    if (s == WHARF_OK) /* the printer of a pool is found anew */
        s = job_write(req, id, again, pool ? n : n - 2);
    return s == WHARF_OK && gone ? abort_homeless(req, id, gone) : s;
}

/* Tells whether the job is of this station and attempt, and not submitted. */
static wharf_status is_held(wharf_req *req, const struct claim *c, const wharf_json *job, bool *ret)
{
    static const char sql[] =
        "SELECT 1 FROM stations.print_job WHERE organization_id = $2::text AND id = $1::text AND "
        "held_by = $3::text AND attempt = $4::bigint"
        " AND status = 'processing'";
    const wharf_json *n = W->json->get(job, "attempt");
    int64_t attempt = -1;
    wharf_val args[4];
    const wharf_rows *rows;
    wharf_status s;

    if (n)
        W->json->integer(n, &attempt);
    args[0] = val_text(json_text(job, "id"));
    args[1] = val_text(W->req->organization(req));
    args[2] = val_text(c->session);
    args[3] = val_int(attempt);
    s = W->db->query(req, sql, args, 4, &rows);
    *ret = s == WHARF_OK && W->db->count(rows);
    return s;
}

wharf_status job_release(wharf_req *req, void *arg)
{
    struct claim c = {.max = 1};
    const wharf_json *body, *jobs;
    wharf_out *out;
    int64_t n = 0;
    wharf_status s = read_claim(req, &c);

    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s == WHARF_OK)
        s = station_enter(req, c.session, &c.st);
    jobs = s == WHARF_OK ? W->json->get(body, "jobs") : NULL;
    for (const wharf_json *e = jobs ? W->json->at(jobs, 0) : NULL; e && s == WHARF_OK;
         e = W->json->next(e)) {
        bool held;

        s = is_held(req, &c, e, &held);
        if (s == WHARF_OK && held)
            s = job_give_back(req, json_text(e, "id"), "released");
        n += held;
    }
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Print jobs released");
    W->json->open(out, NULL, '{');
    W->json->put(out, "released", val_int(n));
    W->json->close(out);
    return WHARF_OK;
}
