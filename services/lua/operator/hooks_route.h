/* hooks_route.h - the operator's hooks as they run: GET /v1/system/lua-hooks, and their reload.
 * See hooks_route.c. */
#ifndef WHARF_LUA_OPERATOR_HOOKS_ROUTE_H
#define WHARF_LUA_OPERATOR_HOOKS_ROUTE_H

#include "resource/decl.h"

void lua_hooks_routes_add(struct wharf_decl *d);

#endif
