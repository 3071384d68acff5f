/* station_rules.c - the rules of print stations (spec 04 sections 2, 3 and 5) that a definition
 * can not say. */
#include <strings.h>

#include "printing.h"
#include "stations.gen.h"

#define STATIONS_MAX 5000 /* of an organization */

/* Counts the elements of an array field as it is, or will be. */
static size_t station_count_of(const wharf_rec *rec, wharf_field f)
{
    wharf_val v;

    return W->res->get(rec, f, &v) && v.type == WHARF_V_JSON ? W->json->count(v.u.j) : 0;
}

/* ---- normalize: what only the body as sent can tell ---- */

static wharf_status station_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    static const char *const verbs[] = {"add", "remove", "set"};
    wharf_val users;
    unsigned n = 0;

    if (!W->res->get(new_rec, PRINT_STATION_ALLOWED_USERS, &users) ||
        W->json->type(users.u.j) != WHARF_J_OBJECT)
        return WHARF_OK;
    for (size_t i = 0; i < 3; i++)
        n += W->json->get(users.u.j, verbs[i]) != NULL;
    if (n == 1)
        return WHARF_OK;
    return W->err->fail(req, ERR_VALIDATION_FAILED, "allowed_users",
        "allowed_users takes exactly one of add, remove and set");
}

/* ---- check ---- */

static wharf_status station_check_location(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    bool arrives = op == WHARF_CREATE ||
                   W->res->changed(old_rec, new_rec, PRINT_STATION_LOCATION_ID);
    uint32_t flags;
    wharf_str id;
    wharf_status s;

    if (!field_get_text(new_rec, PRINT_STATION_LOCATION_ID, &id))
        return WHARF_OK;
    s = stations_locations->flags(req, id, &flags);
    if (s != WHARF_OK)
        return s;
    if (arrives && !(flags & WHARF_LOCATION_ACTIVE))
        return W->err->fail(req, ERR_LOCATION_INACTIVE, "location_id", NULL);
    if (!(flags & WHARF_LOCATION_CLOUD_PRINTING) && (flags & WHARF_LOCATION_KNOWN))
        return W->err->fail(req, ERR_LOCATION_CLOUD_PRINTING_DISABLED, "location_id", NULL);
    return WHARF_OK;
}

/* Checks that users that are added are there (the kernel looked), enabled, and reach the station's
 * location. */
static wharf_status check_users(wharf_req *req, const wharf_rec *new_rec, const wharf_json *input)
{
    bool object = input && W->json->type(input) == WHARF_J_OBJECT;
    const char *verb = object && W->json->get(input, "add") ? ".add" : object ? ".set" : "";
    const wharf_json *list = object ? W->json->get(input, verb + 1) : input;
    size_t n = list ? W->json->count(list) : 0, i = 0;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids)), location = {"", 0};
    uint32_t *flags = W->mem->alloc(req, (n + 1) * sizeof(*flags));
    wharf_status s;

    if (!n || !stations_users)
        return WHARF_OK;
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e))
        W->json->text(e, &ids[i++]);
    field_get_text(new_rec, PRINT_STATION_LOCATION_ID, &location);
    s = stations_users->users(req, ids, n, location, flags);
    for (i = 0; s == WHARF_OK && i < n; i++) {
        const char *path = W->mem->format(req, "allowed_users%s.%zu", verb, i).p;

        if (!(flags[i] & WHARF_USER_KNOWN))
            W->err->add(
                req, ERR_VALIDATION_FAILED, path, "There is no user %.*s", (int)ids[i].n, ids[i].p);
        else if (!(flags[i] & WHARF_USER_ACTIVE))
            W->err->add(req, ERR_VALIDATION_FAILED, path, "The user %.*s is disabled",
                (int)ids[i].n, ids[i].p);
        else if (!(flags[i] & WHARF_USER_LOCATION))
            W->err->add(req, ERR_VALIDATION_FAILED, path,
                "The user %.*s does not reach the station's location", (int)ids[i].n, ids[i].p);
    }
    return s == WHARF_OK ? W->err->current(req) : s;
}

static wharf_status check_audience(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    bool users_sent = W->res->sent(new_rec, PRINT_STATION_ALLOWED_USERS);
    bool all_sent = W->res->sent(new_rec, PRINT_STATION_ALLOW_ALL_USERS);
    bool all = (field_int(new_rec, PRINT_STATION_ALLOW_ALL_USERS) != 0);
    const wharf_json *input = users_sent ? W->res->input(new_rec, PRINT_STATION_ALLOWED_USERS)
                                         : NULL,
                     *empty;
    bool removes = input && W->json->type(input) == WHARF_J_OBJECT && W->json->get(input, "remove");
    wharf_status s;

    if (users_sent && all)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "allowed_users",
            "allowed_users comes with allow_all_users false");
    if (users_sent) {
        s = check_users(req, new_rec, input);
        if (s != WHARF_OK)
            return s;
    }
    if (!all && (all_sent || op == WHARF_CREATE) &&
        (removes || station_count_of(new_rec, PRINT_STATION_ALLOWED_USERS) == 0))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "allow_all_users",
            "allow_all_users false needs somebody in allowed_users: send add or set along with it");
    if (!all || !all_sent || station_count_of(new_rec, PRINT_STATION_ALLOWED_USERS) == 0)
        return WHARF_OK;
    s = W->json->parse(req, WHARF_S("[]"), &empty);
    if (s == WHARF_OK)
        W->res->set(new_rec, PRINT_STATION_ALLOWED_USERS, val_json(empty));
    return s;
}

static wharf_status station_check_room(wharf_req *req)
{
    static const char sql[] =
        "SELECT count(*) FROM (SELECT 1 FROM stations.print_station WHERE organization_id = "
        "$1::text AND deleted_at IS NULL LIMIT " SQL_NUMBER(STATIONS_MAX) ") s";
    wharf_val organization = val_text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, &organization, 1, &rows);

    if (s != WHARF_OK || row_int(rows, 0, 0) < STATIONS_MAX)
        return s;
    return W->err->fail(req, ERR_STATION_TOO_MANY, NULL, NULL);
}

/* Checks both names at once; two writes at the same moment meet in the unique indexes. */
static wharf_status station_check_names(
    wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] =
        "SELECT name_taken, shown_taken FROM stations.names_taken($1::text, $2::text, $3::text, "
        "$4::text)";
    static const wharf_field names[] = {
        PRINT_STATION_NAME, PRINT_STATION_DISPLAY_NAME, PRINT_STATION_LOCATION_ID};
    wharf_val args[4];
    const wharf_rows *rows;
    bool touched = !old_rec;
    wharf_status s;

    for (size_t i = 0; i < 3 && !touched; i++)
        touched = W->res->changed(old_rec, new_rec, names[i]);
    if (!touched)
        return WHARF_OK;
    args[0] = val_text(field_text(new_rec, PRINT_STATION_LOCATION_ID));
    args[1] = val_text(W->res->id(new_rec));
    args[2] = val_text(field_text(new_rec, PRINT_STATION_NAME));
    args[3] = val_text(field_text(new_rec, PRINT_STATION_DISPLAY_NAME));
    s = W->db->query(req, sql, args, 4, &rows);
    if (s != WHARF_OK)
        return s;
    if (row_bool(rows, 0, 0))
        W->err->add(
            req, ERR_STATION_EXISTS, "name", "There is already a Print station with this name");
    if (row_bool(rows, 0, 1))
        W->err->add(req, ERR_STATION_EXISTS, "display_name",
            "There is already a Print station with this display_name");
    return W->err->current(req);
}

/* Checks device_id: the first session claims it; a request can only take it away. */
static wharf_status check_device(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_val v;

    if (!old_rec || !W->res->sent(new_rec, PRINT_STATION_DEVICE_ID) ||
        !W->res->changed(old_rec, new_rec, PRINT_STATION_DEVICE_ID))
        return WHARF_OK;
    if (!W->res->get(new_rec, PRINT_STATION_DEVICE_ID, &v))
        return WHARF_OK;
    return W->err->fail(req, ERR_VALIDATION_FAILED, "device_id",
        "device_id is set by the station's first session; send null to free it");
}

static wharf_str station_member_text(
    const wharf_json *object, const char *key, const char *fallback)
{
    const wharf_json *m = object ? W->json->get(object, key) : NULL;
    wharf_str s = {fallback, strlen(fallback)};

    if (m)
        W->json->text(m, &s);
    return s;
}

/* Checks the driver: one that is not configured would push nothing, and nobody would know. */
static wharf_status station_check_driver(wharf_req *req, const wharf_rec *rec, wharf_str before)
{
    const wharf_json *sent = W->res->sent(rec, PRINT_STATION_PUSH)
                                 ? W->res->input(rec, PRINT_STATION_PUSH)
                                 : NULL;
    wharf_str driver = json_text(sent, "driver");

    if (!driver.n || same(driver, before) || is(driver, "stream") || push_has(driver))
        return WHARF_OK;
    return W->err->fail(req, ERR_VALIDATION_FAILED, "push.driver",
        "This server does not push by %s; send stream, or ask its operator to set stations.push",
        driver.p);
}

/* Settles push. Only the driver is the client's; the rest is what deliveries met with, and begins
 * anew with another device_token. */
static wharf_status settle_push(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *old_push = old_rec ? field_json(old_rec, PRINT_STATION_PUSH) : NULL, *whole,
                     *last;
    const wharf_json *sent = W->res->sent(new_rec, PRINT_STATION_PUSH)
                                 ? W->res->input(new_rec, PRINT_STATION_PUSH)
                                 : NULL;
    bool anew = !old_rec || W->res->changed(old_rec, new_rec, PRINT_STATION_DEVICE_TOKEN);
    wharf_str before = station_member_text(old_push, "driver", old_rec ? "stream" : push_first().p);
    wharf_out *out;
    wharf_status s = station_check_driver(req, new_rec, before);

    if (s != WHARF_OK || (!sent && !anew))
        return s;
    out = W->json->builder(req);
    last = old_push ? W->json->get(old_push, "last_delivery_at") : NULL;
    W->json->open(out, NULL, '{');
    W->json->put(out, "driver", val_text(station_member_text(sent, "driver", before.p)));
    W->json->put(out, "status",
        val_text(anew ? WHARF_S("unknown") : station_member_text(old_push, "status", "unknown")));
    W->json->put(out, "last_delivery_at", anew ? val_null() : val_json(last));
    W->json->close(out);
    s = W->json->result(req, out, &whole);
    if (s == WHARF_OK)
        W->res->set(new_rec, PRINT_STATION_PUSH, val_json(whole));
    return s;
}

/* Settles draining. Of a managed station the status is the server's: a client that says offline
 * drains it, also when it is offline already, and online ends that (section 9.4). */
static void settle_drain(const wharf_rec *old_rec, wharf_rec *new_rec)
{
    if (!old_rec) {
        W->res->set(new_rec, PRINT_STATION_MANAGED, val_bool(false));
        W->res->set(new_rec, PRINT_STATION_DRAINING, val_bool(false));
    } else if (field_int(old_rec, PRINT_STATION_MANAGED) &&
               W->res->sent(new_rec, PRINT_STATION_STATUS)) {
        W->res->set(new_rec, PRINT_STATION_DRAINING,
            val_bool(is(field_text(new_rec, PRINT_STATION_STATUS), "offline")));
    }
}

static wharf_status station_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const char *cause;
    wharf_status s;

    if (op == WHARF_DELETE || (op == WHARF_UPDATE && station_status_cause(new_rec, &cause)))
        return WHARF_OK;
    s = station_check_location(req, op, old_rec, new_rec);
    if (s == WHARF_OK)
        s = check_audience(req, op, new_rec);
    if (s == WHARF_OK)
        s = check_device(req, old_rec, new_rec);
    if (s == WHARF_OK)
        s = station_check_names(req, old_rec, new_rec);
    if (s == WHARF_OK && op == WHARF_CREATE)
        s = station_check_room(req);
    settle_drain(old_rec, new_rec);
    return s == WHARF_OK ? settle_push(req, old_rec, new_rec) : s;
}

/* ---- written ---- */

/* Writes every job that the statement finds ($1 the station, $2 the organization) in this way. */
static wharf_status write_jobs(wharf_req *req, const char *sql, wharf_str station,
    const struct job_set *sets, size_t n, const char *signal)
{
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, station, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        wharf_scope *scope = W->mem->scope_begin(req);

        s = job_write(req, row_text(rows, i, 0), sets, n);
        if (s == WHARF_OK && signal)
            s = station_signal(req, station, signal, row_text(rows, i, 0));
        W->mem->scope_end(req, scope);
    }
    return s;
}

static wharf_status abort_jobs(
    wharf_req *req, const char *sql, wharf_str station, const char *reason, const char *code)
{
    const struct job_set sets[] = {{PRINT_JOB_STATUS, job_status_value(JOB_ABORTED)},
        {PRINT_JOB_REASON, val_text(z(reason))}, {PRINT_JOB_REASON_CODE, val_text(z(code))},
        {PRINT_JOB_ENDED_AT, val_time(W->req->now_us(req))}};

    return write_jobs(req, sql, station, sets, sizeof(sets) / sizeof(sets[0]), NULL);
}

/* Aborts jobs that wait for a printer which is gone: they will never be printed; those being
 * printed run on. A pool that has no member left is gone too. */
static wharf_status abort_jobs_of_removed_printers(wharf_req *req, wharf_str station)
{
    static const char sql[] = QUERY_JOBS_WITHOUT_PRINTER;

    return abort_jobs(req, sql, station, "printer removed", "printer_removed");
}

static wharf_status end_jobs_of_station(wharf_req *req, wharf_str station)
{
    static const char queued_sql[] =
        "SELECT id FROM stations.print_job WHERE organization_id = $2::text AND print_station_id = "
        "$1::text"
        " AND status = 'queued' AND deleted_at IS NULL ORDER BY id FOR UPDATE";
    static const char open_sql[] = "SELECT id FROM stations.print_job WHERE organization_id = "
                                   "$2::text AND print_station_id = $1::text"
                                   " AND status = 'processing' AND cancel_requested_at IS NULL AND "
                                   "deleted_at IS NULL ORDER BY id FOR UPDATE";
    const struct job_set cancel = {PRINT_JOB_CANCEL_REQUESTED_AT, val_time(W->req->now_us(req))};
    wharf_status s = abort_jobs(
        req, queued_sql, station, "print station deleted", "station_deleted");

    if (s == WHARF_OK)
        s = write_jobs(req, open_sql, station, &cancel, 1, "print_job.cancel");
    if (s == WHARF_OK)
        s = station_signal(req, station, "station.deleted", WHARF_S(""));
    return s == WHARF_OK ? station_end_sessions(req, station) : s;
}

static wharf_status tell_status(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const wharf_json *extra;
    const char *cause;
    wharf_str before;
    wharf_status s;

    station_status_cause(new_rec, &cause);
    if (!W->res->changed(old_rec, new_rec, PRINT_STATION_STATUS) ||
        !field_get_text(old_rec, PRINT_STATION_STATUS, &before))
        return WHARF_OK;
    s = W->json->parse(req,
        W->mem->format(
            req, "{\"previous_status\":\"%.*s\",\"cause\":\"%s\"}", (int)before.n, before.p, cause),
        &extra);
    return s == WHARF_OK ? W->event->emit(req, "print_station.status_changed", "print_station",
                               W->res->id(new_rec), extra)
                         : s;
}

static wharf_status station_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_status s = WHARF_OK;
    const char *cause;

    if (op == WHARF_DELETE)
        return end_jobs_of_station(req, W->res->id(old_rec));
    if (op == WHARF_CREATE)
        return WHARF_OK;
    if (W->res->sent(new_rec, PRINT_STATION_PRINTERS))
        s = abort_jobs_of_removed_printers(req, W->res->id(new_rec));
    if (s == WHARF_OK && !station_status_cause(new_rec, &cause))
        s = station_signal(req, W->res->id(new_rec), "station.updated", WHARF_S(""));
    return s == WHARF_OK ? tell_status(req, old_rec, new_rec) : s;
}

const wharf_hooks station_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = station_normalize,
    .check = station_check,
    .written = station_written};

/* ---- on locations ---- */

static wharf_status station_location_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char sql[] =
        "SELECT 1 FROM stations.print_station WHERE organization_id = $2::text AND location_id = "
        "$1::text AND deleted_at IS NULL LIMIT 1";

    return stations_locations->in_use(req, W->res->id(old_rec), "print_stations", sql);
}

/* Removes a deleted user from the lists of those who may print. */
static wharf_status station_user_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] =
        "UPDATE stations.print_station SET allowed_users = allowed_users - $2::text,"
        " version = version + 1 WHERE organization_id = $1::text AND allowed_users ? $2::text";
    wharf_val args[2];

    args[0] = val_text(W->req->organization(req));
    args[1] = val_text(W->res->id(old_rec));
    return W->db->exec(req, sql, args, 2, NULL);
}

const wharf_hooks station_user_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .written = station_user_written, .ops = WHARF_DELETE};
const wharf_hooks station_location_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = station_location_check, .ops = WHARF_DELETE};
