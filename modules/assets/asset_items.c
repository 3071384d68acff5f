/* asset_items.c - the item that an asset is one of (docs/spec/02-places-and-people.md section 9,
 * docs/spec/09-items-and-assembly.md section 6): only items with is_asset have assets, and an item
 * that has some stays one. An asset keeps name and sku of its item, by which lists sort and search;
 * what else it shows of the item is read with it (schemas/assets/asset.json). */
#include "assets.h"

#include "assets.gen.h"

wharf_status asset_settle_item(wharf_req *req, bool restored, wharf_rec *rec)
{
    wharf_item item = {.head = WHARF_HEAD(wharf_item)};
    wharf_status s = assets_items->hold(req, field_text(rec, ASSET_ITEM_ID), &item);

    if (s != WHARF_OK)
        return s;
    if (!(item.flags & WHARF_ITEM_ASSET))
        return W->err->fail(req, ERR_ASSET_ITEM_NOT_ASSET, "item_id", NULL);
    if (item.flags & WHARF_ITEM_ARCHIVED && !restored)
        return W->err->fail(req, ERR_ITEM_ARCHIVED, "item_id",
            "The item is archived; activate it before it gets another asset");
    W->res->set(rec, ASSET_NAME, val_text(item.name));
    W->res->set(rec, ASSET_SKU, val_text_or_null(item.sku));
    return WHARF_OK;
}

/* ---- rules of the item ---- */

static wharf_status item_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char sql[] =
        "SELECT 1 FROM assets.asset WHERE organization_id = $2::text AND item_id = $1::text"
        " AND archived_at IS NULL AND deleted_at IS NULL LIMIT 1";
    static const char *const names[] = {"is_asset"};
    const wharf_rows *rows;
    wharf_status s;

    if (op == WHARF_UPDATE && !W->res->changed_any(old_rec, new_rec, names, 1))
        return WHARF_OK;
    s = query_about(req, sql, W->res->id(old_rec), &rows);
    return s == WHARF_OK && W->db->count(rows) ? W->err->fail(req, ERR_ITEM_HAS_ASSETS,
                                                     op == WHARF_UPDATE ? "is_asset" : NULL, NULL)
                                               : s;
}

static wharf_status item_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] =
        "UPDATE assets.asset a SET name = i.name, sku = i.sku, version = a.version + 1"
        " FROM items.item i WHERE i.organization_id = $2::text AND i.id = $1::text"
        " AND a.organization_id = $2::text AND a.item_id = i.id AND a.deleted_at IS NULL";
    static const char *const names[] = {"name", "sku"};
    wharf_status s;

    if (op != WHARF_UPDATE || !W->res->changed_any(old_rec, new_rec, names, 2))
        return WHARF_OK;
    s = query_about(req, sql, W->res->id(new_rec), NULL);
    W->res->row_kept(new_rec);
    return s;
}

const wharf_hooks assets_item_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = item_check,
    .written = item_written,
    .ops = WHARF_UPDATE | WHARF_DELETE};
