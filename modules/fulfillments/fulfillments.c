/* fulfillments.c - the module fulfillments: what it declares (docs/spec/
 * 03-shipments-and-trackers.md section 6). */
#include "fulfillments.h"

#include "fulfillments.gen.h"
#include "wharf/ext/contacts.h"

const wharf_host *W;
const wharf_items_stock_api *fulfillments_stock;
const wharf_many_api *fulfillments_many;
const wharf_locations_directory_api *fulfillments_places;
const wharf_locations_layouts_api *fulfillments_layouts;
const wharf_parcels_ops_api *fulfillments_parcels;
const wharf_shipments_ops_api *fulfillments_shipments;
const wharf_reasons_lookup_api *fulfillments_reasons;
const wharf_crypto_api *fulfillments_crypto;
bool fulfillments_draw_slips;

static const wharf_route routes[] = {
    {ROUTE_CANCEL, .handler = cancel_delete},
    {ROUTE_PICK_LIST, .handler = pick_list_get},
    {ROUTE_PICKS, .handler = picks_post},
    {ROUTE_PACKS, .handler = packs_post},
    {ROUTE_RETURNS, .handler = returns_post},
    {ROUTE_PRINT, .handler = print_post},
};

static void fulfillments_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    (void)self;
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "fulfillment", (wharf_str)FULFILLMENT_DEFINITION,
        FULFILLMENT_DEFINITION_HASH, &fulfillments_hooks);
    declare_resource(d, api, "fulfillment_article", (wharf_str)FULFILLMENT_ARTICLE_DEFINITION,
        FULFILLMENT_ARTICLE_DEFINITION_HASH, NULL);
    ROUTES(api, d, routes);
    api->hook(d, "location", &fulfillments_location_hooks, 0);
    api->hook(d, "layout", &fulfillments_layout_hooks, 1); /* behind the stock itself */
    api->hook(d, "item", &fulfillments_item_hooks, 0);
    api->hook(d, "shipment", &fulfillments_shipment_hooks, 1);
    api->job(d, "serve", serve_run, NULL, WHARF_S("{\"retries\": 100}"));
    api->job(d, "follow", follow_run, NULL, WHARF_S("{\"retries\": 5}"));
    api->provide(d, "fulfillments.shipping", 1, 0, &fulfillments_shipping);
    CHECKS(api, d);
}

static wharf_status fulfillments_start(wharf_plugin *self, wharf_req *req)
{
    const wharf_contacts_merge_api *merge = W->service(self, "contacts.merge", 1, 0);

    (void)req;
    fulfillments_stock = W->service(self, "items.stock", 1, 1);
    fulfillments_places = W->service(self, "locations.directory", 1, 1);
    fulfillments_layouts = W->service(self, "locations.layouts", 1, 1);
    fulfillments_parcels = W->service(self, "parcels.ops", 1, 0);
    fulfillments_shipments = W->service(self, "shipments.ops", 1, 3);
    fulfillments_reasons = W->service(self, "reasons.lookup", 1, 0);
    fulfillments_many = W->service(self, "wharf.many", 1, 0);
    fulfillments_crypto = W->service(self, "wharf.crypto", 1, 1);
    fulfillments_draw_slips = W->service(self, "templates.render", 1, 0) != NULL;
    fulfillments_stock->on_risen(reserve_risen);
    if (merge)
        merge->on_merge(fulfillments_contacts_merged);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = fulfillments_declare,
        .start = fulfillments_start};

    W = host;
    return &desc;
}
