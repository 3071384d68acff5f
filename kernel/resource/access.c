/* access.c - see access.h. */
#include "resource/access.h"

#include "resource/hooks.h"
#include "resource/place_sql.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

wharf_str record_location(const struct wharf_rec *rec)
{
    const struct definition *d = rec->res->def;

    if (d->place.location)
        return d->place.location->store == STORE_TEXT ? record_text(rec, d->place.location)
                                                      : str_z("");
    return rec->res->def->place.is_location ? record_id(rec) : str_z("");
}

/* ---- what the row says ---- */

static bool everybodys(const struct definition_audience *audience, const struct wharf_rec *rec)
{
    return audience->all && str_eqz(record_text(rec, audience->all), "t");
}

static bool is_own_device(const struct req_access *access,
    const struct definition_audience *audience, const struct wharf_rec *rec)
{
    wharf_str device = access->who->access.device_id;

    return audience->device && device.n && str_eq(record_text(rec, audience->device), device);
}

/* Tells the locations of a set; of a row that is of all locations there are none to tell. */
static bool refuse_locations(struct wharf_req *req, wharf_str set)
{
    struct json_error e;
    const struct wharf_json *ids = set.n ? json_parse(req->arena, set, &e) : NULL;

    for (const struct wharf_json *i = ids ? ids->child : NULL; i; i = i->next) {
        if (!str_eqz(i->text, PLACE_NOWHERE) && !principal_may_see(req->access.who, i->text))
            req_problem(req, ERR_LOCATION_ACCESS, i->text, NULL, str_z(""));
    }
    if (!req->problems.n)
        req_fail(req, ERR_LOCATION_ACCESS, NULL,
            "The key reaches some locations only, and this is for those that reach all");
    return false;
}

/* Tells whether all areas that were needed are among those that the principal reads. */
static bool reads_areas(const struct wharf_req *req, wharf_str areas)
{
    struct json_error e;
    const struct wharf_json *list = areas.n ? json_parse(req->arena, areas, &e) : NULL;

    if (req->access.who->access.reads_all)
        return true;
    for (const struct wharf_json *i = list ? list->child : NULL; i; i = i->next) {
        if (!seen_among(req->access.who->access.read_areas, i->text))
            return false;
    }
    return list != NULL;
}

static bool refuse_scope(struct wharf_req *req, wharf_str resource)
{
    char name[96] = "";
    const struct resource *res;

    if (resource.n < sizeof(name))
        memcpy(name, resource.p, resource.n);
    res = engine_resource(req->engine, name);
    if (res)
        req_problem(req, ERR_SCOPE_ACCESS, arena_printf(req->arena, "%s:read", res->def->scope),
            NULL, str_z(""));
    else
        req_fail(req, ERR_SCOPE_ACCESS, NULL, NULL);
    return false;
}

/* Judges a record of another row: it is seen as that row is. */
static bool check_recorded(
    struct wharf_req *req, const struct definition_recorded *recorded, const struct wharf_rec *rec)
{
    struct reported_of what = {.resource = record_text(rec, recorded->resource),
        .by = {record_text(rec, recorded->locations), record_text(rec, recorded->audience)}};
    const struct access *who = &req->access.who->access;

    if (recorded->areas && !reads_areas(req, record_text(rec, recorded->areas)))
        return refuse_scope(req, str_z(""));
    if (recorded->resource && !principal_reads(req->access.who, what.resource))
        return refuse_scope(req, what.resource);
    if (recorded->reach ? !seen_by_all_locations(who, record_text(rec, recorded->reach))
                        : !seen_by_location(who, what.by.locations))
        return refuse_locations(req, what.by.locations);
    if (!what.by.audience.n || !who->user_id.n || seen_among(what.by.audience, who->user_id))
        return true;
    req_problem(req, ERR_NOT_FOUND, record_id(rec), NULL, str_z(""));
    return false;
}

static bool access_check_place(
    struct wharf_req *req, const struct definition *d, const struct wharf_rec *rec)
{
    wharf_str set, id = record_location(rec);

    if (d->place.location && d->place.location->store != STORE_TEXT) {
        set = record_text(rec, d->place.location);
        if (d->place.location->store == STORE_JSON
                ? seen_by_all_locations(&req->access.who->access, set)
                : !set.n || seen_by_location(&req->access.who->access, set))
            return true;
        return refuse_locations(req, set);
    }
    if (!id.n || principal_may_see(req->access.who, id) ||
        is_own_device(&req->access, &d->audience, rec))
        return true;
    req_problem(req, ERR_LOCATION_ACCESS, id, NULL, str_z(""));
    return false;
}

bool check_location(struct wharf_req *req, const struct resource *res, const struct wharf_rec *rec)
{
    const struct definition *d = res->def;
    wharf_str user = req->access.who->access.user_id;

    if (d->recorded.audience)
        return check_recorded(req, &d->recorded, rec);
    if (!access_check_place(req, d, rec))
        return false;
    if (!d->audience.users || !user.n || everybodys(&d->audience, rec) ||
        seen_among(record_text(rec, d->audience.users), user))
        return true;
    req_problem(req, ERR_NOT_FOUND, record_id(rec), NULL, str_z(""));
    return false;
}

/* ---- what a request may show ---- */

wharf_str request_areas(const struct wharf_req *req)
{
    const struct areas *areas = &req->engine->areas;
    wharf_str names[AREAS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < areas->count; i++) {
        if (req->access.areas >> i & 1 || (req->route && req->route->area == (int)i))
            names[n++] = str_z(areas->names[i]);
    }
    return seen_many(req->arena, names, n);
}

static bool of_some_users(const struct definition_audience *audience)
{
    return audience->users || (audience->of && audience->of->audience.users);
}

bool route_for_some(const struct route *r)
{
    bool some = r && r->resource && of_some_users(&r->resource->def->audience);

    for (size_t i = 0; r && i < r->n_params; i++)
        some = some || (r->guards[i] && of_some_users(&r->guards[i]->def->audience));
    return some;
}

wharf_str request_audience(const struct wharf_req *req)
{
    const struct engine *e = req->engine;
    bool some = route_for_some(req->route);

    for (size_t i = 0; !some && i < e->n_resources; i++) {
        const struct resource *res = &e->resources[i];
        bool needed = req->access.areas >> res->area & 1 ||
                      (req->route && req->route->area == res->area);

        some = needed && (of_some_users(&res->def->audience) || res->def->recorded.audience);
    }
    return some ? seen_one(req->arena, req->access.who->access.user_id) : str_z("");
}

bool check_request_audience(struct wharf_req *req, wharf_str audience)
{
    wharf_str user = req->access.who->access.user_id;

    if (!audience.n || !user.n || seen_among(audience, user))
        return true;
    req_fail(req, ERR_NOT_FOUND, "Idempotency-Key",
        "The answer that is kept for this Idempotency-Key is another user's; send another key");
    return false;
}

bool check_request_reach(struct wharf_req *req, wharf_str reach, wharf_str areas)
{
    if (!reads_areas(req, areas))
        return refuse_scope(req, str_z(""));
    return seen_by_all_locations(&req->access.who->access, reach) || refuse_locations(req, reach);
}

/* ---- what other rows say ---- */

/* Reads the row, also a deleted one. *ret is NULL and it returns true when there is none. */
static bool read_any(
    struct wharf_req *req, const struct resource *res, wharf_str id, struct wharf_rec **ret)
{
    PGresult *r;
    struct sql s;

    *ret = NULL;
    sql_init(&s, req->arena);
    sql_add(&s, "SELECT ");
    sql_add(&s, res->columns_full);
    sql_addf(&s, " FROM %s t WHERE t.organization_id = ", res->def->storage.table);
    sql_bind(&s, organization_of(&req->access.who->access, res->def));
    sql_add(&s, " AND t.id = ");
    sql_bind(&s, id);
    if (res->def->storage.partitioned) {
        sql_add(&s, " AND t.created_at = ");
        sql_bind(&s, time_iso(req->arena, id_time_ms(id) * 1000));
        sql_add(&s, "::timestamptz");
    }
    r = req_query_sql(req, &s);
    if (r && PQntuples(r))
        *ret = record_from_result(req->arena, res, r, 0);
    return r != NULL;
}

/* Finds the row whose rule counts as well, or instead of this row's own: the one with the
 * audience, else a parent. */
static const struct resource *other_row(const struct wharf_req *req, const struct resource *res,
    const struct wharf_rec *rec, wharf_str *ret_id)
{
    const struct definition *d = res->def;

    if (d->audience.through) {
        *ret_id = record_text(rec, d->audience.through);
        return ret_id->n ? engine_resource(req->engine, d->audience.of_name) : NULL;
    }
    *ret_id = d->place.parent ? record_text(rec, d->place.parent) : str_z("");
    return ret_id->n ? res->refs[d->place.parent->index] : NULL;
}

bool may_be_refused(const struct wharf_req *req, const struct resource *res)
{
    enum { RULES_MAX = 8 }; /* of a row, its parent, the parent's parent ... */
    const struct access *who = &req->access.who->access;

    for (size_t i = 0; res && i < RULES_MAX; i++) {
        const struct definition *d = res->def;

        if (d->recorded.audience ||
            (!who->all_locations && (d->place.location || res->def->place.is_location)) ||
            (who->user_id.n && d->audience.users))
            return true;
        if (d->audience.through)
            res = engine_resource(req->engine, d->audience.of_name);
        else
            res = d->place.parent ? res->refs[d->place.parent->index] : NULL;
    }
    return res != NULL;
}

bool check_access_of(struct wharf_req *req, const struct resource *res, wharf_str id)
{
    struct wharf_rec *rec;

    if (!ids_fit(&res->def->ids, id))
        return true;
    return read_any(req, res, id, &rec) && (!rec || check_access(req, res, rec));
}

/* Judges the audience alone. A station's jobs may be at another location than the station: its
 * audience alone counts for them. */
static bool check_audience_of(struct wharf_req *req, const struct resource *of, wharf_str id)
{
    struct wharf_rec *rec;
    wharf_str user = req->access.who->access.user_id;

    if (!user.n)
        return true;
    if (!read_any(req, of, id, &rec))
        return false;
    if (!rec || everybodys(&of->def->audience, rec) ||
        seen_among(record_text(rec, of->def->audience.users), user))
        return true;
    req_problem(req, ERR_NOT_FOUND, id, NULL, str_z(""));
    return false;
}

bool check_access(struct wharf_req *req, const struct resource *res, const struct wharf_rec *rec)
{
    wharf_str id;
    const struct resource *other = other_row(req, res, rec, &id);

    if (!check_location(req, res, rec))
        return false;
    if (!other)
        return true;
    return res->def->audience.through && !res->def->audience.whole
               ? check_audience_of(req, other, id)
               : check_access_of(req, other, id);
}

/* ---- rows that a row names ---- */

bool has_walls(const struct resource *res)
{
    const struct definition *d = res->def;

    return d->place.location || d->audience.users || d->audience.through || d->recorded.audience;
}

PGresult *seen_rows(struct wharf_req *req, const struct resource *of, const wharf_str *ids,
    size_t n, const struct access *who)
{
    struct sql s;

    sql_init(&s, req->arena);
    sql_addf(&s, "SELECT t.id FROM %s t WHERE ", of->def->storage.table);
    query_visible(&s, of->def, who, true);
    sql_add(&s, " AND t.id = ANY (");
    sql_bind_set(&s, ids, n, "text");
    sql_add(&s, "::text[])");
    return req_query_sql(req, &s);
}

static bool among_rows(const PGresult *r, wharf_str id)
{
    for (int i = 0; i < PQntuples(r); i++) {
        if (str_eqz(id, PQgetvalue(r, i, 0)))
            return true;
    }
    return false;
}

static bool hide_of_field(struct wharf_req *req, const struct field *f,
    struct wharf_rec *const *recs, size_t n, const struct access *who)
{
    const struct resource *of = engine_resource(req->engine, f->ids_of);
    wharf_str *ids = ARENA_ARRAY(req->arena, wharf_str, n + 1);
    size_t named = 0;
    PGresult *r;

    for (size_t i = 0; i < n; i++) {
        if (record_text(recs[i], f).n)
            ids[named++] = record_text(recs[i], f);
    }
    if (!of || !named)
        return true;
    r = seen_rows(req, of, ids, named, who);
    for (size_t i = 0; r && i < n; i++) {
        if (record_text(recs[i], f).n && !among_rows(r, record_text(recs[i], f)))
            *record_cell(recs[i], f) = (struct cell){NULL, 0};
    }
    return r != NULL;
}

bool hide_references(struct wharf_req *req, const struct resource *res,
    struct wharf_rec *const *recs, size_t n, const struct access *who)
{
    for (size_t i = 0; !who->all_locations && i < res->def->n_fields; i++) {
        const struct field *f = &res->def->fields[i];

        if (f->ids_of && f->store == STORE_TEXT && !hide_of_field(req, f, recs, n, who))
            return false;
    }
    return true;
}

/* ---- what is recorded ---- */

static wharf_str audience_text(const struct definition *d, const struct wharf_rec *rec)
{
    wharf_str users = d->audience.users ? record_text(rec, d->audience.users) : str_z("");

    if (!d->audience.users || everybodys(&d->audience, rec))
        return str_z("");
    return users.n ? users : str_z("[]");
}

static wharf_str places_of(
    struct wharf_req *req, const struct definition_place *place, const struct wharf_rec *rec)
{
    wharf_str set, id = record_location(rec);

    if (id.n)
        return seen_one(req->arena, id);
    if (!place->location || place->location->store == STORE_TEXT)
        return str_z("[]");
    set = record_text(rec, place->location);
    if (set.n || place->location->store == STORE_JSON) /* of all locations: for who reaches all */
        return set;
    return str_z("[]");
}

bool row_seen_by(
    struct wharf_req *req, const struct resource *res, wharf_str id, struct seen_by *ret)
{
    struct wharf_rec *rec;

    *ret = (struct seen_by){str_z(""), str_z("")};
    return read_any(req, res, id, &rec) && (!rec || record_seen_by(req, rec, ret));
}

bool record_seen_by(struct wharf_req *req, const struct wharf_rec *rec, struct seen_by *ret)
{
    const struct resource *res = rec->res;
    const struct definition *d = res->def;
    struct wharf_rec *row = NULL;
    const struct resource *other;
    wharf_str id;

    *ret = (struct seen_by){places_of(req, &d->place, rec), audience_text(d, rec)};
    if (!d->audience.through && (!d->place.parent || d->place.location))
        return true;
    other = other_row(req, res, rec, &id);
    if (!other)
        return true;
    if (!req->thread || !read_any(req, other, id, &row))
        return false;
    if (row && d->audience.through && !d->audience.whole)
        ret->audience = audience_text(other->def, row);
    else if (row)
        return record_seen_by(req, row, ret);
    return true;
}
