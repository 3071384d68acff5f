/* webhooks.c - the module webhooks (spec 07): what it declares. Where things are: README.md. */
#include "webhooks.h"

#include "webhooks.gen.h"

const wharf_host *hooks_host;
const wharf_fetch_api *hooks_fetch;
const wharf_crypto_api *hooks_crypto;
const wharf_keys_api *hooks_keys;
const wharf_org_directory_api *hooks_org;
const wharf_logs_api *hooks_logs;
const wharf_text_api *hooks_text;
const wharf_metrics_api *hooks_metrics;
const wharf_events_api *hooks_events;
wharf_plugin *hooks_self;

static const wharf_route routes[] = {
    {ROUTE_TEST, .handler = webhook_test},
    {ROUTE_SECRET, .handler = webhook_secret},
    {ROUTE_ROTATE, .handler = webhook_rotate},
    {ROUTE_FLUSH, .handler = webhook_flush},
    {ROUTE_RECOVER, .handler = webhook_recover},
    {ROUTE_RESEND, .handler = event_resend},
};

static void webhooks_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_events_api *events = hooks_host->service(self, "wharf.events", 1, 0);
    const wharf_event_step step = {
        .head = WHARF_HEAD(wharf_event_step), .name = "webhooks_list", .fn = delivery_step};

    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->provide(d, "webhooks.rules", 1, 1, &webhooks_rules);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(
        d, api, "webhook", (wharf_str)WEBHOOK_DEFINITION, WEBHOOK_DEFINITION_HASH, &webhook_hooks);
    declare_resource(
        d, api, "delivery", (wharf_str)DELIVERY_DEFINITION, DELIVERY_DEFINITION_HASH, NULL);
    declare_resource(d, api, "outgoing_webhook", (wharf_str)OUTGOING_WEBHOOK_DEFINITION,
        OUTGOING_WEBHOOK_DEFINITION_HASH, NULL);
    ROUTES(api, d, routes);
    if (events)
        events->step(d, &step);
    api->job(d, "deliver", engine_run, &hooks_self,
        WHARF_S("{\"resident\": true}")); /* any argument: it also keeps the timers */
    api->job(d, "recover", webhooks_recover_job, NULL,
        WHARF_S("{\"transaction\": \"own\", \"timeout\": \"30m\"}"));
    api->job(d, "retention", webhooks_retention, NULL, WHARF_S("{\"every\": \"15m\"}"));
}

static wharf_status webhooks_start(wharf_plugin *self, wharf_req *req)
{
    hooks_self = self;
    hooks_fetch = hooks_host->service(self, "wharf.fetch", 1, 2);
    hooks_crypto = hooks_host->service(self, "wharf.crypto", 1, 1);
    hooks_text = hooks_host->service(self, "wharf.text", 1, 1);
    hooks_metrics = hooks_host->service(self, "wharf.metrics", 1, 0);
    hooks_keys = hooks_host->service(self, "wharf.keys", 1, 0);
    hooks_org = hooks_host->service(self, "org.directory", 1, 1);
    hooks_logs = hooks_host->service(self, "wharf.logs", 1, 1);
    hooks_events = hooks_host->service(self, "wharf.events", 1, 5);
    return hooks_fetch && hooks_crypto && hooks_keys && hooks_org && hooks_logs && hooks_text &&
                   hooks_metrics && hooks_events
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = webhooks_declare,
        .start = webhooks_start};

    hooks_host = host;
    return &desc;
}
