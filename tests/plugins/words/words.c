/* words.c - two resources whose names are key words of SQL or aliases of the engine. For
 * tests/api/plugins/test_sql_names.py. */
#include "wharf/plugin.h"

#include "words.gen.h"

static wharf_status keep(wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    (void)req, (void)op, (void)old_rec, (void)new_rec;
    return WHARF_OK;
}

static const wharf_hooks hooks = {.head = WHARF_HEAD(wharf_hooks), .check = keep};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource word = {.head = WHARF_HEAD(wharf_resource),
        .name = "word",
        .definition = WORD_DEFINITION,
        .definition_hash = WORD_DEFINITION_HASH};
    /* With a rule its writes take the long way, without one the short. */
    const wharf_resource phrase = {.head = WHARF_HEAD(wharf_resource),
        .name = "phrase",
        .definition = PHRASE_DEFINITION,
        .definition_hash = PHRASE_DEFINITION_HASH,
        .hooks = &hooks};

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &word);
    api->resource(d, &phrase);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    (void)host;
    return &desc;
}
