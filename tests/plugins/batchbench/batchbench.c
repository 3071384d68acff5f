/* batchbench.c - a resource whose rule ends the process when a row is named so:
 * tests/chaos/test_batch_kills.py. */
#include <stdlib.h>
#include <string.h>

#include "wharf/plugin.h"

#include "batchbench.gen.h"

static const wharf_host *host;

static wharf_status written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_val name;

    (void)req, (void)old_rec;
    if (op == WHARF_CREATE && host->res->get(new_rec, CRUMB_NAME, &name) &&
        !strcmp(name.u.s.p, "abort the worker"))
        abort();
    return WHARF_OK;
}

static const wharf_hooks hooks = {.head = WHARF_HEAD(wharf_hooks), .written = written};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource crumb = {.head = WHARF_HEAD(wharf_resource),
        .name = "crumb",
        .definition = CRUMB_DEFINITION,
        .definition_hash = CRUMB_DEFINITION_HASH,
        .hooks = &hooks};

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &crumb);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *given)
{
    host = given;
    return &desc;
}
