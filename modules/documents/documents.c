/* documents.c - the module documents: what it declares
 * (docs/spec/05-documents-and-templates.md part A). */
#include "documents.h"

#include "documents.gen.h"

const wharf_host *W;
const wharf_blob_api *documents_blob;
const wharf_config_api *documents_config;
const wharf_render_api *documents_render;

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, "document", (wharf_str)DOCUMENT_DEFINITION, DOCUMENT_DEFINITION_HASH,
        &documents_document_hooks);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    documents_blob = W->service(self, "wharf.blob", 1, 2);
    documents_config = W->service(self, "wharf.config", 1, 1);
    documents_render = W->service(self, "wharf.render", 1, 0);
    documents_blob->on_arrival(self, document_arrived);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    W = host;
    return &desc;
}
