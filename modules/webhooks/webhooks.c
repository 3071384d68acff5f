/* webhooks.c - the module webhooks (spec 07): what it declares. Where things are: README.md. */
#include "webhooks.h"

#include "webhooks.gen.h"

const wharf_host *hooks_host;
const wharf_fetch_api *hooks_fetch;
const wharf_crypto_api *hooks_crypto;
const wharf_keys_api *hooks_keys;
const wharf_logs_api *hooks_logs;
const wharf_text_api *hooks_text;
const wharf_metrics_api *hooks_metrics;
const wharf_events_api *hooks_events;
wharf_plugin *hooks_self;

#define SECRET                                                                                     \
    "{\"type\": \"object\", \"required\": [\"secret\", \"previous\"], \"properties\": "            \
    "{\"secret\": {\"type\": "                                                                     \
    "[\"string\", \"null\"]}, \"previous\": {\"type\": \"array\", \"items\": {\"type\": "          \
    "\"object\", \"properties\": "                                                                 \
    "{\"expires_at\": {\"type\": [\"string\", \"integer\"]}}}}}}"
static const char test_doc[] =
    "{\"summary\": \"Send a test event\", \"tag\": \"Webhooks\", \"location\": \"none\", "
    "\"per_minute\": 10, \"body\": {\"type\": \"object\", \"properties\": {\"type\": {\"type\": "
    "\"string\", \"maxLength\": 100, \"description\": \"Send an example of this type; default: "
    "webhook.test.\"}}}, \"response\": {\"type\": \"object\", \"required\": [\"object\", "
    "\"id\", \"status\", \"request\", \"response\", \"error\"]}}";
static const char secret_doc[] = "{\"summary\": \"The secret that signs\", \"tag\": \"Webhooks\", "
                                 "\"location\": \"none\", \"response\": " SECRET "}";
static const char rotate_doc[] =
    "{\"summary\": \"A new secret; older ones sign on until they expire\", \"tag\": "
    "\"Webhooks\", \"location\": \"none\", \"body\": {\"type\": "
    "\"object\", \"properties\": {\"secret\": {\"type\": \"string\"}, "
    "\"expire_old_after_seconds\": {\"type\": \"integer\", \"minimum\": 0, "
    "\"maximum\": 604800, \"description\": \"Default: 86400.\"}}}, \"response\": " SECRET "}";
static const char flush_doc[] =
    "{\"summary\": \"Drop all waiting deliveries\", \"tag\": \"Webhooks\", \"location\": "
    "\"none\", \"response\": {\"type\": \"object\", \"required\": [\"dropped\"], \"properties\": "
    "{\"dropped\": {\"type\": \"integer\"}}}}";

static const char resend_doc[] =
    "{\"summary\": \"Send an event again, once and at once\", \"tag\": \"Events\", "
    "\"location\": \"row\", \"status\": 202, \"body\": {\"type\": "
    "\"object\", \"properties\": {\"webhook_ids\": {\"type\": \"array\", \"maxItems\": "
    "50, \"uniqueItems\": true, \"items\": {\"type\": \"string\"}, \"description\": \"Default: "
    "those that got it when it was processed.\"}}}, \"response\": {\"type\": \"object\", "
    "\"required\": [\"event_id\", \"deliveries\"], \"properties\": {\"event_id\": {\"type\": "
    "\"string\"}, \"deliveries\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}}}}}";
static const char recover_doc[] =
    "{\"summary\": \"Deliver events again that failed or were missed\", \"tag\": "
    "\"Webhooks\", \"location\": \"none\", \"status\": 202, "
    "\"body\": {\"type\": \"object\", \"required\": [\"since\"], \"properties\": "
    "{\"since\": {\"type\": \"string\", \"format\": "
    "\"date-time\"}, \"until\": {\"type\": \"string\", \"format\": \"date-time\"}, "
    "\"statuses\": {\"type\": \"array\", \"minItems\": 1, "
    "\"uniqueItems\": true, \"items\": {\"type\": \"string\", \"enum\": [\"failed\", "
    "\"dropped\", \"superseded\", \"succeeded\", "
    "\"missed\"]}, \"description\": \"Default: failed.\"}, \"types\": {\"type\": "
    "\"array\", \"minItems\": 1, \"maxItems\": 200, \"items\": "
    "{\"type\": \"string\"}}}}, \"response\": {\"type\": \"object\", \"required\": "
    "[\"id\", \"matched\"], \"properties\": {\"id\": "
    "{\"type\": \"string\"}, \"matched\": {\"type\": \"integer\"}}}}";

static const struct {
    const char *method, *path, *scope;
    wharf_str doc;
    wharf_handler *handler;
    uint32_t flags;
} routes[] = {
    {"POST", "/v1/webhooks/:webhook/test", "webhooks:write", {test_doc, sizeof(test_doc) - 1},
        webhook_test, WHARF_R_LONG},
    {"GET", "/v1/webhooks/:webhook/secret", "webhooks:write", {secret_doc, sizeof(secret_doc) - 1},
        webhook_secret, 0},
    {"POST", "/v1/webhooks/:webhook/secret/rotate", "webhooks:write",
        {rotate_doc, sizeof(rotate_doc) - 1}, webhook_rotate, 0},
    {"POST", "/v1/webhooks/:webhook/flush", "webhooks:write", {flush_doc, sizeof(flush_doc) - 1},
        webhook_flush, WHARF_R_LONG},
    {"POST", "/v1/webhooks/:webhook/recover", "webhooks:write",
        {recover_doc, sizeof(recover_doc) - 1}, webhook_recover, WHARF_R_LONG},
    {"POST", "/v1/events/:event/resend", "events:write", {resend_doc, sizeof(resend_doc) - 1},
        event_resend, 0},
};

static void declare_routes(wharf_decl *d, const wharf_decl_api *api)
{
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const wharf_route route = {.head = WHARF_HEAD(wharf_route),
            .method = routes[i].method,
            .path = routes[i].path,
            .scope = routes[i].scope,
            .definition = routes[i].doc,
            .handler = routes[i].handler,
            .flags = routes[i].flags};

        api->route(d, &route);
    }
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_events_api *events = hooks_host->service(self, "wharf.events", 1, 0);
    const wharf_event_step step = {
        .head = WHARF_HEAD(wharf_event_step), .name = "webhooks_list", .fn = delivery_step};
    const wharf_resource webhook = {.head = WHARF_HEAD(wharf_resource),
        .name = "webhook",
        .definition_hash = WEBHOOK_DEFINITION_HASH,
        .definition = WEBHOOK_DEFINITION,
        .hooks = &webhook_hooks};
    const wharf_resource of_webhook = {.head = WHARF_HEAD(wharf_resource),
        .name = "delivery",
        .definition_hash = DELIVERY_DEFINITION_HASH,
        .definition = DELIVERY_DEFINITION};
    const wharf_resource of_event = {.head = WHARF_HEAD(wharf_resource),
        .name = "outgoing_webhook",
        .definition_hash = OUTGOING_WEBHOOK_DEFINITION_HASH,
        .definition = OUTGOING_WEBHOOK_DEFINITION};

    MIGRATIONS(api, d);
    api->provide(d, "webhooks.rules", 1, 1, &webhooks_rules);
    api->errors(d, (wharf_str)ERRORS);
    api->resource(d, &webhook);
    api->resource(d, &of_webhook);
    api->resource(d, &of_event);
    declare_routes(d, api);
    if (events)
        events->step(d, &step);
    api->job(d, "deliver", engine_run, (void *)routes,
        WHARF_S("{\"resident\": true}")); /* any argument: it also keeps the timers */
    api->job(d, "recover", webhooks_recover_job, NULL,
        WHARF_S("{\"transaction\": \"own\", \"timeout\": \"30m\"}"));
    api->job(d, "retention", webhooks_retention, NULL, WHARF_S("{\"every\": \"15m\"}"));
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    hooks_self = self;
    hooks_fetch = hooks_host->service(self, "wharf.fetch", 1, 2);
    hooks_crypto = hooks_host->service(self, "wharf.crypto", 1, 1);
    hooks_text = hooks_host->service(self, "wharf.text", 1, 1);
    hooks_metrics = hooks_host->service(self, "wharf.metrics", 1, 0);
    hooks_keys = hooks_host->service(self, "wharf.keys", 1, 0);
    hooks_logs = hooks_host->service(self, "wharf.logs", 1, 1);
    hooks_events = hooks_host->service(self, "wharf.events", 1, 2);
    return hooks_fetch && hooks_crypto && hooks_keys && hooks_logs && hooks_text && hooks_metrics &&
                   hooks_events
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    hooks_host = host;
    return &desc;
}
