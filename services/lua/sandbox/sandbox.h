/* sandbox.h - one Lua 5.4 state that runs code of others within limits: the engine of tenants'
 * workflows (in a cell, docs/internals/cells.md) and of operators' hooks (in the server). What
 * authors see is docs/spec/08-workflows-and-lua.md section 5, and nothing else.
 *
 * The engine does no I/O. Whatever is outside of the state (the API, HTTP, keys, mail, the
 * clock, randomness, zones) it asks its host for, a table of functions given at birth. It knows
 * nothing of workflows, hooks or the database either.
 *
 * Two kinds of users:
 *   - A cell makes a sandbox for one run: sandbox_new, sandbox_load, sandbox_call, sandbox_free.
 *     Memory, instructions, coroutines
 *     and calls are limited here. Time is kept by the parent, with SIGKILL: C functions of Lua
 *     that never return (string.find) can't be
 *     ended from inside.
 *   - The server keeps one sandbox per worker thread for hooks, with `frozen`: sandbox_new,
 *     sandbox_define for functions of its own
 *     (wharf.hook.before …), sandbox_load for each file, sandbox_freeze, then any number of
 *     sandbox_call, each between sandbox_begin with
 *     the limits of that call. Its code is trusted: `deadline_us` ends what runs in Lua, not
 *     what runs in one C function.
 *
 * A sandbox is used by one thread at a time and runs on the thread's own stack (8 MiB are enough
 * for Lua's C recursion).
 * No function throws or longjmps to its caller; what goes wrong is a struct sandbox_error. All
 * texts are UTF-8 unless told; JSON texts are complete values. */
#ifndef WHARF_LUA_SANDBOX_SANDBOX_H
#define WHARF_LUA_SANDBOX_SANDBOX_H

#include <lua.h>

#include "util/buf.h"
#include "wharf/service/lua.h"

struct sandbox;
struct region;

/* ---- the host ---- */

enum sandbox_answer {
    SANDBOX_GIVEN, /* the text is the JSON of the result */
    /* an expected failure: the text is {"code","message","status"?,"errors"?}; the author gets
     * nil, err */
    SANDBOX_REFUSED,
    /* the author's mistake: the text is {"code","message"}; raised as an error with file and
     * line */
    SANDBOX_MISTAKE,
    /* the run is over (a budget of the host's, a cancel): the text is {"code","message"};
     * nothing catches it */
    SANDBOX_ENDED,
};

/* All members are needed. Functions are called on the sandbox's thread; texts are good until the
 * next call of the host. */
struct sandbox_host {
    void *arg;
    /* Everything that has a name in `wharf`: op is "api.get", "kv.set", "log", "secret" …; args
     * is a JSON object. The ops and their arguments are listed in ops.md next to this file. An
     * op that the host does not offer is a SANDBOX_MISTAKE. */
    enum sandbox_answer (*call)(void *arg, const char *op, wharf_str args, wharf_str *ret_text);
    int64_t (*now_us)(void *arg); /* since 1970 */
    void (*random)(void *arg, void *p, size_t n);
    /* The bytes of a zone's file of the system's database (TZif); the name has only letters of
     * such names. False: no such zone. */
    bool (*zone)(void *arg, const char *name, wharf_str *ret_bytes);
};

/* ---- life ---- */

struct sandbox_limits {
    uint64_t instructions; /* counted by the thousand; 0: any number */
    /* clock_monotonic_us(); looked at each 1,000 instructions and after each call of the host;
     * 0: none */
    int64_t deadline_us;
    /* of the processor, looked at in the same places: what a busy machine can't take away; 0:
     * any */
    int64_t cpu_us;
};

/* Functions that stand in `wharf` beside the library of section 5. */
enum sandbox_role {
    SANDBOX_RUN, /* nothing */
    SANDBOX_TESTED, /* nothing: a run of a test */
    SANDBOX_TESTS, /* wharf.test: the state of a case (services/lua/testing/testing.h) */
    /* wharf.hook and wharf.db, which note and ask the host: hook files as tests run them */
    SANDBOX_HOOK_TESTS,
};

struct sandbox_config {
    size_t memory; /* bytes the state may hold, all of it counted; 0: any number */
    struct sandbox_limits limits; /* until the first sandbox_begin */
    /* of math.random and of the hashes of strings: the same seed gives the same order of pairs() */
    uint64_t seed;
    bool unsafe; /* the author is the operator: io, debug and all of os are there */
    /* os.clock tells instructions: the same run says the same. So it is for tests, too */
    bool repeatable;
    /* globals and library tables can't be written; globals may be set until sandbox_freeze */
    bool frozen;
    const struct sandbox_host *host; /* must outlive the sandbox */
    /* services/lua/sandbox/region.h; NULL: the process's heap. One state at a time, and
     * forgotten with it */
    struct region *region;
    void *user; /* whatever the functions of sandbox_define need: sandbox_user */
    enum sandbox_role role;
    /* NULL, or told of each line of the author's that is reached ("main.lua"), on the sandbox's
     * thread. */
    void (*line)(void *arg, const char *file, int line);
    void *line_arg;
};

/* Prepares the library, once per process, before the first sandbox (in a cell: before the walls).
 * Returns false when the library can't be compiled, which is a defect of the build. [any, again is
 * harmless] */
bool sandbox_prepare(void);

struct sandbox *sandbox_new(const struct sandbox_config *config); /* NULL: not enough memory */
void sandbox_free(struct sandbox *sb); /* runs no code of the author's. NULL is accepted */
void *sandbox_user(lua_State *lua);
struct sandbox *sandbox_of(lua_State *lua);

/* Tells whether the order of strings' hashes was fixed. False only with a Lua library of another
 * shape; then pairs() has any order. */
bool sandbox_deterministic(const struct sandbox *sb);

/* Compiled code of one text, kept by the caller between sandboxes of one process; made here and
 * never taken from elsewhere. Begins as {0}; ended by free(p). */
struct sandbox_code {
    void *p;
    size_t n;
};

struct sandbox_file {
    const char *name; /* "main", "lib.address": what require() takes; errors tell it with ".lua" */
    wharf_str text; /* must outlive the sandbox */
    struct sandbox_code *code; /* NULL: compiled each time */
};
enum { SANDBOX_NAME_MAX = 50 /* of a file's name */ };

/* Sets the files that require() finds and snippets are taken from. The array must outlive the
 * sandbox. */
void sandbox_files(struct sandbox *sb, const struct sandbox_file *files, size_t n);

/* ---- errors ---- */

enum sandbox_end {
    SANDBOX_OK = 0,
    SANDBOX_RAISED, /* an error that nobody caught */
    SANDBOX_COMPILE, /* the text is no Lua */
    SANDBOX_REJECTED, /* wharf.reject */
    SANDBOX_FAILED, /* wharf.fail */
    SANDBOX_OVER, /* a limit of this file or SANDBOX_ENDED: code tells which */
};

/* The longest wait that wharf.fail can ask for, a week: well before the end of what is kept, and
 * a time that any unit and the database can tell. */
enum { SANDBOX_AFTER_MAX_MS = 7 * 86400000 }; /* wharf.fail puts off at most */
static inline int64_t sandbox_after_ms(int64_t ms)
{
    return ms < SANDBOX_AFTER_MAX_MS ? ms : SANDBOX_AFTER_MAX_MS;
}

struct sandbox_frame {
    char file[64], function[64]; /* "main.lua"; "on_event", "main chunk" or "" */
    int line;
};
enum { SANDBOX_FRAMES = 16 };

struct sandbox_error {
    enum sandbox_end end;
    /* SANDBOX_OVER: "workflow.budget_instructions", "workflow.budget_memory",
     * "workflow.budget_time" or the host's. SANDBOX_REJECTED and error{code = …}: the author's
     * own word. Else empty. */
    char code[WHARF_LUA_WORD_MAX];
    char message[WHARF_LUA_MESSAGE_MAX]; /* without file and line; cut at a code point */
    char field[WHARF_LUA_WORD_MAX]; /* wharf.reject */
    int status; /* error{status = …}; 0: none */
    int retry; /* wharf.fail: 1 or 0; -1: not told */
    int64_t after_ms; /* wharf.fail; -1: not told */
    char file[64]; /* "main.lua", "" when unknown */
    int line; /* 0: unknown */
    struct sandbox_frame frames[SANDBOX_FRAMES]; /* innermost first; only the author's own code */
    size_t n_frames;
};

/* Writes
 * {"code","message","file","line","function","traceback":[{"file","line","function"}],
 * "snippet":[{"line","text"}]} as section 7 shows it. code: what the caller made of it. */
void sandbox_error_json(
    const struct sandbox *sb, const struct sandbox_error *e, const char *code, struct buf *out);

/* ---- running ---- */

/* Sets the limits of what comes now; counts begin anew. A sandbox whose last call ended with
 * SANDBOX_OVER can be used again. */
void sandbox_begin(struct sandbox *sb, const struct sandbox_limits *limits);

/* Compiles the file of this name and runs it; the table that it returns has the handlers.
 * Without a table: SANDBOX_RAISED. */
bool sandbox_load(struct sandbox *sb, const char *name, struct sandbox_error *ret_error);
/* Compiles a file and does no more. */
bool sandbox_compile(struct sandbox *sb, const char *name, struct sandbox_error *ret_error);
/* Tells whether the table of sandbox_load has a function of this name. */
bool sandbox_has(struct sandbox *sb, const char *handler);
/* Freezes the globals as they are from here on, and `wharf`. Returns false when there is not
 * enough memory. */
bool sandbox_freeze(struct sandbox *sb);

struct sandbox_call {
    const char *handler; /* of the table that sandbox_load left; or NULL and */
    int ref; /* a function kept by luaL_ref in LUA_REGISTRYINDEX, by a function of sandbox_define */
    wharf_str arg; /* JSON: the first argument */
    wharf_str context; /* JSON object: ctx, read-only; with deadline_ms() and budget() added */
    /* member of the first argument that is given back as it is after the call; NULL: none */
    const char *keep;
};

/* Calls a handler. ret_result: JSON of what the handler returned (no value and nil: empty).
 * ret_kept: JSON of the kept member. Both may be NULL; what does not fit the buffer's maximum or
 * can't be JSON is SANDBOX_RAISED. */
bool sandbox_call(struct sandbox *sb, const struct sandbox_call *call, struct buf *ret_result,
    struct buf *ret_kept, struct sandbox_error *ret_error);

/* Puts a C function into `wharf`, at "hook.before" or "config": before any file is loaded. It
 * may raise (lua_error) and must then hold nothing of its own. False: not enough memory. */
bool sandbox_define(struct sandbox *sb, const char *path, lua_CFunction fn);

/* Returns the thread of the state that the host is being called from: for hosts that are Lua
 * themselves. */
lua_State *sandbox_calling(const struct sandbox *sb);

/* Returns the i-th name that `wharf` has, of a function or a table of them; NULL: there is none. */
const char *sandbox_name(size_t i);

struct sandbox_usage {
    uint64_t instructions;
    size_t memory_peak;
};
void sandbox_usage(const struct sandbox *sb, struct sandbox_usage *ret_usage);

/* Writes how a call ended, as one object:
 * {"end","code","message","field","status","retry","after_ms","error","usage","result"?,"kept"?};
 * end is a number of enum sandbox_end, usage has "instructions", "memory_peak" and "cpu_us".
 * result and kept: of sandbox_call. */
void sandbox_outcome_json(const struct sandbox *sb, const struct sandbox_error *e,
    const struct buf *result, const struct buf *kept, int64_t cpu_us, struct buf *out);

/* ---- for functions of sandbox_define ---- */

/* Raises {file}:{line}: {message} of the author's line that called. */
_Noreturn void sandbox_raise(lua_State *lua, const char *fmt, ...) WHARF_PRINTF(2, 3);
/* Pushes the value of a JSON text; raises when it is none. */
void sandbox_push_json(lua_State *lua, wharf_str json);
/* Replaces the value at the top by its JSON text; raises when it has none. */
void sandbox_to_json(lua_State *lua);
/* Finds the line of the author's code that runs now. Returns false when there is none. file has 64
 * bytes. */
bool sandbox_where(lua_State *lua, char *file, int *ret_line);

#endif
