/* event_record.c - see event_record.h. */
#include "event/event_record.h"

#include <stdio.h>
#include <stdlib.h>

#include "identity/seen_parts.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

const char event_columns[] =
    "e.organization_id, e.id, e.created_at, e.type, e.\"timestamp\", e.location_id, "
    "e.resource_type, e.resource_id,"
    " e.batch_id, e.actor_type, e.actor_id, e.actor_name, e.request_id, e.depth, e.data::text,"
    " e.previous_attributes::text, e.data_truncated, e.disable_webhooks, e.expires_at, "
    "e.traceparent, h.sequence, e.locations::text, e.audience::text, "
    "e.parts::text";
const char event_tables[] =
    "wharf.event e JOIN wharf.event_done h ON h.organization_id = e.organization_id"
    " AND h.created_at = e.created_at AND h.event_id = e.id";
enum { HEAD_BYTES = 64 * 1024, READ_MAX = 1000 };

/* ---- the body ---- */

static void event_record_put_or_null(struct jw *w, const char *key, wharf_str s)
{
    if (s.n)
        jw_str(w, key, s);
    else
        jw_null(w, key);
}

/* Makes everything before the data's value; the object is left open. */
static wharf_str make_head(struct wharf_req *req, const wharf_event *e)
{
    char timestamp[ISO_MS_LEN + 1];
    struct buf b;
    struct jw w;
    wharf_str s;

    time_format_iso(e->timestamp_us, timestamp);
    buf_init(&b, HEAD_BYTES);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    jw_str(&w, "id", e->id);
    jw_z(&w, "object", "event");
    jw_str(&w, "type", e->type);
    jw_z(&w, "timestamp", timestamp);
    jw_z(&w, "api_version", "v1");
    jw_int(&w, "sequence", e->sequence);
    jw_str(&w, "organization_id", e->organization);
    event_record_put_or_null(&w, "location_id", e->location_id);
    jw_str(&w, "resource_type", e->resource_type);
    jw_str(&w, "resource_id", e->resource_id);
    event_record_put_or_null(&w, "batch_id", e->batch_id);
    jw_open(&w, "actor", '{');
    jw_str(&w, "type", e->actor_type);
    event_record_put_or_null(&w, "id", e->actor_id);
    event_record_put_or_null(&w, "name", e->actor_name);
    jw_close(&w, '}');
    buf_addz(&b, ",\"data\":");
    s = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
    return s;
}

static wharf_str event_record_join(struct arena *a, const wharf_str *parts, size_t n)
{
    size_t length = 0, at = 0;
    char *p;

    for (size_t i = 0; i < n; i++)
        length += parts[i].n;
    p = arena_alloc(a, length + 1);
    for (size_t i = 0; i < n; i++) {
        memcpy(p + at, parts[i].p, parts[i].n);
        at += parts[i].n;
    }
    return (wharf_str){p, length};
}

static wharf_str thin_data(struct wharf_req *req, const wharf_event *e)
{
    wharf_str s;
    struct buf b;
    struct jw w;

    buf_init(&b, HEAD_BYTES);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    jw_str(&w, "id", e->resource_id);
    jw_str(&w, "object", e->resource_type);
    event_record_put_or_null(&w, "location_id", e->location_id);
    jw_close(&w, '}');
    s = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
    return s;
}

static void make_body(struct arena *a, struct event *e)
{
    const wharf_str full[] = {e->head, e->data, WHARF_S(",\"previous_attributes\":"),
        e->previous.n ? e->previous : WHARF_S("null"), WHARF_S("}")};

    e->pub.body = event_record_join(a, full, sizeof(full) / sizeof(full[0]));
}

static void make_bodies(struct wharf_req *req, struct event *e)
{
    const wharf_str thin[] = {e->head, thin_data(req, &e->pub), WHARF_S("}")};

    make_body(req->arena, e);
    e->pub.thin = event_record_join(req->arena, thin, sizeof(thin) / sizeof(thin[0]));
}

enum sight event_sight(const struct principal *who, const struct event *e)
{
    const struct reported_of what = {e->pub.resource_type, {e->pub.locations, e->audience}};

    return principal_sight(who, &what);
}

static int event_record_by_bytes(const void *x, const void *y)
{
    return str_order(*(const wharf_str *)x, *(const wharf_str *)y);
}

/* Returns the principal's access, narrowed to these locations of its. */
static struct access narrowed(
    struct arena *a, const struct access *who, const struct wharf_json *within)
{
    wharf_str *ids = ARENA_ARRAY(a, wharf_str, within->count + 1);
    struct access own = *who;

    own.n_locations = 0;
    for (const struct wharf_json *l = within->child; l; l = l->next) {
        if (json_is(l, JSON_STRING) && seen_by_location(who, seen_one(a, l->text)))
            ids[own.n_locations++] = l->text;
    }
    qsort(ids, own.n_locations, sizeof(*ids), event_record_by_bytes);
    own.all_locations = false;
    own.locations = ids;
    return own;
}

struct event *event_for(
    struct arena *a, const struct principal *who, const struct wharf_json *within, struct event *e)
{
    struct event *bare = e->bare ? e->bare : e, *own;
    struct access access = who->access;
    wharf_str members;

    if (event_sight(who, bare) != SIGHT_YES)
        return NULL;
    if (!bare->parts.n)
        return bare;
    if (json_is(within, JSON_ARRAY) && within->count)
        access = narrowed(a, &who->access, within);
    own = ARENA_NEW(a, struct event);
    *own = *bare;
    own->bare = bare;
    own->parsed = NULL;
    members = parts_for(a, bare->parts, &access, &own->pub.seen);
    own->data = parts_put(a, bare->data, bare->data.n - 1, members);
    make_body(a, own);
    return own;
}

/* ---- reading ---- */

static wharf_str event_record_cell(struct wharf_req *req, const PGresult *r, int row, int column)
{
    return PQgetisnull(r, row, column) ? str_z("")
                                       : arena_dup_str(req->arena, event_cell(r, row, column));
}

static int64_t event_record_moment(const PGresult *r, int row, int column)
{
    int64_t us = 0;

    time_parse_pg(event_cell(r, row, column), &us);
    return us;
}

struct event *event_from_row(struct wharf_req *req, const PGresult *r, int row)
{
    return event_from_new_row(
        req, r, row, strtoll(PQgetvalue(r, row, E_SEQUENCE), NULL, 10), E_PARTS);
}

struct event *event_from_new_row(
    struct wharf_req *req, const PGresult *r, int row, int64_t sequence, int parts)
{
    struct event *e = ARENA_NEW(req->arena, struct event);
    wharf_event *p = &e->pub;

    p->head = (wharf_head)WHARF_HEAD(wharf_event);
    p->organization = event_record_cell(req, r, row, E_ORGANIZATION);
    p->id = event_record_cell(req, r, row, E_ID);
    p->type = event_record_cell(req, r, row, E_TYPE);
    p->location_id = event_record_cell(req, r, row, E_LOCATION);
    p->resource_type = event_record_cell(req, r, row, E_RESOURCE_TYPE);
    p->resource_id = event_record_cell(req, r, row, E_RESOURCE_ID);
    p->batch_id = event_record_cell(req, r, row, E_BATCH);
    p->actor_type = event_record_cell(req, r, row, E_ACTOR_TYPE);
    p->actor_id = event_record_cell(req, r, row, E_ACTOR_ID);
    p->actor_name = event_record_cell(req, r, row, E_ACTOR_NAME);
    p->request_id = event_record_cell(req, r, row, E_REQUEST);
    p->traceparent = event_record_cell(req, r, row, E_TRACE);
    p->sequence = sequence;
    p->depth = (uint32_t)strtoul(PQgetvalue(r, row, E_DEPTH), NULL, 10);
    p->timestamp_us = event_record_moment(r, row, E_TIMESTAMP);
    p->created_at_us = event_record_moment(r, row, E_CREATED_AT);
    p->expires_at_us = event_record_moment(r, row, E_EXPIRES_AT);
    p->disable_webhooks = PQgetvalue(r, row, E_DISABLE)[0] == 't';
    p->data_truncated = PQgetvalue(r, row, E_TRUNCATED)[0] == 't';
    p->locations = seen_locations(
        req->arena, p->location_id, event_record_cell(req, r, row, E_LOCATIONS));
    e->audience = event_record_cell(req, r, row, E_AUDIENCE);
    e->parts = event_record_cell(req, r, row, parts);
    e->created_at = event_record_cell(req, r, row, E_CREATED_AT);
    e->data = event_record_cell(req, r, row, E_DATA);
    e->previous = event_record_cell(req, r, row, E_PREVIOUS);
    e->type = event_type_find(req->engine, p->type);
    p->system = e->type && e->type->system;
    p->supersedable = e->type && e->type->supersedable;
    e->head = PQnfields(r) > EVENT_COLUMNS && !strcmp(PQfname(r, EVENT_COLUMNS), "head")
                  ? event_record_cell(req, r, row, EVENT_COLUMNS)
                  : make_head(req, p);
    make_bodies(req, e);
    return e;
}

wharf_status event_parse(struct wharf_req *req, struct event *e, const struct wharf_json **ret)
{
    struct json_error error;

    if (!e->parsed)
        e->parsed = json_parse(req->arena, e->pub.body, &error);
    *ret = e->parsed;
    return e->parsed
               ? WHARF_OK
               : req_fail(req, ERR_INTERNAL, NULL, "the body of %s can't be read", e->pub.id.p);
}

static struct sql_arg event_record_iso(struct wharf_req *req, int64_t us)
{
    char *p = arena_alloc(req->arena, ISO_MS_LEN + 1);

    time_format_iso(us, p);
    return (struct sql_arg){p, ISO_MS_LEN};
}

/* Returns a PostgreSQL array of the ids that have the shape of one, and the time they span. */
static wharf_str id_array(struct wharf_req *req, const wharf_str *ids, size_t n, int64_t span_ms[2])
{
    struct buf b;
    wharf_str s;

    buf_init(&b, SIZE_MAX / 2);
    buf_addc(&b, '{');
    for (size_t i = 0; i < n; i++) {
        int64_t ms = id_shape(ids[i], "evt") ? id_time_ms(ids[i]) : -1;

        if (ms < 0)
            continue;
        span_ms[0] = ms < span_ms[0] ? ms : span_ms[0];
        span_ms[1] = ms > span_ms[1] ? ms : span_ms[1];
        buf_addf(&b, "%s%.*s", b.n > 1 ? "," : "", STR_ARG(ids[i]));
    }
    buf_addc(&b, '}');
    s = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
    return s;
}

bool event_read(struct wharf_req *req, const wharf_str *ids, size_t n, struct event **ret)
{
    int64_t span_ms[2] = {INT64_MAX, -1};
    wharf_str list = id_array(req, ids, n, span_ms), sql;
    struct sql_arg args[5];
    PGresult *r;

    for (size_t i = 0; i < n; i++)
        ret[i] = NULL;
    if (n > READ_MAX || span_ms[1] < 0)
        return n <= READ_MAX || req_fail(req, ERR_INTERNAL, NULL,
                                    "more than %d events are read at once", READ_MAX) == 0;
    sql = arena_printf(req->arena,
        "SELECT %s, h.head FROM %s WHERE e.organization_id = $1 AND e.id = ANY ((SELECT "
        "$2::text[])::text[])"
        " AND e.created_at BETWEEN $3::timestamptz AND $4::timestamptz AND e.expires_at > "
        "$5::timestamptz",
        event_columns, event_tables);
    args[0] = (struct sql_arg){req->access.who->organization.p, req->access.who->organization.n};
    args[1] = (struct sql_arg){list.p, list.n};
    args[2] = event_record_iso(req, span_ms[0] * 1000);
    args[3] = event_record_iso(req, span_ms[1] * 1000);
    args[4] = event_record_iso(req, clock_now_us());
    r = req_query(req, sql.p, args, 5);
    for (int row = 0; r && row < PQntuples(r); row++) {
        struct event *e = event_from_row(req, r, row);

        for (size_t i = 0; i < n; i++) {
            if (str_eq(ids[i], e->pub.id))
                ret[i] = e;
        }
    }
    return r != NULL;
}

bool event_range(struct wharf_req *req, int64_t since_us, int64_t until_us, int64_t after,
    size_t most, struct event ***ret, size_t *ret_n)
{
    wharf_str sql = arena_printf(req->arena,
        "SELECT %s, h.head FROM %s WHERE h.organization_id = $1 AND h.sequence > $2::bigint"
        " AND e.created_at >= $3::timestamptz AND e.created_at < $4::timestamptz AND e.expires_at "
        "> $5::timestamptz"
        " ORDER BY h.sequence LIMIT $6::integer",
        event_columns, event_tables);
    char sequence[24], limit[24];
    struct sql_arg args[6] = {{req->access.who->organization.p, req->access.who->organization.n},
        {sequence, 0}, event_record_iso(req, since_us), event_record_iso(req, until_us),
        event_record_iso(req, clock_now_us()), {limit, 0}};
    PGresult *r;

    args[1].n = (size_t)snprintf(sequence, sizeof(sequence), "%lld", (long long)after);
    args[5].n = (size_t)snprintf(limit, sizeof(limit), "%zu",
        most < 1          ? 1
        : most > READ_MAX ? READ_MAX
                          : most);
    r = req_query(req, sql.p, args, 6);
    if (!r)
        return false;
    *ret_n = (size_t)PQntuples(r);
    *ret = ARENA_ARRAY(req->arena, struct event *, *ret_n + 1);
    for (size_t i = 0; i < *ret_n; i++)
        (*ret)[i] = event_from_row(req, r, (int)i);
    return true;
}
