/* stations.c - the module stations: what it declares (spec 04). The rules are in
 * station_rules.c. */
#include <stdlib.h>

#include "push.h"
#include "stations.gen.h"

const wharf_host *stations_host;
const wharf_locations_directory_api *stations_locations;
const wharf_org_directory_api *stations_users;
const wharf_blob_api *print_blob;
const wharf_documents_files_api *print_documents; /* NULL: the module is not there */
const wharf_templates_render_api *print_templates; /* NULL: the module is not there */
const wharf_fetch_api *print_fetch;
const wharf_render_api *print_render;
const wharf_events_api *print_events;
const wharf_channel_api *print_channel;
const wharf_config_api *print_config;
const wharf_crypto_api *print_crypto;
const wharf_push_api *print_push;
static wharf_str sizes_text = EMBEDDED;
const wharf_str *print_sizes = &sizes_text;
wharf_plugin *print_self;

int64_t print_setting(const char *name)
{
    return print_config->integer(print_self, name);
}

static const wharf_route routes[] = {
    {ROUTE_PAPER_SIZES, .handler = paper_sizes, .arg = &sizes_text},
    {ROUTE_SESSION, .handler = session_open},
    {ROUTE_CLOSE, .handler = session_close},
    {ROUTE_STREAM, .handler = station_stream},
    {ROUTE_CLAIM, .handler = job_claim},
    {ROUTE_HEARTBEAT, .handler = session_heartbeat},
    {ROUTE_RELEASE, .handler = job_release},
    {ROUTE_TEST_PAGE, .handler = printer_test_page},
    {ROUTE_REPRINT, .handler = job_reprint_route},
    {ROUTE_DOCUMENT, .handler = job_document_route},
};

static void stations_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "print_station", (wharf_str)PRINT_STATION_DEFINITION,
        PRINT_STATION_DEFINITION_HASH, &station_hooks);
    declare_resource(d, api, "print_job", (wharf_str)PRINT_JOB_DEFINITION,
        PRINT_JOB_DEFINITION_HASH, &print_job_hooks);
    ROUTES(api, d, routes);
    api->hook(d, "location", &station_location_hooks, 0);
    api->hook(d, "user", &station_user_hooks, 0);
    api->job(d, "print_watch", print_watch, NULL, WHARF_S("{\"resident\": true}"));
    api->job(d, "print_push", push_run, NULL, WHARF_S("{\"resident\": true}"));
}

static wharf_status stations_start(wharf_plugin *self, wharf_req *req)
{
    stations_locations = stations_host->service(self, "locations.directory", 1, 1);
    print_documents = stations_host->service(self, "documents.files", 1, 0);
    print_templates = stations_host->service(self, "templates.render", 1, 0);
    stations_users = stations_host->service(self, "org.directory", 1, 0);
    print_self = self;
    print_blob = stations_host->service(self, "wharf.blob", 1, 1);
    print_fetch = stations_host->service(self, "wharf.fetch", 1, 3);
    print_render = stations_host->service(self, "wharf.render", 1, 1);
    print_events = stations_host->service(self, "wharf.events", 1, 0);
    print_channel = stations_host->service(self, "wharf.channel", 1, 0);
    print_config = stations_host->service(self, "wharf.config", 1, 2);
    print_crypto = stations_host->service(self, "wharf.crypto", 1, 2);
    print_push = stations_host->service(self, "wharf.push", 1, 0);
    if (!stations_locations || !print_blob || !print_fetch || !print_render || !print_events ||
        !print_channel || !print_config || !print_crypto || !print_push)
        return WHARF_UNAVAILABLE;
    return push_start(req);
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = stations_declare,
        .start = stations_start};

    stations_host = host;
    return &desc;
}
