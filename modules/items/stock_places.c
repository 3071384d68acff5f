/* stock_places.c - stock where a location or a layout goes (docs/spec/09-items-and-assembly.md
 * section 7 rule 6). */
#include "items.h"

#include "items.gen.h"

static wharf_status stock_places_location_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char sql[] =
        "SELECT 1 FROM items.level WHERE organization_id = $2::text AND location_id = $1::text"
        " AND (available <> 0 OR reserved <> 0 OR damaged <> 0 OR manifested <> 0) LIMIT 1";

    static const char audits[] =
        "SELECT 1 FROM items.audit WHERE organization_id = $2::text AND location_id = $1::text"
        " AND status NOT IN ('approved', 'canceled') AND deleted_at IS NULL LIMIT 1";
    wharf_status s = items_places->in_use(req, W->res->id(old_rec), "items", sql);

    return s == WHARF_OK ? items_places->in_use(req, W->res->id(old_rec), "audits", audits) : s;
}

/* Adds the two moves that take one quantity of a row to another layout. */
static void stock_places_carry(
    wharf_stock *stock, const wharf_rows *rows, size_t row, uint32_t bucket, wharf_str target)
{
    wharf_val v;
    wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
        .item_id = row_text(rows, row, 0),
        .location_id = row_text(rows, row, 1),
        .layout_id = row_text(rows, row, 2),
        .lot_id = row_text(rows, row, 3),
        .lot_number = WHARF_S(""),
        .bucket = bucket,
        .flags = WHARF_STOCK_ARCHIVED_TOO,
        .reason_code_id = WHARF_S(""),
        .note = WHARF_S(""),
        .unit_id = WHARF_S("")};

    if (!W->db->value(rows, row, 3 + bucket, WHARF_V_DEC, &v) || !v.u.i)
        return;
    m.quantity = -v.u.i;
    items_stock.move(stock, &m);
    m.layout_id = target;
    m.quantity = v.u.i;
    items_stock.move(stock, &m);
}

static wharf_status stock_places_layout_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] = "SELECT item_id, location_id, layout_id, lot_id, available, reserved,"
                              " damaged, manifested FROM items.layout_stock($1::text[])";
    const wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause),
        .reason = "layout_removed",
        .source_type = WHARF_S("layout"),
        .source_id = W->res->id(old_rec)};
    wharf_str ids, target;
    wharf_stock *stock;
    const wharf_rows *rows;
    wharf_val args[1];
    wharf_status s = items_layouts->removed(req, W->res->id(old_rec), &ids, &target);

    args[0] = val_text(ids);
    if (s == WHARF_OK)
        s = W->db->query(req, sql, args, 1, &rows);
    if (s == WHARF_OK)
        s = items_stock.begin(req, &cause, &stock);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        for (uint32_t b = WHARF_STOCK_AVAILABLE; b <= WHARF_STOCK_MANIFESTED; b++)
            stock_places_carry(stock, rows, i, b, target);
    }
    return s == WHARF_OK ? items_stock.apply(stock) : s;
}

const wharf_hooks items_location_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = stock_places_location_check, .ops = WHARF_DELETE};
const wharf_hooks items_layout_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .written = stock_places_layout_written, .ops = WHARF_DELETE};
