/* inference_module.c - the module inference: what it declares (docs/spec/06-inference.md). */
#include "inference.h"

#include "inference.gen.h"

const wharf_host *W;
const wharf_carriers_detect_api *inference_carriers;
const wharf_org_directory_api *inference_org;
const wharf_batch_api *inference_acting;
const wharf_blob_api *inference_blob;
const wharf_events_api *inference_events;
const wharf_fetch_api *inference_fetch;
const wharf_http_api *inference_http;
const wharf_image_api *inference_image;
const wharf_keys_api *inference_keys;
const wharf_text_api *inference_text;
const wharf_contacts_match_api *inference_contacts;
const wharf_locations_directory_api *inference_places;
const wharf_locations_layouts_api *inference_layouts;
const wharf_trackers_ops_api *inference_trackers;

static const wharf_route routes[] = {
    {ROUTE_CREATE, .handler = inference_create},
    {ROUTE_SEARCH, .handler = inference_search},
    {ROUTE_MATCH, .handler = inference_match},
    {ROUTE_COMPARE, .handler = inference_compare},
    {ROUTE_CREATE_ITEM_LABEL, .handler = item_label_create},
};

static void inference_declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    declare_resource(d, api, RESOURCE, (wharf_str)SHIPPING_LABEL_INFERENCE_DEFINITION,
        SHIPPING_LABEL_INFERENCE_DEFINITION_HASH, &inference_hooks);
    declare_resource(d, api, ITEM_RESOURCE, (wharf_str)ITEM_LABEL_INFERENCE_DEFINITION,
        ITEM_LABEL_INFERENCE_DEFINITION_HASH, &item_label_hooks);
    ROUTES(api, d, routes);
    api->provide(d, "inference.ops", 1, 1, &linked_ops);
    CHECKS(api, d);
    api->job(d, "track", tracker_job, NULL, WHARF_S("{\"retries\": " SQL_NUMBER(TRACK_TRIES) "}"));
    /* Tries of a row are counted by the row, so the queue lets it crash as often as it does. */
    api->job(d, "read", later_job, NULL,
        WHARF_S("{\"transaction\": \"own\", \"timeout\": \"3m\", \"retries\": " SQL_NUMBER(
            READ_TRIES) ", \"crashes\": 1000, \"long\": true, \"concurrency\": 2, \"backoff\": "
                        "{\"first\": \"1s\", \"max\": \"1m\"}}"));
    api->job(d, "retain", retain_job, NULL,
        WHARF_S("{\"every\": \"1h\", \"for\": \"organizations\", \"transaction\": \"own\", "
                "\"retries\": 1, \"background\": true}"));
}

static wharf_status inference_start(wharf_plugin *self, wharf_req *req)
{
    const wharf_contacts_merge_api *merge = W->service(self, "contacts.merge", 1, 0);

    (void)req;
    inference_carriers = W->service(self, "carriers.detect", 1, 1);
    inference_org = W->service(self, "org.directory", 1, 1);
    inference_acting = W->service(self, "wharf.batch", 1, 0);
    inference_blob = W->service(self, "wharf.blob", 1, 4);
    inference_events = W->service(self, "wharf.events", 1, 0);
    inference_fetch = W->service(self, "wharf.fetch", 1, 1);
    inference_http = W->service(self, "wharf.http", 1, 4);
    inference_image = W->service(self, "wharf.image", 1, 0);
    inference_keys = W->service(self, "wharf.keys", 1, 0);
    inference_text = W->service(self, "wharf.text", 1, 1);
    inference_contacts = W->service(self, "contacts.match", 1, 3);
    inference_places = W->service(self, "locations.directory", 1, 2);
    inference_layouts = W->service(self, "locations.layouts", 1, 0);
    inference_trackers = W->service(self, "trackers.ops", 1, 0);
    if (merge)
        merge->on_merge(inference_contacts_merged);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        DESCRIBED,
        .declare = inference_declare,
        .start = inference_start};

    W = host;
    return &desc;
}
