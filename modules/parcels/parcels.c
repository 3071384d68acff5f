/* parcels.c - the module parcels: what it declares (docs/spec/02-places-and-people.md section
 * 7). */
#include "parcels.h"

#include "parcels.gen.h"

const wharf_host *W;
const wharf_locations_directory_api *parcels_places;
const wharf_locations_layouts_api *parcels_layouts;
const wharf_many_api *parcels_many;
bool parcels_items;

static void parcels_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(
        d, api, "parcel", (wharf_str)PARCEL_DEFINITION, PARCEL_DEFINITION_HASH, &parcels_hooks);
    api->hook(d, "location", &parcels_location_hooks, 0);
    api->hook(d, "layout", &parcels_layout_hooks, 0);
    api->hook(d, "shipment", &parcels_shipment_hooks, 0);
    api->provide(d, "parcels.ops", 1, 0, &parcels_ops);
}

static wharf_status parcels_start(wharf_plugin *self, wharf_req *req)
{
    parcels_places = W->service(self, "locations.directory", 1, 1);
    parcels_layouts = W->service(self, "locations.layouts", 1, 3);
    parcels_many = W->service(self, "wharf.many", 1, 0);
    parcels_items = W->service(self, "items.stock", 1, 0) != NULL;
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = parcels_declare,
        .start = parcels_start};

    W = host;
    return &desc;
}
