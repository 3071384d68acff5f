/* wharf/service/lua.h - Lua of tenants: service "wharf.lua", version 1.12 (docs/reference/lua.md,
 * docs/spec/08-workflows-and-lua.md).
 *
 * A run is done in a sandboxed process (docs/internals/cells.md) that no other run has, or only
 * such that may share it; the process asks for everything that is outside of it: the answer
 * function of the caller decides. Whatever the code does, run() comes back by the wall clock of its
 * limits and 50 ms. Rules of this header: wharf/plugin.h. All
 * functions are [worker]. */
#ifndef WHARF_SERVICE_LUA_H
#define WHARF_SERVICE_LUA_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Codes of runs that ended by themselves; the module workflows declares them. */
#define ERR_WORKFLOW_BUDGET_INSTRUCTIONS "workflow.budget_instructions"
#define ERR_WORKFLOW_BUDGET_MEMORY "workflow.budget_memory"
#define ERR_WORKFLOW_BUDGET_TIME "workflow.budget_time"
#define ERR_WORKFLOW_FAILED "workflow.failed"
#define ERR_WORKFLOW_QUOTA "workflow.quota"
#define ERR_WORKFLOW_TRIGGER_INVALID "workflow.trigger_invalid"

enum wharf_lua_answer {
    WHARF_LUA_GIVEN = 0, /* the text is the JSON of the result, or empty: nothing */
    WHARF_LUA_REFUSED = 1, /* {"code","message","status"?,"errors"?}: the author gets nil, err */
    WHARF_LUA_MISTAKE = 2, /* {"code","message"}: raised where the author called */
    WHARF_LUA_ENDED = 3 /* {"code","message"}: the run is over */
};

/* One question of the run: an op of services/lua/sandbox/ops.md and its arguments. args is never
 * NULL. Also called for "log". What
 * it allocates in the request is gone after its answer; of what was made before the run only
 * JSON writers may be written to. Problems that it adds are to be cleared. */
typedef uint32_t wharf_lua_answer_fn(
    wharf_req *req, void *arg, wharf_str op, const wharf_json *args, wharf_str *ret_text);

typedef struct wharf_lua_file {
    wharf_str name, text; /* "main", "lib.address" */
} wharf_lua_file;

typedef struct wharf_lua_spec {
    wharf_head head;
    uint32_t n_files, n_handlers; /* at most 32 files */
    const wharf_lua_file *files; /* "main" among them */
    /* with an empty handler: all files are compiled, main is loaded, and its table must have
     * these functions */
    const wharf_str *handlers;
    wharf_str handler;
    wharf_str arg, context; /* JSON */
    wharf_str keep; /* member of the argument that is given back as it is afterwards; empty: none */
    uint64_t instructions, memory, seed;
    int64_t wall_us;
    uint64_t result_max; /* bytes */
    wharf_lua_answer_fn *answer;
    void *answer_arg;
    /* 1.1, or NULL: asked about twice a second while the code runs, with answer_arg. True ends
     * the run: WHARF_LUA_STOPPED. */
    bool (*stop)(wharf_req *req, void *arg);
    /* 1.2: a process may do runs of the organization that have the same text here, one after the
     * other, each in a state of its own: whoever breaks out of one sees what these get and no
     * more. At most 96 bytes; empty: a process of its own. Text and code must belong together. */
    wharf_str share;
    /* 1.2, not 0: nothing but the test files (names that end with _test) is run, and nothing is
     * asked for. The result is an array, an entry for each: {"file", "cases": [{"name", "line",
     * "status": "passed" | "failed" | "skipped", "error"?}], "error"?}; the outer error: the
     * file can't be loaded. Errors are as in the outcome. instructions is of no meaning,
     * result_max of the whole answer. */
    uint32_t tests;
    /* 1.5, not 0: the answer function is also called for "note", without an answer: {"note":
     * "now" | "deadline", "value"}, {"note": "random", "hex"}, what the run got of clock and
     * randomness; {"note": "full"}: there was more than is told. os.clock counts instructions. */
    uint32_t record;
} wharf_lua_spec;

enum wharf_lua_end {
    WHARF_LUA_OK = 0,
    WHARF_LUA_RAISED = 1,
    WHARF_LUA_COMPILE = 2, /* the text is no Lua */
    WHARF_LUA_REJECTED = 3, /* wharf.reject */
    WHARF_LUA_FAILED = 4, /* wharf.fail */
    WHARF_LUA_OVER = 5, /* a limit: code is workflow.budget_… or what an answer said */
    WHARF_LUA_DIED = 6, /* the process did; nothing is known of why */
    WHARF_LUA_STOPPED = 8, /* 1.1: stop() said so */
    /* no process was free within 50 ms (5 s in jobs, and where nothing but loading is asked for);
     * nothing was run */
    WHARF_LUA_NO_CELL = 7
};

/* Room for message, and for code and field, with a byte at their end. Longer ones are cut at a
 * code point, so what was cut lacks at most four bytes of it. */
enum { WHARF_LUA_MESSAGE_MAX = 1024, WHARF_LUA_WORD_MAX = 96 };

typedef struct wharf_lua_outcome {
    wharf_head head;
    uint32_t end; /* WHARF_LUA_* of wharf_lua_end */
    int32_t status; /* of an error table; 0: none */
    int32_t retry; /* wharf.fail: 1, 0; -1: not told */
    uint32_t depth; /* how many runs this one is inside of */
    int64_t after_ms; /* wharf.fail; -1: not told */
    wharf_str code, message, field; /* without file and line */
    /* as docs/spec/08-workflows-and-lua.md section 7 shows it, code as above; NULL when all is
     * well */
    const wharf_json *error;
    const wharf_json *result, *kept; /* or NULL */
    uint64_t instructions, memory_peak;
    int64_t cpu_us, duration_us;
} wharf_lua_outcome;

/* Whom wharf.api acts for. */
typedef struct wharf_lua_actor wharf_lua_actor;

typedef struct wharf_lua_rights {
    wharf_head head;
    wharf_str key_id; /* of the publisher: no right goes beyond what it has now */
    const wharf_json *scopes; /* array of texts, area:read or area:write */
    const wharf_json *locations; /* array of ids, or NULL: all of the publisher's */
    uint32_t callers_locations; /* not 0: only those that the caller of this request reaches */
    uint32_t reserved;
    wharf_str actor_id, actor_name; /* who changes what is changed: type "workflow" */
} wharf_lua_rights;

/* 1.3: what wharf.http may do. */
typedef struct wharf_lua_outside {
    wharf_head head;
    int64_t left_us; /* nothing goes on for longer */
    uint32_t calls; /* requests that may still be made; counted down */
    uint32_t reserved;
    const wharf_json *hosts; /* array of names, "api.example.com" or "*.example.com"; NULL: all */
} wharf_lua_outside;

/* 1.4: a write of a declared resource, as hooks of organizations see it. */
typedef struct wharf_lua_change {
    wharf_head head;
    const char *resource, *action; /* "location"; "create", "update", "delete" */
    wharf_str id, location_id; /* location_id may be empty */
    wharf_str text; /* JSON: {resource, action, id, location_id, old, input, new} */
    uint32_t depth, reserved; /* runs that it is inside of */
    void *ahead; /* 1.9: what hooks.ahead gave for this write, or NULL */
} wharf_lua_change;

/* 1.4: who runs hooks of organizations. Called in the transaction of the write, for
 * organizations that hooked() told of, and for those of which that is not known. */
typedef struct wharf_lua_hooks {
    wharf_head head;
    /* Before it: how many hooks there are; text is empty. */
    wharf_status (*list)(wharf_req *req, const wharf_lua_change *c, void **ret_list, size_t *ret_n);
    /* The i-th of them: a problem refuses the write. ret_input: what is to be written instead of
     * the input; NULL: the same. */
    wharf_status (*before)(wharf_req *req, void *list, size_t i, const wharf_lua_change *c,
        const wharf_json **ret_input);
    wharf_status (*after)(wharf_req *req, const wharf_lua_change *c);
    /* 1.9, or NULL: such a row is about to be read and locked; what its hooks will need can be
     * made ready meanwhile. Whether they come to it is not known, nor anything of the row but
     * its id. A problem refuses the write; what is in *ret then stands in the change of list and
     * before. */
    wharf_status (*ahead)(wharf_req *req, const wharf_lua_change *c, void **ret);
} wharf_lua_hooks;

/* 1.5: what an event or a mail of a run says when its author does not. */
typedef struct wharf_lua_sender {
    wharf_head head;
    wharf_str resource_type, resource_id; /* of events */
    wharf_str location_id; /* of events; or empty */
    /* of a mail: letters, digits, _ and ".", the same when the run is tried again; or empty */
    wharf_str key;
} wharf_lua_sender;

/* the longest wall clock of a run inside of a transaction; before 1.12: 250000 */
enum { WHARF_LUA_HOOK_US = 5000000 };

typedef struct wharf_lua_api {
    wharf_head head;
    /* Inside of a transaction only with a wall clock of WHARF_LUA_HOOK_US or less. The outcome's
     * head is set by the caller; members that its size does not reach are left out. WHARF_OK
     * however the run ends; else a problem of the server's was told. */
    wharf_status (*run)(wharf_req *req, const wharf_lua_spec *spec, wharf_lua_outcome *ret_outcome);
    /* NULL in *ret_actor: the publisher's key is gone, revoked or of somebody who is disabled. */
    wharf_status (*actor)(
        wharf_req *req, const wharf_lua_rights *rights, wharf_lua_actor **ret_actor);
    /* Answers "api.get", "api.post" and "api.delete". default_key: Idempotency-Key of a write
     * whose args have none. */
    uint32_t (*call)(wharf_req *req, wharf_lua_actor *actor, wharf_str op, const wharf_json *args,
        wharf_str default_key, wharf_str *ret_text);
    /* 1.3: answers "http.request" and "http.all". Not inside of a transaction. */
    uint32_t (*http)(wharf_req *req, wharf_lua_outside *limits, wharf_str op,
        const wharf_json *args, wharf_str *ret_text);
    /* ---- 1.4 ---- */
    /* [declare] one plugin; the table is static */
    void (*hooks)(wharf_decl *d, const wharf_lua_hooks *hooks);
    /* May there be hooks on such writes? Then the area of the resource's scope. [any] */
    bool (*hookable)(
        const wharf_plugin *self, wharf_str resource, wharf_str action, wharf_str *ret_area);
    /* In a transaction: from its commit on these are the writes ("location:create") for which
     * the owner, one of the organization's, has hooks. */
    wharf_status (*hooked)(wharf_req *req, wharf_str owner, const wharf_str *writes, size_t n);
    /* fn in a transaction of its own when the open one is over, however it ended; its arg is a
     * copy of text (const char *). Its problems are nobody's. */
    void (*at_end)(wharf_req *req, wharf_handler *fn, wharf_str text);
    /* 1.5: answers "emit" and "mail.send" for the actor, in a transaction of its own. Who calls
     * counts them. */
    uint32_t (*tell)(wharf_req *req, wharf_lua_actor *actor, const wharf_lua_sender *sender,
        wharf_str op, const wharf_json *args, wharf_str *ret_text);
    /* 1.6: what make answers for the request's organization, kept in this process for later
     * requests until keys or anybody's hooks change, 5 s at most. All that make allocates in the
     * request, rows and actors too, lives as long as it is kept, and as long as this request
     * (its scope, where one is open). Threads share it: nobody changes it, and it must not point
     * to what was allocated before. */
    wharf_status (*kept)(
        wharf_req *req, wharf_status (*make)(wharf_req *req, void **ret), const void **ret);
    /* 1.7: how long the organization's runs have to wait, because they took their share of the
     * processor (workflows.cpu_share); 0: not at all. Jobs ask it; other runs but those inside
     * of a transaction end with WHARF_LUA_NO_CELL and the code workflow.quota. */
    int64_t (*wait_us)(wharf_req *req);
    /* 1.8: the problem that was told last lies in a program: error is as in the outcome, {file,
     * line, message, snippet, …}. Its violation in problem details shows these. NULL: nothing. */
    void (*place)(wharf_req *req, const wharf_json *error);
    /* 1.9: a run with the memory, the seed and the share of this spec comes soon, if nothing
     * comes between: a process that did runs with this share makes its state for it. Nothing
     * else is looked at, nothing is waited for, and nothing changes but the time that the run
     * takes. */
    void (*ahead)(wharf_req *req, const wharf_lua_spec *spec);
    /* 1.10: the area of the scope that rows of a resource are read with. False: there is no such
     * resource. [any] */
    bool (*area)(const wharf_plugin *self, wharf_str resource, wharf_str *ret_area);
    /* 1.11: what is wrong with a trigger of type http or schedule, one of these triggers; NULL:
     * nothing, or it has another type. `wharf lua check` tells the same. Secrets are the
     * caller's to look at. 1.12: of other types the members that they do not have. */
    const char *(*trigger_problem)(
        wharf_req *req, const wharf_json *triggers, const wharf_json *trigger);
} wharf_lua_api;

#ifdef __cplusplus
}
#endif
#endif
