/* org.c - the module org: users and devices as lists to look things up in, and the services that answer for them.
 *
 * Leaves to others: who a key is (the kernel reads these tables itself), making rows (`wharf org`, `wharf user`, `wharf key`).
 */
#include <string.h>

#include "org.h"
#include "org.gen.h"

const wharf_host *org_host;

static wharf_status user_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    return f == USER_LOCATIONS ? org_locations_of(req, recs, n, outs) : WHARF_OK;
}

static wharf_status has_tokens(wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs)
{
    static const char sql[] = "SELECT id FROM org.device WHERE id = ANY ($1::text[]) AND device_token IS NOT NULL";
    wharf_str *ids = org_host->mem->alloc(req, n * sizeof(*ids));
    const wharf_rows *rows;
    wharf_val arg, id;
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        ids[i] = org_host->res->id(recs[i]);
    arg = (wharf_val){.type = WHARF_V_TEXT, .u.s = org_array(req, ids, n)};
    s = org_host->db->query(req, sql, &arg, 1, &rows);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        bool has = false;

        for (size_t k = 0; k < org_host->db->count(rows) && !has; k++)
            has = org_host->db->value(rows, k, 0, WHARF_V_TEXT, &id) && id.u.s.n == ids[i].n &&
                  !memcmp(id.u.s.p, ids[i].p, ids[i].n);
        org_host->json->put(outs[i], NULL, (wharf_val){.type = WHARF_V_BOOL, .u.i = has});
    }
    return s;
}

static wharf_status device_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    if (f == DEVICE_LOCATIONS)
        return org_locations_of(req, recs, n, outs);
    return f == DEVICE_HAS_DEVICE_TOKEN ? has_tokens(req, recs, n, outs) : WHARF_OK;
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    static const wharf_hooks user_hooks = {.head = WHARF_HEAD(wharf_hooks), .compute = user_compute};
    static const wharf_hooks device_hooks = {.head = WHARF_HEAD(wharf_hooks), .compute = device_compute};
    const wharf_resource user = {.head = WHARF_HEAD(wharf_resource),
        .name = "user",
        .definition_hash = USER_DEFINITION_HASH,
        .definition = USER_DEFINITION,
        .hooks = &user_hooks};
    const wharf_resource device = {.head = WHARF_HEAD(wharf_resource),
        .name = "device",
        .definition_hash = DEVICE_DEFINITION_HASH,
        .definition = DEVICE_DEFINITION,
        .hooks = &device_hooks};

    MIGRATIONS(api, d);
    api->errors(d, (wharf_str)ERRORS);
    api->resource(d, &user);
    api->resource(d, &device);
    api->provide(d, "org.directory", 1, 0, &org_directory);
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    static const wharf_plugin_desc desc = {
        .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

    org_host = host;
    return &desc;
}
