/* lines.c - see lines.h. */
#include "event/lines.h"

#include "kernel_queries.gen.h"
#include "query/query.h"
#include "resource/access.h"
#include "resource/hooks.h"
#include "util/id.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/values.h"

static wharf_str array_text(struct wharf_req *req, const wharf_json *v)
{
    return v ? jw_text(req->arena, v) : str_z("[]");
}

static struct sql_arg bound(wharf_str s)
{
    return (struct sql_arg){s.n ? s.p : NULL, s.n};
}

/* Finds out who may see the row that the line is about. Most rules need no look at it: the caller
 * says its one location, or that it has none. */
static bool line_seen_by(struct wharf_req *req, const wharf_log_line *line, struct seen_by *ret)
{
    const struct resource *res = engine_resource(req->engine, line->resource);
    const struct definition *d = res ? res->def : NULL;
    bool set = d && d->place.location && d->place.location->store != STORE_TEXT;

    *ret = (struct seen_by){str_z(""), str_z("")};
    if (!d)
        return true;
    if (set || d->audience.users || d->audience.through || (d->place.parent && !d->place.location))
        return row_seen_by(req, res, line->resource_id, ret);
    if (!line->location_id.n && d->place.location)
        ret->locations = str_z("[]");
    else if (!line->location_id.n)
        ret->locations = res->def->place.is_location ? seen_one(req->arena, line->resource_id)
                                                     : str_z("[]");
    return true;
}

wharf_status log_add(wharf_req *req, const wharf_log_line *line)
{
    static const char sql[] = QUERY_LOG_ADD;
    const struct principal *who = req->access.who;
    char id[ID_MAX], iso[ISO_MS_LEN + 1];
    size_t id_n = id_new("log", req->now_us, id);
    struct sql_arg args[18];
    struct seen_by seen;

    if (!line_seen_by(req, line, &seen))
        return WHARF_UNAVAILABLE;

    time_format_iso(req->now_us, iso);
    args[0] = bound(who->organization);
    args[1] = (struct sql_arg){id, id_n};
    args[2] = (struct sql_arg){iso, ISO_MS_LEN};
    args[3] = bound(str_z(line->resource));
    args[4] = bound(line->resource_id);
    args[5] = bound(line->parent_id);
    args[6] = bound(line->location_id);
    args[7] = bound(str_z(line->action));
    args[8] = bound(array_text(req, line->changes));
    args[9] = bound(line->message);
    args[10] = bound(array_text(req, line->images));
    args[11] = bound(str_z(line->public_line ? "public" : "internal"));
    args[12] = bound(who->actor_type);
    args[13] = bound(who->actor_id);
    args[14] = bound(who->actor_name);
    args[15] = bound(str_z(req->request_id));
    args[16] = bound(seen.locations);
    args[17] = bound(seen.audience);
    return req_query(req, sql, args, 18) ? WHARF_OK : WHARF_UNAVAILABLE;
}

static wharf_str *lines_new_ids(struct wharf_req *req, size_t n)
{
    wharf_str *ids = ARENA_ARRAY(req->arena, wharf_str, n);

    for (size_t i = 0; i < n; i++) {
        char *p = arena_alloc(req->arena, ID_MAX);

        ids[i] = (wharf_str){p, id_new("log", req->now_us, p)};
    }
    return ids;
}

enum { SAME = 8, COLUMNS = 7 };

wharf_status log_add_many(wharf_req *req, wharf_str actor_type, wharf_str actor_id,
    wharf_str actor_name, const wharf_log_line *lines, size_t n)
{
    char *now = arena_alloc(req->arena, ISO_MS_LEN + 1);
    wharf_str *columns[COLUMNS];
    struct seen_by seen;

    if (!n)
        return WHARF_OK;
    time_format_iso(req->now_us, now);
    columns[0] = lines_new_ids(req, n);
    for (size_t k = 1; k < COLUMNS; k++)
        columns[k] = ARENA_ARRAY(req->arena, wharf_str, n);
    for (size_t i = 0; i < n; i++) {
        columns[1][i] = lines[i].resource_id;
        columns[2][i] = lines[i].parent_id;
        columns[3][i] = lines[i].location_id;
        columns[4][i] = lines[i].message;
        if (!line_seen_by(req, &lines[i], &seen))
            return WHARF_UNAVAILABLE;
        columns[5][i] = seen.locations;
        columns[6][i] = seen.audience;
    }
    const wharf_str same[SAME] = {req->access.who->organization, str_z(now), str_z(lines->resource),
        str_z(lines->action), actor_type, actor_id, actor_name, str_z(req->request_id)};
    struct sql_arg args[SAME + COLUMNS];

    for (size_t i = 0; i < SAME + COLUMNS; i++) {
        const wharf_str *column = i < SAME ? NULL : columns[i - SAME];
        wharf_str text = column ? wharf_array(column, n,
                                      arena_alloc(req->arena, wharf_array_room(column, n)))
                                : arena_dup_str(req->arena, same[i]);

        args[i] = (struct sql_arg){text.p, text.n};
    }
    return req_query(req, QUERY_LOG_ADD_MANY, args, SAME + COLUMNS) ? WHARF_OK : WHARF_UNAVAILABLE;
}

/* Some rows of n groups of ids, taken in one order and shown in one, as a JSON array each. */
struct choice {
    wharf_str groups; /* a JSON array of arrays of ids */
    size_t n;
    wharf_str visibility;
    const char *take, *show; /* "" or " DESC" */
    int64_t skip, limit;
};

static void choice_sql(const struct req_access *access, const struct choice *c, struct sql *s)
{
    static const struct recorded_sql seen = {
        .locations = "wharf.recorded_locations(c.locations, c.location_id)",
        .audience = "c.audience",
        .resource = "c.resource"};

    sql_addf(s,
        "SELECT coalesce((SELECT jsonb_agg(x.row ORDER BY x.created_at%s, x.id%s) FROM (SELECT "
        "c.created_at, c.id, (wharf.canonical_log(c))::jsonb AS row FROM wharf.change_log c WHERE "
        "c.organization_id = ",
        c->show, c->show);
    sql_bind(s, access->who->organization);
    sql_add(s, " AND c.resource_id = ANY (ARRAY(SELECT jsonb_array_elements_text(g.ids)))");
    if (c->visibility.n) {
        sql_add(s, " AND c.visibility = ");
        sql_bind(s, c->visibility);
    }
    query_recorded(s, &seen, &access->who->access);
    sql_addf(s, " ORDER BY c.created_at%s, c.id%s OFFSET ", c->take, c->take);
    sql_bind_int(s, c->skip);
    sql_add(s, "::bigint LIMIT ");
    sql_bind_int(s, c->limit);
    sql_add(s, "::bigint) x), '[]') FROM jsonb_array_elements(");
    sql_bind(s, c->groups);
    sql_add(s, "::jsonb) WITH ORDINALITY AS g(ids, place) ORDER BY g.place");
}

static wharf_status lines_read_rows(
    struct wharf_req *req, const struct choice *c, const wharf_json **ret_rows)
{
    struct json_error e;
    struct sql s;
    PGresult *r;

    sql_init(&s, req->arena);
    choice_sql(&req->access, c, &s);
    r = req_query_sql(req, &s);
    if (!r)
        return WHARF_UNAVAILABLE;
    if ((size_t)PQntuples(r) != c->n)
        return WHARF_INTERNAL;
    for (size_t i = 0; i < c->n; i++) {
        ret_rows[i] = json_parse(req->arena, str_z(PQgetvalue(r, (int)i, 0)), &e);
        if (!ret_rows[i])
            return WHARF_INTERNAL;
    }
    return WHARF_OK;
}

wharf_status log_recent(wharf_req *req, wharf_str groups, size_t n, wharf_str visibility,
    size_t limit, const wharf_json **ret_rows)
{
    const struct choice newest = {groups, n, visibility, " DESC", "", 0, (int64_t)limit};

    return lines_read_rows(req, &newest, ret_rows);
}

wharf_status log_page(wharf_req *req, wharf_str groups, wharf_str visibility, bool newest,
    int64_t skip, int64_t limit, const wharf_json **ret_rows)
{
    const char *order = newest ? " DESC" : "";
    const struct choice page = {groups, 1, visibility, order, order, skip, limit};

    return lines_read_rows(req, &page, ret_rows);
}
