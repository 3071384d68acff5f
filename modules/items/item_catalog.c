/* item_catalog.c - the service items.catalog: what an item is, for modules whose rows are of an
 * item (plugin-api/wharf/ext/items.h; docs/spec/09-items-and-assembly.md section 6). */
#include "items.h"

static wharf_status hold_many(wharf_req *req, const wharf_str *ids, size_t n, wharf_item *ret)
{
    static const char sql[] =
        "SELECT id, is_asset, status = 'archived', name, sku FROM items.item"
        " WHERE organization_id = $2::text AND id = ANY ((SELECT $1::text[])::text[])"
        " AND deleted_at IS NULL ORDER BY id FOR SHARE";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, val_array(req, ids, n).u.s, &rows);

    for (size_t i = 0; i < n; i++) {
        ret[i].flags = 0;
        ret[i].name = ret[i].sku = WHARF_S("");
    }
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        for (size_t i = 0; i < n; i++) {
            if (!same(ids[i], row_text(rows, r, 0)))
                continue;
            ret[i].flags = WHARF_ITEM_KNOWN | (row_bool(rows, r, 1) ? WHARF_ITEM_ASSET : 0u) |
                           (row_bool(rows, r, 2) ? WHARF_ITEM_ARCHIVED : 0u);
            ret[i].name = row_text(rows, r, 3);
            ret[i].sku = row_text(rows, r, 4);
        }
    }
    return s;
}

static wharf_status item_catalog_hold(wharf_req *req, wharf_str item_id, wharf_item *ret_item)
{
    return hold_many(req, &item_id, 1, ret_item);
}

const wharf_items_catalog_api items_catalog = {
    WHARF_HEAD(wharf_items_catalog_api), item_catalog_hold, hold_many};
