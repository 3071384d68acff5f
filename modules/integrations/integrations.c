/* integrations.c - the module integrations (spec 07 section 12): what it declares. Where things
 * are: README.md. */
#include "integrations.h"

#include "integrations.gen.h"

const wharf_host *int_host;
const wharf_fetch_api *int_fetch;
const wharf_crypto_api *int_crypto;
const wharf_events_api *int_events;
const wharf_http_api *int_http;
const wharf_text_api *int_text;
const wharf_token_api *int_tokens;
const wharf_webhooks_rules_api *int_rules;
const wharf_org_directory_api *int_org;
const wharf_workflows_runs_api *int_flows;
wharf_plugin *int_self;

static const wharf_route routes[] = {
    {ROUTE_TAKE, .handler = incoming_take},
    {ROUTE_PUT, .handler = secret_put},
    {ROUTE_REMOVE, .handler = secret_remove},
    {ROUTE_OUTGOING, .handler = outgoing_retry},
    {ROUTE_INCOMING, .handler = incoming_retry},
};

static void integrations_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_events_api *events = int_host->service(self, "wharf.events", 1, 2);
    const wharf_event_step step = {
        .head = WHARF_HEAD(wharf_event_step), .name = "integrations_list", .fn = outgoing_step};

    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "integration", (wharf_str)INTEGRATION_DEFINITION,
        INTEGRATION_DEFINITION_HASH, &integration_hooks);
    declare_resource(d, api, "integration_secret", (wharf_str)INTEGRATION_SECRET_DEFINITION,
        INTEGRATION_SECRET_DEFINITION_HASH, NULL);
    declare_resource(d, api, "outgoing_integration", (wharf_str)OUTGOING_INTEGRATION_DEFINITION,
        OUTGOING_INTEGRATION_DEFINITION_HASH, NULL);
    declare_resource(d, api, "incoming_webhook", (wharf_str)INCOMING_WEBHOOK_DEFINITION,
        INCOMING_WEBHOOK_DEFINITION_HASH, NULL);
    ROUTES(api, d, routes);
    if (events)
        events->step(d, &step);
    api->job(d, "send", outgoing_run, NULL, WHARF_S("{\"resident\": true}"));
    api->job(d, "retention", retention_run, NULL, WHARF_S("{\"every\": \"15m\"}"));
}

static wharf_status integrations_start(wharf_plugin *self, wharf_req *req)
{
    (void)req;
    int_self = self;
    int_fetch = int_host->service(self, "wharf.fetch", 1, 2);
    int_crypto = int_host->service(self, "wharf.crypto", 1, 1);
    int_events = int_host->service(self, "wharf.events", 1, 5);
    int_http = int_host->service(self, "wharf.http", 1, 0);
    int_text = int_host->service(self, "wharf.text", 1, 1);
    int_tokens = int_host->service(self, "wharf.token", 1, 2);
    int_rules = int_host->service(self, "webhooks.rules", 1, 1);
    int_org = int_host->service(self, "org.directory", 1, 1);
    int_flows = int_host->service(self, "workflows.runs", 1, 0);
    return int_fetch && int_crypto && int_events && int_http && int_text && int_tokens &&
                   int_rules && int_org
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = integrations_declare,
        .start = integrations_start};

    int_host = host;
    return &desc;
}
