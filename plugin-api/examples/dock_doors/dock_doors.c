/* dock_doors.c - the whole code of a resource with one rule. Everything else is schemas/door.json.
 *
 * Built outside the server's tree: only wharf/plugin.h, found by pkg-config (wharf-plugin), and
 * what wharf-gen made. */
#include <string.h>

#include "wharf/plugin.h"

#include "dock_doors.gen.h"

static const wharf_host *W;

/* A door with open appointments stays open. */
static wharf_status door_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_val status, open;

    if (op != WHARF_UPDATE || !W->res->changed(old_rec, new_rec, DOOR_STATUS))
        return WHARF_OK;
    if (W->res->get(new_rec, DOOR_STATUS, &status) && strcmp(status.u.s.p, "closed") == 0 &&
        W->res->get(new_rec, DOOR_OPEN_APPOINTMENTS, &open) && open.u.i > 0)
        return W->err->fail(req, ERR_DOOR_HAS_APPOINTMENTS, "status",
            "%lld appointments are open; finish or move them first", (long long)open.u.i);
    return WHARF_OK;
}

static const wharf_hooks door_hooks = {.head = WHARF_HEAD(wharf_hooks), .check = door_check};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource door = {.head = WHARF_HEAD(wharf_resource),
        .name = "door",
        .definition = DOOR_DEFINITION,
        .definition_hash = DOOR_DEFINITION_HASH,
        .hooks = &door_hooks};

    (void)self;
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    CHECKS(api, d);
    api->resource(d, &door);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), DESCRIBED, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    W = host;
    return &desc;
}
