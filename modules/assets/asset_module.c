/* asset_module.c - the module assets: what it declares (docs/spec/02-places-and-people.md section
 * 9). */
#include "assets.h"

#include "assets.gen.h"
#include "wharf/ext/contacts.h"

const wharf_host *W;
const wharf_items_catalog_api *assets_items;
const wharf_locations_directory_api *assets_places;
const wharf_locations_layouts_api *assets_layouts;
const wharf_many_api *assets_many;
const wharf_reasons_lookup_api *assets_reasons;

static const wharf_route routes[] = {
    {ROUTE_SEQUENCE_CREATE, .handler = asset_sequence_create},
};

static void asset_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(
        d, api, "asset", (wharf_str)ASSET_DEFINITION, ASSET_DEFINITION_HASH, &assets_asset_hooks);
    declare_resource(d, api, "sequence", (wharf_str)SEQUENCE_DEFINITION, SEQUENCE_DEFINITION_HASH,
        &assets_sequence_hooks);
    ROUTES(api, d, routes);
    api->hook(d, "item", &assets_item_hooks, 0);
    api->hook(d, "location", &assets_location_hooks, 0);
    api->hook(d, "layout", &assets_layout_hooks, 0);
    CHECKS(api, d);
}

static wharf_status asset_start(wharf_plugin *self, wharf_req *req)
{
    const wharf_contacts_merge_api *merge = W->service(self, "contacts.merge", 1, 0);

    assets_items = W->service(self, "items.catalog", 1, 1);
    assets_places = W->service(self, "locations.directory", 1, 1);
    assets_layouts = W->service(self, "locations.layouts", 1, 3);
    assets_many = W->service(self, "wharf.many", 1, 3);
    assets_reasons = W->service(self, "reasons.lookup", 1, 0);
    if (merge)
        merge->on_merge(assets_contacts_merged);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = asset_declare,
        .start = asset_start};

    W = host;
    return &desc;
}
