/* org.c - the module org: what it declares (spec 01 sections 5, 6, 7 and 12).
 *
 * Leaves to others: who a key is when a request comes (the kernel reads these tables itself),
 * the first organization and key (`wharf org`, `wharf key`). */
#include "org.h"
#include "org.gen.h"

const wharf_host *org_host;
const wharf_keys_api *keys;
bool has_locations;

#define KEY "{\"$ref\": \"#/components/schemas/ApiKey\"}"
static const char rotate_doc[] = "{\"summary\": \"Replace an API key; the old one works on for a "
                                 "while\", \"tag\": \"API keys\", \"location\": "
                                 "\"none\", "
                                 "\"body\": {\"type\": \"object\", \"properties\": "
                                 "{\"overlap_seconds\": {\"type\": \"integer\", \"minimum\": 0, "
                                 "\"maximum\": 604800, \"description\": \"Default: 86400.\"}}}, "
                                 "\"status\": 201, \"response\": " KEY "}";
static const char revoke_doc[] = "{\"summary\": \"Revoke an API key at once; a key may revoke "
                                 "itself\", \"tag\": \"API keys\", \"location\": "
                                 "\"none\", "
                                 "\"response\": {\"type\": \"object\", \"required\": [\"id\", "
                                 "\"object\", \"deleted\"], \"properties\": {\"id\": "
                                 "{\"type\": \"string\"}, \"object\": {\"const\": \"api_key\"}, "
                                 "\"deleted\": {\"const\": true}}}}";

#define ADDRESS                                                                                    \
    "{\"type\": [\"object\", \"string\"], \"description\": \"Of the base location, as a "          \
    "location's address\"}"
static const char make_doc[] =
    "{\"summary\": \"Make an organization with its owner, its base location and a first key\", "
    "\"tag\": \"Organizations\", \"location\": \"none\", \"body\": {\"type\": \"object\", "
    "\"required\": [\"user\", \"organization\"], \"properties\": {\"user\": {\"type\": \"object\", "
    "\"required\": [\"email\", \"name\"], \"properties\": {\"email\": {\"type\": \"string\", "
    "\"format\": \"email\", \"maxLength\": 254}, \"name\": {\"type\": \"string\", \"minLength\": "
    "1, \"maxLength\": 191}}}, "
    "\"organization\": {\"type\": \"object\", \"required\": [\"name\", \"address\"], "
    "\"properties\": {\"name\": "
    "{\"type\": "
    "\"string\", \"minLength\": 1, \"maxLength\": 191}, \"address\": " ADDRESS
    "}}}}, \"status\": 201, "
    "\"response\": {\"type\": \"object\", \"required\": [\"object\", \"id\", \"organization\", "
    "\"user\", \"api_key\"], \"properties\": {\"object\": {\"const\": \"tenant\"}, \"id\": "
    "{\"type\": \"string\"}, \"organization\": {\"$ref\": \"#/components/schemas/Organization\"}, "
    "\"user\": {\"$ref\": \"#/components/schemas/User\"}, \"api_key\": {\"anyOf\": [" KEY
    ", {\"type\": \"null\"}]}}}}";
static const char end_doc[] =
    "{\"summary\": \"Deactivate the organization; its rows are erased after 30 days\", \"tag\": "
    "\"Organizations\", \"location\": \"none\", \"body\": {\"type\": \"object\", \"required\": "
    "[\"confirm\"], \"properties\": {\"confirm\": {\"type\": \"string\", \"description\": \"The "
    "organization's name\"}}}, \"response\": {\"type\": \"object\", \"required\": [\"id\", "
    "\"object\", \"deleted\"], \"properties\": {\"id\": {\"type\": \"string\"}, \"object\": "
    "{\"const\": \"organization\"}, \"deleted\": "
    "{\"const\": true}}}}";

#define IDS "{\"type\": \"array\", \"maxItems\": 1000, \"items\": {\"type\": \"string\"}}"
static const char members_doc[] =
    "{\"summary\": \"Change which users reach a location\", \"tag\": \"Locations\", \"location\": "
    "\"row\", \"params\": {\"location\": \"location?\"}, \"body\": {\"type\": \"object\", "
    "\"properties\": {\"add\": " IDS ", \"remove\": " IDS ", \"users\": {\"anyOf\": [{\"type\": "
    "\"string\"}, " IDS "]}, \"overwrite\": {\"type\": \"boolean\", \"description\": \"With users: "
    "these alone. Default: false.\"}}}, \"response\": {\"type\": \"object\", \"required\": "
    "[\"object\", \"id\"]}}";
static const char member_doc[] =
    "{\"summary\": \"Let a user reach a location, or not\", \"tag\": \"Locations\", "
    "\"location\": \"row\", \"params\": {\"location\": \"location?\", \"user\": \"user\"}, "
    "\"response\": {\"type\": \"object\", \"required\": [\"object\", \"id\"]}}";

/* Declares the routes of members. Without a module that has locations they answer
 * module.unavailable. */
static void declare_members(wharf_decl *d, const wharf_decl_api *api)
{
    const struct {
        const char *method, *path;
        wharf_str doc;
        wharf_handler *handler;
    } routes[] = {
        {"POST", "/v1/locations/:location/users", {members_doc, sizeof(members_doc) - 1},
            members_change},
        {"POST", "/v1/locations/:location/users/:user", {member_doc, sizeof(member_doc) - 1},
            members_add},
        {"DELETE", "/v1/locations/:location/users/:user", {member_doc, sizeof(member_doc) - 1},
            members_remove},
    };

    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const wharf_route route = {.head = WHARF_HEAD(wharf_route),
            .method = routes[i].method,
            .path = routes[i].path,
            .scope = "locations:write",
            .definition = routes[i].doc,
            .handler = routes[i].handler};

        api->route(d, &route);
    }
}

static void declare_routes(wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_route rotate = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/api-keys/:id/rotate",
        .scope = "api_keys:write",
        .definition = {rotate_doc, sizeof(rotate_doc) - 1},
        .handler = keys_rotate};
    const wharf_route revoke = {.head = WHARF_HEAD(wharf_route),
        .method = "DELETE",
        .path = "/v1/api-keys/:id",
        .scope = "any",
        .definition = {revoke_doc, sizeof(revoke_doc) - 1},
        .handler = keys_revoke};

    const wharf_route make = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/organizations",
        .scope = "organizations:write",
        .definition = {make_doc, sizeof(make_doc) - 1},
        .handler = organization_make};
    const wharf_route end = {.head = WHARF_HEAD(wharf_route),
        .method = "DELETE",
        .path = "/v1/organizations/:organization",
        .scope = "organizations:write",
        .definition = {end_doc, sizeof(end_doc) - 1},
        .handler = organization_end};

    api->route(d, &make);
    api->route(d, &end);
    api->route(d, &rotate);
    api->route(d, &revoke);
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(
        d, api, "api_key", (wharf_str)API_KEY_DEFINITION, API_KEY_DEFINITION_HASH, &key_hooks);
    declare_resource(d, api, "user", (wharf_str)USER_DEFINITION, USER_DEFINITION_HASH, &user_hooks);
    declare_resource(
        d, api, "device", (wharf_str)DEVICE_DEFINITION, DEVICE_DEFINITION_HASH, &device_hooks);
    declare_resource(d, api, "role", (wharf_str)ROLE_DEFINITION, ROLE_DEFINITION_HASH, &role_hooks);
    declare_resource(d, api, "organization", (wharf_str)ORGANIZATION_DEFINITION,
        ORGANIZATION_DEFINITION_HASH, &organization_hooks);
    declare_resource(d, api, "outbox_message", (wharf_str)OUTBOX_MESSAGE_DEFINITION,
        OUTBOX_MESSAGE_DEFINITION_HASH, NULL);
    declare_routes(d, api);
    declare_members(d, api);
    api->provide(d, "org.directory", 1, 4, &org_directory);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    keys = org_host->service(self, "wharf.keys", 1, 0);
    has_locations = org_host->service(self, "locations.directory", 1, 0) != NULL;
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    org_host = host;
    return &desc;
}
