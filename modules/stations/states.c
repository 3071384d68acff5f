/* states.c - the state machine of print jobs (spec 04 section 8): who may change what to what,
 * and what is told of it. Changes that time makes are found by sql/due.sql and made by
 * station_watch.c. */
#include "printing.h"
#include "stations.gen.h"

static const char *const STATUS_WORDS[] = {[JOB_QUEUED] = "queued",
    [JOB_PROCESSING] = "processing",
    [JOB_COMPLETED] = "completed",
    [JOB_FAILED] = "failed",
    [JOB_CANCELED] = "canceled",
    [JOB_ABORTED] = "aborted",
    [JOB_UNREPORTED] = "unreported",
    [JOB_TIMED_OUT] = "timed_out"};

enum job_status job_status(const wharf_rec *job)
{
    size_t n = sizeof(STATUS_WORDS) / sizeof(*STATUS_WORDS),
           i = word_place(field_text(job, PRINT_JOB_STATUS), STATUS_WORDS, n);

    return i < n ? (enum job_status)i : JOB_QUEUED; /* none: a new one */
}

wharf_val job_status_value(enum job_status status)
{
    return val_text(z(STATUS_WORDS[status]));
}

bool job_status_final(enum job_status status)
{
    return status == JOB_COMPLETED || status == JOB_FAILED || status == JOB_CANCELED ||
           status == JOB_ABORTED;
}

static bool in_doubt(enum job_status status)
{
    return status == JOB_TIMED_OUT || status == JOB_UNREPORTED;
}

bool job_stage_submitted(wharf_str stage)
{
    return stage.n && !is(stage, "claimed") && !is(stage, "downloading") &&
           !is(stage, "converting");
}

/* ---- a request for an update ---- */

struct update {
    const wharf_rec *old_rec;
    wharf_rec *new_rec;
    enum job_status from, to;
    struct station_row station;
    bool is_station; /* the caller speaks for the station */
    bool reports; /* it sends what only stations know */
};

static wharf_status no_transition(wharf_req *req, const struct update *u)
{
    return W->err->fail(req, ERR_PRINT_JOB_INVALID_TRANSITION, "status",
        "A print job that is %s can't become %s", STATUS_WORDS[u->from], STATUS_WORDS[u->to]);
}

static void states_set(const struct update *u, wharf_field f, wharf_val v)
{
    W->res->set(u->new_rec, f, v);
}

static void states_keep(const struct update *u, wharf_field f)
{
    wharf_val v;

    states_set(u, f, W->res->get(u->old_rec, f, &v) ? v : val_null());
}

static wharf_str sent_text(const struct update *u, wharf_field f)
{
    return W->res->sent(u->new_rec, f) ? field_text(u->new_rec, f) : WHARF_S("");
}

/* Checks the session of a report: when the station has a session, its reports name it and the
 * attempt that they are about. */
static wharf_status check_session(wharf_req *req, const struct update *u)
{
    int64_t n = W->res->sent(u->new_rec, PRINT_JOB_ATTEMPT)
                    ? field_int(u->new_rec, PRINT_JOB_ATTEMPT)
                    : -1;

    if (!u->station.session_id.n)
        return n >= 0 && n != field_int(u->old_rec, PRINT_JOB_ATTEMPT)
                   ? W->err->fail(req, ERR_PRINT_JOB_SESSION_MISMATCH, "attempt", NULL)
                   : WHARF_OK;
    if (!same(sent_text(u, PRINT_JOB_SESSION_ID), u->station.session_id))
        return W->err->fail(req, ERR_PRINT_JOB_SESSION_MISMATCH, "session_id", NULL);
    return n == field_int(u->old_rec, PRINT_JOB_ATTEMPT)
               ? WHARF_OK
               : W->err->fail(req, ERR_PRINT_JOB_SESSION_MISMATCH, "attempt", NULL);
}

static wharf_status need_station(wharf_req *req, const struct update *u)
{
    return u->is_station ? check_session(req, u)
                         : W->err->fail(req, ERR_SCOPE_ACCESS, "status",
                               "Only the job's print station reports this");
}

static wharf_status states_check_reason(wharf_req *req, const struct update *u)
{
    if (u->to != JOB_FAILED || sent_text(u, PRINT_JOB_REASON).n)
        return WHARF_OK;
    return W->err->fail(req, ERR_VALIDATION_FAILED, "reason",
        "reason says in 3 to 1023 characters why the job failed");
}

/* Settles a job that is over, or as good as. */
static void settle_end(wharf_req *req, const struct update *u)
{
    wharf_val now = val_time(W->req->now_us(req));

    states_set(u, PRINT_JOB_ENDED_AT, now);
    states_set(u, PRINT_JOB_REPORTED_AT, now);
    states_set(u, PRINT_JOB_LEASE_EXPIRES_AT, val_null());
    states_set(u, PRINT_JOB_STAGE, val_null());
    if (u->to == JOB_COMPLETED) {
        states_set(u, PRINT_JOB_COMPLETED_AT, now);
        if (!field_text(u->new_rec, PRINT_JOB_CONFIDENCE).n)
            states_set(u, PRINT_JOB_CONFIDENCE, val_text(WHARF_S("assumed")));
    } else {
        states_set(u, PRINT_JOB_CONFIDENCE, val_null());
    }
}

/* Takes the job by a status update (rule 2). */
static wharf_status states_take(wharf_req *req, const struct update *u)
{
    int64_t now = W->req->now_us(req);

    if (field_int(u->old_rec, PRINT_JOB_EXPIRES_AT) <= now)
        return W->err->fail(
            req, ERR_PRINT_JOB_INVALID_TRANSITION, "status", "The print job has expired");
    states_set(u, PRINT_JOB_ATTEMPT, val_int(field_int(u->old_rec, PRINT_JOB_ATTEMPT) + 1));
    states_set(u, PRINT_JOB_CLAIMED_AT, val_time(now));
    states_set(u, PRINT_JOB_REPORTED_AT, val_time(now));
    states_set(u, PRINT_JOB_HELD_BY, val_text_or_null(u->station.session_id));
    states_set(u, PRINT_JOB_LEASE_EXPIRES_AT,
        u->station.session_id.n ? val_time(now + LEASE_S * SECOND_US) : val_null());
    if (!W->res->sent(u->new_rec, PRINT_JOB_STAGE))
        states_set(u, PRINT_JOB_STAGE, val_text(WHARF_S("claimed")));
    return WHARF_OK;
}

static wharf_status from_queued(wharf_req *req, const struct update *u)
{
    wharf_status s;

    if (u->to == JOB_CANCELED) {
        settle_end(req, u);
        return WHARF_OK;
    }
    s = need_station(req, u);
    if (s != WHARF_OK)
        return s;
    if (u->to == JOB_PROCESSING)
        return states_take(req, u);
    if (u->station.session_id.n || u->to == JOB_ABORTED || u->to == JOB_TIMED_OUT)
        return no_transition(req, u);
    s = states_take(req, u); /* apps that skip processing */
    if (s == WHARF_OK)
        settle_end(req, u);
    return s;
}

/* Notes a wish to cancel while it is printed: the station answers with what became of it. */
static wharf_status ask_to_cancel(wharf_req *req, const struct update *u)
{
    wharf_str id = W->res->id(u->old_rec);

    states_keep(u, PRINT_JOB_STATUS);
    states_keep(u, PRINT_JOB_REASON);
    if (field_int(u->old_rec, PRINT_JOB_CANCEL_REQUESTED_AT))
        return WHARF_OK;
    states_set(u, PRINT_JOB_CANCEL_REQUESTED_AT, val_time(W->req->now_us(req)));
    return station_signal(req, u->station.id, "print_job.cancel", id);
}

static bool station_cancels(const struct update *u)
{
    bool asked = field_int(u->old_rec, PRINT_JOB_CANCEL_REQUESTED_AT) != 0,
         at_device = is(sent_text(u, PRINT_JOB_REASON_CODE), "canceled_at_printer");

    if (!u->is_station)
        return false;
    return u->station.session_id.n ? W->res->sent(u->new_rec, PRINT_JOB_SESSION_ID)
                                   : asked || at_device;
}

static wharf_status from_processing(wharf_req *req, const struct update *u)
{
    wharf_status s;

    if (u->to == JOB_CANCELED && !station_cancels(u))
        return ask_to_cancel(req, u);
    s = need_station(req, u);
    if (s != WHARF_OK)
        return s;
    if (u->to == JOB_CANCELED && !field_int(u->old_rec, PRINT_JOB_CANCEL_REQUESTED_AT) &&
        !is(sent_text(u, PRINT_JOB_REASON_CODE), "canceled_at_printer"))
        return W->err->fail(req, ERR_PRINT_JOB_INVALID_TRANSITION, "status",
            "Nobody asked to cancel the job; one that was canceled at the device has the "
            "reason_code canceled_at_printer");
    if (u->to != JOB_COMPLETED && u->to != JOB_FAILED && u->to != JOB_UNREPORTED &&
        u->to != JOB_CANCELED)
        return no_transition(req, u);
    settle_end(req, u);
    return WHARF_OK;
}

/* Applies rules 14 and 15: the station tells late, or somebody looked. */
static wharf_status from_doubt(wharf_req *req, const struct update *u)
{
    int64_t ended = field_int(u->old_rec, PRINT_JOB_ENDED_AT);
    bool claimed = field_int(u->old_rec, PRINT_JOB_CLAIMED_AT) != 0;
    bool late = u->is_station && W->res->sent(u->new_rec, PRINT_JOB_ATTEMPT);

    if (u->to != JOB_COMPLETED && u->to != JOB_FAILED && !(late && u->to == JOB_CANCELED))
        return no_transition(req, u);
    if (late) {
        wharf_status s = check_session(req, u);

        if (s != WHARF_OK)
            return s;
        if (!claimed || W->req->now_us(req) - ended > LATE_S * SECOND_US)
            return no_transition(req, u);
    } else if (u->reports) {
        return need_station(req, u);
    }
    settle_end(req, u);
    if (!late && u->to == JOB_COMPLETED)
        states_set(u, PRINT_JOB_CONFIDENCE, val_text(WHARF_S("operator")));
    return WHARF_OK;
}

static wharf_status states_change_status(wharf_req *req, const struct update *u)
{
    wharf_status s = states_check_reason(req, u);

    if (s != WHARF_OK)
        return s;
    if (u->from == JOB_QUEUED)
        return from_queued(req, u);
    if (u->from == JOB_PROCESSING)
        return from_processing(req, u);
    if (in_doubt(u->from))
        return from_doubt(req, u);
    return no_transition(req, u);
}

/* Handles the same state again: in processing the station may tell how far it is; of others
 * nothing changes. */
static wharf_status same_status(wharf_req *req, const struct update *u)
{
    static const wharf_field reported[] = {PRINT_JOB_STAGE, PRINT_JOB_PROGRESS,
        PRINT_JOB_PRINTER_STATE_REASONS, PRINT_JOB_DEVICE_JOB_ID, PRINT_JOB_REASON,
        PRINT_JOB_REASON_CODE, PRINT_JOB_CONFIDENCE, PRINT_JOB_ATTEMPT};
    int64_t now = W->req->now_us(req);
    wharf_str stage;

    if (u->from == JOB_PROCESSING && u->reports) {
        wharf_status s = need_station(req, u);

        if (s != WHARF_OK)
            return s;
        stage = field_text(u->new_rec, PRINT_JOB_STAGE);
        states_set(u, PRINT_JOB_REPORTED_AT, val_time(now));
        if (u->station.session_id.n && !job_stage_submitted(stage))
            states_set(u, PRINT_JOB_LEASE_EXPIRES_AT, val_time(now + LEASE_S * SECOND_US));
        if (job_stage_submitted(stage) && !field_int(u->old_rec, PRINT_JOB_SUBMITTED_AT))
            states_set(u, PRINT_JOB_SUBMITTED_AT, val_time(now));
        if (job_stage_submitted(field_text(u->old_rec, PRINT_JOB_STAGE)) &&
            !job_stage_submitted(stage))
            states_keep(u, PRINT_JOB_STAGE); /* bytes that went out do not come back */
        return WHARF_OK;
    }
    for (size_t i = 0; i < sizeof(reported) / sizeof(reported[0]); i++) {
        if (W->res->sent(u->new_rec, reported[i]))
            states_keep(u, reported[i]);
    }
    return WHARF_OK;
}

/* ---- what is changed of a job that waits ---- */

static wharf_status no_such_printer(wharf_req *req, wharf_str name)
{
    return W->err->fail(
        req, ERR_VALIDATION_FAILED, "printer_name", "The print station has no printer %s", name.p);
}

/* Returns what the job asks of a printer. */
static struct wish states_wish_of(const struct update *u, const struct papers *papers)
{
    const wharf_json *configuration = field_json(u->old_rec, PRINT_JOB_CONFIGURATION),
                     *document = field_json(u->old_rec, PRINT_JOB_DOCUMENT),
                     *pages = document ? W->json->get(document, "pages") : NULL;
    int64_t n = 0;

    return (struct wish){.papers = papers,
        .paper = paper_find(papers, field_text(u->old_rec, PRINT_JOB_PAPER_SIZE)),
        .language = field_int(u->old_rec, PRINT_JOB_RAW)
                        ? document_language(json_text(document, "content_type"))
                        : WHARF_S(""),
        .color = json_truth(W->json->get(configuration, "color_print")),
        .double_sided = pages && W->json->integer(pages, &n) && n > 1 &&
                        json_truth(W->json->get(configuration, "double_sided"))};
}

/* Moves the job to a printer. Somebody put it there: it is never rerouted. */
static wharf_status move_to(wharf_req *req, const struct update *u, const struct printer_at *p)
{
    static const char moved[] = "{\"automatic\": false, \"candidates\": 1, \"reason\": \"moved\"}";
    const wharf_json *routing;
    const char *gone;
    wharf_status s = printer_hold(req, p->station_id, p->id, p->model, &gone);

    if (s == WHARF_OK && gone)
        return no_such_printer(req, p->name);
    if (s == WHARF_OK)
        s = W->json->parse(req, z(moved), &routing);
    if (s != WHARF_OK)
        return s;
    states_set(u, PRINT_JOB_PRINTER_ID, val_text(p->id));
    states_set(u, PRINT_JOB_PRINTER_MODEL, val_text(p->model));
    states_set(u, PRINT_JOB_POOL, val_bool(false));
    states_set(u, PRINT_JOB_ROUTING, val_json(routing));
    return WHARF_OK;
}

static wharf_status states_move(wharf_req *req, const struct update *u)
{
    wharf_str station = field_text(u->new_rec, PRINT_JOB_PRINT_STATION_ID),
              name = field_text(u->new_rec, PRINT_JOB_PRINTER_NAME);
    struct station_row row;
    struct printers printers;
    struct papers papers;
    const char *fields[4];
    wharf_status s;

    if (!W->res->sent(u->new_rec, PRINT_JOB_PRINTER_NAME))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "printer_name",
            "A job moves to print_station_id and printer_name together");
    s = station_read(req, station, false, &row);
    if (s == WHARF_OK && !same(row.location_id, field_text(u->old_rec, PRINT_JOB_LOCATION_ID)))
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "print_station_id", "A job stays at its location");
    if (s == WHARF_OK)
        s = papers_load(req, &papers);
    if (s == WHARF_OK)
        s = printers_load(req, W->req->actor(req), row.location_id, station, &printers);
    for (size_t i = 0; s == WHARF_OK && i < printers.n; i++) {
        const struct printer_at *p = &printers.list[i];
        const struct wish w = states_wish_of(u, &papers);
        size_t n = same(p->name, name) ? printer_lacks(p, &w, fields) : 0;

        for (size_t k = 0; k < n; k++)
            W->err->add(
                req, ERR_PRINT_JOB_UNSUPPORTED, fields[k], "The printer %s can't do this", name.p);
        if (same(p->name, name))
            return n ? W->err->current(req) : move_to(req, u, p);
    }
    return s == WHARF_OK ? no_such_printer(req, name) : s;
}

static wharf_status change_waiting(wharf_req *req, const struct update *u)
{
    bool expire = W->res->sent(u->new_rec, PRINT_JOB_EXPIRE_AFTER);
    bool moves = W->res->changed(u->old_rec, u->new_rec, PRINT_JOB_PRINT_STATION_ID) ||
                 W->res->changed(u->old_rec, u->new_rec, PRINT_JOB_PRINTER_NAME);

    if (!expire && !moves && !W->res->changed(u->old_rec, u->new_rec, PRINT_JOB_PRIORITY))
        return WHARF_OK;
    if (u->from != JOB_QUEUED)
        return W->err->fail(req, ERR_PRINT_JOB_INVALID_TRANSITION, "status",
            "Priority, expiry and printer are changed while a job is queued; this one is %s",
            STATUS_WORDS[u->from]);
    if (expire)
        states_set(u, PRINT_JOB_EXPIRES_AT,
            val_time(
                W->req->now_us(req) + field_int(u->new_rec, PRINT_JOB_EXPIRE_AFTER) * SECOND_US));
    return moves ? states_move(req, u) : WHARF_OK;
}

wharf_status job_update_check(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const wharf_field station_only[] = {PRINT_JOB_SESSION_ID, PRINT_JOB_ATTEMPT,
        PRINT_JOB_STAGE, PRINT_JOB_PROGRESS, PRINT_JOB_PRINTER_STATE_REASONS, PRINT_JOB_CONFIDENCE,
        PRINT_JOB_DEVICE_JOB_ID, PRINT_JOB_REASON_CODE};
    struct update u = {.old_rec = old_rec,
        .new_rec = new_rec,
        .from = job_status(old_rec),
        .to = job_status(new_rec)};
    wharf_status s = station_read(
        req, field_text(old_rec, PRINT_JOB_PRINT_STATION_ID), false, &u.station);

    if (s == WHARF_NOT_FOUND) { /* the station is gone: nobody speaks for it */
        W->err->clear(req);
        u.station = (struct station_row){
            .id = WHARF_S(""), .session_id = WHARF_S(""), .device_id = WHARF_S("-")};
        s = WHARF_OK;
    }
    if (s != WHARF_OK)
        return s;
    u.is_station = station_is_caller(req, &u.station);
    for (size_t i = 0; i < sizeof(station_only) / sizeof(station_only[0]); i++)
        u.reports = u.reports || W->res->sent(new_rec, station_only[i]);
    s = change_waiting(req, &u);
    if (s != WHARF_OK)
        return s;
    s = u.from == u.to ? same_status(req, &u) : states_change_status(req, &u);
    if (s == WHARF_OK && W->res->sent(new_rec, PRINT_JOB_ATTEMPT) && u.from != JOB_QUEUED)
        states_keep(&u, PRINT_JOB_ATTEMPT);
    return s;
}

/* ---- what is told ---- */

static wharf_status states_note(wharf_req *req, const wharf_rec *rec, bool late)
{
    static const char sql[] = QUERY_PRINT_JOB_NOTE;
    wharf_val args[8] = {val_text(W->req->organization(req)), val_text(W->res->id(rec)),
        val_time(W->req->now_us(req)), val_text(field_text(rec, PRINT_JOB_STATUS)),
        val_text_or_null(field_text(rec, PRINT_JOB_STAGE)), val_text_or_null(W->req->actor(req)),
        val_text_or_null(field_text(rec, PRINT_JOB_REASON)), val_bool(late)};

    return W->db->exec(req, sql, args, 8, NULL);
}

static wharf_status states_emit(
    wharf_req *req, const char *type, const wharf_rec *old_rec, const wharf_rec *rec, bool late)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *extra;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "previous_status", val_text(field_text(old_rec, PRINT_JOB_STATUS)));
    if (late)
        W->json->put(out, "late", val_bool(true));
    W->json->close(out);
    s = W->json->result(req, out, &extra);
    return s == WHARF_OK ? W->event->emit(req, type, "print_job", W->res->id(rec), extra) : s;
}

static bool states_moved(const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    return !same(field_text(old_rec, PRINT_JOB_PRINT_STATION_ID),
               field_text(new_rec, PRINT_JOB_PRINT_STATION_ID)) ||
           !same(field_text(old_rec, PRINT_JOB_PRINTER_ID),
               field_text(new_rec, PRINT_JOB_PRINTER_ID));
}

static wharf_status tell_change(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    enum job_status from = job_status(old_rec), to = job_status(new_rec);
    wharf_str stage = field_text(new_rec, PRINT_JOB_STAGE);
    bool blocked = is(stage, "blocked") != is(field_text(old_rec, PRINT_JOB_STAGE), "blocked");
    bool late = in_doubt(from) && job_status_final(to) &&
                !is(field_text(new_rec, PRINT_JOB_CONFIDENCE), "operator");
    wharf_status s;

    if (from == to) {
        if (to == JOB_QUEUED && states_moved(old_rec, new_rec)) {
            s = states_note(req, new_rec, false);
            return s == WHARF_OK
                       ? station_signal(req, field_text(new_rec, PRINT_JOB_PRINT_STATION_ID),
                             "print_job.available", W->res->id(new_rec))
                       : s;
        }
        if (same(stage, field_text(old_rec, PRINT_JOB_STAGE)))
            return WHARF_OK;
        s = states_note(req, new_rec, false);
        return s == WHARF_OK && blocked
                   ? states_emit(req, "print_job.updated", old_rec, new_rec, false)
                   : s;
    }
    s = states_note(req, new_rec, late);
    if (s != WHARF_OK)
        return s;
    if (to == JOB_QUEUED) {
        s = station_signal(req, field_text(new_rec, PRINT_JOB_PRINT_STATION_ID),
            "print_job.available", W->res->id(new_rec));
        return s == WHARF_OK ? states_emit(req, "print_job.updated", old_rec, new_rec, false) : s;
    }
    if (to == JOB_PROCESSING)
        return states_emit(req, "print_job.updated", old_rec, new_rec, false);
    return states_emit(
        req, W->mem->format(req, "print_job.%s", STATUS_WORDS[to]).p, old_rec, new_rec, late);
}

wharf_status job_tell(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_status s;

    if (op == WHARF_DELETE)
        return states_emit(req, "print_job.updated", old_rec, old_rec, false);
    if (op == WHARF_UPDATE)
        return tell_change(req, old_rec, new_rec);
    s = states_note(req, new_rec, false);
    return s == WHARF_OK ? station_signal(req, field_text(new_rec, PRINT_JOB_PRINT_STATION_ID),
                               "print_job.available", W->res->id(new_rec))
                         : s;
}
