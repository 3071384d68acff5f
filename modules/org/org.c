/* org.c - the module org: what it declares (spec 01 sections 5, 6, 7 and 12).
 *
 * Leaves to others: who a key is when a request comes (the kernel reads these tables itself),
 * the first organization and key (`wharf org`, `wharf key`). */
#include "org.h"
#include "org.gen.h"

const wharf_host *org_host;
const wharf_keys_api *keys;
const wharf_cron_api *org_cron;
bool has_locations;

/* Those of members answer module.unavailable without a module that has locations. */
static const wharf_route routes[] = {
    {ROUTE_MAKE, .handler = organization_make},
    {ROUTE_END, .handler = organization_end},
    {ROUTE_ROTATE, .handler = keys_rotate},
    {ROUTE_REVOKE, .handler = keys_revoke},
    {ROUTE_MEMBERS_CHANGE, .handler = members_change},
    {ROUTE_MEMBER_ADD, .handler = members_add},
    {ROUTE_MEMBER_REMOVE, .handler = members_remove},
};

static void org_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
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
    ROUTES(api, d, routes);
    api->provide(d, "org.directory", 1, 4, &org_directory);
}

static wharf_status org_start(wharf_plugin *self, wharf_req *req)
{
    keys = org_host->service(self, "wharf.keys", 1, 0);
    org_cron = org_host->service(self, "wharf.cron", 1, 0);
    has_locations = org_host->service(self, "locations.directory", 1, 0) != NULL;
    return org_cron ? WHARF_OK : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = org_declare,
        .start = org_start};

    org_host = host;
    return &desc;
}
