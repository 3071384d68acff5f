/* lua_run.h - one run of tenants' Lua in a cell, as the server sees it. Leaves to others: what
 * the run asks for (the answer function of the spec), whom it acts for
 * (services/lua/host_lua.c). */
#ifndef WHARF_LUA_LUA_RUN_H
#define WHARF_LUA_LUA_RUN_H

#include "resource/request.h"
#include "wharf/service/lua.h"

/* Runs Lua in a cell. Returns false when there is no program wharf-cell-lua. Else the outcome is
 * filled, with what it points to in the request's arena. */
bool lua_run(struct wharf_req *req, const wharf_lua_spec *spec, wharf_lua_outcome *o);
/* Tells that a run with this memory, seed and share comes soon: a process that waits for such gets
 * its state ready. */
void lua_ahead(struct wharf_req *req, const wharf_lua_spec *spec);

#endif
