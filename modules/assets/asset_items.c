/* asset_items.c - the item that an asset is one of (docs/spec/02-places-and-people.md section 9,
 * docs/spec/09-items-and-assembly.md section 6): only items with is_asset have assets, and an item
 * that has some stays one. An asset keeps name and sku of its item, by which lists sort and search;
 * what else it shows of the item is read with it (schemas/assets/asset.json). */
#include <stdlib.h>

#include "assets.h"

#include "assets.gen.h"

/* Items of the rows of a set, in the order of their ids. */
struct items_held {
    wharf_str *ids;
    wharf_item *items;
    size_t n;
};

static struct items_held *held_of(const wharf_rec *rec)
{
    static const char kind[] = "assets.items";

    return W->res->shared(rec, kind, sizeof(struct items_held));
}

wharf_status asset_hold_items(wharf_req *req, wharf_rec *const *recs, size_t n)
{
    struct items_held *held = held_of(recs[0]);

    held->ids = W->mem->alloc(req, n * sizeof(*held->ids));
    held->items = W->mem->alloc(req, n * sizeof(*held->items));
    for (size_t i = 0; i < n; i++)
        held->ids[i] = field_text(recs[i], ASSET_ITEM_ID);
    qsort(held->ids, n, sizeof(*held->ids), wharf_str_order);
    for (size_t i = 0; i < n; i++) {
        if (!held->n || !same(held->ids[held->n - 1], held->ids[i]))
            held->ids[held->n++] = held->ids[i];
    }
    for (size_t i = 0; i < held->n; i++)
        held->items[i] = (wharf_item){.head = WHARF_HEAD(wharf_item)};
    return assets_items->hold_many(req, held->ids, held->n, held->items);
}

static wharf_status asset_items_hold(
    wharf_req *req, const wharf_rec *rec, wharf_str id, wharf_item *ret)
{
    const struct items_held *held = held_of(rec);
    const wharf_str *found = held->n ? bsearch(&id, held->ids, held->n, sizeof(id), wharf_str_order)
                                     : NULL;

    if (!found)
        return assets_items->hold(req, id, ret);
    *ret = held->items[found - held->ids];
    return WHARF_OK;
}

wharf_status asset_settle_item(wharf_req *req, bool restored, wharf_rec *rec)
{
    wharf_item item = {.head = WHARF_HEAD(wharf_item)};
    wharf_status s = asset_items_hold(req, rec, field_text(rec, ASSET_ITEM_ID), &item);

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

/* Items that have assets are not deleted, and stay items of assets. */
static const char *const is_asset[] = {"is_asset"};
static const wharf_refusal has_assets = {
    .sql = "SELECT x.i FROM unnest((SELECT $1::text[])) WITH ORDINALITY x(id, i) WHERE EXISTS ("
           "SELECT 1 FROM assets.asset a WHERE a.organization_id = $2::text AND a.item_id = x.id"
           " AND a.archived_at IS NULL AND a.deleted_at IS NULL)",
    .code = ERR_ITEM_HAS_ASSETS,
    .path = "is_asset",
    .fields = is_asset,
    .n_fields = 1};

static wharf_status asset_items_item_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    return refuse_rows(req, NULL, op, &old_rec, &new_rec, 1, &has_assets);
}

static wharf_status asset_items_item_check_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n)
{
    return refuse_rows(req, assets_many, op, old_recs, new_recs, n, &has_assets);
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

/* Leaves all as it is: updates alone change what an asset shows of its item, and they are written
 * one by one. */
static wharf_status item_written_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n)
{
    return WHARF_OK;
}

const wharf_hooks assets_item_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = asset_items_item_check,
    .written = item_written,
    .check_many = asset_items_item_check_many,
    .written_many = item_written_many,
    .ops = WHARF_UPDATE | WHARF_DELETE};
