/* call.c - one call: reads what the parent wants, runs it in a fresh sandbox, tells how it
 * ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cell_lua.h"
#include "child.h"
#include "lua/sandbox/region.h"
#include "lua/testing/testing.h"
#include "lua/wire.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

enum { FILES_MAX = 32, ARENA = 64 << 20 };

/* Code of the files of the last call, for the next one of a process that is kept: made here from
 * these texts, and taken for equal texts only. */
static struct kept {
    char *text;
    size_t n;
    struct sandbox_code code;
} kept[FILES_MAX];

/* A state for the next call, made while it was on its way; used for a call that wants the same,
 * and for one call. */
static struct {
    struct sandbox *sb;
    size_t memory;
    uint64_t seed;
    int64_t cpu_us; /* what it took */
} ready;

/* Returns the memory of all states of the process: there is one state at a time. */
static struct region *region_of_states(void)
{
    static struct region *region;

    region = region ? region : region_new();
    if (!region)
        cell_out_of_memory();
    return region;
}

static struct lua_clock own_clock; /* of the one state that there is; the process has one thread */

struct run {
    const struct wharf_json *call;
    struct sandbox_config config;
    struct sandbox_host host;
    struct sandbox_file files[FILES_MAX];
    size_t n_files;
    struct sandbox *sb;
    struct sandbox_error error;
    struct buf result, kept;
};

static int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct sandbox_code *call_code_for(size_t i, wharf_str text)
{
    struct kept *k = &kept[i];

    if (k->text && k->n == text.n && !memcmp(k->text, text.p, text.n))
        return &k->code;
    free(k->text);
    free(k->code.p);
    *k = (struct kept){.text = cell_alloc(text.n), .n = text.n};
    memcpy(k->text, text.p, text.n);
    return &k->code;
}

static bool call_read_files(struct run *r)
{
    const struct wharf_json *files = json_get(r->call, "files");

    for (size_t i = 0; json_is(files, JSON_ARRAY) && i < files->count; i++) {
        const struct wharf_json *f = json_at(files, i);
        wharf_str name = json_text_or(f, "name", "");

        if (r->n_files == FILES_MAX || !name.n || name.n > SANDBOX_NAME_MAX)
            return false;
        r->files[r->n_files] = (struct sandbox_file){
            .name = name.p, .text = json_text_or(f, "text", "")};
        if (json_bool_or(r->call, "kept", false))
            r->files[r->n_files].code = call_code_for(r->n_files, r->files[r->n_files].text);
        r->n_files++;
    }
    return r->n_files > 0;
}

static void missing_handler(struct run *r, wharf_str name)
{
    r->error.end = SANDBOX_RAISED;
    snprintf(r->error.code, sizeof(r->error.code), ERR_WORKFLOW_TRIGGER_INVALID);
    snprintf(r->error.message, sizeof(r->error.message),
        "a trigger needs the function %.*s in the table that main.lua returns", STR_ARG(name));
    snprintf(r->error.file, sizeof(r->error.file), "main.lua");
}

/* Compiles all, loads main, and looks for the functions that triggers need. */
static bool call_check(struct run *r)
{
    const struct wharf_json *handlers = json_get(r->call, "handlers");

    for (size_t i = 0; i < r->n_files; i++) {
        if (!sandbox_compile(r->sb, r->files[i].name, &r->error))
            return false;
    }
    if (!sandbox_load(r->sb, "main", &r->error))
        return false;
    for (size_t i = 0; json_is(handlers, JSON_ARRAY) && i < handlers->count; i++) {
        wharf_str name = json_at(handlers, i)->text;

        if (!sandbox_has(r->sb, name.p)) {
            missing_handler(r, name);
            return false;
        }
    }
    return true;
}

static bool call_run_code(struct run *r)
{
    struct sandbox_call call = {.handler = json_text_or(r->call, "handler", "").p,
        .arg = json_text_or(r->call, "arg", "null"),
        .context = json_text_or(r->call, "context", "{}"),
        .keep = json_get(r->call, "keep") ? json_text_or(r->call, "keep", "").p : NULL};

    return sandbox_load(r->sb, "main", &r->error) &&
           sandbox_call(r->sb, &call, &r->result, &r->kept, &r->error);
}

/* Runs all test files, one after the other; what they said is the result. */
static void run_tests(struct run *r)
{
    struct testing t = {.files = r->files,
        .n_files = r->n_files,
        .samples = json_get(r->call, "samples"),
        .seed = 1,
        .zone = r->host.zone,
        .arg = r->host.arg};
    bool good = true;

    buf_addz(&r->result, "[");
    for (size_t i = 0; good && i < r->n_files; i++) {
        t.test = r->files[i].name;
        if (!testing_is_test(t.test))
            continue;
        if (r->result.n > 1)
            buf_addz(&r->result, ",");
        good = testing_run(&t, &r->result);
    }
    buf_addz(&r->result, "]");
    if (!good)
        cell_out_of_memory();
}

static void configure(struct run *r, uint32_t limit_ms)
{
    int64_t now = clock_monotonic_us();

    own_clock = (struct lua_clock){.offset_us = json_int_or(r->call, "now_us", 0) - now,
        .record = json_bool_or(r->call, "record", false)};
    lua_host(&r->host, &own_clock);
    if (limit_ms)
        own_clock.end_us = now +
                           (int64_t)(limit_ms > LUA_GRACE_MS ? limit_ms - LUA_GRACE_MS : 1) * 1000;
    r->config = (struct sandbox_config){.memory = (size_t)json_int_or(r->call, "memory", 0),
        .limits = {.instructions = (uint64_t)json_int_or(r->call, "instructions", 0),
            .deadline_us = own_clock.end_us},
        .seed = (uint64_t)json_int_or(r->call, "seed", 0),
        .repeatable = own_clock.record,
        .region = region_of_states(),
        .host = &r->host};
}

__attribute__((weak)) bool cell_lua_more(struct sandbox *sb)
{
    return sb != NULL;
}

static void drop_ready(void)
{
    sandbox_free(ready.sb);
    ready.sb = NULL;
}

/* Makes the state ahead. No code of the call runs here: limits and clock are told with it. */
void cell_lua_ahead(wharf_str reported)
{
    int64_t started_us = cpu_us();
    struct arena *a = arena_new(ARENA);
    struct json_error bad;
    const struct wharf_json *v = json_parse(a, reported, &bad);
    struct sandbox_host host;

    drop_ready();
    ready.memory = (size_t)json_int_or(v, "memory", 0);
    ready.seed = (uint64_t)json_int_or(v, "seed", 0);
    arena_free(a);
    own_clock = (struct lua_clock){0};
    lua_host(&host, &own_clock);
    ready.sb = sandbox_new(&(struct sandbox_config){
        .memory = ready.memory, .seed = ready.seed, .region = region_of_states(), .host = &host});
    if (ready.sb && !cell_lua_more(ready.sb))
        drop_ready();
    ready.cpu_us = cpu_us() - started_us;
}

/* Returns the state of the call, new to it. ret_cpu_us: what was spent on it before. Returns NULL
 * when there is no memory. */
static struct sandbox *new_state(const struct sandbox_config *config, int64_t *ret_cpu_us)
{
    struct sandbox *sb = ready.sb;

    *ret_cpu_us = 0;
    ready.sb = NULL;
    if (sb && ready.seed == config->seed && ready.memory == config->memory && !config->repeatable) {
        *ret_cpu_us = ready.cpu_us;
        sandbox_begin(sb, &config->limits);
        return sb;
    }
    sandbox_free(sb);
    sb = sandbox_new(config);
    return sb && cell_lua_more(sb) ? sb : NULL;
}

bool cell_lua_run(wharf_str call, uint32_t limit_ms, struct buf *answer)
{
    int64_t started_us = cpu_us(), before_us = 0;
    struct arena *a = arena_new(ARENA);
    struct json_error bad;
    struct run r = {.call = json_parse(a, call, &bad)};
    bool good = json_is(r.call, JSON_OBJECT) && call_read_files(&r);

    buf_init(&r.result, (size_t)json_int_or(r.call, "result_max", 1 << 20));
    buf_init(&r.kept, 1 << 20);
    if (good) {
        configure(&r, limit_ms);
        r.sb = new_state(&r.config, &before_us);
        if (!r.sb)
            cell_out_of_memory();
        sandbox_files(r.sb, r.files, r.n_files);
        if (json_bool_or(r.call, "tests", false))
            run_tests(&r);
        else if (json_get(r.call, "handler"))
            call_run_code(&r);
        else
            call_check(&r);
        sandbox_outcome_json(
            r.sb, &r.error, &r.result, &r.kept, before_us + cpu_us() - started_us, answer);
        sandbox_free(r.sb);
    }
    buf_done(&r.result);
    buf_done(&r.kept);
    arena_free(a);
    return good;
}
