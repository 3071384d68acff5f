/* circle.c - a resource that belongs to a set of locations, without rules. For
 * tests/api/locations/test_multi_locations.py. */
#include "wharf/plugin.h"

#include "circle.gen.h"

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource circle = {.head = WHARF_HEAD(wharf_resource),
        .name = "circle",
        .definition = CIRCLE_DEFINITION,
        .definition_hash = CIRCLE_DEFINITION_HASH};

    (void)self;
    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    api->resource(d, &circle);
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {
        .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

    (void)host;
    return &desc;
}
