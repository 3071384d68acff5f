/* sandbox_inside.h - what the files of the engine share; not for its users (sandbox.h). */
#ifndef WHARF_LUA_SANDBOX_SANDBOX_INSIDE_H
#define WHARF_LUA_SANDBOX_SANDBOX_INSIDE_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "lua/sandbox/sandbox.h"

enum {
    COROUTINES_MAX = 64, /* coroutines alive */
    HOOK_COUNT = 1000, /* instructions between two looks at the budget */
    JSON_DEPTH = 64 /* levels of JSON */
};

struct sandbox {
    lua_State *lua;
    struct sandbox_host host;
    void *user;
    bool unsafe;
    bool frozen_kind, frozen; /* config.frozen; sandbox_freeze was called */
    bool seeded; /* the hash seed was set */
    uint64_t seed;
    /* memory */
    struct region *region; /* NULL: malloc */
    size_t memory_max, used, peak;
    size_t told; /* of used: what is counted as MEMORY_LUA */
    unsigned allocations; /* only the first two are counted: seed.c */
    void *first; /* the block of the state itself */
    /* this call */
    struct sandbox_limits limits;
    uint64_t spent, nth; /* nth: how many calls began before it */
    int64_t cpu_us; /* of the thread, when it began */
    bool dead; /* the run is over: every pcall and resume raises again */
    struct sandbox_error over; /* why, when dead */
    struct sandbox_error raised; /* where the last error was raised */
    struct sandbox_error refused; /* where memory was refused last */
    const char *handler; /* that was called; or NULL */
    lua_State *calling; /* whose code asks the host */
    enum sandbox_role role;
    bool repeatable;
    void (*line)(void *arg, const char *file, int line);
    void *line_arg;
    /* files */
    const struct sandbox_file *files;
    size_t n_files;
};

/* registry keys: addresses of these */
enum registry_slot {
    SLOT_SORT,
    SLOT_ENV,
    SLOT_WHARF,
    SLOT_LOADED,
    SLOT_MODULE,
    SLOT_THREADS,
    SLOT_ARRAY,
    SLOT_ZONES,
    SLOT_LIBRARY,
    SLOT_N
};
extern const char registry_slot[SLOT_N];
void slot_get(lua_State *lua, enum registry_slot slot);
void slot_set(lua_State *lua, enum registry_slot slot); /* pops */

/* ---- seed.c ---- */
void *sandbox_allocate(void *ud, void *p, size_t old_size, size_t size);

/* ---- sandbox_budget.c ---- */
void budget_hook(lua_State *lua, lua_Debug *ar);
int64_t budget_cpu_us(void); /* of this thread */
void budget_watch(lua_State *thread); /* counts what this thread runs */
void budget_spend(lua_State *lua, uint64_t instructions);
/* Raises again when the run is over, after a protected call. status as of lua_pcallk. */
void budget_check(lua_State *lua, int status);
/* Makes of a place the end of a run that had no memory. */
void budget_memory(struct sandbox_error *e);
/* Ends the run: notes why and where, and raises. */
_Noreturn void budget_end(
    lua_State *lua, enum sandbox_end end, const char *code, const char *message);
_Noreturn void budget_raise(lua_State *lua);

/* ---- base.c, coroutines.c, frozen.c, require.c ---- */
void base_open(lua_State *lua);
void coroutines_open(lua_State *lua);
/* Replaces the table on top by one that reads it and can't be written. */
void frozen_table(lua_State *lua);
void frozen_globals(lua_State *lua); /* pushes the environment of a frozen sandbox */
/* Freezes the table under its name on top: both become a table that reads it and that nobody
 * writes, nor what is in it ("NAME is read-only; …"). It is written as JSON, and its length is, as
 * of what is under it. */
void frozen_named(lua_State *lua);
bool frozen_under(lua_State *lua, int at); /* true: pushes the table that frozen_named covered */
bool frozen_is(lua_State *lua, int at);
int require_call(lua_State *lua);
/* Compiles the file; pushes its function, or an error text and false. */
bool require_compile(lua_State *lua, const struct sandbox_file *file);
const struct sandbox_file *require_find(const struct sandbox *sb, const char *name);

/* ---- errors.c ---- */
bool errors_own(const lua_Debug *ar); /* is this frame the author's? */
/* Notes in e the author's frames of this thread. */
void errors_frames(lua_State *lua, struct sandbox_error *e);
int errors_handler(lua_State *lua);
/* Reads what the error value on top says, into e. */
void errors_value(lua_State *lua, struct sandbox_error *e);
void errors_text(char *to, size_t size, const char *p, size_t n); /* cut at a code point */

/* ---- json_in.c, json_out.c ---- */
/* Pushes the value and returns true; or pushes nothing, and tells why. */
bool json_push(
    lua_State *lua, const char *p, size_t n, const char **ret_problem, size_t *ret_offset);
struct json_style {
    bool pretty, sorted;
};
/* Pushes the text of the value at the index; raises. */
void json_text(lua_State *lua, int at, const struct json_style *style);
void json_open(lua_State *lua); /* the metatable of arrays; pushes wharf.json */
void json_array(lua_State *lua); /* marks the table on top */
bool json_is_array(lua_State *lua, int at);

/* ---- the library: each pushes its table ---- */
void lib_open(lua_State *lua); /* `wharf` */
void lib_time(lua_State *lua);
void lib_bytes(lua_State *lua); /* hex, base64, crypto: functions of one table */
void lib_text(lua_State *lua); /* C functions of text */
void lib_host(lua_State *lua); /* host.call and its like */
/* Pushes the text that os.date makes of a moment and an offset. */
void time_text(lua_State *lua, int64_t s, int64_t ms, int32_t offset, const char *zone,
    const char *format, size_t n);

#endif
