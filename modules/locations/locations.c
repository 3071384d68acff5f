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

#define LAYOUT "{\"$ref\": \"#/components/schemas/Layout\"}"
static const char upsert_doc[] = "{\"summary\": \"Create or update layouts\", \"location\": "
                                 "\"via\", \"array_body\": true, \"statuses\": [200, 201],"
                                 " \"response\": {\"anyOf\": [" LAYOUT
                                 ", {\"type\": \"array\", \"items\": " LAYOUT "}]}}";
static const char tree_doc[] =
    "{\"summary\": \"The whole tree of a location's layouts\", \"location\": \"via\", "
    "\"response\": {\"type\": \"array\", \"items\": {\"type\": \"object\", \"required\": [\"id\", "
    "\"name\", \"code\", \"children\"], \"properties\": {\"id\": {\"type\": \"string\"}, \"name\": "
    "{\"type\": \"string\"}, \"code\": {\"type\": [\"string\", \"null\"]}, \"children\": "
    "{\"type\": \"array\", \"items\": {\"type\": \"object\"}}}}}}";
static const char address_doc[] =
    "{\"summary\": \"Retrieve an address\", \"location\": \"via\", \"params\": {\"id\": "
    "\"none\"}, \"response\": {\"type\": \"object\"}}";

static void declare_routes(wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_route upsert = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/locations/:location/layouts",
        .scope = "locations:write",
        .definition = {upsert_doc, sizeof(upsert_doc) - 1},
        .handler = layouts_upsert};
    const wharf_route tree = {.head = WHARF_HEAD(wharf_route),
        .method = "GET",
        .path = "/v1/locations/:location/layouts/tree",
        .scope = "locations:read",
        .definition = {tree_doc, sizeof(tree_doc) - 1},
        .handler = layouts_tree,
        .flags = WHARF_R_READONLY};
    const wharf_route address = {.head = WHARF_HEAD(wharf_route),
        .method = "GET",
        .path = "/v1/addresses/:id",
        .scope = "locations:read",
        .definition = {address_doc, sizeof(address_doc) - 1},
        .handler = address_get,
        .flags = WHARF_R_READONLY};

    api->route(d, &upsert);
    api->route(d, &tree);
    api->route(d, &address);
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "location", (wharf_str)LOCATION_DEFINITION, LOCATION_DEFINITION_HASH,
        &location_hooks);
    declare_resource(
        d, api, "layout", (wharf_str)LAYOUT_DEFINITION, LAYOUT_DEFINITION_HASH, &layout_hooks);
    declare_routes(d, api);
    api->provide(d, "locations.directory", 1, 2, &directory);
    api->provide(d, "locations.layouts", 1, 1, &layouts_service);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
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
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    W = host;
    return &desc;
}
