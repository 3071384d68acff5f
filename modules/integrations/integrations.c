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
wharf_plugin *int_self;

#define DOC(name, text) static const char name[] = text

DOC(take_doc,
    "{\"summary\": \"Where incoming integrations take requests; the integration says how "
    "senders prove who they are\", \"tag\": \"Integrations\", \"location\": \"none\", "
    "\"max_body\": 1048576, \"statuses\": [200, 202], \"response\": {\"type\": "
    "\"object\", \"required\": [\"id\"], \"properties\": {\"id\": {\"type\": \"string\"}}}}");
DOC(put_doc, "{\"summary\": \"Add a secret, or replace the one of that key\", \"tag\": "
             "\"Integrations\", \"location\": \"none\", \"statuses\": [200, 201], \"body\": "
             "{\"type\": \"object\", \"required\": [\"key\", \"value\"], "
             "\"properties\": {\"key\": {\"type\": \"string\", \"pattern\": "
             "\"^[a-z][0-9a-z_]{0,63}$\"}, \"value\": {\"type\": "
             "\"string\", \"minLength\": 1, \"maxLength\": 4096}}}, \"response\": {\"$ref\": "
             "\"#/components/schemas/IntegrationSecret\"}}");
DOC(remove_doc, "{\"summary\": \"Delete a secret by its key\", \"tag\": \"Integrations\", "
                "\"location\": \"none\", \"response\": {\"type\": \"object\", \"required\": "
                "[\"id\", \"object\", \"deleted\"], \"properties\": {\"id\": {\"type\": "
                "\"string\"}, \"object\": {\"const\": \"integration_secret\"}, \"deleted\": "
                "{\"const\": true}}}}");
DOC(outgoing_doc, "{\"summary\": \"Make a failed request again\", \"tag\": \"Integrations\", "
                  "\"location\": \"none\", \"status\": 202, \"response\": {\"$ref\": "
                  "\"#/components/schemas/OutgoingIntegration\"}}");
DOC(incoming_doc, "{\"summary\": \"Judge a refused request again, with the secrets as they are "
                  "now\", \"tag\": \"Integrations\", \"location\": \"none\", \"status\": 202, "
                  "\"response\": {\"$ref\": \"#/components/schemas/IncomingWebhook\"}}");

static const struct {
    const char *method, *path, *scope;
    wharf_str doc;
    wharf_handler *handler;
    uint32_t flags;
} routes[] = {
    {"POST", "/v1/incoming/:integration", "public", {take_doc, sizeof(take_doc) - 1}, incoming_take,
        WHARF_R_PUBLIC | WHARF_R_RAW_BODY | WHARF_R_NO_TX},
    {"POST", "/v1/integrations/:integration/secrets", "integrations:write",
        {put_doc, sizeof(put_doc) - 1}, secret_put, 0},
    {"DELETE", "/v1/integrations/:integration/secrets/:key", "integrations:write",
        {remove_doc, sizeof(remove_doc) - 1}, secret_remove, 0},
    {"POST", "/v1/outgoing-integrations/:outgoing_integration/retry", "integrations:write",
        {outgoing_doc, sizeof(outgoing_doc) - 1}, outgoing_retry, 0},
    {"POST", "/v1/incoming-webhooks/:incoming_webhook/retry", "integrations:write",
        {incoming_doc, sizeof(incoming_doc) - 1}, incoming_retry, 0},
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_events_api *events = int_host->service(self, "wharf.events", 1, 2);
    const wharf_event_step step = {
        .head = WHARF_HEAD(wharf_event_step), .name = "integrations_list", .fn = outgoing_step};

    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "integration", (wharf_str)INTEGRATION_DEFINITION,
        INTEGRATION_DEFINITION_HASH, &integration_hooks);
    declare_resource(d, api, "integration_secret", (wharf_str)INTEGRATION_SECRET_DEFINITION,
        INTEGRATION_SECRET_DEFINITION_HASH, NULL);
    declare_resource(d, api, "outgoing_integration", (wharf_str)OUTGOING_INTEGRATION_DEFINITION,
        OUTGOING_INTEGRATION_DEFINITION_HASH, NULL);
    declare_resource(d, api, "incoming_webhook", (wharf_str)INCOMING_WEBHOOK_DEFINITION,
        INCOMING_WEBHOOK_DEFINITION_HASH, NULL);
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
    if (events)
        events->step(d, &step);
    api->job(d, "send", outgoing_run, NULL, WHARF_S("{\"resident\": true}"));
    api->job(d, "retention", retention_run, NULL, WHARF_S("{\"every\": \"15m\"}"));
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    (void)req;
    int_self = self;
    int_fetch = int_host->service(self, "wharf.fetch", 1, 2);
    int_crypto = int_host->service(self, "wharf.crypto", 1, 1);
    int_events = int_host->service(self, "wharf.events", 1, 2);
    int_http = int_host->service(self, "wharf.http", 1, 0);
    int_text = int_host->service(self, "wharf.text", 1, 1);
    int_tokens = int_host->service(self, "wharf.token", 1, 2);
    int_rules = int_host->service(self, "webhooks.rules", 1, 1);
    int_org = int_host->service(self, "org.directory", 1, 1);
    return int_fetch && int_crypto && int_events && int_http && int_text && int_tokens &&
                   int_rules && int_org
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    int_host = host;
    return &desc;
}
