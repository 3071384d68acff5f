/* item_catalog.c - the service items.catalog: what an item is, for modules whose rows are of an
 * item (plugin-api/wharf/ext/items.h; docs/spec/09-items-and-assembly.md section 6). */
#include "items.h"

static wharf_status hold(wharf_req *req, wharf_str item_id, wharf_item *ret_item)
{
    static const char sql[] =
        "SELECT is_asset, status = 'archived', name, sku FROM items.item"
        " WHERE organization_id = $2::text AND id = $1::text AND deleted_at IS NULL FOR SHARE";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, item_id, &rows);

    ret_item->flags = 0;
    ret_item->name = ret_item->sku = WHARF_S("");
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    ret_item->flags = WHARF_ITEM_KNOWN | (row_bool(rows, 0, 0) ? WHARF_ITEM_ASSET : 0u) |
                      (row_bool(rows, 0, 1) ? WHARF_ITEM_ARCHIVED : 0u);
    ret_item->name = row_text(rows, 0, 2);
    ret_item->sku = row_text(rows, 0, 3);
    return WHARF_OK;
}

const wharf_items_catalog_api items_catalog = {WHARF_HEAD(wharf_items_catalog_api), hold};
