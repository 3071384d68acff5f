/* leaner.c - one route of a plugin that needs another, for tests/api/operation. */
#include "wharf/plugin.h"

#include "leaner.gen.h"

static const wharf_host *host;

static wharf_status answer(wharf_req *req, void *arg)
{
    (void)arg;
    host->req->respond(req, 200, "Leaning");
    return WHARF_OK;
}

static const wharf_route routes[] = {
    {ROUTE_LEAN, .handler = answer},
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    ROUTES(api, d, routes);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *h)
{
    host = h;
    return &desc;
}
