/* workflows.h - inside of the module workflows. */
#ifndef WORKFLOWS_H
#define WORKFLOWS_H

#include "wharf/ext/webhooks.h"
#include "wharf/ext/workflows.h"
#include "wharf/plugin.h"
#include "wharf/service/cron.h"
#include "wharf/service/crypto.h"
#include "wharf/service/events.h"
#include "wharf/service/http.h"
#include "wharf/service/config.h"
#include "wharf/service/keys.h"
#include "wharf/service/logs.h"
#include "wharf/service/lua.h"
#include "wharf/service/metrics.h"
#include "wharf/service/schema.h"
#include "wharf/service/text.h"
#include "wharf/service/token.h"

#define W flow_host
extern const wharf_host *flow_host; /* these are set once, before anything of this module runs */
extern const wharf_lua_api *flow_lua;
extern const wharf_keys_api *flow_keys;
extern const wharf_crypto_api *flow_crypto;
extern const wharf_cron_api *flow_cron;
extern const wharf_events_api *flow_events;
extern const wharf_http_api *flow_http;
extern const wharf_token_api *flow_tokens;
extern const wharf_text_api *flow_text;
extern const wharf_logs_api *flow_logs;
extern const wharf_config_api *flow_config;
extern const wharf_schema_api *flow_schemas;
extern const wharf_metrics_api *flow_metrics;
/* NULL: the module webhooks is not loaded; no event triggers then */
extern const wharf_webhooks_rules_api *flow_rules;
extern wharf_plugin *flow_self;
/* requests of a public path, per minute and address: workflows.public_per_minute */
extern uint32_t flow_public_rate;

#include "wharf/inline.h"

enum {
    WORKFLOWS_MAX = 200, /* of an organization */
    TRIGGERS_MAX = 20, /* of a workflow */
    VERSIONS_KEPT = 100, /* of a workflow */
    FILES_MAX = 20, /* of a workflow */
    SOURCE_MAX = 256 << 10, /* bytes of the main file */
    FILES_BYTES = 512 << 10, /* bytes of all files */
    FILE_NAME_MAX = 50,
    DEPTH_MAX = 5, /* runs that cause each other in a row */
    FAILURES_MAX = 20, /* runs that fail in a row until it is switched off */
    SETTINGS_MAX = 64 << 10, /* bytes of settings */
    RECORD_MAX = 64 << 10, /* bytes that are kept of a run */
    KEY_MAX = 200, /* bytes of a key of the store */
    VALUE_MAX = 64 << 10, /* bytes of a value of the store */
    STORE_MAX = 10 << 20 /* bytes of the store */
};

/* Code to run: of a version or of a draft. All JSON members may be NULL: none. */
struct code {
    wharf_str workflow_id, name, source;
    const wharf_json *files, *triggers, *scopes, *settings, *locations, *options;
    int64_t version; /* 0: the draft */
    wharf_str publisher_key;
};

/* Limits of a class of triggers (section 6). */
struct budget {
    uint64_t instructions, memory, result_max;
    int64_t wall_us;
    uint32_t api_calls, http_calls, mails, emits;
    int64_t sleep_ms; /* in all; 0: it may not */
    bool in_write; /* it is inside of the transaction of a change */
};
extern const struct budget check_budget;

/* workflow_budget.c */
extern struct budget before_budget, sync_budget, public_budget,
    queued_budget; /* the operator's ceilings; set once, at the start */
void budgets_start(void);
/* Tells what a workflow's own budget asks for that no run may have. wanted may be NULL. */
wharf_status budget_wanted(wharf_req *req, const wharf_json *wanted);
/* Returns the budget of that class, less what the workflow does without. */
struct budget budget_of(const struct budget *most, const struct code *c);

/* workflow_rules.c */
extern const wharf_hooks workflow_hooks;
/* Tells what is wrong with them; paths as in a body. */
wharf_status code_check(wharf_req *req, const struct code *c);

/* code.c */
/* Reads the workflow of the path, visible to the caller, and its draft as code. */
wharf_status draft_read(wharf_req *req, const wharf_rec **ret_rec, struct code *ret_code);
/* Reads a version of the workflow; number 0: the current one. *ret_found false: there is none. */
wharf_status version_read(
    wharf_req *req, const wharf_rec *rec, int64_t number, struct code *ret_code, bool *ret_found);
/* Reads the same by its id, whoever asks, and whether it is enabled; number 0: the current one of
 * a workflow that is not deleted. */
wharf_status code_load(wharf_req *req, wharf_str workflow_id, int64_t number, struct code *ret_code,
    bool *ret_enabled, bool *ret_found);
/* Sets the files of the spec: main and the others. */
void spec_files(wharf_req *req, const struct code *c, wharf_lua_spec *spec);
/* Compiles, loads, looks for the handlers. Problems are those of publishing (section 4). */
wharf_status code_try(wharf_req *req, const struct code *c);
/* Tells what went wrong with the files, by this code. */
wharf_status code_problem(
    wharf_req *req, const struct code *c, const wharf_lua_outcome *o, const char *code);
/* Returns "my-flow/main.lua:3: message" of an outcome's error; without a place only the message. */
wharf_str place_of(wharf_req *req, const struct code *c, const wharf_lua_outcome *o);

/* publish.c */
struct needed; /* scopes that a version asks of who publishes it */
void need_area(struct needed *needed, wharf_str area, uint32_t level /* WHARF_LEVEL_* */);
wharf_handler check_route, publish_route, discard_route, versions_route, version_route;

/* Runs the tests that come with the code, unless the body says otherwise (tests.c). Problems are
 * workflow.tests_failed, one for each case. */
wharf_status tests_pass(wharf_req *req, const struct code *c, const wharf_json *body);

/* workflow_asked.c: what a run asks for */
struct asked {
    const struct code *code;
    const struct budget *budget;
    wharf_lua_actor *actor;
    struct secret *secrets; /* of the workflow */
    wharf_str run_key, location_id; /* of the run */
    uint32_t api_calls, http_calls, writes, mails, emits;
    int64_t until_us, slept_ms; /* run_clock_us() at which its time is over */
    wharf_str lock_id; /* what tokens of its locks begin with */
    uint32_t locks, locks_given;
    bool (*stop)(wharf_req *req, void *asked); /* or NULL: is it to end? */
    wharf_out *logs; /* an open array */
    size_t log_bytes;
    wharf_out *io; /* an open array of what it asked for and got; NULL: it is not recorded */
    size_t io_bytes;
    bool io_lost; /* not all of it could be kept */
    struct work *work; /* of the job that does it; for run.stop */
    bool canceled; /* somebody said so while it ran */
    bool stopped; /* it ended because stop() said so while it waited */
};
wharf_lua_answer_fn asked_answer;

/* Returns the clock of runs in microseconds (outside.c); the others answer ops that need something
 * outside of the run. */
int64_t run_clock_us(void);
uint32_t http_answer(
    wharf_req *req, struct asked *a, wharf_str op, const wharf_json *args, wharf_str *ret_text);
uint32_t sleep_answer(wharf_req *req, struct asked *a, const wharf_json *args, wharf_str *ret_text);
uint32_t lock_answer(
    wharf_req *req, struct asked *a, wharf_str op, const wharf_json *args, wharf_str *ret_text);
/* Ends the locks of a run that is over: nobody waits for the end of a lock that it did not give
 * back. */
void locks_end(wharf_req *req, const struct asked *a);

/* workflow_secrets.c */
wharf_handler secret_set_route, secret_delete_route;
bool secret_key_good(wharf_str key);
/* Checks (check) or sets `secrets` of a body, {KEY: value}, or NULL. */
wharf_status secrets_of_body(
    wharf_req *req, wharf_str workflow_id, const wharf_json *input, bool check);
/* Writes `secrets` of workflows, as they are shown: [{key, updated_at, updated_by}]. */
wharf_status secrets_show(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs);
/* Returns the value of a secret; empty when there is none. */
wharf_str secret_of(const struct secret *list, wharf_str key);
/* Loads all secrets of the workflow, opened. */
wharf_status secrets_load(wharf_req *req, wharf_str workflow_id, struct secret **ret);
uint32_t secret_answer(
    wharf_req *req, const struct asked *a, const wharf_json *args, wharf_str *ret_text);
/* Returns the text, or all texts of a value, with [secret:KEY] for each secret, also in base64,
 * hex, percent-encoded and as JSON has it. v may be NULL. */
wharf_str secrets_hide(wharf_req *req, const struct secret *list, wharf_str text);
/* Hides secrets in a text that was cut: the beginning of one at its end too. Its end may be "
 * …". */
wharf_str secrets_hide_cut(wharf_req *req, const struct secret *list, wharf_str text);
/* Hides secrets in a text that was cut when it did not fit there: WHARF_LUA_MESSAGE_MAX,
 * WHARF_LUA_WORD_MAX. */
wharf_str secrets_hide_room(wharf_req *req, const struct secret *list, wharf_str text, size_t room);
const wharf_json *secrets_hide_json(wharf_req *req, const struct secret *list, const wharf_json *v);

/* workflow_run.c: one run of code */
/* A trigger that a person may start, and how that is told. */
struct by_hand {
    const char *type, *handler, *trigger;
};

struct run {
    struct code code;
    const struct by_hand *by_hand; /* or NULL: nobody did */
    struct asked asked;
    const struct budget *budget; /* of its class */
    struct budget own; /* what it may use */
    const char *handler, *keep; /* keep: member of the argument that is given back, or NULL */
    wharf_str id, location_id, event_id, actor;
    wharf_str trigger, input, context; /* JSON: of the run's trigger; what the handler gets; ctx */
    uint64_t seed;
    int64_t attempt, started_us;
    uint32_t depth;
    bool (*stop)(wharf_req *req, void *asked); /* or NULL */
    wharf_lua_outcome outcome;
    wharf_str recording; /* JSON, when it is recorded */
    bool replayable;
};
uint64_t run_seed(wharf_str id);
/* Makes the rights of a run's calls of the API, those of the publisher as it is now; callers:
 * those of the request's caller as well. NULL: the publisher is gone. */
wharf_status run_actor(
    wharf_req *req, const struct code *c, bool callers, wharf_lua_actor **ret_actor);
wharf_status run_execute(wharf_req *req, struct run *r);
/* Judges whether the run may be for its location. callers: the request's caller must reach it
 * too. */
wharf_status run_check_location(wharf_req *req, const struct run *r, bool callers);
/* Tells that a run with this id comes soon: its process makes the state for it meanwhile. */
void run_ahead(wharf_req *req, const struct code *c, const struct budget *most, wharf_str id);
/* Executes a run while somebody waits: gives it an id if it has none. Problem: overloaded. */
wharf_status run_begin(wharf_req *req, struct run *r);
/* Writes the run's row, and what it counts for, in a transaction of its own. input may be NULL. */
wharf_status run_record(wharf_req *req, struct run *r, const char *type, const wharf_json *input);
/* Tells who waits for a run that did not succeed what went wrong. */
wharf_status run_problem(wharf_req *req, const struct run *r);
/* Queues the run of r's trigger and input, in a transaction of its own; reach: see struct
 * queued. */
wharf_status run_queue(wharf_req *req, const struct run *r, const char *type,
    const wharf_json *reach, wharf_str *ret_id);
/* Returns the locations of the request's caller for struct queued; NULL: all. */
const wharf_json *run_reach(wharf_req *req);
wharf_handler run_route, run_show_route;

/* Returns the status of a run as it is kept (workflow_record.c). */
const char *run_status(const wharf_lua_outcome *o);
/* Counts a run for the metrics, by its trigger and how it ended. */
void run_count(wharf_req *req, wharf_str type, const char *result);
const char *run_code(const wharf_lua_outcome *o); /* of the problem: the answer's */
/* Ends a run for which nobody's rights are left. */
void run_unpublished(struct run *r);
wharf_val run_usage(wharf_req *req, const struct run *r);
wharf_val run_error(wharf_req *req, const struct run *r); /* as JSON text, or null */
/* Takes secrets out of what is kept of a run's input and of its trigger. Answers {value,
 * trigger} as they were; NULL: nothing was taken out. */
const wharf_json *run_given(wharf_req *req, const struct secret *secrets, const wharf_json **input,
    const wharf_json **trigger);
/* Returns {name: v} as JSON text; null when it is larger than RECORD_MAX. */
wharf_val run_recorded(wharf_req *req, const char *name, wharf_val v, bool *ret_truncated);
/* Reads rows of workflows.tally and workflows.settle, in the transaction that asked for them:
 * failures are told, and a workflow that fails too often is disabled. */
wharf_status run_failures(wharf_req *req, const wharf_rows *rows, uint32_t depth);

/* Tells whether what the run asked for and got is to be recorded (record.io, recording.c). */
bool recording_wanted(const struct code *c);
void recording_add(wharf_req *req, struct asked *a, wharf_str op, const wharf_json *args,
    uint32_t how, wharf_str answer);
/* Ends the recording of a run that is over: it is what it is now. */
void recording_end(wharf_req *req, struct run *r);
/* Writes the recording as an entry of recordings_keep(), into an array. */
void recording_put(wharf_req *req, const struct run *r, wharf_out *out);
/* Keeps recordings, in a transaction, behind the rows of the runs; given: JSON array of such
 * entries. */
wharf_status recordings_keep(wharf_req *req, wharf_str given);
wharf_handler recording_route;
/* Decodes base64. p is NULL when it is no base64 with its padding. */
wharf_str bytes_of_base64(wharf_req *req, wharf_str s);

/* workflow_lines.c: log lines of runs in the change log */
/* Writes the log lines of the run into an open array, for run_lines_keep(); *n counts them. */
void run_lines_put(wharf_req *req, const struct run *r, wharf_out *out, size_t *n);
/* Keeps log lines, in a transaction; given: JSON array of what run_lines_put() wrote, of one
 * workflow. */
wharf_status run_lines_keep(wharf_req *req, wharf_str given);

/* workflow_queue.c: runs that wait, and the job that does them */
struct queued {
    wharf_str workflow_id, location_id, actor, event_id, resource_id, order_key, input;
    const char *type;
    /* given: {value, trigger} of the run, where input and trigger are what is shown; or NULL */
    const wharf_json *trigger, *given;
    uint32_t depth;
    int64_t pinned; /* version; 0: the current one */
    const wharf_json *reach; /* locations of who asked for it, or NULL: all */
    const char *skipped, *why; /* code and message, or NULL */
};
/* Takes secrets out of input and trigger; the run gets them as they are. */
wharf_status run_queue_hide(wharf_req *req, struct queued *q, const struct secret *secrets);
/* Writes a queued run into an open array of them, for queue_commit(). ret_id may be NULL. */
void run_queue_put(wharf_req *req, wharf_out *rows, const struct queued *q, wharf_str *ret_id);
/* Closes the array, adds its n runs, and asks for the job, in the request's transaction. */
wharf_status queue_commit(wharf_req *req, wharf_out *rows, size_t n);
wharf_handler queue_work, run_queue_sweep;
/* Returns the key of the concurrency rule for a resource; empty: none. */
wharf_str queue_order_key(
    wharf_req *req, const wharf_json *options, wharf_str resource_type, wharf_str resource_id);

/* again.c */
wharf_handler run_cancel_route, run_again_route, runs_again_route, runs_expire;

/* workflow_schedule.c */
/* Sets what is due of the workflow from now on, in the request's transaction: schedule_set() of
 * these triggers, schedule_clear() nothing, schedule_begin() of its published version. */
wharf_status schedule_set(wharf_req *req, wharf_str workflow_id, const wharf_json *triggers);
wharf_status schedule_clear(wharf_req *req, wharf_str workflow_id);
wharf_status schedule_begin(wharf_req *req, wharf_str workflow_id);
/* Makes the tick of a run that a person starts, for the first schedule of these triggers. */
wharf_str tick_by_hand(wharf_req *req, const wharf_json *triggers);
wharf_handler schedule_due;

/* Checks a trigger of type http (workflow_http.c). */
wharf_status http_check(wharf_req *req, const wharf_json *t, const char *path);
wharf_status http_name(wharf_req *req, wharf_str workflow_id, bool there);
wharf_handler http_route; /* with the method */

/* Checks a trigger of type hook (workflow_hooks.c). */
wharf_status hook_check(wharf_req *req, const wharf_json *t, const char *path);
/* Adds what a publisher of hooks needs: for before hooks the right to write such resources, for
 * after hooks the right to read them. */
void hooks_need(const wharf_json *triggers, struct needed *needed);
/* Tells the server for which writes the workflow has hooks, in a transaction, after anything that
 * makes a published workflow run or not. */
wharf_status hooks_tell(wharf_req *req, wharf_str workflow_id);
extern const wharf_lua_hooks flow_hooks;

/* workflow_starts.c: the service by which rows of other modules start runs */
extern const wharf_workflows_runs_api workflows_runs;

/* sync.c */
wharf_handler sync_route;

/* Checks one trigger (workflow_triggers.c). */
wharf_status trigger_check(
    wharf_req *req, const wharf_json *triggers, const wharf_json *t, size_t i);
bool trigger_enabled(const wharf_json *t);
bool trigger_has(const wharf_json *triggers, const char *type); /* an enabled one */
/* Checks the input_schema of a trigger, if it has one. path: the trigger's, for problems. */
wharf_status input_schema_check(wharf_req *req, const wharf_json *t, const char *path);
/* Tells in one line what the schemas of triggers refuse of an event ("event.data.weight must be
 * at most 10"); empty: nothing. An event has to fit one of the enabled event triggers that take its
 * type; name: of those with this name only, or NULL. */
wharf_status trigger_event_faults(wharf_req *req, const wharf_json *triggers, wharf_str type,
    const wharf_str *name, wharf_str event, wharf_str *ret_text);
/* Tells the same of the enabled manual trigger's schema, if it has one, and the input
 * ("input.weight must be at most 10"). */
wharf_status trigger_input_faults(
    wharf_req *req, const wharf_json *triggers, wharf_str input, wharf_str *ret_text);
/* Tells what that schema refuses of the input: paths begin with "input". */
wharf_status trigger_check_input(wharf_req *req, const wharf_json *triggers, wharf_str input);
/* Tells whether the workflow takes what is at this location. A workflow for some locations takes
 * nothing that has none. */
bool trigger_reaches(const wharf_json *locations, wharf_str location_id);
const char *trigger_handler(wharf_str type);
/* Adds what a publisher needs to be told of changes of rows: the right to read them. */
void events_need(const wharf_json *triggers, struct needed *needed);
wharf_status event_step(
    wharf_req *req, const wharf_event *const *events, size_t n, uint8_t *outcomes, void *arg);

/* Answers the ops kv.* (kv.c). */
uint32_t kv_answer(wharf_req *req, const struct asked *a, wharf_str op, const wharf_json *args,
    wharf_str *ret_text);

/* GET and DELETE of …/kv and …/kv/:key */
wharf_handler kv_list_route, kv_delete_route;

uint32_t refuse_op(
    wharf_req *req, uint32_t how, const char *code, const char *message, wharf_str *ret_text);

#endif
