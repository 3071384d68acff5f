/* template_module.c - the module templates: what it declares
 * (docs/spec/05-documents-and-templates.md parts B and C). */
#include "templates.h"

#include "templates.gen.h"

const wharf_host *W;
const wharf_blob_api *templates_blob;
const wharf_config_api *templates_config;
const wharf_crypto_api *templates_crypto;
const wharf_documents_files_api *templates_documents;
const wharf_draw_api *templates_draw;
const wharf_fetch_api *templates_fetch;
const wharf_http_api *templates_http;
const wharf_text_api *templates_text;
const wharf_token_api *templates_token;
wharf_plugin *templates_self;
const wharf_str templates_manifest_text = MANIFEST;

static const wharf_route routes[] = {
    {ROUTE_GENERATE, .handler = generate_post},
    {ROUTE_PUBLIC_FILE, .handler = public_file_get},
    {ROUTE_RENDER, .handler = render_post},
    {ROUTE_SCHEMA, .handler = schema_get},
};

static void template_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    (void)self;
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "template", (wharf_str)TEMPLATE_DEFINITION, TEMPLATE_DEFINITION_HASH,
        &template_hooks);
    ROUTES(api, d, routes);
    api->provide(d, "templates.render", 1, 1, &templates_render_table);
    api->hook(d, "location", &template_location_hooks, 0);
}

static wharf_status template_start(wharf_plugin *self, wharf_req *req)
{
    wharf_status s;

    templates_self = self;
    templates_blob = W->service(self, "wharf.blob", 1, 2);
    templates_config = W->service(self, "wharf.config", 1, 2);
    templates_crypto = W->service(self, "wharf.crypto", 1, 1);
    templates_documents = W->service(self, "documents.files", 1, 0);
    templates_draw = W->service(self, "wharf.draw", 1, 0);
    templates_fetch = W->service(self, "wharf.fetch", 1, 2);
    templates_http = W->service(self, "wharf.http", 1, 3);
    templates_text = W->service(self, "wharf.text", 1, 1);
    templates_token = W->service(self, "wharf.token", 1, 0);
    s = papers_start(req);
    if (s == WHARF_OK)
        s = stock_start(req);
    return s == WHARF_OK ? shapes_start(req) : s;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = template_declare,
        .start = template_start};

    W = host;
    return &desc;
}
