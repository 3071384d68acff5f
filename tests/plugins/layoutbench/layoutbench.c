/* layoutbench.c - POST /v1/layoutbench/merge, overwrite, remove: {location_id, layouts} through
 * the service locations.layouts. */
#include <string.h>

#include "wharf/ext/locations.h"

#include "layoutbench.gen.h"

static const wharf_host *host;
static const wharf_locations_layouts_api *layouts;
static const char modes[3][10] = {"merge", "overwrite", "remove"};

static wharf_status run(wharf_req *req, void *mode)
{
    const wharf_json *body, *list;
    wharf_str location = WHARF_S("");
    wharf_out *out;
    wharf_status s = host->req->body(req, &body);

    if (s != WHARF_OK)
        return s;
    host->json->text(host->json->get(body, "location_id"), &location);
    list = host->json->get(body, "layouts");
    s = mode == modes[0]   ? layouts->merge(req, location, list)
        : mode == modes[1] ? layouts->overwrite(req, location, list)
                           : layouts->remove(req, location, list);
    if (s != WHARF_OK)
        return s;
    out = host->req->respond(req, 200, "Layouts written");
    host->json->open(out, NULL, '{');
    host->json->close(out);
    return WHARF_OK;
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const char *const paths[] = {
        "/v1/layoutbench/merge", "/v1/layoutbench/overwrite", "/v1/layoutbench/remove"};
    static const char doc[] = "{\"summary\": \"Write layouts\", \"location\": \"body\", "
                              "\"response\": {\"type\": \"object\"}}";

    for (size_t i = 0; i < 3; i++) {
        const wharf_route route = {.head = WHARF_HEAD(wharf_route),
            .method = "POST",
            .path = paths[i],
            .scope = "locations:write",
            .definition = {doc, sizeof(doc) - 1},
            .handler = run,
            .arg = (void *)modes[i]};

        api->route(d, &route);
    }
    api->errors(d, (wharf_str)ERRORS);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    layouts = host->service(self, "locations.layouts", 1, 0);
    return WHARF_OK;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *given)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    host = given;
    return &desc;
}
