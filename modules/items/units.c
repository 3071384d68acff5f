/* units.c - units of measure (docs/spec/09-items-and-assembly.md section 3): those that come with
 * the server stand in schemas/units.json; an organization has them as rows from the moment on in
 * which it first asks for units. */
#include "items.h"

#include "items.gen.h"
#include "wharf/errors.h"

enum { SHIPPED_MAX = 64, UNITS_FIRST = 16 };

static exact units_size_of(wharf_req *req, const wharf_json *v)
{
    wharf_str text = json_is_null(v) ? WHARF_S("") : number_text(req, v);
    exact size = 0;

    return exact_read(text.p, text.n, UNIT_SCALE, &size) == EXACT_OK ? size : 0;
}

static struct unit unit_of(wharf_req *req, const wharf_json *row)
{
    return (struct unit){json_text(row, "code"), json_text(row, "uom_category"),
        units_size_of(req, W->json->get(row, "factor"))};
}

/* Finds the other units, those of the organization. */
static wharf_status find_own(wharf_req *req, const wharf_str *codes, size_t n, struct unit *units)
{
    static const char sql[] =
        "SELECT code, uom_category, factor FROM items.uom WHERE organization_id = $2::text"
        " AND code = ANY ((SELECT $1::text[])::text[]) AND deleted_at IS NULL FOR KEY SHARE";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, val_array(req, codes, n).u.s, &rows);

    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        wharf_str size = row_text(rows, r, 2);
        struct unit u = {row_text(rows, r, 0), row_text(rows, r, 1), 0};

        exact_read(size.p, size.n, UNIT_SCALE, &u.size);
        for (size_t i = 0; i < n; i++) {
            if (same(codes[i], u.code))
                units[i] = u;
        }
    }
    return s;
}

/* Finds the units in the database, and in what comes with the server. */
static wharf_status units_find(wharf_req *req, const wharf_str *codes, size_t n, struct unit *ret)
{
    const wharf_json *shipped;
    wharf_status s = W->json->parse(req, items_shipped_units, &shipped);
    size_t known = 0;

    for (size_t i = 0; i < n; i++)
        ret[i] = (struct unit){WHARF_S(""), WHARF_S(""), 0};
    for (const wharf_json *row = s == WHARF_OK ? W->json->at(shipped, 0) : NULL; row;
         row = W->json->next(row)) {
        for (size_t i = 0; i < n; i++) {
            if (!same(json_text(row, "code"), codes[i]))
                continue;
            ret[i] = unit_of(req, row);
            known++;
        }
    }
    return s == WHARF_OK && known < n ? find_own(req, codes, n, ret) : s;
}

static bool units_among(wharf_str code, const wharf_str *codes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (same(codes[i], code))
            return true;
    }
    return false;
}

/* Units that rows of a set have asked for; code is what was asked. */
struct units_known {
    struct asked {
        wharf_str code;
        struct unit unit;
    } * list;
    size_t n, room;
};

static const struct asked *known_unit(const struct units_known *known, wharf_str code)
{
    for (size_t i = 0; i < known->n; i++) {
        if (same(known->list[i].code, code))
            return &known->list[i];
    }
    return NULL;
}

static void keep_unit(
    wharf_req *req, struct units_known *known, wharf_str code, const struct unit *unit)
{
    if (known->n == known->room) {
        size_t room = 2 * known->room + UNITS_FIRST;
        struct asked *more = W->mem->alloc(req, room * sizeof(*more));

        if (known->n)
            memcpy(more, known->list, known->n * sizeof(*more));
        known->list = more;
        known->room = room;
    }
    known->list[known->n++] = (struct asked){code, *unit};
}

wharf_status unit_find(
    wharf_req *req, const wharf_rec *rec, const wharf_str *codes, size_t n, struct unit *ret)
{
    static const char kind[] = "items.units";
    struct units_known *known = W->res->shared(rec, kind, sizeof(*known));
    wharf_str *open = W->mem->alloc(req, (n + 1) * sizeof(*open));
    struct unit *found = W->mem->alloc(req, (n + 1) * sizeof(*found));
    size_t k = 0;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        if (!known_unit(known, codes[i]) && !units_among(codes[i], open, k))
            open[k++] = codes[i];
    }
    s = k ? units_find(req, open, k, found) : WHARF_OK;
    for (size_t i = 0; s == WHARF_OK && i < k; i++)
        keep_unit(req, known, open[i], &found[i]);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        ret[i] = known_unit(known, codes[i])->unit;
    return s;
}

/* ---- the rows ---- */

/* Makes the rows of the units that come with the server, if there are none yet. */
static wharf_status make_shipped(wharf_req *req)
{
    static const char ask[] =
        "SELECT 1 FROM items.uom WHERE organization_id = $1::text AND is_system LIMIT 1";
    static const char make[] = QUERY_UNITS_MAKE;
    wharf_str ids[SHIPPED_MAX];
    wharf_val args[4] = {val_text(W->req->organization(req)), val_null(),
        val_text(items_shipped_units), val_int(W->req->now_us(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, ask, args, 1, &rows);

    if (s != WHARF_OK || W->db->count(rows))
        return s;
    for (size_t i = 0; i < SHIPPED_MAX; i++)
        ids[i] = W->req->new_id(req, "uom");
    args[1] = val_array(req, ids, SHIPPED_MAX);
    return W->db->exec(req, make, args, 4, NULL);
}

/* Makes them in a transaction of its own: a read that asks first has none that would be
 * committed. */
static wharf_status have_shipped(wharf_req *req)
{
    wharf_status s = W->db->begin(req);

    return s == WHARF_OK ? end_with(req, make_shipped(req)) : s;
}

static wharf_status uom_rows(wharf_req *req, wharf_where *where)
{
    (void)where;
    return have_shipped(req);
}

static wharf_status units_in_use(wharf_req *req, wharf_str code)
{
    static const char sql[] =
        "SELECT 1 FROM items.item WHERE organization_id = $2::text AND deleted_at IS NULL"
        " AND (base_uom = $1::text OR transactional_units @> jsonb_build_array("
        "jsonb_build_object('uom', $1::text))) LIMIT 1";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, code, &rows);

    return s == WHARF_OK && W->db->count(rows) ? W->err->fail(req, ERR_UOM_IN_USE, code.p, NULL)
                                               : s;
}

static wharf_status uom_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    if (op == WHARF_CREATE) {
        W->res->set(new_rec, UOM_SYSTEM, val_bool(false));
        return WHARF_OK;
    }
    if (field_int(old_rec, UOM_SYSTEM))
        return W->err->fail(req, ERR_UOM_SYSTEM, W->res->id(old_rec).p, NULL);
    return op == WHARF_DELETE ? units_in_use(req, field_text(old_rec, UOM_CODE)) : WHARF_OK;
}

const wharf_hooks items_uom_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = uom_check, .restrict_rows = uom_rows};
