/* faulty.c - a resource, and a route that ends the worker. For tests/api/test_operation.py. */
#include <stdlib.h>

#include "wharf/plugin.h"

#include "faulty.gen.h"

static wharf_status crash(wharf_req *req, void *arg)
{
    (void)req, (void)arg;
    abort();
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const int table = 1;
    const wharf_resource fault = {.head = WHARF_HEAD(wharf_resource),
        .name = "fault",
        .definition = FAULT_DEFINITION,
        .definition_hash = FAULT_DEFINITION_HASH};
    const wharf_route route = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/faults/crash/now",
        .scope = "faults:write",
        .definition = WHARF_S("{\"summary\": \"Ends the worker\", \"location\": \"none\"}"),
        .handler = crash};

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &fault);
    api->route(d, &route);
    api->provide(d, "faulty.answers", 1, 0, &table);
}

static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    (void)host;
    return &desc;
}
