/* exports.c - the module exports (spec 01 section 15): what it declares. */
#include "exports.h"

#include "exports.gen.h"

const wharf_host *exports_host;
wharf_plugin *exports_self;
const wharf_walk_api *exports_walk;
const wharf_batch_api *exports_kernel;
const wharf_blob_api *exports_blob;
const wharf_keys_api *exports_keys;
const wharf_text_api *exports_text;
int64_t exports_rows_most;

static const wharf_route routes[] = {
    {ROUTE_DELETE, .handler = exports_delete},
};

static void exports_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    (void)self;
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->provide(d, "exports.sources", 1, 0, &export_sources);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(
        d, api, "export", (wharf_str)EXPORT_DEFINITION, EXPORT_DEFINITION_HASH, &export_hooks);
    ROUTES(api, d, routes);
    /* Which run is the last is counted in the row: a worker that dies leaves nothing that never
     * ends. */
    api->job(d, "run", exports_run, NULL,
        WHARF_S("{\"transaction\": \"own\", \"concurrency\": 5, \"retries\": 5, \"crashes\": 20, "
                "\"timeout\": \"15m\", \"background\": true}"));
    api->job(d, "forget", exports_forget, NULL, WHARF_S("{\"every\": \"1h\"}"));
}

static wharf_status exports_start(wharf_plugin *self, wharf_req *req)
{
    const wharf_config_api *config = W->service(self, "wharf.config", 1, 2);

    (void)req;
    if (config)
        exports_rows_most = config->integer(self, "rows");
    exports_self = self;
    exports_walk = W->service(self, "wharf.walk", 1, 0);
    exports_kernel = W->service(self, "wharf.batch", 1, 0);
    exports_blob = W->service(self, "wharf.blob", 1, 0);
    exports_keys = W->service(self, "wharf.keys", 1, 0);
    exports_text = W->service(self, "wharf.text", 1, 2);
    return config && exports_walk && exports_kernel && exports_blob && exports_keys && exports_text
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = exports_declare,
        .start = exports_start};

    exports_host = host;
    return &desc;
}
