/* lua_probe.c - what a script could do in a `lua` cell if it got out of Lua: wharf.probe(name)
 * makes a system call of cells/probe/calls.c from inside of a run, with nothing else changed.
 * For tests/unit/lua_cell.c. */
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cell_lua.h"
#include "probe.h"

static long parent;
static char reported[200];

__attribute__((constructor)) static void note_parent(void)
{
    parent = getppid();
}

void probe_tell(const char *what, long value)
{
    snprintf(reported, sizeof(reported), "%s: %s: %s", value == -1 ? "refused" : "allowed", what,
        value == -1 ? strerrorname_np(errno) : "");
}

/* Implements probe: probe("list") gives the names, one a line; probe(name) what became of the
 * call. */
static int lua_probe_probe(lua_State *lua)
{
    const char *name = luaL_checkstring(lua, 1);
    char names[8192];

    if (!strcmp(name, "list")) {
        lua_pushlstring(lua, names, probe_calls_list(names, sizeof(names)));
        return 1;
    }
    snprintf(reported, sizeof(reported), "there is no such probe");
    probe_calls_run(name, parent);
    lua_pushstring(lua, reported);
    return 1;
}

bool cell_lua_more(struct sandbox *sb)
{
    return sandbox_define(sb, "probe", lua_probe_probe);
}
