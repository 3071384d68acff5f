/* stations.c - the module stations: what it declares (spec 04). The rules are in station_rules.c. */
#include "stations.h"
#include "stations.gen.h"

const wharf_host *stations_host;
const wharf_locations_directory_api *stations_locations;
const wharf_org_directory_api *stations_users;

static const char paper_sizes_doc[] =
    "{\"summary\": \"The paper sizes that printers and print jobs know\", \"tag\": \"Cloud printing\", \"location\": "
    "\"none\", \"response\": "
    "{\"type\": \"array\","
    " \"items\": {\"type\": \"object\", \"required\": [\"name\", \"kind\", \"width\", \"height\", \"points\", "
    "\"pwg\"], \"properties\": {"
    "\"name\": {\"type\": \"string\"}, \"kind\": {\"type\": \"string\", \"enum\": [\"page\", \"label\"]}, \"width\": "
    "{\"type\": \"number\"},"
    " \"height\": {\"type\": \"number\"}, \"points\": {\"type\": \"array\", \"items\": {\"type\": \"number\"}, "
    "\"minItems\": 2, \"maxItems\": 2},"
    " \"pwg\": {\"type\": \"string\"}, \"pwg_also\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}}}}}";

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static wharf_str sizes = EMBEDDED;
    const wharf_resource station = {.head = WHARF_HEAD(wharf_resource),
        .name = "print_station",
        .definition_hash = PRINT_STATION_DEFINITION_HASH,
        .definition = PRINT_STATION_DEFINITION,
        .hooks = &station_hooks};
    const wharf_route route = {.head = WHARF_HEAD(wharf_route),
        .method = "GET",
        .path = "/v1/cloud-printing/paper-sizes",
        .scope = "print_stations:read",
        .definition = {paper_sizes_doc, sizeof(paper_sizes_doc) - 1},
        .handler = paper_sizes,
        .arg = &sizes,
        .flags = WHARF_R_READONLY};

    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    api->resource(d, &station);
    api->route(d, &route);
    api->hook(d, "location", &station_location_hooks, 0);
    api->hook(d, "user", &station_user_hooks, 0);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    stations_locations = stations_host->service(self, "locations.directory", 1, 1);
    stations_users = stations_host->service(self, "org.directory", 1, 0);
    return stations_locations ? WHARF_OK : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {
        .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare, .start = start};

    stations_host = host;
    return &desc;
}
