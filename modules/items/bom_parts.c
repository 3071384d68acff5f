/* bom_parts.c - reads the components of a request; see bom_parts.h. Leaves what a bill does with
 * them to bom_rules.c. */
#include "bom_parts.h"

#include <stdlib.h>

#include "items.gen.h"
#include "wharf/errors.h"

enum {
    ID_MAX = 64,
    REFERENCE_MAX = 100, /* letters */
    NOTES_MAX = 500, /* letters */
    POSITION_MAX = 1000000 /* the highest position */
};

/* ---- the members of one component ---- */

static const char *bom_parts_part_path(wharf_req *req, size_t i, const char *key)
{
    return W->mem->format(req, "components.%zu.%s", i, key).p;
}

static wharf_status take_part_quantity(wharf_req *req, const wharf_json *e, size_t i, int64_t *ret)
{
    const wharf_json *v = W->json->get(e, "quantity");
    const char *path = bom_parts_part_path(req, i, "quantity");
    wharf_status s;

    if (json_is_null(v))
        return W->err->add(req, ERR_VALIDATION_FAILED, path, "%s is required", path);
    s = quantity_take(req, v, path, ret);
    return s == WHARF_OK && *ret <= 0
               ? W->err->add(req, ERR_VALIDATION_FAILED, path, "%s must be above 0", path)
               : s;
}

/* Reads a text of a component of up to most characters; absent or null: empty. */
static wharf_str part_text(
    wharf_req *req, const wharf_json *e, size_t i, const char *key, size_t most)
{
    const wharf_json *v = W->json->get(e, key);
    const char *path = bom_parts_part_path(req, i, key);
    wharf_str s = WHARF_S("");
    size_t n = 0;

    if (json_is_null(v))
        return s;
    if (!W->json->text(v, &s))
        W->err->add(req, ERR_VALIDATION_FAILED, path, "%s must be a text", path);
    for (size_t k = 0; k < s.n; k++)
        n += (s.p[k] & 0xC0) != 0x80;
    if (n > most)
        W->err->add(
            req, ERR_VALIDATION_FAILED, path, "%s must have at most %zu characters", path, most);
    return s;
}

static int64_t take_position(wharf_req *req, const wharf_json *e, size_t i)
{
    const wharf_json *v = W->json->get(e, "position");
    const char *path = bom_parts_part_path(req, i, "position");
    int64_t n = (int64_t)i;

    if (!json_is_null(v) && (W->json->type(v) != WHARF_J_NUMBER || !W->json->integer(v, &n) ||
                                n < 0 || n > POSITION_MAX))
        W->err->add(req, ERR_VALIDATION_FAILED, path, "%s must be a whole number from 0 to %d",
            path, POSITION_MAX);
    return n;
}

static void take_part(wharf_req *req, const wharf_json *e, size_t i, struct bom_part *ret)
{
    const char *path = bom_parts_part_path(req, i, "item_id");

    *ret = (struct bom_part){.id = W->req->new_id(req, "bomc"),
        .item_id = part_text(req, e, i, "item_id", ID_MAX),
        .unit_id = part_text(req, e, i, "item_transactional_unit_id", ID_MAX),
        .factor = BOM_FACTOR_ONE,
        .position = take_position(req, e, i),
        .reference = part_text(req, e, i, "reference", REFERENCE_MAX),
        .notes = part_text(req, e, i, "notes", NOTES_MAX)};
    if (!ret->item_id.n)
        W->err->add(req, ERR_VALIDATION_FAILED, path, "%s is required", path);
    take_part_quantity(req, e, i, &ret->quantity);
}

/* ---- the items ---- */

struct named { /* a component by its item */
    wharf_str item;
    size_t at;
};

static int bom_parts_by_item(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int c = strcmp(x->item.p, y->item.p);

    return c ? c : (x->at > y->at) - (x->at < y->at);
}

static struct named *sorted_parts(wharf_req *req, const struct bom_part *list, size_t n)
{
    struct named *ret = W->mem->alloc(req, (n + 1) * sizeof(*ret));

    for (size_t i = 0; i < n; i++)
        ret[i] = (struct named){list[i].item_id, i};
    qsort(ret, n, sizeof(*ret), bom_parts_by_item);
    return ret;
}

static wharf_status check_twice(wharf_req *req, const struct named *parts, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (same(parts[i - 1].item, parts[i].item))
            W->err->add(req, ERR_BOM_DUPLICATE_COMPONENT,
                bom_parts_part_path(req, parts[i].at, "item_id"), NULL);
    }
    return W->err->current(req);
}

/* Returns the row of an item, rows being in the order of the ids; the number of rows when it is
 * not among them. */
static size_t item_row(const wharf_rows *rows, wharf_str id)
{
    size_t low = 0, n = W->db->count(rows), high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = strcmp(row_text(rows, middle, 0).p, id.p);

        if (!c)
            return middle;
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return n;
}

static wharf_status settle_part(
    wharf_req *req, const wharf_rows *rows, size_t i, struct bom_part *part)
{
    size_t row = item_row(rows, part->item_id);
    wharf_status s = WHARF_OK;

    if (row == W->db->count(rows))
        return W->err->add(
            req, ERR_BOM_COMPONENT_NOT_FOUND, bom_parts_part_path(req, i, "item_id"), NULL);
    if (row_bool(rows, row, 1))
        return W->err->add(
            req, ERR_BOM_COMPONENT_ARCHIVED, bom_parts_part_path(req, i, "item_id"), NULL);
    part->is_asset = row_bool(rows, row, 2);
    if (part->unit_id.n)
        s = packing_factor(req, row_json(rows, row, 3), part->unit_id,
            bom_parts_part_path(req, i, "item_transactional_unit_id"), &part->factor);
    if (s == WHARF_OK && part->is_asset && !product_is_whole(part->quantity, part->factor))
        return W->err->add(
            req, ERR_ITEM_FRACTIONAL_QUANTITY, bom_parts_part_path(req, i, "quantity"), NULL);
    return s;
}

static wharf_status read_part_items(wharf_req *req, struct bom_parts *parts)
{
    static const char sql[] = QUERY_BOM_ITEMS;
    wharf_str *ids = W->mem->alloc(req, (parts->n + 1) * sizeof(*ids));
    const wharf_rows *rows;
    wharf_status s;
    size_t row;

    for (size_t i = 0; i < parts->n; i++)
        ids[i] = parts->list[i].item_id;
    ids[parts->n] = parts->assembly;
    s = query_about(req, sql, val_array(req, ids, parts->n + 1).u.s, &rows);
    if (s != WHARF_OK)
        return s;
    for (size_t i = 0; i < parts->n; i++)
        settle_part(req, rows, i, &parts->list[i]);
    row = item_row(rows, parts->assembly);
    if (row == W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    parts->archived = row_bool(rows, row, 1);
    parts->is_asset = row_bool(rows, row, 2);
    parts->is_assembly = row_bool(rows, row, 4);
    parts->counted = row_bool(rows, row, 5);
    return W->err->current(req);
}

wharf_status bom_parts_take(
    wharf_req *req, wharf_str assembly, const wharf_json *list, struct bom_parts *ret)
{
    size_t i = 0;
    wharf_status s;

    *ret = (struct bom_parts){.assembly = assembly, .n = list ? W->json->count(list) : 0};
    if (list && !ret->n)
        return W->err->fail(req, ERR_BOM_COMPONENTS_REQUIRED, "components", NULL);
    ret->list = W->mem->alloc(req, (ret->n + 1) * sizeof(*ret->list));
    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e), i++)
        take_part(req, e, i, &ret->list[i]);
    s = W->err->current(req);
    if (s == WHARF_OK)
        s = check_twice(req, sorted_parts(req, ret->list, ret->n), ret->n);
    return s == WHARF_OK ? read_part_items(req, ret) : s;
}

/* ---- what follows from them ---- */

wharf_status bom_parts_reckon(wharf_req *req, struct bom_parts *parts, int64_t output_qty)
{
    int64_t step = bom_first_step(parts->counted);

    for (size_t i = 0; i < parts->n; i++) {
        struct bom_part *p = &parts->list[i];
        const char *path = bom_parts_part_path(req, i, "quantity");

        if (!quantity_times(p->quantity, p->factor, &p->base_quantity))
            W->err->add(req, ERR_VALIDATION_FAILED, path,
                "%s must be at most 99999999999.9999 in the base unit", path);
        p->use = bom_use_of(p->quantity, p->factor, output_qty, p->is_asset);
        step = bom_step(step, &p->use);
    }
    if (!step)
        return W->err->add(req, ERR_VALIDATION_FAILED, "output_qty",
            "no quantity can be built for which the needs of all parts with is_asset are whole; "
            "change output_qty or their quantities");
    return W->err->current(req);
}

bool bom_parts_equal(const struct bom_part *a, size_t n_a, const struct bom_part *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++) {
        size_t k = 0;

        while (k < n_b && !same(a[i].item_id, b[k].item_id))
            k++;
        if (k == n_b || a[i].quantity != b[k].quantity || !same(a[i].unit_id, b[k].unit_id))
            return false;
    }
    return true;
}

wharf_str bom_parts_text(wharf_req *req, const struct bom_parts *parts)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < parts->n; i++) {
        const struct bom_part *p = &parts->list[i];

        W->json->open(out, NULL, '{');
        W->json->put(out, "id", val_text(p->id));
        W->json->put(out, "item", val_text(p->item_id));
        W->json->put(out, "quantity", val_decimal(p->quantity, QUANTITY_SCALE));
        W->json->put(out, "unit", val_text_or_null(p->unit_id));
        W->json->put(out, "factor", val_json(exact_json(req, p->factor, FACTOR_SCALE)));
        W->json->put(out, "position", val_int(p->position));
        W->json->put(out, "reference", val_text_or_null(p->reference));
        W->json->put(out, "notes", val_text_or_null(p->notes));
        W->json->close(out);
    }
    W->json->close(out);
    return W->json->result_text(out);
}
