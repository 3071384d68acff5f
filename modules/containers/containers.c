/* containers.c - the module containers: what it declares (docs/spec/02-places-and-people.md
 * section 8). */
#include "containers.h"

#include "containers.gen.h"

const wharf_host *W;
const wharf_batch_api *containers_batch;
const wharf_carriers_detect_api *containers_carriers;
const wharf_shipments_ops_api *containers_shipments;
const wharf_locations_directory_api *containers_places;
const wharf_locations_layouts_api *containers_layouts;
const wharf_many_api *containers_many;

static void containers_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "container", (wharf_str)CONTAINER_DEFINITION,
        CONTAINER_DEFINITION_HASH, &containers_hooks);
    api->hook(d, "location", &containers_location_hooks, 0);
    api->hook(d, "shipment", &containers_shipment_hooks, 0);
    api->hook(d, "layout", &containers_layout_hooks, 0);
    api->provide(d, "containers.membership", 1, 0, &containers_membership);
}

static wharf_status containers_start(wharf_plugin *self, wharf_req *req)
{
    containers_batch = W->service(self, "wharf.batch", 1, 2);
    containers_carriers = W->service(self, "carriers.detect", 1, 0);
    containers_shipments = W->service(self, "shipments.ops", 1, 4);
    containers_places = W->service(self, "locations.directory", 1, 1);
    containers_many = W->service(self, "wharf.many", 1, 0);
    containers_layouts = W->service(self, "locations.layouts", 1, 3);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = containers_declare,
        .start = containers_start};

    W = host;
    return &desc;
}
