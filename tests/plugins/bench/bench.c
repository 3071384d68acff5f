/* bench.c - a plugin that is all definition: no rule stands in the way of the event loop. For
 * tests/bench. */
#include "wharf/plugin.h"

#include "bench.gen.h"

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource crate = {.head = WHARF_HEAD(wharf_resource),
        .name = "crate",
        .definition = CRATE_DEFINITION,
        .definition_hash = CRATE_DEFINITION_HASH};

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &crate);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    (void)host;
    return &desc;
}
