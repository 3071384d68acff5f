/* shipments.c - the module shipments: what it declares (docs/spec/03-shipments-and-trackers.md
 * sections 2 to 4 and 12). */
#include "shipments.h"

#include "shipments.gen.h"

const wharf_host *W;
const wharf_carriers_detect_api *shipments_carriers;
const wharf_batch_api *shipments_batch;
const wharf_org_directory_api *shipments_org;
const wharf_logs_api *shipments_logs;
const wharf_keys_api *shipments_keys;
const wharf_config_api *shipments_config;
const wharf_locations_directory_api *shipments_places;
const wharf_contacts_match_api *shipments_contacts;
const wharf_locations_layouts_api *shipments_layouts;
wharf_plugin *shipments_self;

#define SHIPMENT "{\"$ref\": \"#/components/schemas/Shipment\"}"
static const char create_doc[] =
    "{\"summary\": \"Create a shipment, or find the one of its number\", \"tag\": \"Shipments\", "
    "\"location\": \"body\", \"statuses\": [200, 201], \"response\": " SHIPMENT "}";
static const char purchase_doc[] =
    "{\"summary\": \"Buy a rate\", \"tag\": \"Shipments\", \"location\": \"row\", "
    "\"status\": 200, \"response\": " SHIPMENT "}";
static const char refund_doc[] =
    "{\"summary\": \"Request a refund\", \"tag\": \"Shipments\", \"location\": \"row\", "
    "\"status\": 200, \"response\": " SHIPMENT "}";
static const char updates_doc[] =
    "{\"summary\": \"Write tracking updates\", \"tag\": \"Shipments\", \"location\": \"row\", "
    "\"array_body\": true, \"status\": 200, \"response\": " SHIPMENT "}";
static const char history_doc[] =
    "{\"summary\": \"List tracking updates\", \"tag\": \"Shipments\", \"location\": "
    "\"row\", \"query\": {\"page\": {\"type\": \"string\"},"
    " \"limit\": {\"type\": \"string\"}, \"order\": {\"type\": \"string\"}}, "
    "\"response\": {\"type\": \"array\", \"items\": {\"type\": "
    "\"object\"}}}";

#define DOC(text)                                                                                  \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static void declare_routes(wharf_decl *d, const wharf_decl_api *api)
{
    static const wharf_route routes[] = {
        {.head = WHARF_HEAD(wharf_route),
            .method = "POST",
            .path = "/v1/shipments",
            .scope = "shipments:write",
            .definition = DOC(create_doc),
            .handler = shipments_post},
        {.head = WHARF_HEAD(wharf_route),
            .method = "POST",
            .path = "/v1/shipments/:id/purchase",
            .scope = "shipments:write",
            .definition = DOC(purchase_doc),
            .handler = shipments_purchase_post},
        {.head = WHARF_HEAD(wharf_route),
            .method = "POST",
            .path = "/v1/shipments/:id/refund",
            .scope = "shipments:write",
            .definition = DOC(refund_doc),
            .handler = shipments_refund_post},
        {.head = WHARF_HEAD(wharf_route),
            .method = "POST",
            .path = "/v1/shipments/:id/tracking-updates",
            .scope = "shipments:write",
            .definition = DOC(updates_doc),
            .handler = shipments_updates_post},
        {.head = WHARF_HEAD(wharf_route),
            .method = "GET",
            .path = "/v1/shipments/:id/tracking-updates",
            .scope = "shipments:read",
            .definition = DOC(history_doc),
            .handler = shipments_updates_get,
            .flags = WHARF_R_READONLY},
    };

    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        api->route(d, &routes[i]);
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource shipment = {.head = WHARF_HEAD(wharf_resource),
        .name = "shipment",
        .definition_hash = SHIPMENT_DEFINITION_HASH,
        .definition = SHIPMENT_DEFINITION,
        .hooks = &shipments_hooks};

    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    api->resource(d, &shipment);
    declare_routes(d, api);
    api->hook(d, "location", &shipments_location_hooks, 0);
    api->hook(d, "layout", &shipments_layout_hooks, 0);
    api->job(d, "simulate", shipments_simulate, NULL, WHARF_S("{\"retries\": 5}"));
    api->provide(d, "shipments.ops", 1, 0, &shipments_ops);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    const wharf_contacts_merge_api *merge = W->service(self, "contacts.merge", 1, 0);

    shipments_self = self;
    if (merge)
        merge->on_merge(shipments_contacts_merged);
    shipments_contacts = W->service(self, "contacts.match", 1, 0);
    shipments_carriers = W->service(self, "carriers.detect", 1, 0);
    shipments_batch = W->service(self, "wharf.batch", 1, 0);
    shipments_org = W->service(self, "org.directory", 1, 1);
    shipments_logs = W->service(self, "wharf.logs", 1, 1);
    shipments_keys = W->service(self, "wharf.keys", 1, 0);
    shipments_config = W->service(self, "wharf.config", 1, 0);
    shipments_places = W->service(self, "locations.directory", 1, 1);
    shipments_layouts = W->service(self, "locations.layouts", 1, 1);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    W = host;
    return &desc;
}
