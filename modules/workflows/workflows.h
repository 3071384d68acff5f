/* workflows.h - inside of the module workflows. */
#ifndef WORKFLOWS_H
#define WORKFLOWS_H

#include "wharf/plugin.h"
#include "wharf/service/keys.h"
#include "wharf/service/lua.h"

#define W flow_host
extern const wharf_host *flow_host; /* these are set once, before anything of this module runs */
extern const wharf_lua_api *flow_lua;
extern const wharf_keys_api *flow_keys;

#include "wharf/inline.h"

enum {
    WORKFLOWS_MAX = 200, VERSIONS_KEPT = 100, FILES_MAX = 20, SOURCE_MAX = 256 << 10, FILES_BYTES = 512 << 10, FILE_NAME_MAX = 50,
    SETTINGS_MAX = 64 << 10, RECORD_MAX = 64 << 10, KEY_MAX = 200, VALUE_MAX = 64 << 10, STORE_MAX = 10 << 20
};

/* What is run: of a version or of a draft. All JSON members may be NULL: none. */
struct code {
    wharf_str workflow_id, name, source;
    const wharf_json *files, *triggers, *scopes, *settings, *locations;
    int64_t version; /* 0: the draft */
    wharf_str publisher_key;
};

/* What a class of triggers may use (section 6). */
struct budget {
    uint64_t instructions, memory, result_max;
    int64_t wall_us;
    uint32_t api_calls;
};
extern const struct budget sync_budget, check_budget;

/* rules.c */
extern const wharf_hooks workflow_hooks;
/* Tells what is wrong with them; paths as in a body. */
wharf_status code_check(wharf_req *req, const struct code *c);

/* code.c */
/* The workflow of the path, visible to the caller; its draft as code. */
wharf_status draft_read(wharf_req *req, const wharf_rec **ret_rec, struct code *ret_code);
/* A version of it; number 0: the current one. *ret_found false: there is none. */
wharf_status version_read(wharf_req *req, const wharf_rec *rec, int64_t number, struct code *ret_code, bool *ret_found);
/* Files of the spec: main and the others. */
void spec_files(wharf_req *req, const struct code *c, wharf_lua_spec *spec);
/* Compiles, loads, looks for the handlers. Problems are those of publishing (section 4). */
wharf_status code_try(wharf_req *req, const struct code *c);
/* "my-flow/main.lua:3: message" of an outcome's error; without a place only the message. */
wharf_str place_of(wharf_req *req, const struct code *c, const wharf_lua_outcome *o);

/* publish.c */
wharf_handler check_route, publish_route, discard_route, versions_route, version_route;

/* run.c */
wharf_handler run_route, run_show_route;

/* asked.c: what a run asks for */
struct asked {
    const struct code *code;
    const struct budget *budget;
    wharf_lua_actor *actor;
    wharf_str run_key;
    uint32_t api_calls, writes;
    wharf_out *logs; /* an open array */
    size_t log_bytes;
};
wharf_lua_answer_fn asked_answer;

/* kv.c: the ops kv.* */
uint32_t kv_answer(wharf_req *req, const struct asked *a, wharf_str op, const wharf_json *args, wharf_str *ret_text);

/* GET and DELETE of …/kv and …/kv/:key */
wharf_handler kv_list_route, kv_delete_route;

uint32_t refuse_op(wharf_req *req, uint32_t how, const char *code, const char *message, wharf_str *ret_text);

#endif
