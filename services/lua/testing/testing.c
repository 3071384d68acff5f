/* testing.c - see testing.h. The world of a case is Lua (lua/sandbox/lib/test.lua); here are its
 * states, its clock, and the way from a run's questions to the functions of the case that answer
 * them. */
#include "lua/testing/testing.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/str.h"

enum {
    FILES_MAX = 600, /* files of tests */
    CASE_MEMORY = 64 << 20, /* bytes of one test */
    CASE_INSTRUCTIONS = 100000000, /* of one test */
    TEXT_MAX = 16 << 20,
};
static const int64_t begins_us = 1735689600000000; /* 2025-01-01T00:00:00.000Z */
static const char runner[] = "[run]";

/* One case while it runs, or the list of cases while it is made. */
struct world {
    const struct testing *t;
    struct sandbox *sb;
    struct sandbox_host host, run_host;
    struct sandbox_file files[FILES_MAX + 1], run_files[FILES_MAX + 1];
    char start[160]; /* the text of [run] */
    int64_t now_us;
    uint64_t random;
    int serve; /* the function that answers; LUA_NOREF: none yet */
    /* a run */
    lua_State *at; /* the case's thread that waits for it */
    int failure; /* what a stub raised; LUA_NOREF: nothing */
    struct arena *arena;
    struct buf answer, out;
};

bool testing_is_test(const char *name)
{
    return str_ends(str_z(name), "_test");
}

/* ---- what both states ask for ---- */

static int64_t testing_now_us(void *arg)
{
    return ((struct world *)arg)->now_us;
}

/* Writes random bytes by splitmix64: never the same twice, and the same in each run of the
 * tests. */
static void testing_random_of(void *arg, void *p, size_t n)
{
    struct world *w = arg;
    unsigned char *to = p;

    for (size_t i = 0; i < n; i++) {
        uint64_t z = (w->random += 0x9E3779B97F4A7C15u);

        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        to[i] = (unsigned char)(z ^ (z >> 31));
    }
}

static bool testing_zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    const struct testing *t = ((struct world *)arg)->t;

    return t->zone(t->arg, name, ret_bytes);
}

struct question {
    struct world *w;
    const char *op;
    wharf_str args;
    enum sandbox_answer kind;
};

static enum sandbox_answer testing_kind_of(const char *name)
{
    /* enum sandbox_answer */
    static const char *const names[] = {"given", "refused", "mistake", "ended"};

    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(names[i], name))
            return (enum sandbox_answer)i;
    }
    return SANDBOX_ENDED;
}

static int ask_case(lua_State *lua)
{
    struct question *q = lua_touserdata(lua, 1);
    size_t n;
    const char *p;

    lua_rawgeti(lua, LUA_REGISTRYINDEX, q->w->serve);
    lua_pushstring(lua, q->op);
    sandbox_push_json(lua, q->args);
    lua_call(lua, 2, 2);
    q->kind = testing_kind_of(lua_tostring(lua, -2));
    if (!lua_isnil(lua, -1)) {
        sandbox_to_json(lua);
        p = lua_tolstring(lua, -1, &n);
        buf_add(&q->w->answer, p, n);
    }
    return 0;
}

/* Asks the case, on this thread of its state. False: it raised, and the error is on top. */
static bool testing_serve(struct question *q, lua_State *lua, wharf_str *ret_text)
{
    buf_clear(&q->w->answer);
    lua_pushcfunction(lua, ask_case);
    lua_pushlightuserdata(lua, q);
    if (lua_pcall(lua, 1, 0, 0) != LUA_OK)
        return false;
    *ret_text = buf_str(&q->w->answer);
    return true;
}

/* Answers a run that asks. What goes wrong in the case ends the run, and then the case. */
static enum sandbox_answer run_asks(void *arg, const char *op, wharf_str args, wharf_str *ret_text)
{
    struct world *w = arg;
    struct question q = {w, op, args, SANDBOX_ENDED};

    if (lua_checkstack(w->at, 8) && testing_serve(&q, w->at, ret_text))
        return q.kind;
    if (w->failure == LUA_NOREF)
        w->failure = luaL_ref(w->at, LUA_REGISTRYINDEX);
    else
        lua_pop(w->at, 1);
    *ret_text = WHARF_S("{\"code\":\"test.failed\",\"message\":\"the test failed\"}");
    return SANDBOX_ENDED;
}

/* Answers the case itself that asks, as modules do that it requires. */
static enum sandbox_answer case_asks(void *arg, const char *op, wharf_str args, wharf_str *ret_text)
{
    struct world *w = arg;
    lua_State *lua = sandbox_calling(w->sb);
    struct question q = {w, op, args, SANDBOX_ENDED};
    struct jw j;

    if (lua_checkstack(lua, 8) && testing_serve(&q, lua, ret_text))
        return q.kind;
    buf_clear(&w->answer);
    jw_init(&j, &w->answer);
    jw_open(&j, NULL, '{');
    jw_z(&j, "code", "test.failed");
    jw_z(&j, "message",
        lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : "the test failed");
    jw_close(&j, '}');
    lua_pop(lua, 1);
    *ret_text = buf_str(&w->answer);
    return SANDBOX_MISTAKE;
}

/* ---- a run ---- */

static bool testing_is_file(const struct testing *t, const char *name, size_t n)
{
    for (size_t i = 0; i < t->n_files; i++) {
        if (strlen(t->files[i].name) == n && !memcmp(t->files[i].name, name, n))
            return true;
    }
    return false;
}

/* Makes the files as the run sees them: without tests, with those that the case replaces. */
static size_t files_of_run(struct world *w, const struct wharf_json *replaced)
{
    const struct testing *t = w->t;
    size_t n = 0;

    for (size_t i = 0; i < t->n_files; i++) {
        const struct wharf_json *other = json_get(replaced, t->files[i].name);

        if (testing_is_test(t->files[i].name))
            continue;
        w->run_files[n] = (struct sandbox_file){.name = t->files[i].name, .text = t->files[i].text};
        if (json_is(other, JSON_STRING))
            w->run_files[n].text = other->text;
        n++;
    }
    for (const struct wharf_json *m = json_is(replaced, JSON_OBJECT) ? replaced->child : NULL;
         m && n < FILES_MAX; m = m->next) {
        if (!testing_is_file(t, m->key.p, m->key.n) && json_is(m, JSON_STRING))
            w->run_files[n++] = (struct sandbox_file){.name = m->key.p, .text = m->text};
    }
    return n;
}

/* Adds hooks, which have no main file: those that the test is about are loaded, and called through
 * their double of wharf.hook. */
static void add_hooks(struct world *w, size_t *n)
{
    const struct testing *t = w->t;
    size_t stem = t->test && testing_is_test(t->test) ? strlen(t->test) - 5 : 0;
    bool one = stem && testing_is_file(t, t->test, stem);
    struct buf text;

    buf_init(&text, TEXT_MAX);
    for (size_t i = 0; i < t->n_files; i++) {
        const char *name = t->files[i].name;

        if (testing_is_test(name))
            continue;
        if (one ? strlen(name) == stem && !memcmp(name, t->test, stem) : !strchr(name, '.'))
            buf_addf(&text, "require(\"%s\") ", name);
    }
    buf_addz(&text, "return wharf.hook.handlers");
    w->run_files[*n] = (struct sandbox_file){
        .name = runner, .text = arena_dup_str(w->arena, buf_str(&text))};
    ++*n;
    buf_done(&text);
}

static bool call_run(
    struct world *w, struct sandbox *sb, const struct wharf_json *spec, struct sandbox_error *e)
{
    struct buf result, kept;
    struct sandbox_call call = {.handler = json_text_or(spec, "handler", "").p, .keep = "input"};
    const char *parts[] = {"input", "context"};
    wharf_str texts[2];
    struct jw j;
    bool good;

    buf_init(&result, (size_t)json_int_or(spec, "result", 1 << 20));
    buf_init(&kept, TEXT_MAX);
    for (size_t i = 0; i < 2; i++) {
        buf_clear(&w->answer);
        jw_init(&j, &w->answer);
        jw_value(&j, NULL, json_get(spec, parts[i]));
        texts[i] = arena_dup_str(w->arena, buf_str(&w->answer));
    }
    call.arg = texts[0];
    call.context = texts[1];
    good = sandbox_load(sb, w->t->hooks ? runner : "main", e) &&
           (!w->t->hooks || sandbox_freeze(sb)) && sandbox_call(sb, &call, &result, &kept, e);
    sandbox_outcome_json(sb, e, &result, &kept, 0, &w->out);
    buf_done(&result);
    buf_done(&kept);
    return good;
}

/* Makes a state, runs, and leaves the outcome in w->out. False: no memory. */
static bool testing_do_run(struct world *w, wharf_str text)
{
    struct json_error bad;
    const struct wharf_json *spec = json_parse(w->arena, text, &bad);
    struct sandbox_config config = {.memory = (size_t)json_int_or(spec, "memory", 0),
        .limits = {.instructions = (uint64_t)json_int_or(spec, "instructions", 0)},
        .seed = w->t->seed,
        .frozen = w->t->hooks,
        .role = w->t->hooks ? SANDBOX_HOOK_TESTS : SANDBOX_TESTED,
        .host = &w->run_host,
        .line = w->t->line,
        .line_arg = w->t->arg};
    struct sandbox *sb = spec ? sandbox_new(&config) : NULL;
    struct sandbox_error e = {.end = SANDBOX_OK};
    size_t n;

    if (!sb)
        return false;
    n = files_of_run(w, json_get(spec, "files"));
    if (w->t->hooks)
        add_hooks(w, &n);
    sandbox_files(sb, w->run_files, n);
    call_run(w, sb, spec, &e);
    sandbox_free(sb);
    return !w->out.failed;
}

/* Implements run(spec) -> outcome; raises what a stub raised. */
static int testing_run_spec(lua_State *lua)
{
    struct world *w = sandbox_user(lua);
    wharf_str text;
    bool good;

    lua_settop(lua, 1);
    sandbox_to_json(lua);
    text.p = lua_tolstring(lua, 1, &text.n);
    if (w->at)
        sandbox_raise(lua, "a run can't start another one");
    w->at = lua;
    w->arena = arena_new(0);
    buf_clear(&w->out);
    good = testing_do_run(w, text);
    arena_free(w->arena);
    w->arena = NULL;
    w->at = NULL;
    if (w->failure != LUA_NOREF) {
        lua_rawgeti(lua, LUA_REGISTRYINDEX, w->failure);
        luaL_unref(lua, LUA_REGISTRYINDEX, w->failure);
        w->failure = LUA_NOREF;
        return lua_error(lua);
    }
    if (!good)
        sandbox_raise(lua, "there is not enough memory for the run");
    sandbox_push_json(lua, buf_str(&w->out));
    return 1;
}

/* ---- the other functions of wharf.testing ---- */

static int set_serve(lua_State *lua)
{
    struct world *w = sandbox_user(lua);

    lua_settop(lua, 1);
    w->serve = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

static int testing_set_clock(lua_State *lua)
{
    ((struct world *)sandbox_user(lua))->now_us = luaL_checkinteger(lua, 1) * 1000;
    return 0;
}

/* Implements sample("events" | "resources" | "left_out", name) -> value or nil. */
static int sample(lua_State *lua)
{
    struct world *w = sandbox_user(lua);
    const struct wharf_json *v = json_get(w->t->samples, luaL_checkstring(lua, 1));
    struct jw j;

    v = lua_type(lua, 2) == LUA_TSTRING ? json_get(v, lua_tostring(lua, 2)) : NULL;
    if (!v)
        return 0;
    buf_clear(&w->answer);
    jw_init(&j, &w->answer);
    jw_value(&j, NULL, v);
    sandbox_push_json(lua, buf_str(&w->answer));
    return 1;
}

static int is_hooks(lua_State *lua)
{
    lua_pushboolean(lua, ((struct world *)sandbox_user(lua))->t->hooks);
    return 1;
}

static int is_update(lua_State *lua)
{
    lua_pushboolean(lua, ((struct world *)sandbox_user(lua))->t->update);
    return 1;
}

/* Implements workflow() -> what is said of the workflow, or nil. */
static int workflow(lua_State *lua)
{
    struct world *w = sandbox_user(lua);
    struct jw j;

    if (!w->t->workflow)
        return 0;
    buf_clear(&w->answer);
    jw_init(&j, &w->answer);
    jw_value(&j, NULL, w->t->workflow);
    sandbox_push_json(lua, buf_str(&w->answer));
    return 1;
}

static int snapshots(lua_State *lua)
{
    const char *test = ((struct world *)sandbox_user(lua))->t->test;

    lua_pushfstring(lua, "__snapshots__.%s_snap", test ? test : "run");
    return 1;
}

/* Implements live(method, path, body) -> status, text | nothing: there is no server. */
static int testing_live(lua_State *lua)
{
    const struct testing *t = ((struct world *)sandbox_user(lua))->t;
    wharf_str body, text = {"", 0};

    if (!t->live)
        return 0;
    body.p = luaL_optlstring(lua, 3, "", &body.n);
    lua_pushinteger(
        lua, t->live(t->arg, luaL_checkstring(lua, 1), luaL_checkstring(lua, 2), body, &text));
    lua_pushlstring(lua, text.p, text.n);
    return 2;
}

/* ---- cases ---- */

static void world_end(struct world *w)
{
    sandbox_free(w->sb);
    w->sb = NULL;
}

/* Makes a new state in which the test file was not loaded yet. */
static bool world_begin(struct world *w)
{
    static const struct {
        const char *path;
        lua_CFunction fn;
    } functions[] = {{"testing.run", testing_run_spec}, {"testing.serve", set_serve},
        {"testing.clock", testing_set_clock}, {"testing.sample", sample},
        {"testing.hooks", is_hooks}, {"testing.update", is_update},
        {"testing.snapshots", snapshots}, {"testing.live", testing_live},
        {"testing.workflow", workflow}};
    struct sandbox_config config = {.memory = CASE_MEMORY,
        .limits = {.instructions = CASE_INSTRUCTIONS},
        .seed = w->t->seed,
        .role = SANDBOX_TESTS,
        .host = &w->host,
        .user = w,
        .line = w->t->line,
        .line_arg = w->t->arg};
    bool good;

    w->now_us = begins_us;
    w->random = w->t->seed;
    w->serve = w->failure = LUA_NOREF;
    w->at = NULL;
    w->sb = sandbox_new(&config);
    good = w->sb != NULL;
    for (size_t i = 0; good && i < sizeof(functions) / sizeof(functions[0]); i++)
        good = sandbox_define(w->sb, functions[i].path, functions[i].fn);
    if (good)
        sandbox_files(w->sb, w->files, w->t->n_files + 1);
    return good;
}

/* Loads the test file and calls a function of wharf.test.runner. */
static bool ask_runner(struct world *w, const char *function, wharf_str arg, struct buf *ret_result,
    struct sandbox_error *ret_error)
{
    struct sandbox_call call = {.handler = function, .arg = arg, .context = WHARF_S("{}")};

    return sandbox_load(w->sb, runner, ret_error) &&
           sandbox_call(w->sb, &call, ret_result, NULL, ret_error);
}

static void testing_write_error(const struct world *w, const struct sandbox_error *e, struct jw *j)
{
    struct buf text;

    buf_init(&text, 64 << 10);
    sandbox_error_json(w->sb, e, e->code, &text);
    jw_raw(j, "error", buf_str(&text));
    buf_done(&text);
}

/* Writes what the runs of a case that failed did: their errors and what they said. */
static void write_runs(struct world *w, struct jw *j)
{
    struct sandbox_error e;
    struct buf runs;

    buf_init(&runs, TEXT_MAX);
    if (ask_runner(w, "runs", WHARF_S("null"), &runs, &e) && runs.n > 2)
        jw_raw(j, "runs", buf_str(&runs));
    buf_done(&runs);
}

/* Runs one case. The text of the snapshots that it took is added to `shots`. */
static bool one_case(
    struct world *w, size_t i, const struct wharf_json *c, struct jw *j, struct buf *shots)
{
    struct sandbox_error e = {.end = SANDBOX_OK};
    bool skip = json_bool_or(c, "skip", false), passed = false;
    char number[24];
    struct buf result;

    buf_init(&result, TEXT_MAX);
    jw_open(j, NULL, '{');
    jw_str(j, "name", json_text_or(c, "name", ""));
    jw_int(j, "line", json_int_or(c, "line", 0));
    if (!skip) {
        if (!world_begin(w)) {
            world_end(w);
            buf_done(&result);
            return false;
        }
        snprintf(number, sizeof(number), "%zu", i + 1);
        passed = ask_runner(w, "run", str_z(number), &result, &e);
        if (!passed) {
            testing_write_error(w, &e, j);
            write_runs(w, j);
        }
        world_end(w);
    }
    jw_z(j, "status", skip ? "skipped" : passed ? "passed" : "failed");
    jw_close(j, '}');
    if (passed && result.n > 2) { /* a text, as JSON */
        struct arena *a = arena_new(TEXT_MAX);
        struct json_error bad;
        const struct wharf_json *text = json_parse(a, buf_str(&result), &bad);

        if (json_is(text, JSON_STRING))
            buf_adds(shots, text->text);
        arena_free(a);
    }
    buf_done(&result);
    return true;
}

static bool all_cases(struct world *w, const struct wharf_json *cases, struct jw *j)
{
    struct buf shots;
    bool good = true;

    buf_init(&shots, TEXT_MAX);
    jw_open(j, "cases", '[');
    for (size_t i = 0; good && i < cases->count; i++) {
        const struct wharf_json *c = json_at(cases, i);

        if (!w->t->filter || strstr(json_text_or(c, "name", "").p, w->t->filter))
            good = one_case(w, i, c, j, &shots);
    }
    jw_close(j, ']');
    if (w->t->update && shots.n)
        jw_str(j, "snapshots", buf_str(&shots));
    buf_done(&shots);
    return good;
}

static bool testing_run_file(struct world *w, struct jw *j)
{
    struct sandbox_error e;
    struct arena *a = arena_new(TEXT_MAX);
    struct json_error bad;
    const struct wharf_json *cases = NULL;
    struct buf list;
    bool good = world_begin(w);

    buf_init(&list, TEXT_MAX);
    if (good && ask_runner(w, "list", WHARF_S("null"), &list, &e))
        cases = json_parse(a, buf_str(&list), &bad);
    else if (good)
        testing_write_error(w, &e, j);
    world_end(w);
    if (good && json_is(cases, JSON_ARRAY))
        good = all_cases(w, cases, j);
    buf_done(&list);
    arena_free(a);
    return good;
}

static struct world *world_new(const struct testing *t)
{
    struct world *w = t->n_files <= FILES_MAX && sandbox_prepare() ? calloc(1, sizeof(*w)) : NULL;

    if (!w)
        return NULL;
    w->t = t;
    w->host = (struct sandbox_host){w, case_asks, testing_now_us, testing_random_of, testing_zone};
    w->run_host = (struct sandbox_host){
        w, run_asks, testing_now_us, testing_random_of, testing_zone};
    snprintf(w->start, sizeof(w->start), "test = wharf.test %s%s%s return wharf.test.runner",
        t->test ? "require(\"" : "", t->test ? t->test : "", t->test ? "\")" : "");
    memcpy(w->files, t->files, t->n_files * sizeof(*t->files));
    w->files[t->n_files] = (struct sandbox_file){.name = runner, .text = str_z(w->start)};
    buf_init(&w->answer, TEXT_MAX);
    buf_init(&w->out, TEXT_MAX);
    return w;
}

static void world_free(struct world *w)
{
    buf_done(&w->answer);
    buf_done(&w->out);
    free(w);
}

bool testing_run(const struct testing *t, struct buf *out)
{
    struct world *w = world_new(t);
    struct jw j;
    bool good;

    if (!w)
        return false;
    jw_init(&j, out);
    jw_open(&j, NULL, '{');
    jw_z(&j, "file", t->test);
    good = testing_run_file(w, &j);
    jw_close(&j, '}');
    world_free(w);
    return good && !out->failed;
}

bool testing_once(const struct testing *t, const char *handler, wharf_str input, struct buf *out)
{
    struct world *w = world_new(t);
    struct sandbox_error e;
    struct buf arg, result;
    struct jw j;
    bool good;

    if (!w)
        return false;
    buf_init(&arg, TEXT_MAX);
    buf_init(&result, TEXT_MAX);
    jw_init(&j, &arg);
    jw_open(&j, NULL, '{');
    jw_z(&j, "handler", handler);
    jw_raw(&j, "input", input);
    jw_close(&j, '}');
    jw_init(&j, out);
    jw_open(&j, NULL, '{');
    good = world_begin(w);
    if (good && ask_runner(w, "once", buf_str(&arg), &result, &e))
        jw_raw(&j, "result", buf_str(&result));
    else if (good)
        testing_write_error(w, &e, &j);
    jw_close(&j, '}');
    world_end(w);
    buf_done(&arg);
    buf_done(&result);
    world_free(w);
    return good && !out->failed;
}
