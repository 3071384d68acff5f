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

static const char create_doc[] =
    "{\"summary\": \"One action on many records\", \"tag\": \"Batches\", \"location\": \"body\", "
    "\"statuses\": [201, 202], \"large_body\": true, \"per_minute\": 60, \"body\": {\"type\": "
    "\"object\", \"required\": [\"resource\", \"action\", \"data\"], \"properties\": "
    "{\"resource\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 63},"
    " \"action\": {\"type\": \"string\", \"enum\": [\"merge\", \"overwrite\", \"delete\"]},"
    " \"mode\": {\"type\": \"string\", \"enum\": [\"sync\", \"mixed\", \"async\"]},"
    " \"data\": {\"type\": [\"array\", \"string\", \"null\"], \"items\": {}}, \"location_id\": "
    "{\"type\": [\"string\", \"null\"]}, \"properties\": {\"type\": [\"object\", \"null\"]}, "
    "\"save_upload\": {\"type\": \"boolean\"}, \"save_result\": {\"type\": \"boolean\"},"
    " \"save_result_date_format\": {\"type\": \"string\", \"enum\": [\"epoch\", \"iso_8601\", "
    "\"epoch_millis\"]}, \"duplicate_handling\": {\"type\": \"string\", \"enum\": [\"use_first\", "
    "\"ignore_all\"]}, \"filters\": {\"type\": [\"object\", \"null\"]},"
    " \"match_by\": {\"type\": \"string\", \"minLength\": 1, \"maxLength\": 63}, "
    "\"validate_only\": {\"type\": "
    "\"boolean\"},"
    " \"disable_webhooks\": {\"type\": \"boolean\"}, \"column_mapping\": {\"type\": [\"object\", "
    "\"null\"], \"additionalProperties\": {\"type\": \"string\"}}, \"name\": {\"type\": "
    "[\"string\", \"null\"], \"minLength\": 3, \"maxLength\": 127}, \"file\": {\"type\": "
    "[\"object\", \"null\"], \"additionalProperties\": false, \"properties\": {"
    "\"format\": {\"type\": \"string\", \"enum\": [\"csv\", \"json\", \"xlsx\"]}, \"delimiter\": "
    "{\"type\": \"string\", \"minLength\": 1, \"maxLength\": 1}, \"encoding\": {\"type\": "
    "\"string\", \"enum\": [\"utf-8\", \"utf-16le\", \"utf-16be\", \"windows-1252\", "
    "\"iso-8859-1\", \"iso-8859-15\"]},"
    " \"sheet\": {\"type\": [\"string\", \"integer\"]}, \"header_row\": {\"type\": \"integer\", "
    "\"minimum\": 1}, \"strict_headers\": {\"type\": \"boolean\"}}}}}, \"response\": {\"type\": "
    "\"object\"}}";

static const char items_doc[] =
    "{\"summary\": \"List the items of a batch\", \"tag\": \"Batches\", \"location\": \"row\", "
    "\"query\": {\"page\": {\"type\": \"string\"}, \"limit\": {\"type\": \"string\"}, \"state\": "
    "{\"type\": \"string\"}, \"phase\": {\"type\": \"string\"}, \"code\": {\"type\": \"string\"}},"
    " \"response\": {\"type\": \"array\", \"items\": {\"type\": \"object\", \"required\": "
    "[\"index\", \"row\", \"state\", \"phase\", \"result_id\", \"operation\", \"code\", "
    "\"message\", \"errors\"], \"properties\": {\"index\": {\"type\": "
    "\"integer\"}, \"row\": {\"type\": [\"integer\", \"null\"]},"
    " \"state\": {\"type\": \"string\", \"enum\": [\"pending\", \"done\", \"error\", \"ignored\", "
    "\"skipped\"]}, \"phase\": {\"type\": [\"string\", \"null\"]}, \"result_id\": {\"type\": "
    "[\"string\", \"null\"]}, \"operation\": {\"type\": [\"string\", \"null\"]},"
    " \"code\": {\"type\": [\"string\", \"null\"]}, \"message\": {\"type\": [\"string\", "
    "\"null\"]}, \"duplicate_of\": {\"type\": \"integer\"}, \"errors\": {\"type\": \"array\", "
    "\"items\": {\"type\": \"string\"}}}}}}";

static const char cancel_doc[] =
    "{\"summary\": \"Stop a batch\", \"tag\": \"Batches\", \"location\": \"row\", "
    "\"statuses\": [200, 202], \"response\": {\"type\": "
    "\"object\"}}";
static const char retry_doc[] =
    "{\"summary\": \"Try the failed and skipped items again\", \"tag\": \"Batches\", "
    "\"location\": \"row\", \"status\": 202, "
    "\"response\": {\"type\": \"object\"}}";

static void route(wharf_decl *d, const wharf_decl_api *api, const char *method, const char *path,
    const char *scope, wharf_str doc, wharf_handler *handler, uint32_t flags)
{
    const wharf_route r = {.head = WHARF_HEAD(wharf_route),
        .method = method,
        .path = path,
        .scope = scope,
        .definition = doc,
        .handler = handler,
        .flags = flags};

    api->route(d, &r);
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource batch = {.head = WHARF_HEAD(wharf_resource),
        .name = "batch",
        .definition_hash = BATCH_DEFINITION_HASH,
        .definition = BATCH_DEFINITION,
        .hooks = &batches_hooks};

    (void)self;
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    api->resource(d, &batch);
    route(d, api, "POST", "/v1/batches", "batches:write",
        ((wharf_str){create_doc, sizeof(create_doc) - 1}), batches_post, WHARF_R_LONG);
    route(d, api, "GET", "/v1/batches/:batch/items", "batches:read",
        ((wharf_str){items_doc, sizeof(items_doc) - 1}), batches_items, WHARF_R_READONLY);
    route(d, api, "POST", "/v1/batches/:batch/cancel", "batches:write",
        (wharf_str){cancel_doc, sizeof(cancel_doc) - 1}, batches_cancel, 0);
    route(d, api, "POST", "/v1/batches/:batch/retry", "batches:write",
        (wharf_str){retry_doc, sizeof(retry_doc) - 1}, batches_retry, 0);
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

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    (void)req;
    batches_kernel = W->service(self, "wharf.batch", 1, 1);
    batches_many = W->service(self, "wharf.many", 1, 0);
    batches_events = W->service(self, "wharf.events", 1, 0);
    batches_keys = W->service(self, "wharf.keys", 1, 0);
    batches_files = W->service(self, "wharf.import", 1, 1);
    batches_web = W->service(self, "wharf.fetch", 1, 0);
    batches_blob = W->service(self, "wharf.blob", 1, 1);
    batches_text = W->service(self, "wharf.text", 1, 2);
    batches_org = W->service(self, "org.directory", 1, 3);
    batches_metrics = W->service(self, "wharf.metrics", 1, 1);
    batches_config = W->service(self, "wharf.config", 1, 1);
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
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    batches_host = host;
    return &desc;
}
