/* shipments.c - the module shipments: what it declares (docs/spec/03-shipments-and-trackers.md
 * sections 2 to 4 and 12). */
#include "shipments.h"

#include "shipments.gen.h"

const wharf_host *W;
const wharf_carriers_detect_api *shipments_carriers;
const wharf_batch_api *shipments_batch;
const wharf_many_api *shipments_many;
const wharf_org_directory_api *shipments_org;
const wharf_logs_api *shipments_logs;
const wharf_keys_api *shipments_keys;
const wharf_config_api *shipments_config;
const wharf_events_api *shipments_events;
const wharf_locations_directory_api *shipments_places;
const wharf_contacts_match_api *shipments_contacts;
const wharf_locations_layouts_api *shipments_layouts;
const wharf_fulfillments_shipping_api *shipments_orders;
wharf_plugin *shipments_self;

static const wharf_route routes[] = {
    {ROUTE_CREATE, .handler = shipments_post},
    {ROUTE_PURCHASE, .handler = shipments_purchase_post},
    {ROUTE_REFUND, .handler = shipments_refund_post},
    {ROUTE_UPDATES, .handler = shipments_updates_post},
    {ROUTE_HISTORY, .handler = shipments_updates_get},
};

static void shipments_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "shipment", (wharf_str)SHIPMENT_DEFINITION, SHIPMENT_DEFINITION_HASH,
        &shipments_hooks);
    ROUTES(api, d, routes);
    api->hook(d, "location", &shipments_location_hooks, 0);
    api->hook(d, "layout", &shipments_layout_hooks, 0);
    api->job(d, "simulate", shipments_simulate, NULL, WHARF_S("{\"retries\": 5}"));
    api->provide(d, "shipments.ops", 1, 4, &shipments_ops);
}

static wharf_status shipments_start(wharf_plugin *self, wharf_req *req)
{
    const wharf_contacts_merge_api *merge = W->service(self, "contacts.merge", 1, 0);

    shipments_self = self;
    if (merge)
        merge->on_merge(shipments_contacts_merged);
    shipments_contacts = W->service(self, "contacts.match", 1, 1);
    shipments_carriers = W->service(self, "carriers.detect", 1, 1);
    shipments_batch = W->service(self, "wharf.batch", 1, 2);
    shipments_many = W->service(self, "wharf.many", 1, 3);
    shipments_org = W->service(self, "org.directory", 1, 1);
    shipments_logs = W->service(self, "wharf.logs", 1, 1);
    shipments_keys = W->service(self, "wharf.keys", 1, 0);
    shipments_config = W->service(self, "wharf.config", 1, 2);
    shipments_events = W->service(self, "wharf.events", 1, 7);
    shipments_places = W->service(self, "locations.directory", 1, 2);
    shipments_orders = W->service(self, "fulfillments.shipping", 1, 0);
    shipments_layouts = W->service(self, "locations.layouts", 1, 1);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = shipments_declare,
        .start = shipments_start};

    W = host;
    return &desc;
}
