/* build_request.c - the body of a build or unbuild; see build.h. The route's schema has checked
 * types and lengths. */
#include "build.h"
#include "items.gen.h"
#include "wharf/errors.h"

static int64_t body_int(const wharf_json *body, const char *key)
{
    const wharf_json *v = W->json->get(body, key);
    int64_t n = 0;

    if (!json_is_null(v))
        W->json->integer(v, &n);
    return n;
}

static const wharf_json *body_value(const wharf_json *body, const char *key)
{
    const wharf_json *v = W->json->get(body, key);

    return json_is_null(v) ? NULL : v;
}

wharf_status build_take_request(wharf_req *req, bool unbuild, struct build_request *ret)
{
    const wharf_json *body, *automatic;
    uint32_t flags;
    wharf_status s = W->req->body(req, &body);

    if (s != WHARF_OK)
        return s;
    automatic = body_value(body, "auto_select_layouts");
    *ret = (struct build_request){.req = req,
        .unbuild = unbuild,
        .location = json_text(body, "location_id"),
        .dry_run = json_truth(W->json->get(body, "dry_run")),
        .subassemblies = !unbuild && json_truth(W->json->get(body, "build_subassemblies")),
        .auto_layouts = !automatic || json_truth(automatic),
        .allow_expired = json_truth(W->json->get(body, "allow_expired")),
        .other_location = json_truth(W->json->get(body, "allow_other_location")),
        .layout = json_text(body, "layout_id"),
        .lot_number = json_text(body, "lot_number"),
        .lot_expires_at = body_value(body, "lot_expires_at"),
        .components = body_value(body, "components"),
        .assembly_layouts = body_value(body, "assembly_layouts"),
        .metadata = body_value(body, "metadata"),
        .note = json_text(body, "note"),
        .unit = json_text(body, "item_transactional_unit_id"),
        .build_order = json_text(body, "build_order_id"),
        .said = body_value(body, "quantity"),
        .expected_version = body_int(body, "expected_version"),
        .version = body_int(body, "version")};
    W->req->param(req, "item", &ret->item);
    W->req->param(req, "bom", &ret->bom);
    if (!ret->said)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "quantity", "quantity is required");
    s = W->req->need_location(req, ret->location);
    if (s == WHARF_OK)
        s = items_places->flags(req, ret->location, &flags);
    return s == WHARF_OK && !(flags & WHARF_LOCATION_KNOWN)
               ? W->err->fail(
                     req, ERR_VALIDATION_FAILED, "location_id", "There is no such location")
               : s;
}

wharf_status build_take_quantity(
    struct build_request *ask, const wharf_json *units, const struct bom_made *m)
{
    wharf_req *req = ask->req;
    exact factor = 0;
    wharf_status s = quantity_take(req, ask->said, "quantity", &ask->quantity);

    if (s == WHARF_OK && ask->quantity <= 0)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "quantity", "quantity must be above 0");
    if (s == WHARF_OK && ask->unit.n) {
        s = packing_factor(req, units, ask->unit, "item_transactional_unit_id", &factor);
        if (s != WHARF_OK)
            return s;
        ask->unit_quantity = ask->quantity;
        if (m->is_asset && !product_is_whole(ask->quantity, factor))
            return W->err->fail(req, ERR_ITEM_FRACTIONAL_QUANTITY, "quantity", NULL);
        if (!quantity_times(ask->unit_quantity, factor, &ask->quantity))
            return W->err->fail(req, ERR_VALIDATION_FAILED, "quantity",
                "quantity must be at most 99999999999.9999 in the base unit");
    }
    if (s == WHARF_OK && m->is_asset && !quantity_is_whole(ask->quantity))
        return W->err->fail(req, ERR_ITEM_FRACTIONAL_QUANTITY, "quantity", NULL);
    if (s == WHARF_OK && ask->quantity < m->min_build_qty) {
        wharf_out *out = W->json->writer(req);

        W->json->put(out, NULL, val_decimal(m->min_build_qty, QUANTITY_SCALE));
        return W->err->fail(req, ERR_BOM_MIN_BUILD_QTY, "quantity",
            "At least %s are built or taken apart at once; send a larger quantity",
            W->json->result_text(out).p);
    }
    return s;
}

/* ---- layouts that are named ---- */

const wharf_json *build_picks_of(const struct build_request *ask, wharf_str item, size_t *ret_at)
{
    size_t i = 0;

    for (const wharf_json *e = ask->components ? W->json->at(ask->components, 0) : NULL; e;
         e = W->json->next(e), i++) {
        const wharf_json *layouts = W->json->get(e, "layouts");

        if (same(json_text(e, "item_id"), item)) {
            *ret_at = i;
            return json_is_null(layouts) || !W->json->count(layouts) ? NULL : layouts;
        }
    }
    return NULL;
}

wharf_status build_check_picks(const struct build_request *ask, const struct bom_made *m)
{
    wharf_req *req = ask->req;
    size_t i = 0;

    for (const wharf_json *e = ask->components ? W->json->at(ask->components, 0) : NULL; e;
         e = W->json->next(e), i++) {
        wharf_str item = json_text(e, "item_id");
        const char *path = W->mem->format(req, "components.%zu.item_id", i).p;
        size_t k = 0, first = i;

        while (k < m->n && !same(m->parts[k].item_id, item))
            k++;
        if (k == m->n)
            W->err->add(req, ERR_BOM_COMPONENT_NOT_FOUND, path,
                "The version has no such component; send the item_id of one");
        build_picks_of(ask, item, &first);
        if (first != i)
            W->err->add(req, ERR_BOM_DUPLICATE_COMPONENT, path, NULL);
    }
    return W->err->current(req);
}
