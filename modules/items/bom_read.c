/* bom_read.c - reads a version of a bill of materials; see bom_read.h. Leaves the arithmetic to
 * bom_need.c. */
#include "bom_read.h"

#include "items.gen.h"
#include "wharf/errors.h"

/* Reads a decimal that a column of the module holds. */
static exact column_exact(const wharf_rows *rows, size_t row, size_t column, unsigned scale)
{
    wharf_str s = row_text(rows, row, column);
    exact v = 0;

    exact_read(s.p, s.n, scale, &v);
    return v;
}

static void read_part(const struct bom_made *m, const wharf_rows *rows, size_t i)
{
    struct bom_part *p = &m->parts[i];
    wharf_str lots = row_text(rows, i, 17);

    *p = (struct bom_part){.id = row_text(rows, i, 10),
        .item_id = row_text(rows, i, 11),
        .unit_id = row_text(rows, i, 12),
        .quantity = (int64_t)column_exact(rows, i, 13, QUANTITY_SCALE),
        .factor = column_exact(rows, i, 14, FACTOR_SCALE),
        .is_asset = row_bool(rows, i, 15),
        .archived = row_bool(rows, i, 16),
        .lots_needed = is(lots, "required"),
        .lots_allowed = !is(lots, "none")};
    quantity_times(p->quantity, p->factor, &p->base_quantity);
    p->use = bom_use_of(p->quantity, p->factor, m->output_qty, p->is_asset);
}

wharf_status bom_read(wharf_req *req, wharf_str bom_id, int64_t version, struct bom_made *ret)
{
    static const char sql[] = QUERY_BOM_VERSION;
    const wharf_val args[3] = {val_text(bom_id), val_text(W->req->organization(req)),
        version ? val_int(version) : val_null()};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);
    wharf_str lots;

    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    lots = row_text(rows, 0, 9);
    *ret = (struct bom_made){.id = bom_id,
        .item_id = row_text(rows, 0, 0),
        .version = row_int(rows, 0, 1),
        .current = row_int(rows, 0, 2),
        .output_qty = (int64_t)column_exact(rows, 0, 3, QUANTITY_SCALE),
        .min_build_qty = (int64_t)column_exact(rows, 0, 4, QUANTITY_SCALE),
        .active = row_bool(rows, 0, 5),
        .archived = row_bool(rows, 0, 6),
        .is_asset = row_bool(rows, 0, 7),
        .counted = row_bool(rows, 0, 8),
        .lots_needed = is(lots, "required"),
        .lots_allowed = !is(lots, "none"),
        .n = W->db->count(rows)};
    ret->parts = W->mem->alloc(req, ret->n * sizeof(*ret->parts));
    ret->step = bom_first_step(ret->counted);
    for (size_t i = 0; i < ret->n; i++) {
        read_part(ret, rows, i);
        ret->step = bom_step(ret->step, &ret->parts[i].use);
    }
    return WHARF_OK;
}
