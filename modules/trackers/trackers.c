/* trackers.c - the module trackers: what it declares (docs/spec/03-shipments-and-trackers.md
 * section 5). */
#include "trackers.h"

#include "trackers.gen.h"
#include "wharf/ext/contacts.h"

const wharf_host *W;
const wharf_carriers_detect_api *trackers_carriers;
const wharf_batch_api *trackers_batch;
const wharf_many_api *trackers_many;
const wharf_shipments_ops_api *trackers_shipments;
const wharf_logs_api *trackers_logs;
const wharf_keys_api *trackers_keys;
const wharf_inference_ops_api *trackers_inference;
const wharf_locations_layouts_api *trackers_layouts;

static const wharf_route routes[] = {
    {ROUTE_CREATE, .handler = trackers_post},
    {ROUTE_LOGS, .handler = trackers_logs_get},
};

static void trackers_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(
        d, api, "tracker", (wharf_str)TRACKER_DEFINITION, TRACKER_DEFINITION_HASH, &trackers_hooks);
    ROUTES(api, d, routes);
    api->hook(d, "shipment", &trackers_shipment_hooks, 0);
    api->hook(d, "layout", &trackers_layout_hooks, 0);
    api->provide(d, "trackers.ops", 1, 0, &trackers_ops);
}

static wharf_status trackers_start(wharf_plugin *self, wharf_req *req)
{
    const wharf_contacts_merge_api *merge = W->service(self, "contacts.merge", 1, 0);

    if (merge)
        merge->on_merge(trackers_contacts_merged);
    trackers_carriers = W->service(self, "carriers.detect", 1, 1);
    trackers_batch = W->service(self, "wharf.batch", 1, 2);
    trackers_many = W->service(self, "wharf.many", 1, 2);
    trackers_shipments = W->service(self, "shipments.ops", 1, 2);
    trackers_logs = W->service(self, "wharf.logs", 1, 2);
    trackers_keys = W->service(self, "wharf.keys", 1, 0);
    trackers_layouts = W->service(self, "locations.layouts", 1, 1);
    trackers_inference = W->service(self, "inference.ops", 1, 1);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = trackers_declare,
        .start = trackers_start};

    W = host;
    return &desc;
}
