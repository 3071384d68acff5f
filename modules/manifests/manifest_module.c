/* manifest_module.c - the module manifests: what it declares (docs/spec/
 * 03-shipments-and-trackers.md section 7). */
#include "manifests.h"

#include "manifests.gen.h"

const wharf_host *W;
const wharf_items_stock_api *manifests_stock;
const wharf_reasons_lookup_api *manifests_reasons;
const wharf_locations_directory_api *manifests_places;
const wharf_locations_layouts_api *manifests_layouts;
const wharf_org_directory_api *manifests_org;
const wharf_keys_api *manifests_keys;
const wharf_many_api *manifests_many;
const wharf_contacts_match_api *manifests_contacts;
const wharf_parcels_ops_api *manifests_parcels;

static const wharf_route routes[] = {{ROUTE_STOW, .handler = manifest_stow_post}};

static void manifest_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "manifest", (wharf_str)MANIFEST_DEFINITION, MANIFEST_DEFINITION_HASH,
        &manifest_hooks);
    declare_resource(d, api, "manifest_article", (wharf_str)MANIFEST_ARTICLE_DEFINITION,
        MANIFEST_ARTICLE_DEFINITION_HASH, NULL);
    declare_resource(
        d, api, "receipt", (wharf_str)RECEIPT_DEFINITION, RECEIPT_DEFINITION_HASH, &receipt_hooks);
    ROUTES(api, d, routes);
    api->hook(d, "location", &manifest_location_hooks, 0);
    api->hook(d, "layout", &manifest_layout_hooks, 0);
    api->hook(d, "parcel", &manifest_parcel_hooks, 0);
}

static wharf_status manifest_start(wharf_plugin *self, wharf_req *req)
{
    const wharf_contacts_merge_api *merge = W->service(self, "contacts.merge", 1, 0);

    if (merge)
        merge->on_merge(manifest_contacts_merged);
    manifests_stock = W->service(self, "items.stock", 1, 1);
    manifests_reasons = W->service(self, "reasons.lookup", 1, 0);
    manifests_places = W->service(self, "locations.directory", 1, 1);
    manifests_layouts = W->service(self, "locations.layouts", 1, 1);
    manifests_keys = W->service(self, "wharf.keys", 1, 0);
    manifests_many = W->service(self, "wharf.many", 1, 0);
    manifests_org = W->service(self, "org.directory", 1, 1);
    manifests_contacts = W->service(self, "contacts.match", 1, 0);
    manifests_parcels = W->service(self, "parcels.ops", 1, 0);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = manifest_declare,
        .start = manifest_start};

    W = host;
    return &desc;
}
