/* places_known.c - where layouts lie, and which locations take in new rows, for rows that stand in
 * a place (places.c): of one row when it is asked for, of the rows of a set all before
 * (docs/spec/02-places-and-people.md sections 2 and 3). */
#include <stdlib.h>

#include "layouts.h"
#include "locations.gen.h"

struct fact { /* what is known of a layout or a location */
    wharf_str id, location; /* location: of a layout; empty: it is not there */
    uint32_t flags; /* of a location */
};

/* Facts of one kind for the rows of a set, in the order of the ids. */
struct facts {
    struct fact *list;
    size_t n;
};

struct known {
    struct facts layouts, locations;
};

static struct known *places_known_of(const wharf_rec *rec)
{
    static const char kind[] = "locations.known";

    return rec ? W->res->shared(rec, kind, sizeof(struct known)) : NULL;
}

static int places_known_by_id(const void *a, const void *b)
{
    const struct fact *x = a, *y = b;

    return wharf_str_order(&x->id, &y->id);
}

static const struct fact *known_fact(const struct facts *facts, wharf_str id)
{
    const struct fact key = {.id = id};

    return facts->n ? bsearch(&key, facts->list, facts->n, sizeof(key), places_known_by_id) : NULL;
}

/* ---- asking ---- */

/* Asks about ids; each row of the answer begins with the id. */
static wharf_status places_known_ask(wharf_req *req, const char *sql, const wharf_str *ids,
    size_t n, struct facts *ret, const wharf_rows **ret_rows)
{
    wharf_status s = query_about(req, sql, val_array(req, ids, n).u.s, ret_rows);

    ret->n = s == WHARF_OK ? W->db->count(*ret_rows) : 0;
    ret->list = W->mem->alloc(req, (ret->n + 1) * sizeof(*ret->list));
    for (size_t i = 0; i < ret->n; i++)
        ret->list[i] = (struct fact){row_text(*ret_rows, i, 0), WHARF_S(""), 0};
    return s;
}

static wharf_status ask_layouts(wharf_req *req, const wharf_str *ids, size_t n, struct facts *ret)
{
    static const char sql[] =
        "SELECT x.id, l.location_id FROM (SELECT DISTINCT id FROM unnest((SELECT $1::text[])) "
        "y(id)) x"
        " CROSS JOIN LATERAL (SELECT y.location_id FROM locations.layout y WHERE"
        " y.organization_id = $2::text AND y.id = x.id AND y.deleted_at IS NULL OFFSET 0) l";
    const wharf_rows *rows;
    wharf_status s = places_known_ask(req, sql, ids, n, ret, &rows);

    for (size_t i = 0; i < ret->n; i++)
        ret->list[i].location = row_text(rows, i, 1);
    qsort(ret->list, ret->n, sizeof(*ret->list), places_known_by_id);
    return s;
}

static wharf_status ask_locations(wharf_req *req, const wharf_str *ids, size_t n, struct facts *ret)
{
    static const char sql[] =
        "SELECT x.id, l.active, coalesce((l.settings #>> '{cloud_printing,enabled}')::boolean,"
        " true), coalesce((l.settings #>> '{layouts,locked}')::boolean, false)"
        " FROM (SELECT DISTINCT id FROM unnest((SELECT $1::text[])) y(id)) x"
        " CROSS JOIN LATERAL (SELECT y.active, y.settings FROM locations.location y WHERE"
        " y.organization_id = $2::text AND y.id = x.id AND y.deleted_at IS NULL OFFSET 0) l";
    const wharf_rows *rows;
    wharf_status s = places_known_ask(req, sql, ids, n, ret, &rows);

    for (size_t i = 0; i < ret->n; i++)
        ret->list[i].flags = WHARF_LOCATION_KNOWN |
                             (row_bool(rows, i, 1) ? WHARF_LOCATION_ACTIVE : 0u) |
                             (row_bool(rows, i, 2) ? WHARF_LOCATION_CLOUD_PRINTING : 0u) |
                             (row_bool(rows, i, 3) ? WHARF_LOCATION_LOCKED : 0u);
    qsort(ret->list, ret->n, sizeof(*ret->list), places_known_by_id);
    return s;
}

wharf_status place_location_of(
    wharf_req *req, const wharf_rec *rec, wharf_str layout_id, wharf_str *ret)
{
    const struct known *known = places_known_of(rec);
    const struct fact *fact = known ? known_fact(&known->layouts, layout_id) : NULL;
    struct facts asked = {NULL, 0};
    wharf_status s = fact ? WHARF_OK : ask_layouts(req, &layout_id, 1, &asked);

    *ret = fact ? fact->location : asked.n ? asked.list[0].location : WHARF_S("");
    return s;
}

wharf_status place_flags(wharf_req *req, const wharf_rec *rec, wharf_str location_id, uint32_t *ret)
{
    const struct known *known = places_known_of(rec);
    const struct fact *fact = known ? known_fact(&known->locations, location_id) : NULL;
    struct facts asked = {NULL, 0};
    wharf_status s = fact ? WHARF_OK : ask_locations(req, &location_id, 1, &asked);

    *ret = fact ? fact->flags : asked.n ? asked.list[0].flags : 0;
    return s;
}

/* ---- ahead, for the rows of a set ---- */

static size_t sent_ids(const wharf_rec *const *recs, size_t n, wharf_field f, wharf_str *ret)
{
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        if (W->res->sent(recs[i], f) && field_text(recs[i], f).n)
            ret[k++] = field_text(recs[i], f);
    }
    return k;
}

wharf_status places_ahead(wharf_req *req, const wharf_rec *const *recs, size_t n,
    wharf_field location, wharf_field layout)
{
    wharf_str *ids = W->mem->alloc(req, (2 * n + 1) * sizeof(*ids));
    struct known *known = n ? places_known_of(recs[0]) : NULL;
    size_t k = known ? sent_ids(recs, n, layout, ids) : 0;
    wharf_status s = k ? ask_layouts(req, ids, k, &known->layouts) : WHARF_OK;

    if (!known || s != WHARF_OK)
        return s;
    k = sent_ids(recs, n, location, ids);
    for (size_t i = 0; i < known->layouts.n; i++) {
        if (known->layouts.list[i].location.n)
            ids[k++] = known->layouts.list[i].location;
    }
    return k ? ask_locations(req, ids, k, &known->locations) : WHARF_OK;
}
