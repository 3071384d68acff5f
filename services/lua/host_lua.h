/* host_lua.h - the table wharf.lua (plugin-api/wharf/service/lua.h). */
#ifndef WHARF_LUA_HOST_LUA_H
#define WHARF_LUA_HOST_LUA_H

#include "wharf/service/lua.h"

extern const struct wharf_lua_api host_lua;

#endif
