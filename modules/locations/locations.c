/* locations.c - the module locations: what it declares (spec 02 sections 1 to 3). */
#include "layouts.h"
#include "locations.gen.h"

const wharf_host *W;
const wharf_batch_api *locations_batch;
const wharf_crypto_api *locations_crypto;
const wharf_keys_api *locations_keys;
const wharf_many_api *locations_many;
const wharf_text_api *locations_text;
const wharf_org_directory_api *org;
const wharf_contacts_groups_api *groups;

static const wharf_route routes[] = {
    {ROUTE_UPSERT, .handler = layouts_upsert},
    {ROUTE_TREE, .handler = layouts_tree},
    {ROUTE_ADDRESS, .handler = address_get},
};

static void locations_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "location", (wharf_str)LOCATION_DEFINITION, LOCATION_DEFINITION_HASH,
        &location_hooks);
    declare_resource(
        d, api, "layout", (wharf_str)LAYOUT_DEFINITION, LAYOUT_DEFINITION_HASH, &layout_hooks);
    ROUTES(api, d, routes);
    api->provide(d, "locations.directory", 1, 2, &directory);
    api->provide(d, "locations.layouts", 1, 3, &layouts_service);
}

static wharf_status locations_start(wharf_plugin *self, wharf_req *req)
{
    org = W->service(self, "org.directory", 1, 4);
    locations_crypto = W->service(self, "wharf.crypto", 1, 3);
    locations_keys = W->service(self, "wharf.keys", 1, 0);
    locations_batch = W->service(self, "wharf.batch", 1, 0);
    locations_text = W->service(self, "wharf.text", 1, 0);
    locations_many = W->service(self, "wharf.many", 1, 1);
    groups = W->service(self, "contacts.groups", 1, 0);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = locations_declare,
        .start = locations_start};

    W = host;
    return &desc;
}
