/* lua_part.c - workflows of organizations as a part of the server (resource/part.h). Behind
 * operator_part: its observer comes first. */
#include "parts.h"

#include "lua/host_lua.h"
#include "lua/lua_share.h"
#include "lua/lua_tenant.h"

static const struct offered_service services[] = {{{"wharf.lua", 1, 12}, &host_lua}};

static const struct write_observer tenant_observer = {.name = "hooks of organizations",
    .wants = tenant_wants,
    .ahead = tenant_ahead,
    .before = tenant_before,
    .after = tenant_after,
    .speculative = true,
    .tenant = true};

static void lua_link(struct engine *e)
{
    unsigned ready, most;

    observer_add(e, &tenant_observer);
    share_cells(e->config, &ready, &most);
    e->tenant_runs = most;
}

const struct part lua_part = {.name = "lua",
    .services = services,
    .n_services = sizeof(services) / sizeof(*services),
    .link = lua_link};
