/* sessions.c - station applications that are connected: sessions, heartbeats, the stream, online
 * and offline (spec 04 section 9). */
#include "printing.h"
#include "stations.gen.h"

enum { DETAIL_MAX = 32, CHANNEL_TEXT = 80, HELLO_TEXT = 120 };

/* The context of writes of a station's status by the server: why. */
static const char cause_kind[] = "stations.cause";
struct cause {
    const char *text;
};

bool station_status_cause(const wharf_rec *rec, const char **ret_cause)
{
    const struct cause *cause = W->res->context(rec, cause_kind);

    *ret_cause = cause ? cause->text : "client";
    return cause != NULL;
}

wharf_status station_set_status(wharf_req *req, wharf_str id, const char *status, const char *why)
{
    struct cause cause = {.text = why};
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "print_station",
        .op = WHARF_UPDATE,
        .id = id,
        .kind = cause_kind,
        .context = &cause};
    wharf_status s = W->json->parse(
        req, W->mem->format(req, "{\"status\":\"%s\"}", status), &w.body);

    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

/* ---- the station of a call ---- */

wharf_status station_read(wharf_req *req, wharf_str id, bool for_update, struct station_row *ret)
{
    static const char sql[] = QUERY_STATION_READ;
    static const char lock_sql[] = "SELECT 1 FROM stations.print_station WHERE organization_id = "
                                   "$2::text AND id = $1::text FOR UPDATE";
    wharf_val args[3] = {
        val_text(id), val_text(W->req->organization(req)), val_text(W->req->actor(req))};
    const wharf_rows *rows;
    wharf_status s = for_update ? query_about(req, lock_sql, id, NULL) : WHARF_OK;

    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 3, &rows);
    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    *ret = (struct station_row){.id = row_text(rows, 0, 0),
        .location_id = row_text(rows, 0, 1),
        .status = row_text(rows, 0, 2),
        .device_id = row_text(rows, 0, 3),
        .managed = row_bool(rows, 0, 4),
        .draining = row_bool(rows, 0, 5),
        .max_inflight = row_int(rows, 0, 6),
        .pooling = row_bool(rows, 0, 7),
        .session_id = row_text(rows, 0, 8),
        .device_token = row_text(rows, 0, 9),
        .push_driver = row_text(rows, 0, 10),
        .push_status = row_text(rows, 0, 11)};
    if (ret->device_id.n && same(ret->device_id, W->req->actor(req)))
        return WHARF_OK;
    s = W->req->need_location(req, ret->location_id);
    if (s != WHARF_OK)
        return s;
    return row_bool(rows, 0, 12) ? WHARF_OK : W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
}

static bool is_device(wharf_str actor)
{
    return actor.n > 4 && !memcmp(actor.p, "dev_", 4);
}

bool station_is_caller(wharf_req *req, const struct station_row *s)
{
    wharf_str actor = W->req->actor(req);

    return is_device(actor) ? same(actor, s->device_id) : !s->device_id.n;
}

static wharf_str path_station(wharf_req *req)
{
    wharf_str id = {"", 0};

    W->req->param(req, "station_id", &id);
    return id;
}

static wharf_status sessions_enter(
    wharf_req *req, wharf_str session_id, bool for_update, struct station_row *ret)
{
    wharf_status s = station_read(req, path_station(req), for_update, ret);

    if (s != WHARF_OK)
        return s;
    if (!station_is_caller(req, ret))
        return W->err->fail(
            req, ERR_SCOPE_ACCESS, NULL, "Only the print station itself may do this");
    return same(session_id, ret->session_id) && session_id.n
               ? WHARF_OK
               : W->err->fail(req, ERR_PRINT_STATION_SESSION_SUPERSEDED, "session_id", NULL);
}

wharf_status station_enter(wharf_req *req, wharf_str session_id, struct station_row *ret)
{
    return sessions_enter(req, session_id, false, ret);
}

wharf_status station_hold_of(wharf_req *req, wharf_str job)
{
    static const char sql[] =
        "SELECT 1 FROM stations.print_station s WHERE s.organization_id = "
        "$2::text AND s.id = (SELECT j.print_station_id FROM stations.print_job j WHERE "
        "j.organization_id = $2::text AND j.id = $1::text) FOR KEY SHARE OF s";

    return query_about(req, sql, job, NULL);
}

static wharf_str channel_of(wharf_req *req, wharf_str station_id)
{
    return W->mem->format(req, "%s", station_id.p);
}

wharf_status station_signal(wharf_req *req, wharf_str station_id, const char *type, wharf_str job)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *data;
    int64_t seq = 0;
    wharf_status s;

    if (!station_id.n)
        return WHARF_OK;
    W->json->open(out, NULL, '{');
    W->json->put(out, "station_id", val_text(station_id));
    if (job.n)
        W->json->put(out, "job_id", val_text(job));
    W->json->close(out);
    s = W->json->result(req, out, &data);
    if (s == WHARF_OK)
        s = print_channel->send(req, channel_of(req, station_id), type, data, &seq);
    return s == WHARF_OK ? push_signal(req, station_id, type, job, seq) : s;
}

/* ---- what a station says of its printers ---- */

struct report {
    const wharf_json *json;
    wharf_str id, name, status;
    const wharf_json *reasons, *uri;
};

/* Removes the user-info part of a URI, which is a secret that nobody asked for. */
static wharf_str plain_uri(wharf_req *req, wharf_str uri)
{
    const char *slashes = strstr(uri.p, "://"), *at, *end;

    if (!slashes)
        return uri;
    end = slashes + 3 + strcspn(slashes + 3, "/?#");
    for (at = end; at > slashes + 3 && at[-1] != '@';)
        at--;
    return at > slashes + 3 ? W->mem->format(req, "%.*s%s", (int)(slashes + 3 - uri.p), uri.p, at)
                            : uri;
}

/* Returns the name of section 3 for an IPP keyword; what has none is `other` and stands in full in
 * state_detail. */
static const char *reason_name(wharf_str keyword)
{
    static const char *const known[] = {"media-empty", "media-low", "media-jam", "cover-open",
        "marker-supply-empty", "marker-supply-low", "paused", "offline", "connecting"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t n = strlen(known[i]);

        if (keyword.n >= n && !memcmp(keyword.p, known[i], n) &&
            (keyword.n == n || keyword.p[n] == '-'))
            return known[i];
    }
    return "other";
}

static wharf_status reasons_json(
    wharf_req *req, const wharf_json *list, wharf_str *ret_names, wharf_str *ret_detail)
{
    wharf_out *names = W->json->writer(req), *detail = W->json->writer(req);
    const char *seen[DETAIL_MAX];
    size_t n = 0, n_seen = 0;

    W->json->open(names, NULL, '[');
    W->json->open(detail, NULL, '[');
    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e && n < DETAIL_MAX;
         e = W->json->next(e), n++) {
        wharf_str text = {"", 0};
        bool known = false;
        const char *name;

        if (!W->json->text(e, &text) || !text.n || is(text, "none"))
            continue;
        name = reason_name(text);
        for (size_t i = 0; i < n_seen; i++)
            known = known || seen[i] == name;
        if (!known) {
            seen[n_seen++] = name;
            W->json->put(names, NULL, val_text(z(name)));
        }
        W->json->put(detail, NULL, val_text(text));
    }
    W->json->close(names);
    W->json->close(detail);
    *ret_names = W->json->result_text(names);
    *ret_detail = W->json->result_text(detail);
    return WHARF_OK;
}

static wharf_status tell_printer(
    wharf_req *req, wharf_str station, const wharf_rows *rows, size_t r)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *extra;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "printer_id", val_text(row_text(rows, r, 0)));
    W->json->put(out, "printer_status", val_text(row_text(rows, r, 1)));
    W->json->put(out, "previous_status", val_text(row_text(rows, r, 2)));
    W->json->put(out, "state_reasons", val_json(row_json(rows, r, 3)));
    W->json->close(out);
    s = W->json->result(req, out, &extra);
    return s == WHARF_OK ? W->event->emit(req, "print_station.printer_status_changed",
                               "print_station", station, extra)
                         : s;
}

/* Tells status changes, at most once per printer and ten seconds. */
static wharf_status tell_printers(wharf_req *req, wharf_str station, const wharf_rows *changed)
{
    wharf_status s = WHARF_OK;

    for (size_t r = 0; s == WHARF_OK && r < W->db->count(changed); r++) {
        if (row_bool(changed, r, 4))
            s = tell_printer(req, station, changed, r);
    }
    return s;
}

static wharf_status report_printer(wharf_req *req, wharf_str station, const struct report *p)
{
    static const char sql[] = QUERY_PRINTER_REPORT;
    wharf_str names = {"", 0}, detail = {"", 0}, uri = {"", 0};
    wharf_val args[9];
    const wharf_rows *rows;
    wharf_status s = p->reasons ? reasons_json(req, p->reasons, &names, &detail) : WHARF_OK;

    if (p->uri)
        W->json->text(p->uri, &uri);
    args[0] = val_text(W->req->organization(req));
    args[1] = val_text(station);
    args[2] = val_text(p->id);
    args[3] = val_text(p->name);
    args[4] = val_text(p->status);
    args[5] = val_text_or_null(names);
    args[6] = val_text_or_null(detail);
    args[7] = val_text(plain_uri(req, uri));
    args[8] = val_time(W->req->now_us(req));
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 9, &rows);
    return s == WHARF_OK ? tell_printers(req, station, rows) : s;
}

/* Counts reports that did not name a printer. One that three reports in a row did not name is
 * offline: a cable that flaps must not drop it. */
static wharf_status miss_printers(wharf_req *req, wharf_str station, const wharf_json *list)
{
    static const char sql[] = QUERY_PRINTERS_MISSED;
    size_t n = W->json->count(list), i = 0;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids)),
              *names = W->mem->alloc(req, (n + 1) * sizeof(*names));
    const wharf_rows *rows;
    wharf_val args[5];
    wharf_status s;

    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e), i++) {
        ids[i] = json_text(e, "id");
        names[i] = json_text(e, "name");
    }
    args[0] = val_text(W->req->organization(req));
    args[1] = val_text(station);
    args[2] = val_array(req, ids, n);
    args[3] = val_array(req, names, n);
    args[4] = val_time(W->req->now_us(req));
    s = W->db->query(req, sql, args, 5, &rows);
    return s == WHARF_OK ? tell_printers(req, station, rows) : s;
}

static wharf_status report_printers(wharf_req *req, wharf_str station, const wharf_json *list)
{
    wharf_status s = WHARF_OK;

    if (!list)
        return WHARF_OK;
    for (const wharf_json *e = W->json->at(list, 0); e && s == WHARF_OK; e = W->json->next(e)) {
        const struct report p = {.id = json_text(e, "id"),
            .name = json_text(e, "name"),
            .status = json_text(e, "status"),
            .reasons = W->json->get(e, "state_reasons"),
            .uri = W->json->get(e, "uri")};

        s = report_printer(req, station, &p);
    }
    return s == WHARF_OK ? miss_printers(req, station, list) : s;
}

/* ---- sessions ---- */

/* Gives back jobs of a session that ends which nobody submitted yet: they are for the next one. */
static wharf_status give_back_all(wharf_req *req, wharf_str session, const char *reason)
{
    static const char sql[] =
        "SELECT id FROM stations.print_job WHERE organization_id = $2::text AND held_by = "
        "$1::text AND status = 'processing'"
        " AND stage IN ('claimed', 'downloading', 'converting') ORDER BY id";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, session, &rows);

    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++)
        s = job_give_back(req, row_text(rows, r, 0), reason);
    return s;
}

static wharf_status end_session(wharf_req *req, const struct station_row *st, const char *by)
{
    static const char sql[] =
        "UPDATE stations.print_session SET ended_at = $3::timestamptz, ended_by = $4::text WHERE "
        "organization_id = $2::text"
        " AND id = $1::text AND ended_at IS NULL";
    wharf_val args[4] = {val_text(st->session_id), val_text(W->req->organization(req)),
        val_time(W->req->now_us(req)), val_text(z(by))};
    wharf_status s;

    if (!st->session_id.n)
        return WHARF_OK;
    /* claims of the session are over, and none begins */
    s = W->db->lock(req, "print_claim", st->id);
    if (s == WHARF_OK)
        s = W->db->exec(req, sql, args, 4, NULL);
    if (s == WHARF_OK)
        s = print_channel->end(req, channel_of(req, st->id),
            is(z(by), "superseded") ? "superseded" : "bye", st->session_id);
    if (s == WHARF_OK)
        s = give_back_all(req, st->session_id, by);
    return s == WHARF_OK
               ? W->event->emit(req, "print_station.session_closed", "print_station", st->id, NULL)
               : s;
}

wharf_status station_end_sessions(wharf_req *req, wharf_str station_id)
{
    static const char sql[] =
        "SELECT id FROM stations.print_session WHERE organization_id = $2::text AND station_id = "
        "$1::text AND ended_at IS NULL";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, station_id, &rows);

    if (s == WHARF_OK && W->db->count(rows)) {
        const struct station_row st = {.id = station_id, .session_id = row_text(rows, 0, 0)};

        s = end_session(req, &st, "station_deleted");
    }
    return s;
}

wharf_status station_comes_online(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "SELECT 1 FROM stations.print_station WHERE organization_id = $2::text AND id = $1::text "
        "AND status = 'offline' AND NOT draining AND deleted_at IS NULL FOR UPDATE";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, id, &rows);

    return s == WHARF_OK && W->db->count(rows) ? station_set_status(req, id, "online", "session")
                                               : s;
}

static wharf_status seen_now(wharf_req *req, const struct station_row *st, const wharf_json *agent)
{
    static const char sql[] = QUERY_STATION_SEEN;
    wharf_val args[4] = {val_text(st->id), val_text(W->req->organization(req)),
        val_time(W->req->now_us(req)), val_json(agent)};

    return W->db->exec(req, sql, args, 4, NULL);
}

/* Notes that the station was seen now, and tells of a session that this is the beginning of; from
 * here on its status is the server's. */
static wharf_status touch(
    wharf_req *req, const struct station_row *st, const wharf_json *agent, const char *event)
{
    wharf_status s = seen_now(req, st, agent);

    if (s == WHARF_OK && event)
        s = W->event->emit(req, event, "print_station", st->id, NULL);
    if (s == WHARF_OK && !st->draining && !is(st->status, "online"))
        s = station_comes_online(req, st->id);
    return s;
}

static wharf_status claim_device(wharf_req *req, struct station_row *st)
{
    static const char sql[] =
        "UPDATE stations.print_station SET device_id = $3::text, version = version + 1 WHERE "
        "organization_id = $2::text AND id = $1::text";
    wharf_str actor = W->req->actor(req);
    wharf_val args[3] = {val_text(st->id), val_text(W->req->organization(req)), val_text(actor)};

    if (st->device_id.n || !is_device(actor))
        return WHARF_OK;
    st->device_id = actor;
    return W->db->exec(req, sql, args, 3, NULL);
}

static wharf_status agent_json(wharf_req *req, const wharf_json *body, const wharf_json **ret)
{
    static const char *const names[] = {"name", "version", "os", "hostname"};
    const wharf_json *agent = W->json->get(body, "agent");
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < 4; i++)
        W->json->put(out, names[i], val_text_or_null(json_text(agent, names[i])));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

static wharf_status add_session(
    wharf_req *req, const struct station_row *st, wharf_str id, const wharf_json *agent)
{
    static const char sql[] = "INSERT INTO stations.print_session (organization_id, id, "
                              "station_id, actor, agent, opened_at, seen_at)"
                              " VALUES ($1::text, $2::text, $3::text, $4::text, $5::jsonb, "
                              "$6::timestamptz, $6::timestamptz)";
    wharf_val args[6] = {val_text(W->req->organization(req)), val_text(id), val_text(st->id),
        val_text(W->req->actor(req)), val_json(agent), val_time(W->req->now_us(req))};

    return W->db->exec(req, sql, args, 6, NULL);
}

static wharf_status answer_session(wharf_req *req, const struct station_row *st, wharf_str id)
{
    const wharf_rec *rec;
    wharf_out *out;
    int64_t seq;
    wharf_status s = print_channel->last(req, channel_of(req, st->id), &seq);

    if (s == WHARF_OK)
        s = W->res->fetch(req, "print_station", st->id, 0, &rec);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 201, "Session opened");
    W->json->open(out, NULL, '{');
    W->json->put(out, "session_id", val_text(id));
    W->json->put(out, "heartbeat_interval", val_int(HEARTBEAT_S));
    W->json->put(out, "offline_after", val_int(print_setting("offline_after")));
    W->json->put(out, "lease_seconds", val_int(LEASE_S));
    W->json->put(out, "seq", val_int(seq));
    W->res->encode(req, out, "station", rec);
    W->json->close(out);
    return WHARF_OK;
}

wharf_status session_open(wharf_req *req, void *arg)
{
    const wharf_json *body, *agent, *takeover;
    struct station_row st = {.device_id = {"", 0}, .session_id = {"", 0}};
    wharf_str id;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = station_read(req, path_station(req), true, &st);
    if (s != WHARF_OK)
        return s;
    if (st.device_id.n && is_device(W->req->actor(req)) && !same(st.device_id, W->req->actor(req)))
        return W->err->fail(req, ERR_PRINT_STATION_DEVICE_MISMATCH, NULL, NULL);
    s = claim_device(req, &st);
    if (s != WHARF_OK)
        return s;
    if (!station_is_caller(req, &st))
        return W->err->fail(req, ERR_PRINT_STATION_DEVICE_MISMATCH, NULL, NULL);
    takeover = W->json->get(body, "takeover");
    if (st.session_id.n && takeover && !json_truth(takeover))
        return W->err->fail(req, ERR_PRINT_STATION_SESSION_ACTIVE, NULL, NULL);
    id = W->req->new_id(req, "prnt_ses");
    s = end_session(req, &st, "superseded");
    if (s == WHARF_OK)
        s = agent_json(req, body, &agent);
    if (s == WHARF_OK)
        s = add_session(req, &st, id, agent);
    if (s == WHARF_OK)
        s = touch(req, &st, agent, "print_station.session_opened");
    if (s == WHARF_OK)
        s = report_printers(req, st.id, W->json->get(body, "printers"));
    return s == WHARF_OK ? answer_session(req, &st, id) : s;
}

wharf_status session_close(wharf_req *req, void *arg)
{
    struct station_row st = {.device_id = {"", 0}, .session_id = {"", 0}};
    wharf_str id = {"", 0};
    wharf_out *out;
    wharf_status s;

    W->req->param(req, "session_id", &id);
    s = sessions_enter(
        req, id, true, &st); /* who takes over at this moment comes before or after */
    if (s == WHARF_OK)
        s = end_session(req, &st, "closed");
    if (s == WHARF_OK && is(st.status, "online"))
        s = station_set_status(req, st.id, "offline", "session");
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Session closed");
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(id));
    W->json->put(out, "object", val_text(WHARF_S("print_session")));
    W->json->put(out, "deleted", val_bool(true));
    W->json->close(out);
    return WHARF_OK;
}

/* ---- heartbeat ---- */

/* Renews the lease of one job, and writes how far it is. A job that is no longer the caller's is
 * left alone. */
static wharf_status renew(wharf_req *req, const struct station_row *st, const wharf_json *job)
{
    static const char sql[] =
        "SELECT stage FROM stations.print_job WHERE organization_id = $2::text AND id = $1::text "
        "AND print_station_id = $3::text"
        " AND status = 'processing' AND attempt = $4::bigint AND deleted_at IS NULL FOR UPDATE";
    int64_t attempt = -1, now = W->req->now_us(req);
    const wharf_json *n = W->json->get(job, "attempt"), *progress = W->json->get(job, "progress");
    wharf_str id = json_text(job, "id"), stage = json_text(job, "stage");
    struct job_set sets[5];
    const wharf_rows *rows;
    wharf_val args[4];
    size_t count = 0;
    wharf_status s;

    if (n)
        W->json->integer(n, &attempt);
    args[0] = val_text(id);
    args[1] = val_text(W->req->organization(req));
    args[2] = val_text(st->id);
    args[3] = val_int(attempt);
    s = W->db->query(req, sql, args, 4, &rows);
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    sets[count++] = (struct job_set){PRINT_JOB_REPORTED_AT, val_time(now)};
    sets[count++] = (struct job_set){
        PRINT_JOB_LEASE_EXPIRES_AT, val_time(now + LEASE_S * SECOND_US)};
    if (stage.n && (job_stage_submitted(stage) || !job_stage_submitted(row_text(rows, 0, 0))))
        sets[count++] = (struct job_set){PRINT_JOB_STAGE, val_text(stage)};
    sets[count++] = (struct job_set){PRINT_JOB_HELD_BY, val_text(st->session_id)};
    if (progress && W->json->type(progress) == WHARF_J_OBJECT)
        sets[count++] = (struct job_set){PRINT_JOB_PROGRESS, val_json(progress)};
    return job_write(req, id, sets, count);
}

static wharf_status put_cancels(wharf_req *req, const struct station_row *st, wharf_out *out)
{
    static const char sql[] =
        "SELECT id FROM stations.print_job WHERE organization_id = $2::text AND print_station_id = "
        "$1::text"
        " AND status = 'processing' AND cancel_requested_at IS NOT NULL ORDER BY id";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, st->id, &rows);

    W->json->open(out, "cancel", '[');
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++)
        W->json->put(out, NULL, val_text(row_text(rows, r, 0)));
    W->json->close(out);
    return s;
}

wharf_status session_heartbeat(wharf_req *req, void *arg)
{
    const wharf_json *body, *jobs;
    struct station_row st = {.device_id = {"", 0}, .session_id = {"", 0}};
    wharf_out *out;
    int64_t seq;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = station_enter(req, json_text(body, "session_id"), &st);
    if (s == WHARF_OK)
        s = touch(req, &st, NULL, NULL);
    if (s == WHARF_OK)
        s = report_printers(req, st.id, W->json->get(body, "printers"));
    jobs = s == WHARF_OK ? W->json->get(body, "jobs") : NULL;
    for (const wharf_json *e = jobs ? W->json->at(jobs, 0) : NULL; e && s == WHARF_OK;
         e = W->json->next(e))
        s = renew(req, &st, e);
    if (s == WHARF_OK)
        s = print_channel->last(req, channel_of(req, st.id), &seq);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Heartbeat noted");
    W->json->open(out, NULL, '{');
    s = put_cancels(req, &st, out);
    W->json->put(out, "seq", val_int(seq));
    W->json->close(out);
    return s;
}

/* ---- the stream ---- */

wharf_status station_stream(wharf_req *req, void *arg)
{
    wharf_str session = {"", 0}, text = {"", 0};
    struct station_row st = {.device_id = {"", 0}, .session_id = {"", 0}};
    wharf_channel_stream stream = {.head = WHARF_HEAD(wharf_channel_stream), .after = -1};
    wharf_status s;

    W->req->param(req, "session_id", &session);
    s = station_enter(req, session, &st);
    if (s != WHARF_OK)
        return s;
    if (W->req->param(req, "after", &text)) {
        stream.after = 0;
        for (size_t i = 0; i < text.n; i++) {
            if (text.p[i] < '0' || text.p[i] > '9' || text.n > 18)
                return W->err->fail(
                    req, ERR_PARAM_INVALID, "after", "after is the number of a frame");
            stream.after = stream.after * 10 + (text.p[i] - '0');
        }
    }
    stream.channel = channel_of(req, st.id);
    stream.tag = session;
    stream.hello = W->mem->format(req, "{\"session_id\":\"%s\"}", session.p);
    return print_channel->stream(req, &stream);
}
