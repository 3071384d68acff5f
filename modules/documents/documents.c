/* documents.c - the module documents: what it declares
 * (docs/spec/05-documents-and-templates.md part A). */
#include "documents.h"

#include "documents.gen.h"

const wharf_host *W;
const wharf_blob_api *documents_blob;
const wharf_many_api *documents_many;
const wharf_config_api *documents_config;
const wharf_events_api *documents_events;
const wharf_http_api *documents_http;
const wharf_image_api *documents_image;
const wharf_logs_api *documents_logs;
const wharf_preview_api *documents_preview;
const wharf_render_api *documents_render;
const wharf_text_api *documents_text;
const wharf_token_api *documents_token;

static const wharf_route routes[] = {
    {ROUTE_CONTENT, .handler = document_content},
    {ROUTE_PUBLIC_CONTENT, .handler = document_public_content},
    {ROUTE_PREVIEW, .handler = document_preview},
    {ROUTE_VERSIONS, .handler = document_versions},
    {ROUTE_TUS_CREATE, .handler = document_tus_create},
};

static void documents_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "document", (wharf_str)DOCUMENT_DEFINITION, DOCUMENT_DEFINITION_HASH,
        &documents_document_hooks);
    links_declare(d, api);
    declare_resource(d, api, "document_retention_rule",
        (wharf_str)DOCUMENT_RETENTION_RULE_DEFINITION, DOCUMENT_RETENTION_RULE_DEFINITION_HASH,
        &documents_rule_hooks);
    ROUTES(api, d, routes);
    api->provide(d, "documents.scan", 1, 0, &document_scan_table);
    api->provide(d, "documents.files", 1, 0, &document_files_table);
    CHECKS(api, d);
    api->job(d, "sweep", documents_sweep, NULL,
        WHARF_S("{\"every\": \"1m\", \"retries\": 0, \"transaction\": \"own\"}"));
    api->job(d, "retire", documents_retire, NULL,
        WHARF_S("{\"every\": \"1m\", \"retries\": 0, \"transaction\": \"own\", "
                "\"background\": true}"));
    api->job(d, "read_words", documents_read_words, NULL,
        WHARF_S("{\"every\": \"1m\", \"retries\": 0, \"transaction\": \"own\", "
                "\"timeout\": \"5m\", \"background\": true}"));
}

static wharf_status documents_start(wharf_plugin *self, wharf_req *req)
{
    documents_blob = W->service(self, "wharf.blob", 1, 3);
    documents_many = W->service(self, "wharf.many", 1, 3);
    documents_config = W->service(self, "wharf.config", 1, 2);
    documents_events = W->service(self, "wharf.events", 1, 0);
    documents_http = W->service(self, "wharf.http", 1, 2);
    documents_image = W->service(self, "wharf.image", 1, 1);
    documents_logs = W->service(self, "wharf.logs", 1, 1);
    documents_preview = W->service(self, "wharf.preview", 1, 1);
    documents_render = W->service(self, "wharf.render", 1, 0);
    documents_text = W->service(self, "wharf.text", 1, 1);
    documents_token = W->service(self, "wharf.token", 1, 2);
    limits_start(self);
    document_words_start(self);
    documents_blob->on_arrival(self, document_arrived);
    documents_blob->on_damage(self, document_damaged);
    documents_blob->on_refusal(self, document_refused);
    return clamd_start(self, req);
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = documents_declare,
        .start = documents_start};

    W = host;
    return &desc;
}
