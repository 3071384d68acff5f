/* export_source.c - exports whose rows a module reckons (plugin-api/wharf/ext/exports.h):
 * which resources have some (spec 01 section 15). Leaves reading them to export_run.c. */
#include "exports.h"

enum { SOURCES_MOST = 16 };

static const wharf_export_source *sources[SOURCES_MOST];
static size_t n_sources;

const wharf_export_source *export_source_of(wharf_str resource)
{
    for (size_t i = 0; i < n_sources; i++) {
        if (is(resource, sources[i]->resource))
            return sources[i];
    }
    return NULL;
}

wharf_status export_names(wharf_req *req, wharf_str resource, const wharf_json *options,
    const wharf_str **ret_names, size_t *ret_n)
{
    const wharf_export_source *source = export_source_of(resource);
    wharf_str *names;
    size_t n = 0;

    if (!source)
        return exports_walk->check(
            req, resource.p, options, exports_rows_most, OPTIONS, ret_names, ret_n);
    while (source->members[n])
        n++;
    names = W->mem->alloc(req, (n + 1) * sizeof(*names));
    for (size_t i = 0; i < n; i++)
        names[i] = z(source->members[i]);
    *ret_names = names;
    *ret_n = n;
    return WHARF_OK;
}

static wharf_status export_source_add(const wharf_export_source *source)
{
    if (n_sources == SOURCES_MOST || export_source_of(z(source->resource)))
        return WHARF_INVALID;
    sources[n_sources++] = source;
    return WHARF_OK;
}

const wharf_exports_sources_api export_sources = {
    .head = WHARF_HEAD(wharf_exports_sources_api), .add = export_source_add};
