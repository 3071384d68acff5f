/* stock_reads.c - which levels and lots are listed (docs/spec/09-items-and-assembly.md sections 4
 * and 8). What a level shows of a moment is SQL in schemas/items/level.json. */
#include "items.h"

#include "items.gen.h"
#include "wharf/errors.h"

/* Narrows the list to the rows whose ids the query answers as one JSON array. */
static wharf_status narrow_to(wharf_req *req, wharf_where *where, wharf_field id, const char *sql,
    const wharf_val *args, size_t n)
{
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, n, &rows);

    if (s == WHARF_OK)
        W->res->narrow(where, id, "in", val_json(row_json(rows, 0, 0)));
    return s;
}

static wharf_status level_rows_at(
    wharf_req *req, wharf_where *where, wharf_str item, wharf_str at, bool zero)
{
    static const char known[] = "SELECT items.moment_of($1::text)";
    static const char sql[] = QUERY_LEVELS_AT;
    wharf_val args[4] = {
        val_text(item), val_text(W->req->organization(req)), val_text(at), val_bool(zero)};
    const wharf_rows *rows;
    wharf_val moment;
    wharf_status s = W->db->query(req, known, &args[2], 1, &rows);

    if (s != WHARF_OK)
        return s;
    if (!W->db->value(rows, 0, 0, WHARF_V_TIME_US, &moment))
        return W->err->fail(
            req, ERR_PARAM_INVALID, "at", "at must be a moment as in 2025-03-01T10:00:00Z");
    return narrow_to(req, where, LEVEL_ID, sql, args, 4);
}

static wharf_status level_rows(wharf_req *req, wharf_where *where)
{
    bool zero = param_truth(req, "include_zero_inventory");
    wharf_str at, item;

    if (W->req->param(req, "at", &at) && W->req->param(req, "item", &item))
        return level_rows_at(req, where, item, at, zero);
    if (!zero)
        W->res->narrow(where, LEVEL_STOCKED, "eq", val_bool(true));
    return WHARF_OK;
}

static wharf_status lot_rows(wharf_req *req, wharf_where *where)
{
    static const char sql[] = QUERY_LOTS_STOCKED;
    const wharf_caller *who = items_keys->caller(req);
    wharf_str item, stocked;

    if (!W->req->param(req, "item", &item) || !W->req->param(req, "has_stock", &stocked))
        return WHARF_OK;
    return narrow_to(req, where, LOT_ID, sql,
        (const wharf_val[]){val_text(item), val_text(W->req->organization(req)),
            val_bool(is(stocked, "true")), val_bool(who->all_locations),
            val_array(req, who->locations, who->n_locations)},
        5);
}

const wharf_hooks items_level_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .restrict_rows = level_rows};
const wharf_hooks items_lot_hooks = {.head = WHARF_HEAD(wharf_hooks), .restrict_rows = lot_rows};
