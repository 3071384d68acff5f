/* stations.c - the module stations: what it declares (spec 04). The rules are in
 * station_rules.c. */
#include <stdlib.h>

#include "printing.h"
#include "stations.gen.h"

const wharf_host *stations_host;
const wharf_locations_directory_api *stations_locations;
const wharf_org_directory_api *stations_users;
const wharf_blob_api *print_blob;
const wharf_fetch_api *print_fetch;
const wharf_render_api *print_render;
const wharf_events_api *print_events;
const wharf_channel_api *print_channel;
const wharf_config_api *print_config;
const wharf_crypto_api *print_crypto;
static wharf_str sizes_text = EMBEDDED;
const wharf_str *print_sizes = &sizes_text;
wharf_plugin *print_self;

int64_t print_setting(const char *name, int64_t fallback)
{
    wharf_str text;

    return print_config->text(print_self, name, &text) ? strtoll(text.p, NULL, 10) : fallback;
}

static const char paper_sizes_doc[] =
    "{\"summary\": \"The paper sizes that printers and print "
    "jobs know\", \"tag\": \"Cloud printing\", \"location\": "
    "\"none\", \"response\": {\"type\": \"array\","
    " \"items\": {\"type\": \"object\", \"required\": [\"name\", "
    "\"kind\", \"width\", \"height\", \"points\", "
    "\"pwg\"], \"properties\": {"
    "\"name\": {\"type\": \"string\"}, \"kind\": {\"type\": "
    "\"string\", \"enum\": [\"page\", \"label\"]}, \"width\": "
    "{\"type\": \"number\"}, \"height\": {\"type\": \"number\"}, \"points\": {\"type\": "
    "\"array\", \"items\": {\"type\": \"number\"}, \"minItems\": 2, \"maxItems\": 2},"
    " \"pwg\": {\"type\": \"string\"}, \"pwg_also\": {\"type\": "
    "\"array\", \"items\": {\"type\": \"string\"}}}}}}";

/* ---- routes ---- */

#define SESSION_ID "\"session_id\": {\"type\": \"string\", \"maxLength\": 64}"
#define PRINTERS                                                                                   \
    "\"printers\": {\"type\": \"array\", \"maxItems\": 100, \"items\": {\"type\": \"object\", "    \
    "\"properties\": "                                                                             \
    "{\"id\": {\"type\": \"string\"}, "                                                            \
    "\"name\": {\"type\": \"string\"}, \"status\": {\"type\": \"string\", \"enum\": [\"online\", " \
    "\"offline\", "                                                                                \
    "\"busy\", \"error\"]}, "                                                                      \
    "\"state_reasons\": {\"type\": \"array\", \"maxItems\": 64, \"items\": {\"type\": "            \
    "\"string\", \"maxLength\": "                                                                  \
    "191}}, \"uri\": {\"type\": "                                                                  \
    "[\"string\", \"null\"], \"maxLength\": 1023}}}}"
#define JOBS_OPEN                                                                                  \
    "\"jobs\": {\"type\": \"array\", \"maxItems\": 100, \"items\": {\"type\": \"object\", "        \
    "\"required\": [\"id\", "                                                                      \
    "\"attempt\"], \"properties\": "                                                               \
    "{\"id\": {\"type\": \"string\"}, \"attempt\": {\"type\": \"integer\", \"minimum\": 0}"
#define JOBS_CLOSE "}}}"

static const char session_doc[] =
    "{\"summary\": \"A station application connects\", \"tag\": \"Cloud printing\", "
    "\"location\": \"row\", \"status\": 201, \"body\": {\"type\": "
    "\"object\", \"properties\": {\"agent\": {\"type\": \"object\", \"properties\": "
    "{\"name\": {\"type\": [\"string\", \"null\"], \"maxLength\": 191}, "
    "\"version\": {\"type\": [\"string\", \"null\"], \"maxLength\": 191}, \"os\": "
    "{\"type\": [\"string\", \"null\"], \"maxLength\": 191}, "
    "\"hostname\": {\"type\": [\"string\", \"null\"], \"maxLength\": 191}}}, "
    "\"takeover\": {\"type\": \"boolean\"}, " PRINTERS "}}}";
static const char close_doc[] =
    "{\"summary\": \"A station application leaves\", \"tag\": \"Cloud printing\", "
    "\"location\": \"row\", \"params\": {\"session_id\": \"none\"}}";
static const char heartbeat_doc[] =
    "{\"summary\": \"The station is alive: printers, leases\", \"tag\": \"Cloud printing\", "
    "\"location\": \"row\", \"status\": 200, \"body\": {\"type\": \"object\", \"required\": "
    "[\"session_id\"], \"properties\": {" SESSION_ID ", " PRINTERS ", " JOBS_OPEN
    ", \"stage\": {\"type\": [\"string\", \"null\"], \"enum\": [\"claimed\", \"downloading\", "
    "\"converting\", \"submitting\", \"spooled\", \"printing\", \"blocked\", "
    "null]}, \"progress\": {\"type\": \"object\", \"properties\": {\"pages_completed\": {\"type\": "
    "[\"integer\", \"null\"]}, \"pages_total\": {\"type\": [\"integer\", \"null\"]}, "
    "\"copies_completed\": {\"type\": [\"integer\", "
    "\"null\"]}}}" JOBS_CLOSE "}}}";
static const char claim_doc[] =
    "{\"summary\": \"Print jobs for the station, waiting up to wait seconds for one\", \"tag\": "
    "\"Cloud printing\", \"location\": \"row\", \"status\": 200, \"body\": {\"type\": \"object\", "
    "\"required\": [\"session_id\"], \"properties\": {" SESSION_ID
    ", \"max\": {\"type\": \"integer\", \"minimum\": 1, \"maximum\": 16}, \"wait\": {\"type\": "
    "\"integer\", \"minimum\": 0, \"maximum\": 55}, \"printer_ids\": {\"type\": \"array\", "
    "\"maxItems\": 100, \"items\": {\"type\": \"string\", \"maxLength\": 64}}}}}";
static const char release_doc[] =
    "{\"summary\": \"Print jobs that were not sent to a printer go back\", \"tag\": \"Cloud "
    "printing\", \"location\": \"row\", \"status\": 200, \"body\": {\"type\": \"object\", "
    "\"required\": [\"session_id\", \"jobs\"], \"properties\": {" SESSION_ID
    ", " JOBS_OPEN JOBS_CLOSE "}}}";
static const char stream_doc[] =
    "{\"summary\": \"Signals to the station, as Server-Sent Events\", \"tag\": \"Cloud "
    "printing\", \"location\": \"row\", \"event_stream\": true, \"query\": "
    "{\"session_id\": {\"type\": \"string\"}, \"after\": {\"type\": \"integer\"}}}";
static const char reprint_doc[] =
    "{\"summary\": \"The document of a print job once more\", \"tag\": \"Cloud "
    "printing\", \"location\": \"row\", \"status\": 201, \"body\": {\"type\": "
    "\"object\", \"properties\": {\"configuration\": {\"type\": \"object\"}, "
    "\"print_station_id\": {\"type\": \"string\"}, \"printer_name\": {\"type\": "
    "\"string\"}, \"priority\": {\"type\": \"integer\"}}}}";
static const char document_doc[] =
    "{\"summary\": \"The bytes of a print job, or prepared=true the PDF that is "
    "printed\", \"tag\": \"Cloud printing\", \"location\": \"row\", \"query\": "
    "{\"prepared\": {\"type\": \"boolean\"}}}";
static const char test_page_doc[] =
    "{\"summary\": \"A test page in the printer's first paper size\", \"tag\": \"Cloud "
    "printing\", \"location\": \"row\", \"params\": {\"printer_id\": \"none\"}, \"status\": 201}";

#define STATION "/v1/cloud-printing/stations/:station_id"
#define JOB     "/v1/cloud-printing/jobs/:job_id"
#define DOC(d)                                                                                     \
    {                                                                                              \
        d, sizeof(d) - 1                                                                           \
    }

static void declare_routes(wharf_decl *d, const wharf_decl_api *api)
{
    static const wharf_route routes[] = {
        {WHARF_HEAD(wharf_route), "GET", "/v1/cloud-printing/paper-sizes", "print_stations:read",
            DOC(paper_sizes_doc), paper_sizes, &sizes_text, WHARF_R_READONLY, 0},
        {WHARF_HEAD(wharf_route), "POST", STATION "/sessions", "print_jobs:write", DOC(session_doc),
            session_open, NULL, 0, 0},
        {WHARF_HEAD(wharf_route), "DELETE", STATION "/sessions/:session_id", "print_jobs:write",
            DOC(close_doc), session_close, NULL, 0, 0},
        {WHARF_HEAD(wharf_route), "GET", STATION "/stream", "print_jobs:write", DOC(stream_doc),
            station_stream, NULL, WHARF_R_READONLY, 0},
        {WHARF_HEAD(wharf_route), "POST", STATION "/claim", "print_jobs:write", DOC(claim_doc),
            job_claim, NULL, WHARF_R_NO_TX, 0},
        {WHARF_HEAD(wharf_route), "POST", STATION "/heartbeat", "print_jobs:write",
            DOC(heartbeat_doc), session_heartbeat, NULL, 0, 0},
        {WHARF_HEAD(wharf_route), "POST", STATION "/release", "print_jobs:write", DOC(release_doc),
            job_release, NULL, 0, 0},
        {WHARF_HEAD(wharf_route), "POST", STATION "/printers/:printer_id/test-page",
            "print_jobs:write", DOC(test_page_doc), printer_test_page, NULL, 0, 0},
        {WHARF_HEAD(wharf_route), "POST", JOB "/reprint", "print_jobs:write", DOC(reprint_doc),
            job_reprint_route, NULL, 0, 0},
        {WHARF_HEAD(wharf_route), "GET", JOB "/document", "print_jobs:read", DOC(document_doc),
            job_document_route, NULL, WHARF_R_READONLY, 0},
    };

    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        api->route(d, &routes[i]);
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "print_station", (wharf_str)PRINT_STATION_DEFINITION,
        PRINT_STATION_DEFINITION_HASH, &station_hooks);
    declare_resource(d, api, "print_job", (wharf_str)PRINT_JOB_DEFINITION,
        PRINT_JOB_DEFINITION_HASH, &print_job_hooks);
    declare_routes(d, api);
    api->hook(d, "location", &station_location_hooks, 0);
    api->hook(d, "user", &station_user_hooks, 0);
    api->job(d, "print_watch", print_watch, NULL, WHARF_S("{\"resident\": true}"));
    api->job(d, "print_push", push_run, NULL, WHARF_S("{\"resident\": true}"));
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    stations_locations = stations_host->service(self, "locations.directory", 1, 1);
    stations_users = stations_host->service(self, "org.directory", 1, 0);
    print_self = self;
    print_blob = stations_host->service(self, "wharf.blob", 1, 1);
    print_fetch = stations_host->service(self, "wharf.fetch", 1, 1);
    print_render = stations_host->service(self, "wharf.render", 1, 0);
    print_events = stations_host->service(self, "wharf.events", 1, 0);
    print_channel = stations_host->service(self, "wharf.channel", 1, 0);
    print_config = stations_host->service(self, "wharf.config", 1, 1);
    print_crypto = stations_host->service(self, "wharf.crypto", 1, 2);
    if (!stations_locations || !print_blob || !print_fetch || !print_render || !print_events ||
        !print_channel || !print_config || !print_crypto)
        return WHARF_UNAVAILABLE;
    return push_start(req);
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    stations_host = host;
    return &desc;
}
