/* cell_lua.h - the inside of the `lua` cell. */
#ifndef WHARF_CELLS_LUA_H
#define WHARF_CELLS_LUA_H

#include "lua/sandbox/sandbox.h"

enum { LUA_ANSWER_MAX = 4 << 20 };

/* Runs one CALL of services/lua/wire.h and writes its RESULT to `answer` (call.c). limit_ms: when
 * the parent kills the cell; 0: not told. Returns false when `call` is not a valid CALL. */
bool cell_lua_run(wharf_str call, uint32_t limit_ms, struct buf *answer);

/* Makes the state for the next call ahead of it, from an AHEAD frame's text `told`. */
void cell_lua_ahead(wharf_str reported);

/* Gives the scripts more than authors have. Here: nothing; the test build (probe/probe.c) has
 * its own. */
bool cell_lua_more(struct sandbox *sb);

struct lua_clock {
    int64_t end_us; /* clock_monotonic_us() at which the run must be over; 0: none */
    int64_t offset_us; /* from the monotonic clock to the server's */
    bool record; /* the parent is told of what it gives */
    unsigned notes; /* that were told */
};
/* Fills `host` with what is outside of the sandbox, asked for over the socket (cell_host.c). The
 * clock must live as long as the host. */
void lua_host(struct sandbox_host *host, struct lua_clock *clock);

#endif
