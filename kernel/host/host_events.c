/* host_events.c - the service wharf.events (plugin-api/wharf/service/events.h) on top of event/. */
#include <stdio.h>

#include "event/processor.h"
#include "event/steps.h"
#include "db/notifier.h"
#include "http/stream.h"
#include "job/side_statement.h"
#include "job/job.h"
#include "host/declare.h"
#include "host/host.h"
#include "identity/seen_parts.h"
#include "resource/history.h"

#include "util/id.h"
#include "util/str.h"
#include "wharf/errors.h"

static wharf_status ev_parsed(wharf_req *req, const wharf_event *e, const wharf_json **ret_body)
{
    return event_parse(req, (struct event *)e, ret_body); /* pub is the first member */
}

static wharf_status ev_read(
    wharf_req *req, const wharf_str *ids, size_t n, const wharf_event *const **ret_events)
{
    struct event **list = ARENA_ARRAY(req->arena, struct event *, n + 1);

    if (!event_read(req, ids, n, list))
        return req_failed(req);
    for (size_t i = 0; i < n; i++) {
        if (list[i])
            list[i] = event_for(req->arena, req->access.who, NULL, list[i]);
    }
    *ret_events = (const wharf_event *const *)list;
    return WHARF_OK;
}

static wharf_status ev_range(wharf_req *req, int64_t since_us, int64_t until_us,
    int64_t after_sequence, size_t most, const wharf_event *const **ret_events, size_t *ret_n)
{
    struct event **list;

    if (!event_range(req, since_us, until_us, after_sequence, most, &list, ret_n))
        return req_failed(req);
    *ret_events = (const wharf_event *const *)list;
    return WHARF_OK;
}

/* ---- the catalogue ---- */

static size_t ev_type_count(const wharf_plugin *self)
{
    return self->engine->n_event_types;
}

static void give_type(const struct event_type *t, wharf_event_type *ret)
{
    wharf_event_type full = {.head = ret->head,
        .type = str_z(t->type),
        .description = str_z(t->description),
        .resource_type = str_z(t->resource_type),
        .module = str_z(t->module),
        .system = t->system,
        .supersedable = t->supersedable,
        .deprecated = t->deprecated,
        .schema = {t->schema_path, strlen(t->schema_path)},
        .example = t->example_text};

    memcpy(ret, &full, ret->head.size < sizeof(full) ? ret->head.size : sizeof(full));
}

static bool ev_type_at(const wharf_plugin *self, size_t i, wharf_event_type *ret_type)
{
    if (i >= self->engine->n_event_types)
        return false;
    give_type(&self->engine->event_types[i], ret_type);
    return true;
}

static bool ev_type_find(const wharf_plugin *self, wharf_str type, wharf_event_type *ret_type)
{
    const struct event_type *t = event_type_find(self->engine, type);

    if (t)
        give_type(t, ret_type);
    return t != NULL;
}

static bool ev_matches(const wharf_plugin *self, wharf_str pattern, wharf_str type)
{
    const struct event_type *t = event_type_find(self->engine, type);

    return t && event_matches(t, type, pattern);
}

static bool ev_pattern_known(const wharf_plugin *self, wharf_str pattern)
{
    return event_pattern_known(self->engine, pattern);
}

/* ---- causes ---- */

static void ev_cause(wharf_req *req, wharf_str batch_id, uint32_t depth, bool disable_webhooks)
{
    req->batch_id = arena_dup_str(req->arena, batch_id);
    req->depth = (int)depth;
    req->disable_webhooks = disable_webhooks;
}

/* ---- residents ---- */

static wharf_status ev_act_for(wharf_req *req, wharf_str organization)
{
    static const char sql[] = "SELECT COALESCE(live_organization_id, id) FROM wharf.organization "
                              "WHERE organization_id = $1 AND id = $1";
    struct req_job *job = req->job;
    struct sql_arg arg;
    struct principal *who;
    PGresult *r;

    if (!job || req->tx.depth || organization.n >= ID_MAX)
        return req_fail(req, ERR_INTERNAL, NULL,
            "only jobs act for other organizations, and between transactions");
    snprintf(job->acting_organization, ID_MAX, "%.*s", STR_ARG(organization));
    snprintf(job->acting_live, ID_MAX, "%s", job->acting_organization);
    arg = (struct sql_arg){job->acting_organization, organization.n};
    if (organization.n) {
        r = req_query(req, sql, &arg, 1);
        if (!r)
            return req_failed(req);
        if (!PQntuples(r))
            return req_problem(req, ERR_NOT_FOUND, organization, NULL, str_z(""));
        snprintf(job->acting_live, ID_MAX, "%s", PQgetvalue(r, 0, 0));
    }
    who = &job->acting;
    *who = *principal_system(req->arena, str_z(job->acting_organization));
    who->access.live_organization = str_z(job->acting_live);
    who->test_mode = strcmp(job->acting_live, job->acting_organization) != 0;
    req->access.who = who;
    return WHARF_OK;
}

static void ev_wait(wharf_req *req, int64_t wait_ms)
{
    job_wait(req, wait_ms * 1000);
}

static void ev_wake(wharf_req *req)
{
    req_tell(req, NEWS_PROCESSED);
}

static wharf_status ev_side_statement(
    wharf_req *req, const char *sql, const wharf_val *args, size_t n_args)
{
    struct req_job *job = req->job;

    if (!job || !job->resident || req->tx.depth)
        return req_fail(req, ERR_INTERNAL, NULL,
            "only residents have statements run beside them, and between transactions");
    if (!job->side_statement)
        job->side_statement = side_statement_new(req->thread->db, job->waker);
    if (!side_statement_ask(job->side_statement, &req->access.who->access, sql,
            host_args(req->arena, args, n_args), n_args))
        return req_fail(req, ERR_INTERNAL, NULL, "a statement runs beside this resident already");
    return WHARF_OK;
}

static bool ev_side_statement_over(
    wharf_req *req, wharf_status *ret_status, const wharf_rows **ret_rows)
{
    struct db_error e;
    PGresult *r;

    if (!req->job || !req->job->side_statement ||
        !side_statement_take(req->job->side_statement, &r, &e))
        return false;
    *ret_rows = r ? host_rows(req, r) : NULL;
    *ret_status = r ? WHARF_OK : req_database_problem(req, &e);
    return true;
}

static uint64_t ev_news(wharf_req *req)
{
    return req->job && req->job->waker ? waker_news(req->job->waker) : 0;
}

/* ---- who reads ---- */

struct wharf_event_reader {
    const struct principal *who; /* NULL: there is no such key */
};

static void release_reader(void *arg)
{
    principal_unref(arg);
}

/* Reads the rights of a key, or of a user. Those of a key stay when it is over: what it made goes
 * on; a user who is not active any more has none. */
static wharf_status read_reader(
    wharf_req *req, const char *sql, wharf_str id, wharf_event_reader *reader)
{
    struct req_access *access = &req->access;
    wharf_str live = access->who->access.live_organization.n ? access->who->access.live_organization
                                                             : access->who->organization;
    struct sql_arg args[2] = {{live.p, live.n}, {id.p, id.n}};
    PGresult *r = req_query(req, sql, args, 2);
    struct principal *p;

    if (!r)
        return req_failed(req);
    if (!PQntuples(r))
        return WHARF_OK;
    p = auth_principal(&req->engine->areas, r, req->now_us);
    arena_on_release(req->arena, release_reader, p);
    if (str_eq(p->organization, access->who->organization) && !(p->refusal && !p->key_id.n))
        reader->who = p;
    return WHARF_OK;
}

static wharf_status one_reader(
    wharf_req *req, wharf_str key_id, const wharf_event_reader **ret_reader)
{
    wharf_event_reader *reader = ARENA_NEW(req->arena, wharf_event_reader);

    *ret_reader = reader;
    if (key_id.n)
        return read_reader(req, auth_lookup_id_sql, key_id, reader);
    reader->who = principal_system(req->arena, req->access.who->organization);
    return WHARF_OK;
}

/* Looks at each key once, however often it is named. */
static wharf_status ev_readers(
    wharf_req *req, const wharf_str *key_ids, size_t n, const wharf_event_reader **ret_readers)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        size_t k = 0;

        while (k < i && !str_eq(key_ids[k], key_ids[i]))
            k++;
        if (k < i)
            ret_readers[i] = ret_readers[k];
        else
            s = one_reader(req, key_ids[i], &ret_readers[i]);
    }
    return s;
}

static wharf_status ev_user_readers(
    wharf_req *req, const wharf_str *user_ids, size_t n, const wharf_event_reader **ret_readers)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_event_reader *reader = ARENA_NEW(req->arena, wharf_event_reader);

        ret_readers[i] = reader;
        s = read_reader(req, auth_lookup_user_sql, user_ids[i], reader);
    }
    return s;
}

static bool ev_sees(const wharf_event_reader *reader, const wharf_event *e)
{
    return reader && reader->who && event_sight(reader->who, (const struct event *)e) == SIGHT_YES;
}

static const wharf_event *ev_for_reader(wharf_req *req, const wharf_event_reader *reader,
    const wharf_json *locations, const wharf_event *e)
{
    struct event *own = reader && reader->who
                            ? event_for(req->arena, reader->who, locations, (struct event *)e)
                            : NULL;

    return own ? &own->pub : NULL;
}

static wharf_str ev_with_parts(
    wharf_req *req, wharf_str body, size_t at, wharf_str parts, wharf_str seen)
{
    return at < body.n ? parts_put(req->arena, body, at, parts_members(req->arena, parts, seen))
                       : body;
}

static wharf_str ev_batch(const wharf_req *req)
{
    return req->batch_id.p ? req->batch_id : WHARF_S("");
}

static void ev_silence(wharf_req *req, bool quiet)
{
    req->quiet_people = quiet;
}

static bool ev_silent(const wharf_req *req)
{
    return req->quiet_people;
}

static int ev_days_kept(wharf_req *req)
{
    return history_event_days(req);
}

const wharf_events_api host_events = {WHARF_HEAD(wharf_events_api), event_step_declare, ev_parsed,
    ev_read, ev_range, ev_type_count, ev_type_at, ev_type_find, ev_matches, ev_pattern_known,
    ev_cause, ev_act_for, ev_wait, ev_wake, stream_declare, ev_side_statement,
    ev_side_statement_over, ev_news, event_need_pattern, ev_readers, ev_sees, ev_batch,
    ev_days_kept, ev_for_reader, ev_with_parts, ev_user_readers, ev_silence, ev_silent};
