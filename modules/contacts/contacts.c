/* contacts.c - the module contacts (spec 02 sections 4 and 6): what it declares. Rules:
 * contact_rules.c, group_rules.c; both sides of a membership: membership.c; how alike two names
 * are: score.h. */
#include "contacts.h"

#include "contacts.gen.h"
#include "score.h"

const wharf_host *contacts_host;
const wharf_org_directory_api *contacts_org;
const wharf_batch_api *contacts_batch;
const wharf_locations_directory_api *contacts_places;
const wharf_text_api *contacts_forms;
const wharf_import_api *contacts_files;
const wharf_fetch_api *contacts_web;
const wharf_events_api *contacts_events;
const wharf_keys_api *contacts_keys;
const wharf_many_api *contacts_many;

static const wharf_route routes[] = {
    {ROUTE_CREATE, .handler = contacts_create},
    {ROUTE_CHILDREN, .handler = group_children},
    {ROUTE_MERGE, .handler = contacts_merge_route},
};

static void contacts_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    (void)self;
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(
        d, api, "contact", (wharf_str)CONTACT_DEFINITION, CONTACT_DEFINITION_HASH, &contact_hooks);
    declare_resource(
        d, api, "group", (wharf_str)GROUP_DEFINITION, GROUP_DEFINITION_HASH, &group_hooks);
    ROUTES(api, d, routes);
    api->hook(d, "location", &contacts_location_hooks, 0);
    api->provide(d, "contacts.groups", 1, 0, &contacts_groups);
    api->provide(d, "contacts.merge", 1, 0, &contacts_merge);
    api->provide(d, "contacts.match", 1, 3, &contacts_match);
    api->provide(d, "contacts.notices", 1, 0, &contacts_notices);
}

static wharf_status contacts_start(wharf_plugin *self, wharf_req *req)
{
    (void)req;
    names_load();
    contacts_org = W->service(self, "org.directory", 1, 3);
    contacts_batch = W->service(self, "wharf.batch", 1, 0);
    contacts_places = W->service(self, "locations.directory", 1, 2);
    contacts_forms = W->service(self, "wharf.text", 1, 2);
    contacts_files = W->service(self, "wharf.import", 1, 0);
    contacts_web = W->service(self, "wharf.fetch", 1, 0);
    contacts_events = W->service(self, "wharf.events", 1, 0);
    contacts_keys = W->service(self, "wharf.keys", 1, 0);
    contacts_many = W->service(self, "wharf.many", 1, 0);
    return contacts_org && contacts_batch && contacts_places && contacts_forms && contacts_files &&
                   contacts_web && contacts_events && contacts_keys && contacts_many
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = contacts_declare,
        .start = contacts_start,
        .thread_start = contacts_thread};

    contacts_host = host;
    return &desc;
}
