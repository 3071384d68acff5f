/* references.c - ids that a request names: they exist (400), and locations among them are
 * accessible (403). */
#include <stdlib.h>

#include "resource/access.h"
#include "resource/set.h"
#include "util/str.h"
#include "wharf/errors.h"

static wharf_status unknown(
    struct wharf_req *req, const struct resource *to, wharf_str path, wharf_str id)
{
    return req_problem(req, ERR_VALIDATION_FAILED, path, "reference",
        arena_printf(req->arena, "There is no %s %.*s", to->title_lower, STR_ARG(id)));
}

/* Reads the ids of rows that are not there, as a set: one query for all ids of one field. */
static PGresult *missing_ids(
    struct wharf_req *req, const struct resource *to, const wharf_str *ids, size_t n)
{
    struct sql s;

    sql_init(&s, req->arena);
    sql_add(&s, "SELECT asked.id FROM unnest(");
    sql_bind_set(&s, ids, n, "text");
    sql_addf(&s, ") asked(id) WHERE NOT EXISTS (SELECT 1 FROM %s r WHERE r.organization_id = ",
        to->def->storage.table);
    sql_bind(&s, organization_of(&req->access.who->access, to->def));
    sql_addf(&s, " AND r.id = asked.id%s)",
        to->def->storage.soft_delete ? " AND r.deleted_at IS NULL" : "");
    return req_query_sql(req, &s);
}

/* Returns the same as a sorted list; every id is asked for once. NULL after a problem was added. */
static const wharf_str *find_missing(
    struct wharf_req *req, const struct resource *to, wharf_str *ids, size_t n, size_t *ret_n)
{
    size_t distinct = 0;
    wharf_str *missing;
    PGresult *r;

    qsort(ids, n, sizeof(*ids), str_order_entries);
    for (size_t i = 0; i < n; i++) {
        if (!distinct || str_order(ids[distinct - 1], ids[i]) != 0)
            ids[distinct++] = ids[i];
    }
    r = missing_ids(req, to, ids, distinct);
    if (!r)
        return NULL;
    *ret_n = (size_t)PQntuples(r);
    missing = ARENA_ARRAY(req->arena, wharf_str, *ret_n + 1);
    for (size_t i = 0; i < *ret_n; i++)
        missing[i] = str_z(PQgetvalue(r, (int)i, 0));
    qsort(missing, *ret_n, sizeof(*missing), str_order_entries);
    return missing;
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

static void name_array(
    struct arena *a, struct named *list, const struct wharf_json *array, const char *base)
{
    size_t i = 0;

    for (const struct wharf_json *e = array && array->type == JSON_ARRAY ? array->child : NULL; e;
         e = e->next, i++)
        name_one(list, e->text, arena_printf(a, "%s.%zu", base, i));
}

static size_t references_count_of(const struct wharf_json *v)
{
    return json_is(v, JSON_ARRAY) ? v->count : 0;
}

/* Collects the ids that a sent value names; those that are only removed need not exist any more. */
static void references_collect(
    struct arena *a, const struct field *f, const struct value *v, struct named *list)
{
    const struct wharf_json *sent = v->sent ? v->sent : v->json, *add = json_get(sent, "add");
    const struct wharf_json *set = json_is(sent, JSON_OBJECT) ? json_get(sent, "set") : sent;
    size_t cap = 1 + references_count_of(add) + references_count_of(set);

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

static bool references_among(const struct wharf_json *list, wharf_str id)
{
    while (list && !str_eq(list->text, id))
        list = list->next;
    return list != NULL;
}

/* Rows that may not be accessed are reported last, when nothing else is wrong: shape and
 * existence come first (docs/decisions 1). */
enum { REFUSED_MAX = 64 }; /* locations that a refusal names */

static void refuse_one(struct arena *a, struct named *refused, wharf_str id, wharf_str path)
{
    if (refused->n == REFUSED_MAX)
        return;
    if (!refused->n) {
        refused->ids = ARENA_ARRAY(a, wharf_str, REFUSED_MAX);
        refused->paths = ARENA_ARRAY(a, wharf_str, REFUSED_MAX);
    }
    name_one(refused, id, path);
}

/* Refuses changes of a row's set of locations: only those that the principal reaches are put in or
 * taken out (spec 01 section 7 'multi'). */
static void references_moved(struct wharf_req *req, const struct write *w, struct named *refused)
{
    const struct field *f = w->res->def->place.location;
    const struct wharf_json *sides[2] = {
        ids_of(req->arena, w->old_rec ? record_text(w->old_rec, f) : str_z("")),
        ids_of(req->arena, w->values[f->index].text)};

    for (int side = 0; side < 2; side++) {
        for (const struct wharf_json *i = sides[side]; i; i = i->next) {
            if (!references_among(sides[!side], i->text) &&
                !principal_may_see(req->access.who, i->text))
                refuse_one(req->arena, refused, i->text, str_z(f->name));
        }
    }
}

/* Links that a row has already stay: whoever may see the row need not see what it names. */
static bool references_named_before(
    struct wharf_req *req, const struct write *w, const struct field *f, wharf_str id)
{
    wharf_str before = w->old_rec ? record_text(w->old_rec, f) : str_z("");

    return f->store == STORE_ARRAY ? references_among(ids_of(req->arena, before), id)
                                   : str_eq(before, id);
}

/* Refuses links to rows that the caller does not see: a link would tell of them (spec 01 section
 * 7). */
static bool refuse_unseen(struct wharf_req *req, const struct write *const *writes, size_t n,
    const struct field *f, const struct named *lists, struct named *refused)
{
    const struct resource *to = writes[0]->res->refs[f->index];
    const struct access *who = &req->access.who->access;
    wharf_str *ids;
    size_t total = 0;
    PGresult *seen;

    if ((who->all_locations && !who->user_id.n) || to->def->place.is_location || !has_walls(to))
        return true;
    for (size_t i = 0; i < n; i++)
        total += lists[i].n;
    ids = ARENA_ARRAY(req->arena, wharf_str, total + 1);
    total = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(ids + total, lists[i].ids, lists[i].n * sizeof(*ids));
        total += lists[i].n;
    }
    seen = seen_rows(req, to, ids, total, who);
    for (size_t i = 0; seen && i < n; i++) {
        for (size_t k = 0; k < lists[i].n; k++) {
            bool found = references_named_before(req, writes[i], f, lists[i].ids[k]);

            for (int row = 0; !found && row < PQntuples(seen); row++)
                found = str_eqz(lists[i].ids[k], PQgetvalue(seen, row, 0));
            if (!found)
                refuse_one(req->arena, &refused[i], lists[i].ids[k], lists[i].paths[k]);
        }
    }
    return seen != NULL;
}

static void judge_field(struct wharf_req *req, const struct write *w, const struct field *f,
    const struct named *list, const wharf_str *missing, size_t n_missing, struct named *refused)
{
    const struct resource *to = w->res->refs[f->index];
    bool multi = f == w->res->def->place.location && f->store == STORE_ARRAY;

    for (size_t k = 0; k < list->n; k++) {
        if (n_missing &&
            bsearch(&list->ids[k], missing, n_missing, sizeof(*missing), str_order_entries))
            unknown(req, to, list->paths[k], list->ids[k]);
        else if (to->def->place.is_location && !multi &&
                 !principal_may_see(req->access.who, list->ids[k]))
            refuse_one(req->arena, refused, list->ids[k], list->paths[k]);
    }
}

/* Checks one field of all rows: what they name is looked up together. */
static bool check_field(struct wharf_req *req, const struct write *const *writes,
    struct set_row *const *rows, size_t n, const struct field *f, struct named *refused)
{
    const struct definition *d = writes[0]->res->def;
    struct named *lists = ARENA_ARRAY(req->arena, struct named, n);
    const wharf_str *missing;
    size_t total = 0, n_missing;
    wharf_str *ids;

    for (size_t i = 0; i < n; i++) {
        const struct write *w = writes[i];

        if (!w->values[f->index].present || (d->place.parent == f && w->op == OP_UPDATE))
            continue;
        references_collect(req->arena, f, &w->values[f->index], &lists[i]);
        if (f == d->place.location && f->store == STORE_ARRAY)
            references_moved(req, w, &refused[i]);
        total += lists[i].n;
    }
    if (!total)
        return true;
    ids = ARENA_ARRAY(req->arena, wharf_str, total);
    total = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(ids + total, lists[i].ids, lists[i].n * sizeof(*ids));
        total += lists[i].n;
    }
    missing = find_missing(req, writes[0]->res->refs[f->index], ids, total, &n_missing);
    for (size_t i = 0; missing && i < n; i++) {
        if (rows)
            set_at(req, rows[i]);
        judge_field(req, writes[i], f, &lists[i], missing, n_missing, &refused[i]);
    }
    return missing != NULL && refuse_unseen(req, writes, n, f, lists, refused);
}

static wharf_status references_tell_refused(struct wharf_req *req, const struct named *refused)
{
    for (size_t k = 0; k < refused->n; k++)
        req_problem(req, ERR_LOCATION_ACCESS, refused->ids[k], NULL, str_z(""));
    return refused->n ? WHARF_DENIED : WHARF_OK;
}

/* Checks all references. rows: of the set that the writes are, or NULL. refused: empty lists, one
 * for each. Returns false when the database could not be asked. */
static bool references_check_all(struct wharf_req *req, const struct write *const *writes,
    struct set_row *const *rows, size_t n, struct named *refused)
{
    const struct resource *res = writes[0]->res;

    for (size_t i = 0; i < res->def->n_fields; i++) {
        if (res->refs[i] && !check_field(req, writes, rows, n, &res->def->fields[i], refused))
            return false;
    }
    return true;
}

wharf_status references_check(struct wharf_req *req, const struct write *w)
{
    struct named refused = {0};

    if (!references_check_all(req, &w, NULL, 1, &refused))
        return req_failed(req);
    return req->problems.n ? WHARF_INVALID : references_tell_refused(req, &refused);
}

wharf_status references_check_set(struct wharf_req *req, struct write_set *set)
{
    const struct write **writes = ARENA_ARRAY(req->arena, const struct write *, set->n_live + 1);
    struct named *refused = ARENA_ARRAY(req->arena, struct named, set->n_live + 1);

    for (size_t i = 0; i < set->n_live; i++)
        writes[i] = &set->live[i]->w;
    if (set->n_live && !references_check_all(req, writes, set->live, set->n_live, refused))
        return req_failed(req);
    for (size_t i = 0; i < set->n_live && !set->broken; i++) {
        set_at(req, set->live[i]);
        if (!set->live[i]->failed)
            references_tell_refused(req, &refused[i]);
    }
    set_sift(req, set);
    return set->broken ? req_failed(req) : WHARF_OK;
}
