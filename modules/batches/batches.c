/* batches.c - the module batches (spec 10): what it declares. */
#include "batches.h"

#include "batches.gen.h"

const wharf_host *batches_host;
const wharf_batch_api *batches_kernel;
const wharf_many_api *batches_many;
const wharf_events_api *batches_events;
const wharf_keys_api *batches_keys;
const wharf_import_api *batches_files;
const wharf_fetch_api *batches_web;
const wharf_blob_api *batches_blob;
const wharf_text_api *batches_text;
const wharf_org_directory_api *batches_org;
const wharf_config_api *batches_config;
const wharf_metrics_api *batches_metrics;

static const wharf_route routes[] = {
    {ROUTE_CREATE, .handler = batches_post},
    {ROUTE_ITEMS, .handler = batches_items},
    {ROUTE_CANCEL, .handler = batches_cancel},
    {ROUTE_RETRY, .handler = batches_retry},
};

static void batches_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    (void)self;
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(
        d, api, "batch", (wharf_str)BATCH_DEFINITION, BATCH_DEFINITION_HASH, &batches_hooks);
    ROUTES(api, d, routes);
    /* The time is that of one chunk, whose items may each have a hook that takes its own. Tries
     * are counted by chunk and item, so the queue lets a batch crash as often as it does. */
    api->job(d, "run", batches_run, NULL,
        WHARF_S("{\"transaction\": \"own\", \"timeout\": \"20m\", \"retries\": 1000, \"crashes\": "
                "1000, \"concurrency\": 2, \"background\": true, \"backoff\": {\"first\": \"1s\", "
                "\"max\": \"30s\"}}"));
    api->job(d, "help", batches_help, NULL,
        WHARF_S("{\"transaction\": \"own\", \"timeout\": \"10m\", \"retries\": 3, \"crashes\": "
                "1000, \"long\": true, \"concurrency\": 2, \"background\": true, \"backoff\": "
                "{\"first\": \"1s\", \"max\": \"5s\"}, \"keep_parked\": \"1h\"}"));
    api->job(d, "uploaded", batches_uploaded, NULL, WHARF_S("{}"));
    api->job(d, "sweep", batches_sweep, NULL,
        WHARF_S("{\"every\": \"1h\", \"for\": \"organizations\", \"retries\": 1}"));
}

static wharf_status batches_start(wharf_plugin *self, wharf_req *req)
{
    (void)req;
    batches_kernel = W->service(self, "wharf.batch", 1, 1);
    batches_many = W->service(self, "wharf.many", 1, 0);
    batches_events = W->service(self, "wharf.events", 1, 7);
    batches_keys = W->service(self, "wharf.keys", 1, 0);
    batches_files = W->service(self, "wharf.import", 1, 1);
    batches_web = W->service(self, "wharf.fetch", 1, 0);
    batches_blob = W->service(self, "wharf.blob", 1, 1);
    batches_text = W->service(self, "wharf.text", 1, 2);
    batches_org = W->service(self, "org.directory", 1, 3);
    batches_metrics = W->service(self, "wharf.metrics", 1, 1);
    batches_config = W->service(self, "wharf.config", 1, 2);
    if (batches_config)
        batches_limits_read(self);
    return batches_kernel && batches_many && batches_events && batches_keys && batches_files &&
                   batches_web && batches_blob && batches_text && batches_org && batches_config
               ? WHARF_OK
               : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = batches_declare,
        .start = batches_start};

    batches_host = host;
    return &desc;
}
