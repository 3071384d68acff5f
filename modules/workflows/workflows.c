/* workflows.c - the module workflows (docs/spec/08-workflows-and-lua.md): what it declares. */
#include <stdlib.h>

#include "workflows.h"

#include "workflows.gen.h"

const wharf_host *flow_host;
const wharf_lua_api *flow_lua;
const wharf_keys_api *flow_keys;
const wharf_crypto_api *flow_crypto;
const wharf_cron_api *flow_cron;
const wharf_events_api *flow_events;
const wharf_http_api *flow_http;
const wharf_token_api *flow_tokens;
const wharf_text_api *flow_text;
const wharf_logs_api *flow_logs;
const wharf_config_api *flow_config;
const wharf_schema_api *flow_schemas;
const wharf_metrics_api *flow_metrics;
const wharf_webhooks_rules_api *flow_rules;
wharf_plugin *flow_self;
uint32_t flow_public_rate = 60;

/* A run that crashes servers is given up by the sweep; the job that had it must not be parked
 * before. */
#define WORK_POLICY                                                                                \
    "{\"long\": true, \"transaction\": \"own\", \"timeout\": \"3m\", \"retries\": 100, "           \
    "\"crashes\": 100, "                                                                           \
    "\"backoff\": "                                                                                \
    "{\"first\": \"200ms\", \"max\": \"10s\"}}"
#define TAG "\"tag\": \"Workflows\", "
#define RUN                                                                                        \
    "{\"type\": \"object\", \"required\": [\"object\", \"id\", \"workflow_id\", \"status\"]}"
#define VERSION                                                                                    \
    "{\"type\": \"object\", \"required\": [\"version\", \"note\", \"sha256\", \"published_at\", "  \
    "\"published_by\", "                                                                           \
    "\"triggers\", \"scopes\"]}"

static const char check_doc[] =
    "{\"summary\": \"Compile and load without storing\", " TAG
    "\"location\": \"none\", \"body\": {\"type\": \"object\", "
    "\"required\": [\"source\"], \"properties\": {\"source\": {\"type\": \"string\", "
    "\"minLength\": 1, \"maxLength\": "
    "262144}, "
    "\"files\": {\"type\": \"object\"}, \"triggers\": {\"type\": \"array\", \"maxItems\": 20, "
    "\"items\": {\"type\": \"object\"}}, \"scopes\": {\"type\": \"array\", \"maxItems\": 100, "
    "\"items\": {\"type\": \"string\"}}}}, \"response\": {\"type\": \"object\", \"required\": "
    "[\"ok\"]}}";
static const char publish_doc[] =
    "{\"summary\": \"Make the draft, or an old version, the current one\", " TAG
    "\"location\": \"row\", \"body\": {\"type\": "
    "\"object\", \"properties\": {\"note\": {\"type\": [\"string\", \"null\"], "
    "\"maxLength\": 1000}, \"version\": {\"type\": "
    "\"integer\", \"minimum\": 1, \"description\": \"An old version that becomes current "
    "again, with a new number.\"}, \"run_tests\": {\"type\": \"boolean\", \"description\": "
    "\"Default: true.\"}}}, \"response\": {\"type\": \"object\", \"required\": [\"object\", "
    "\"id\", \"version\"]}}";
static const char versions_doc[] =
    "{\"summary\": \"Published versions, the newest first\", " TAG
    "\"location\": \"row\", \"query\": {\"page\": {\"type\": \"integer\"}, \"limit\": {\"type\": "
    "\"string\"}}, \"response\": {\"type\": \"array\", \"items\": " VERSION "}}";
static const char version_doc[] =
    "{\"summary\": \"A published version with its source\", " TAG
    "\"location\": \"row\", \"params\": {\"number\": \"none\"}, \"response\": " VERSION "}";
static const char run_doc[] =
    "{\"summary\": \"Run the manual trigger\", " TAG
    "\"location\": \"row\", \"body\": {\"type\": \"object\", \"properties\": "
    "{\"input\": {\"description\": \"What on_run gets; checked by the input_schema of the "
    "trigger.\"}, \"location_id\": {\"type\": [\"string\", \"null\"], \"maxLength\": 64}, "
    "\"version\": {\"type\": \"string\", \"enum\": [\"published\", \"draft\"], "
    "\"description\": \"draft needs workflow:write.\"}, "
    "\"wait\": {\"type\": \"boolean\", \"description\": \"Default: true, the answer comes when the "
    "run is over. false: it is queued, 202.\"}}}, \"statuses\": [200, 202], \"response\": " RUN "}";
static const char recording_doc[] =
    "{\"summary\": \"What a run asked for and got, for wharf lua replay\", " TAG
    "\"location\": \"via\", \"params\": {\"run\": \"workflow_run\"}, \"response\": "
    "{\"type\": \"object\", \"required\": "
    "[\"object\", \"run_id\", \"handler\", \"input\", "
    "\"context\", \"exchanges\", \"outcome\"]}}";
static const char show_doc[] =
    "{\"summary\": \"A run\", " TAG
    "\"location\": \"via\", \"params\": {\"run\": \"workflow_run\"}, \"response\": " RUN "}";

static const char cancel_doc[] = "{\"summary\": \"Cancel a run that waits or runs\", " TAG
                                 "\"location\": \"via\", \"params\": {\"run\": \"workflow_run\"}, "
                                 "\"status\": 202, \"response\": " RUN "}";
static const char again_doc[] = "{\"summary\": \"Do a run again with the same input\", " TAG
                                "\"location\": \"via\", \"params\": {\"run\": \"workflow_run\"}, "
                                "\"status\": 202, \"body\": {\"type\": \"object\", "
                                "\"properties\": {\"version\": {\"type\": "
                                "\"string\", "
                                "\"enum\": [\"current\", \"same\"], \"description\": \"Default: "
                                "current.\"}}}, \"response\": " RUN "}";

static const char discard_doc[] = "{\"summary\": \"Go back to the published version\", " TAG
                                  "\"location\": \"row\", \"response\": {\"type\": \"object\", "
                                  "\"required\": [\"object\", \"id\", "
                                  "\"version\"]}}";
#define KV "{\"type\": \"object\", \"required\": [\"key\", \"value\", \"expires_at\"]}"
#define GONE                                                                                       \
    "{\"type\": \"object\", \"required\": [\"deleted\"], \"properties\": {\"deleted\": "           \
    "{\"type\": \"integer\"}}}"
static const char kv_list_doc[] =
    "{\"summary\": \"The workflow's key-value store\", " TAG
    "\"location\": \"row\", \"query\": {\"page\": {\"type\": \"integer\"}, \"limit\": {\"type\": "
    "\"string\"}}, \"response\": {\"type\": \"array\", \"items\": " KV "}}";
static const char kv_one_doc[] =
    "{\"summary\": \"A stored value\", " TAG
    "\"location\": \"row\", \"params\": {\"key\": \"none\"}, \"response\": " KV "}";
static const char kv_clear_doc[] = "{\"summary\": \"Clear the workflow's key-value store\", " TAG
                                   "\"location\": \"row\", \"response\": " GONE "}";
static const char kv_delete_doc[] =
    "{\"summary\": \"Delete a stored value\", " TAG
    "\"location\": \"row\", \"params\": {\"key\": \"none\"}, \"response\": " GONE "}";

static const char sync_doc[] =
    "{\"summary\": \"All that a device needs of workflows, or what changed\", " TAG
    "\"location\": \"none\", \"query\": {\"location_id\": {\"type\": \"string\", \"description\": "
    "\"Comma list.\"}, \"status\": {\"type\": \"string\", \"enum\": [\"published\", \"draft\"]}, "
    "\"since\": {\"type\": \"string\", \"description\": \"sync_token of the answer before; without "
    "it everything is told.\"}}, \"response\": {\"type\": \"object\", \"required\": "
    "[\"workflows\", \"deleted\", "
    "\"sync_token\"], \"properties\": "
    "{\"workflows\": "
    "{\"type\": "
    "\"array\", \"items\": {\"type\": \"object\", \"required\": [\"id\", \"name\", \"version\", "
    "\"sha256\"]}}, \"deleted\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}, "
    "\"sync_token\": {\"type\": \"string\"}}}}";

#define SECRET "{\"type\": \"object\", \"required\": [\"object\", \"id\", \"key\"]}"
static const char secret_set_doc[] =
    "{\"summary\": \"Set or replace a secret\", " TAG
    "\"location\": \"row\", \"statuses\": [200, 201], \"body\": {\"type\": "
    "\"object\", \"required\": [\"key\", \"value\"], "
    "\"properties\": {\"key\": {\"type\": \"string\", \"maxLength\": 64}, \"value\": "
    "{\"type\": [\"string\", \"null\"], "
    "\"maxLength\": 8192}}}, \"response\": " SECRET "}";
static const char secret_delete_doc[] =
    "{\"summary\": \"Remove a secret\", " TAG
    "\"location\": \"row\", \"response\": {\"type\": \"object\", \"required\": "
    "[\"id\", \"object\", \"deleted\"]}}";

#define HTTP_DOC(name, verb)                                                                       \
    static const char name[] =                                                                     \
        "{\"summary\": \"" verb " a path of a workflow\", " TAG                                    \
        "\"description\": \"The published workflow's trigger says who may ask, and its code what " \
        "is answered; async "                                                                      \
        "triggers answer 202. Of a plain table the envelope is made.\", \"location\": \"none\", "  \
        "\"key\": "                                                                                \
        "\"optional\", \"any_answer\": true, \"max_body\": 1048576, \"statuses\": [200, 202]}"
HTTP_DOC(http_get_doc, "Get");
HTTP_DOC(http_post_doc, "Post to");
HTTP_DOC(http_put_doc, "Put to");
HTTP_DOC(http_patch_doc, "Patch");
HTTP_DOC(http_delete_doc, "Delete");

#define TEXT(doc)                                                                                  \
    {                                                                                              \
        doc, sizeof(doc) - 1                                                                       \
    }

static const wharf_route routes[] = {
    {WHARF_HEAD(wharf_route), "POST", "/v1/workflows/check", "workflow:write", TEXT(check_doc),
        check_route, NULL, WHARF_R_NO_TX, 0},
    {WHARF_HEAD(wharf_route), "GET", "/v1/workflows/sync", "workflow:read", TEXT(sync_doc),
        sync_route, NULL, WHARF_R_READONLY, 0},
    {WHARF_HEAD(wharf_route), "POST", "/v1/workflows/:workflow/publish", "workflow:write",
        TEXT(publish_doc), publish_route, NULL, WHARF_R_NO_TX, 0},
    {WHARF_HEAD(wharf_route), "GET", "/v1/workflows/:workflow/versions", "workflow:read",
        TEXT(versions_doc), versions_route, NULL, WHARF_R_READONLY, 0},
    {WHARF_HEAD(wharf_route), "GET", "/v1/workflows/:workflow/versions/:number", "workflow:read",
        TEXT(version_doc), version_route, NULL, WHARF_R_READONLY, 0},
    {WHARF_HEAD(wharf_route), "POST", "/v1/workflows/:workflow/run", "workflow:read", TEXT(run_doc),
        run_route, NULL, WHARF_R_NO_TX | WHARF_R_LONG, 0},
    {WHARF_HEAD(wharf_route), "POST", "/v1/workflows/:workflow/discard-draft", "workflow:write",
        TEXT(discard_doc), discard_route, NULL, 0, 0},
    {WHARF_HEAD(wharf_route), "GET", "/v1/workflows/:workflow/kv", "workflow:write",
        TEXT(kv_list_doc), kv_list_route, NULL, WHARF_R_READONLY, 0},
    {WHARF_HEAD(wharf_route), "GET", "/v1/workflows/:workflow/kv/:key", "workflow:write",
        TEXT(kv_one_doc), kv_list_route, NULL, WHARF_R_READONLY, 0},
    {WHARF_HEAD(wharf_route), "DELETE", "/v1/workflows/:workflow/kv", "workflow:write",
        TEXT(kv_clear_doc), kv_delete_route, NULL, 0, 0},
    {WHARF_HEAD(wharf_route), "DELETE", "/v1/workflows/:workflow/kv/:key", "workflow:write",
        TEXT(kv_delete_doc), kv_delete_route, NULL, 0, 0},
    {WHARF_HEAD(wharf_route), "POST", "/v1/workflows/:workflow/secrets", "workflow:write",
        TEXT(secret_set_doc), secret_set_route, NULL, 0, 0},
    {WHARF_HEAD(wharf_route), "DELETE", "/v1/workflows/:workflow/secrets/:key", "workflow:write",
        TEXT(secret_delete_doc), secret_delete_route, NULL, 0, 0},
    {WHARF_HEAD(wharf_route), "POST", "/v1/workflows/runs/:run/cancel", "workflow:write",
        TEXT(cancel_doc), run_cancel_route, NULL, 0, 0},
    {WHARF_HEAD(wharf_route), "POST", "/v1/workflows/runs/:run/retry", "workflow:write",
        TEXT(again_doc), run_again_route, NULL, 0, 0},
    {WHARF_HEAD(wharf_route), "GET", "/v1/workflows/runs/:run/recording", "workflow:write",
        TEXT(recording_doc), recording_route, NULL, WHARF_R_READONLY, 0},
    {WHARF_HEAD(wharf_route), "GET", "/v1/workflows/runs/:run", "workflow:read", TEXT(show_doc),
        run_show_route, NULL, WHARF_R_READONLY, 0},
#define HTTP(method, doc)                                                                          \
    {                                                                                              \
        WHARF_HEAD(wharf_route), method, "/v1/workflows/:workflow/http/*path", "public",           \
            TEXT(doc), http_route, (void *)(method),                                               \
            WHARF_R_PUBLIC | WHARF_R_RAW_BODY | WHARF_R_NO_TX | WHARF_R_LONG, 0                    \
    }
    HTTP("GET", http_get_doc),
    HTTP("POST", http_post_doc),
    HTTP("PUT", http_put_doc),
    HTTP("PATCH", http_patch_doc),
    HTTP("DELETE", http_delete_doc),
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_events_api *events = W->service(self, "wharf.events", 1, 2);
    const wharf_lua_api *lua = W->service(self, "wharf.lua", 1, 5);
    const wharf_event_step step = {
        .head = WHARF_HEAD(wharf_event_step), .name = "workflows_list", .fn = event_step};

    MIGRATIONS(api, d);
    if (events)
        events->step(d, &step);
    if (lua)
        lua->hooks(d, &flow_hooks);
    api->job(d, "work", queue_work, NULL, WHARF_S(WORK_POLICY));
    api->job(d, "tick", schedule_due, NULL,
        WHARF_S("{\"retries\": 100, \"crashes\": 100, \"backoff\": {\"first\": \"200ms\", \"max\": "
                "\"5s\"}}"));
    api->job(
        d, "expire", runs_expire, NULL, WHARF_S("{\"every\": \"15m\", \"transaction\": \"own\"}"));
    api->job(d, "sweep", run_queue_sweep, NULL,
        WHARF_S("{\"every\": \"30s\", \"transaction\": \"own\"}"));
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "workflow", (wharf_str)WORKFLOW_DEFINITION, WORKFLOW_DEFINITION_HASH,
        &workflow_hooks);
    declare_resource(d, api, "workflow_run", (wharf_str)WORKFLOW_RUN_DEFINITION,
        WORKFLOW_RUN_DEFINITION_HASH, NULL);
    declare_resource(d, api, "workflow_secret", (wharf_str)WORKFLOW_SECRET_DEFINITION,
        WORKFLOW_SECRET_DEFINITION_HASH, NULL);
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        api->route(d, &routes[i]);
}

/* Returns a number of the configuration's table, which its schema has looked at. */
static int64_t setting(const char *name, int64_t otherwise)
{
    wharf_str text;

    return flow_config->text(flow_self, name, &text) ? strtoll(text.p, NULL, 10) : otherwise;
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    flow_self = self;
    flow_lua = W->service(self, "wharf.lua", 1, 12);
    flow_keys = W->service(self, "wharf.keys", 1, 0);
    flow_events = W->service(self, "wharf.events", 1, 2);
    flow_rules = W->service(self, "webhooks.rules", 1, 0);
    flow_crypto = W->service(self, "wharf.crypto", 1, 3);
    flow_cron = W->service(self, "wharf.cron", 1, 0);
    flow_http = W->service(self, "wharf.http", 1, 1);
    flow_tokens = W->service(self, "wharf.token", 1, 2);
    flow_text = W->service(self, "wharf.text", 1, 1);
    flow_logs = W->service(self, "wharf.logs", 1, 3);
    flow_config = W->service(self, "wharf.config", 1, 1);
    flow_schemas = W->service(self, "wharf.schema", 1, 0);
    flow_metrics = W->service(self, "wharf.metrics", 1, 0);
    if (!flow_logs || !flow_config || !flow_schemas || !flow_metrics)
        return WHARF_UNAVAILABLE;
    flow_public_rate = (uint32_t)setting("public_per_minute", 60);
    budgets_start();
    return flow_lua && flow_keys && flow_events && flow_crypto && flow_cron && flow_http &&
                   flow_tokens && flow_text
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    flow_host = host;
    return &desc;
}
