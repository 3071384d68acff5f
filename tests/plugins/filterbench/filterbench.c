/* filterbench.c - a plugin that is all definition: what the engine makes of each type of field.
 * For tests/api, tests/conformance. */
#include "wharf/plugin.h"

#include "filterbench.gen.h"

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource sample = {.head = WHARF_HEAD(wharf_resource),
        .name = "sample",
        .definition = SAMPLE_DEFINITION,
        .definition_hash = SAMPLE_DEFINITION_HASH};
    const wharf_resource part = {.head = WHARF_HEAD(wharf_resource),
        .name = "sample_part",
        .definition = SAMPLE_PART_DEFINITION,
        .definition_hash = SAMPLE_PART_DEFINITION_HASH};

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &sample);
    api->resource(d, &part);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    (void)host;
    return &desc;
}
