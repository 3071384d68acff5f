/* bom_read.c - reads versions of bills of materials; see bom_read.h. Leaves the arithmetic to
 * bom_need.c. */
#include "bom_read.h"

#include "items.gen.h"
#include "wharf/errors.h"

enum { COLUMN_PLACE, COLUMN_BILL, COLUMN_PART = 11 }; /* of queries/bom_version.sql */

/* Reads a decimal that a column of the module holds; null: 0. */
static exact column_exact(const wharf_rows *rows, size_t row, size_t column, unsigned scale)
{
    wharf_str s = row_text(rows, row, column);
    exact v = 0;

    exact_read(s.p, s.n, scale, &v);
    return v;
}

static void read_bill(const wharf_rows *rows, size_t row, wharf_str id, struct bom_made *ret)
{
    wharf_str lots = row_text(rows, row, COLUMN_BILL + 9);

    *ret = (struct bom_made){.id = id,
        .item_id = row_text(rows, row, COLUMN_BILL),
        .version = row_int(rows, row, COLUMN_BILL + 1),
        .current = row_int(rows, row, COLUMN_BILL + 2),
        .output_qty = (int64_t)column_exact(rows, row, COLUMN_BILL + 3, QUANTITY_SCALE),
        .min_build_qty = (int64_t)column_exact(rows, row, COLUMN_BILL + 4, QUANTITY_SCALE),
        .active = row_bool(rows, row, COLUMN_BILL + 5),
        .archived = row_bool(rows, row, COLUMN_BILL + 6),
        .is_asset = row_bool(rows, row, COLUMN_BILL + 7),
        .counted = row_bool(rows, row, COLUMN_BILL + 8),
        .lots_needed = is(lots, "required"),
        .lots_allowed = !is(lots, "none")};
    ret->step = bom_first_step(ret->counted);
}

static void bom_read_part(
    const wharf_rows *rows, size_t row, int64_t output_qty, struct bom_part *ret)
{
    wharf_str lots = row_text(rows, row, COLUMN_PART + 7);

    *ret = (struct bom_part){.id = row_text(rows, row, COLUMN_PART),
        .item_id = row_text(rows, row, COLUMN_PART + 1),
        .unit_id = row_text(rows, row, COLUMN_PART + 2),
        .quantity = (int64_t)column_exact(rows, row, COLUMN_PART + 3, QUANTITY_SCALE),
        .factor = column_exact(rows, row, COLUMN_PART + 4, FACTOR_SCALE),
        .is_asset = row_bool(rows, row, COLUMN_PART + 5),
        .archived = row_bool(rows, row, COLUMN_PART + 6),
        .lots_needed = is(lots, "required"),
        .lots_allowed = !is(lots, "none"),
        .position = row_int(rows, row, COLUMN_PART + 8),
        .reference = row_text(rows, row, COLUMN_PART + 9),
        .notes = row_text(rows, row, COLUMN_PART + 10),
        .item = row_json(rows, row, COLUMN_PART + 11)};
    quantity_times(ret->quantity, ret->factor, &ret->base_quantity);
    ret->use = bom_use_of(ret->quantity, ret->factor, output_qty, ret->is_asset);
}

/* Reads the rows, which stand in the order of the bills, into the bills and their parts. */
static void read_versions(
    wharf_req *req, const wharf_rows *rows, const wharf_str *ids, struct bom_made *boms)
{
    size_t n = W->db->count(rows);
    struct bom_part *parts = W->mem->alloc(req, (n + 1) * sizeof(*parts));

    for (size_t i = 0; i < n; i++) {
        size_t place = (size_t)row_int(rows, i, COLUMN_PLACE) - 1;
        struct bom_made *m = &boms[place];

        if (!m->n) {
            read_bill(rows, i, ids[place], m);
            m->parts = &parts[i];
        }
        bom_read_part(rows, i, m->output_qty, &m->parts[m->n]);
        m->step = bom_step(m->step, &m->parts[m->n++].use);
    }
}

wharf_status bom_read_many(
    wharf_req *req, const wharf_str *ids, const int64_t *versions, size_t n, struct bom_made **ret)
{
    static const char sql[] = QUERY_BOM_VERSION;
    wharf_str *texts = W->mem->alloc(req, (n + 1) * sizeof(*texts));
    const wharf_rows *rows;
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        texts[i] = versions && versions[i] ? W->mem->format(req, "%lld", (long long)versions[i])
                                           : WHARF_S("");
    *ret = W->mem->alloc(req, (n + 1) * sizeof(**ret));
    s = W->db->query(req, sql,
        (const wharf_val[]){
            val_array(req, ids, n), val_text(W->req->organization(req)), val_array(req, texts, n)},
        3, &rows);
    if (s == WHARF_OK)
        read_versions(req, rows, ids, *ret);
    return s;
}

wharf_status bom_read(wharf_req *req, wharf_str bom_id, int64_t version, struct bom_made *ret)
{
    struct bom_made *boms;
    wharf_status s = bom_read_many(req, &bom_id, &version, 1, &boms);

    if (s == WHARF_OK && !boms->n)
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    if (s == WHARF_OK)
        *ret = *boms;
    return s;
}
