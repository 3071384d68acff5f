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

static const wharf_route routes[] = {
    {ROUTE_CHECK, .handler = check_route},
    {ROUTE_SYNC, .handler = sync_route},
    {ROUTE_PUBLISH, .handler = publish_route},
    {ROUTE_VERSIONS, .handler = versions_route},
    {ROUTE_VERSION, .handler = version_route},
    {ROUTE_RUN, .handler = run_route},
    {ROUTE_DISCARD, .handler = discard_route},
    {ROUTE_KV_LIST, .handler = kv_list_route},
    {ROUTE_KV_ONE, .handler = kv_list_route},
    {ROUTE_KV_CLEAR, .handler = kv_delete_route},
    {ROUTE_KV_DELETE, .handler = kv_delete_route},
    {ROUTE_SECRET_SET, .handler = secret_set_route},
    {ROUTE_SECRET_DELETE, .handler = secret_delete_route},
    {ROUTE_CANCEL, .handler = run_cancel_route},
    {ROUTE_AGAIN, .handler = run_again_route},
    {ROUTE_AGAIN_MANY, .handler = runs_again_route},
    {ROUTE_RECORDING, .handler = recording_route},
    {ROUTE_SHOW, .handler = run_show_route},
    {ROUTE_HTTP_GET, .handler = http_route, .arg = (void *)"GET"},
    {ROUTE_HTTP_POST, .handler = http_route, .arg = (void *)"POST"},
    {ROUTE_HTTP_PUT, .handler = http_route, .arg = (void *)"PUT"},
    {ROUTE_HTTP_PATCH, .handler = http_route, .arg = (void *)"PATCH"},
    {ROUTE_HTTP_DELETE, .handler = http_route, .arg = (void *)"DELETE"},
};

static void workflows_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_events_api *events = W->service(self, "wharf.events", 1, 2);
    const wharf_lua_api *lua = W->service(self, "wharf.lua", 1, 5);
    const wharf_event_step step = {
        .head = WHARF_HEAD(wharf_event_step), .name = "workflows_list", .fn = event_step};

    MIGRATIONS(api, d);
    CHECKS(api, d);
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
    ROUTES(api, d, routes);
    api->provide(d, "workflows.runs", 1, 0, &workflows_runs);
}

static wharf_status workflows_start(wharf_plugin *self, wharf_req *req)
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
    flow_config = W->service(self, "wharf.config", 1, 2);
    flow_schemas = W->service(self, "wharf.schema", 1, 1);
    flow_metrics = W->service(self, "wharf.metrics", 1, 0);
    if (!flow_logs || !flow_config || !flow_schemas || !flow_metrics)
        return WHARF_UNAVAILABLE;
    flow_public_rate = (uint32_t)flow_config->integer(self, "public_per_minute");
    budgets_start();
    return flow_lua && flow_keys && flow_events && flow_crypto && flow_cron && flow_http &&
                   flow_tokens && flow_text
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = workflows_declare,
        .start = workflows_start};

    flow_host = host;
    return &desc;
}
