/* retiring.c - a resource with a field that is going away, and routes that are. For
 * tests/api/http/test_deprecation.py. */
#include "wharf/plugin.h"

#include "retiring.gen.h"

static const wharf_host *host;

static wharf_status answer(wharf_req *req, void *arg)
{
    wharf_out *out = host->req->respond(req, 200, "Still here");

    (void)arg, (void)out;
    return WHARF_OK;
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource relic = {.head = WHARF_HEAD(wharf_resource),
        .name = "relic",
        .definition = RELIC_DEFINITION,
        .definition_hash = RELIC_DEFINITION_HASH};
    wharf_route route = {.head = WHARF_HEAD(wharf_route),
        .method = "GET",
        .path = "/v1/relics/old/way",
        .scope = "relics:read",
        .definition = WHARF_S(
            "{\"summary\": \"The old way\", \"location\": \"none\", \"deprecated\": {\"since\": "
            "\"2026-01-01\", \"sunset\": \"2031-01-01T12:30:00Z\", \"link\": "
            "\"https://example.com/old\"}}"),
        .handler = answer,
        .flags = WHARF_R_READONLY};

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &relic);
    api->route(d, &route);
    route.path = "/v1/relics/no/end";
    route.definition = WHARF_S("{\"summary\": \"No end yet\", \"location\": \"none\", "
                               "\"deprecated\": {\"since\": \"2026-01-01\"}}");
    api->route(d, &route);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    host = h;
    return &desc;
}
