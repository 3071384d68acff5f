/* references.c - ids that a request names: they exist (400), and locations among them are accessible (403). */
#include "resource/write.h"
#include "util/str.h"

static wharf_status unknown(struct wharf_req *req, const struct resource *to, wharf_str path, wharf_str id)
{
    return req_problem(req, "validation.failed", path, "reference",
        arena_printf(req->arena, "There is no %s %.*s", to->title_lower, STR_ARG(id)));
}

/* Ids of rows that are not there, as a set: one query for all ids of one field. */
static PGresult *missing_ids(struct wharf_req *req, const struct resource *to, const wharf_str *ids, size_t n)
{
    struct sql s;

    sql_init(&s, req->arena);
    sql_add(&s, "SELECT x FROM unnest(");
    sql_bind_array(&s, ids, n);
    sql_addf(&s, "::text[]) x WHERE NOT EXISTS (SELECT 1 FROM %s r WHERE r.organization_id = ", to->def->table);
    sql_bind(&s, organization_of(&req->who->access, to->def));
    sql_addf(&s, " AND r.id = x%s)", to->def->soft_delete ? " AND r.deleted_at IS NULL" : "");
    return req_query_sql(req, &s);
}

static bool listed(const PGresult *r, wharf_str id)
{
    for (int i = 0; i < PQntuples(r); i++) {
        if (str_eqz(id, PQgetvalue(r, i, 0)))
            return true;
    }
    return false;
}

struct named {
    wharf_str *ids, *paths;
    size_t n;
};

static void name_one(struct named *list, wharf_str id, wharf_str path)
{
    list->ids[list->n] = id;
    list->paths[list->n++] = path;
}

static void name_array(struct arena *a, struct named *list, const struct wharf_json *array, const char *base)
{
    size_t i = 0;

    for (const struct wharf_json *e = array && array->type == JSON_ARRAY ? array->child : NULL; e; e = e->next, i++)
        name_one(list, e->text, arena_printf(a, "%s.%zu", base, i));
}

static size_t count_of(const struct wharf_json *v)
{
    return json_is(v, JSON_ARRAY) ? v->count : 0;
}

/* The ids that a sent value names; those that are only removed need not exist any more. */
static void collect(struct arena *a, const struct field *f, const struct value *v, struct named *list)
{
    const struct wharf_json *sent = v->sent ? v->sent : v->json, *add = json_get(sent, "add");
    const struct wharf_json *set = json_is(sent, JSON_OBJECT) ? json_get(sent, "set") : sent;
    size_t cap = 1 + count_of(add) + count_of(set);

    list->ids = ARENA_ARRAY(a, wharf_str, cap);
    list->paths = ARENA_ARRAY(a, wharf_str, cap);
    list->n = 0;
    if (f->store == STORE_TEXT && !v->null) {
        name_one(list, v->text, str_z(f->name));
    } else if (f->store == STORE_ARRAY && !v->null) {
        name_array(a, list, add, arena_printf(a, "%s.add", f->name).p);
        name_array(a, list, set, set == sent ? f->name : arena_printf(a, "%s.set", f->name).p);
    }
}

static const struct wharf_json *ids_of(struct arena *a, wharf_str array)
{
    struct json_error e;
    const struct wharf_json *v = array.n ? json_parse(a, array, &e) : NULL;

    return v ? v->child : NULL;
}

static bool among(const struct wharf_json *list, wharf_str id)
{
    while (list && !str_eq(list->text, id))
        list = list->next;
    return list != NULL;
}

/* Of a row's set of locations only those that the principal reaches are put in or taken out (spec 01 section 7 'multi'). */
static void moved(struct wharf_req *req, const struct write *w, struct named *refused)
{
    const struct field *f = w->res->def->location;
    const struct wharf_json *sides[2] = {ids_of(req->arena, w->old_rec ? record_text(w->old_rec, f) : str_z("")),
        ids_of(req->arena, w->values[f->index].text)};

    for (int side = 0; side < 2; side++) {
        for (const struct wharf_json *i = sides[side]; i; i = i->next) {
            if (!among(sides[!side], i->text) && !principal_may_see(req->who, i->text) && refused->n < 64)
                name_one(refused, i->text, str_z(f->name));
        }
    }
}

wharf_status references_check(struct wharf_req *req, const struct write *w)
{
    const struct definition *d = w->res->def;
    struct named refused = {ARENA_ARRAY(req->arena, wharf_str, 64), ARENA_ARRAY(req->arena, wharf_str, 64), 0};

    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];
        const struct resource *to = w->res->refs[i];
        struct named list;
        PGresult *r;
        bool multi;

        if (!to || !w->values[i].present || (d->parent == f && w->op == OP_UPDATE))
            continue;
        collect(req->arena, f, &w->values[i], &list);
        multi = f == d->location && f->store == STORE_ARRAY;
        if (multi)
            moved(req, w, &refused);
        if (!list.n)
            continue;
        r = missing_ids(req, to, list.ids, list.n);
        if (!r)
            return WHARF_UNAVAILABLE;
        for (size_t k = 0; k < list.n; k++) {
            if (PQntuples(r) && listed(r, list.ids[k]))
                unknown(req, to, list.paths[k], list.ids[k]);
            else if (location_is_id(to) && !multi && !principal_may_see(req->who, list.ids[k]) && refused.n < 64)
                name_one(&refused, list.ids[k], list.paths[k]);
        }
    }
    if (req->n_problems)
        return WHARF_INVALID;
    for (size_t k = 0; k < refused.n; k++)
        req_problem(req, "location_access", refused.ids[k], NULL, str_z(""));
    return refused.n ? WHARF_DENIED : WHARF_OK;
}
