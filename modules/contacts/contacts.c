/* contacts.c - the module contacts (spec 02 sections 4 and 6): what it declares. Rules: contact_rules.c, group_rules.c; both sides of a
 * membership: membership.c; how alike two names are: score.h. */
#include "contacts.h"

#include "contacts.gen.h"
#include "score.h"

const wharf_host *contacts_host;
const wharf_org_directory_api *org;
const wharf_locations_directory_api *locations;
const wharf_text_api *forms;
const wharf_import_api *files;
const wharf_fetch_api *web;
const wharf_events_api *events;
const wharf_keys_api *keys;

static const char create_doc[] = "{\"summary\": \"Create a contact, or import a file of them\", \"tag\": \"Contacts\", "
                                 "\"location\": \"multi\", \"statuses\": [200, 201],"
                                 " \"large_body\": true, \"description\": \"With csv_url (a data URL or a public https "
                                 "URL of a CSV or XLSX file) and overwrite the file is imported: 200."
                                 " Else the fields of a contact: 201.\","
                                 " \"body\": {\"type\": \"object\"}, \"response\": {\"type\": \"object\"}}";

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource contact = {.head = WHARF_HEAD(wharf_resource),
        .name = "contact",
        .definition_hash = CONTACT_DEFINITION_HASH,
        .definition = CONTACT_DEFINITION,
        .hooks = &contact_hooks};
    const wharf_resource group = {.head = WHARF_HEAD(wharf_resource),
        .name = "group",
        .definition_hash = GROUP_DEFINITION_HASH,
        .definition = GROUP_DEFINITION,
        .hooks = &group_hooks};

    const wharf_route create = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/contacts",
        .scope = "contacts:write",
        .definition = {create_doc, sizeof(create_doc) - 1},
        .handler = contacts_create,
        .flags = WHARF_R_LONG};

    (void)self;
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    api->resource(d, &contact);
    api->resource(d, &group);
    api->route(d, &create);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    (void)req;
    names_load();
    org = W->service(self, "org.directory", 1, 1);
    locations = W->service(self, "locations.directory", 1, 0);
    forms = W->service(self, "wharf.text", 1, 0);
    files = W->service(self, "wharf.import", 1, 0);
    web = W->service(self, "wharf.fetch", 1, 0);
    events = W->service(self, "wharf.events", 1, 0);
    keys = W->service(self, "wharf.keys", 1, 0);
    return org && locations && forms && files && web && events && keys ? WHARF_OK : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {
        .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare, .start = start};

    contacts_host = host;
    return &desc;
}
