/* history.c - see history.h. */
#include "event/history.h"

#include <stdlib.h>

#include "util/id.h"
#include "util/str.h"
#include "util/time.h"

enum { DEFAULT_DAYS = 30 };

/* Offsets from the first parameter. */
enum {
    P_ORGANIZATION,
    P_RESOURCE,
    P_RESOURCE_ID,
    P_PARENT_ID,
    P_LOCATION_ID,
    P_ACTION,
    P_CHANGES,
    P_MESSAGE,
    P_ACTOR_TYPE,
    P_ACTOR_ID,
    P_ACTOR_NAME,
    P_REQUEST_ID,
    P_NOW,
    P_LOG_ID,
    P_EVENT_ID,
    P_TYPE,
    P_DATA,
    P_PREVIOUS,
    P_EXPIRES_AT,
};
_Static_assert(P_EXPIRES_AT + 1 == HISTORY_PARAMS, "the list of parameters and its length");

struct slot {
    const char *column;
    int param;
    const char *type;
};

static const struct slot log_slots[] = {
    {"organization_id", P_ORGANIZATION, "text"},
    {"id", P_LOG_ID, "text"},
    {"resource", P_RESOURCE, "text"},
    {"resource_id", P_RESOURCE_ID, "text"},
    {"parent_id", P_PARENT_ID, "text"},
    {"action", P_ACTION, "text"},
    {"changes", P_CHANGES, "jsonb"},
    {"message", P_MESSAGE, "text"},
    {"actor_type", P_ACTOR_TYPE, "text"},
    {"actor_id", P_ACTOR_ID, "text"},
    {"actor_name", P_ACTOR_NAME, "text"},
    {"request_id", P_REQUEST_ID, "text"},
    {"event_id", P_EVENT_ID, "text"},
    {"location_id", P_LOCATION_ID, "text"},
    {"created_at", P_NOW, "timestamptz"},
};

static const struct slot event_slots[] = {
    {"organization_id", P_ORGANIZATION, "text"},
    {"id", P_EVENT_ID, "text"},
    {"type", P_TYPE, "text"},
    {"timestamp", P_NOW, "timestamptz"},
    {"location_id", P_LOCATION_ID, "text"},
    {"resource_type", P_RESOURCE, "text"},
    {"resource_id", P_RESOURCE_ID, "text"},
    {"actor_type", P_ACTOR_TYPE, "text"},
    {"actor_id", P_ACTOR_ID, "text"},
    {"actor_name", P_ACTOR_NAME, "text"},
    {"request_id", P_REQUEST_ID, "text"},
    {"data", P_DATA, "json"},
    {"previous_attributes", P_PREVIOUS, "json"},
    {"created_at", P_NOW, "timestamptz"},
    {"expires_at", P_EXPIRES_AT, "timestamptz"},
};

static void insert(struct buf *out, const char *table, const struct slot *slots, size_t n, size_t first)
{
    buf_addf(out, "INSERT INTO %s (", table);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s%s", i ? ", " : "", slots[i].column);
    buf_addz(out, ") SELECT ");
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "%s$%zu::%s", i ? ", " : "", first + (size_t)slots[i].param, slots[i].type);
    buf_addz(out, " FROM r");
}

/* Every parameter appears in the text whatever the flags, so that its number and type are always known. */
static void mention_unused(struct buf *out, size_t first, bool log, bool event)
{
    if (!event)
        buf_addf(out, ", unused_event AS (SELECT $%zu::text, $%zu::json, $%zu::json, $%zu::timestamptz)",
            first + P_TYPE, first + P_DATA, first + P_PREVIOUS, first + P_EXPIRES_AT);
    if (!log)
        buf_addf(out, ", unused_log AS (SELECT $%zu::text, $%zu::text, $%zu::jsonb, $%zu::text, $%zu::text)",
            first + P_PARENT_ID, first + P_ACTION, first + P_CHANGES, first + P_MESSAGE, first + P_LOG_ID);
    if (!log && !event)
        buf_addf(out,
            ", unused AS (SELECT $%zu::text, $%zu::text, $%zu::text, $%zu::text, $%zu::text, $%zu::text, $%zu::text, "
            "$%zu::text, "
            "$%zu::timestamptz, $%zu::text)",
            first + P_ORGANIZATION, first + P_RESOURCE, first + P_RESOURCE_ID, first + P_LOCATION_ID,
            first + P_ACTOR_TYPE, first + P_ACTOR_ID, first + P_ACTOR_NAME, first + P_REQUEST_ID, first + P_NOW,
            first + P_EVENT_ID);
}

void history_sql(struct buf *out, size_t first, bool log, bool event)
{
    size_t n_log = sizeof(log_slots) / sizeof(log_slots[0]), n_event = sizeof(event_slots) / sizeof(event_slots[0]);

    mention_unused(out, first, log, event);
    if (log && event) {
        buf_addz(out, ", g AS (");
        insert(out, "wharf.change_log", log_slots, n_log, first);
        buf_addz(out, ") ");
    }
    if (event) {
        buf_addz(out, " ");
        insert(out, "wharf.event", event_slots, n_event, first);
        buf_addz(out, " RETURNING 1");
    } else if (log) {
        buf_addz(out, " ");
        insert(out, "wharf.change_log", log_slots, n_log, first);
        buf_addz(out, " RETURNING 1");
    } else {
        buf_addz(out, " SELECT 1 FROM r");
    }
}

static struct sql_arg text(wharf_str s)
{
    return (struct sql_arg){s.n ? s.p : NULL, s.n};
}

static struct sql_arg iso(struct wharf_req *req, int64_t us)
{
    return text(time_iso(req->arena, us));
}

static struct sql_arg new_id(struct wharf_req *req, const char *prefix)
{
    char *p = arena_alloc(req->arena, ID_MAX);
    size_t n = id_new(prefix, req->now_us, p);

    return (struct sql_arg){p, n};
}

/* Read with a request's key; a job has none, and its organization is asked when the first event comes. */
static int event_days(struct wharf_req *req)
{
    static const char sql[] = "SELECT substring(settings #>> '{events,expire_after}' FROM 'days_([0-9]+)')"
                              " FROM org.organization WHERE organization_id = $1 AND id = $1";
    struct principal *who = req->who;
    struct sql_arg organization;
    PGresult *r;

    if (who && !who->event_days && req->job && who->organization.n) {
        organization = text(who->organization);
        r = req_query(req, sql, &organization, 1);
        who->event_days = r && PQntuples(r) && !PQgetisnull(r, 0, 0) ? (int)strtol(PQgetvalue(r, 0, 0), NULL, 10)
                                                                     : DEFAULT_DAYS;
    }
    return who && who->event_days ? who->event_days : DEFAULT_DAYS;
}

void history_args(struct wharf_req *req, const struct change *c, struct sql_arg *args)
{
    const struct principal *who = req->who;
    int64_t keep_us = (int64_t)event_days(req) * 86400 * 1000000;

    args[P_ORGANIZATION] = text(c->organization.n ? c->organization : who ? who->organization : str_z(""));
    args[P_RESOURCE] = text(str_z(c->resource));
    args[P_RESOURCE_ID] = text(c->resource_id);
    args[P_PARENT_ID] = text(c->parent_id);
    args[P_LOCATION_ID] = text(c->location_id);
    args[P_ACTION] = text(str_z(c->action));
    args[P_CHANGES] = text(c->changes.n ? c->changes : str_z("[]"));
    args[P_MESSAGE] = text(c->message);
    args[P_ACTOR_TYPE] = text(who ? who->actor_type : str_z("system"));
    args[P_ACTOR_ID] = text(who ? who->actor_id : str_z(""));
    args[P_ACTOR_NAME] = text(who ? who->actor_name : str_z(""));
    args[P_REQUEST_ID] = text(str_z(req->request_id));
    args[P_NOW] = iso(req, req->now_us);
    args[P_LOG_ID] = new_id(req, "log");
    args[P_EVENT_ID] = c->event ? new_id(req, "evt") : (struct sql_arg){NULL, 0};
    args[P_TYPE] = text(str_z(c->event));
    args[P_DATA] = text(c->data);
    args[P_PREVIOUS] = text(c->previous);
    args[P_EXPIRES_AT] = iso(req, req->now_us + keep_us);
}

wharf_status history_write(struct wharf_req *req, const struct change *c)
{
    struct sql_arg args[HISTORY_PARAMS];
    struct buf sql;
    PGresult *r;

    if (!c->log && !c->event)
        return WHARF_OK;
    buf_init(&sql, 8192);
    buf_addz(&sql, "WITH r AS (SELECT 1)");
    history_sql(&sql, 1, c->log, c->event != NULL);
    history_args(req, c, args);
    r = req_query(req, buf_str(&sql).p, args, HISTORY_PARAMS);
    buf_done(&sql);
    return r ? WHARF_OK : WHARF_UNAVAILABLE;
}
