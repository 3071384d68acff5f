/* lua_sandbox.c - what code in a sandbox can't do: every rule of
 * docs/spec/08-workflows-and-lua.md section 6 that the engine holds. */
#include "lua_box.h"

#include <lauxlib.h>

#include "util/time.h"

#define OVER_INSTRUCTIONS "workflow.budget_instructions"
#define OVER_MEMORY       "workflow.budget_memory"

/* ---- globals ---- */

static void test_globals_are_those_and_no_others(void **state)
{
    struct box *b = *state;

    box_is(b,
        "local t = {} for k in pairs(_G) do t[#t + 1] = k end table.sort(t) return table.concat(t, "
        "' ')",
        "\"_G _VERSION assert coroutine error getmetatable ipairs math next os pairs pcall print "
        "rawequal rawget rawlen rawset require select setmetatable string table tonumber tostring "
        "type utf8 wharf xpcall\"");
    box_is(b,
        "local t = {} for k in pairs(os) do t[#t + 1] = k end table.sort(t) return table.concat(t, "
        "' ')",
        "\"clock date difftime time\"");
    box_true(
        b, "string.dump == nil and load == nil and debug == nil and io == nil and package == nil");
    box_ends(b, "math.randomseed(1)", SANDBOX_RAISED, "math.randomseed is not available");
}

static void test_text_only(void **state)
{
    struct box *b = *state;
    struct sandbox_error e;

    b->files[0].text = (wharf_str){"\033Lua", 4};
    b->sb = sandbox_new(&b->config);
    sandbox_files(b->sb, b->files, 1);
    assert_false(sandbox_load(b->sb, "main", &e));
    assert_int_equal(e.end, SANDBOX_COMPILE);
    assert_string_equal(e.file, "main.lua");
    assert_int_equal(e.line, 1);
}

static void test_metatables(void **state)
{
    struct box *b = *state;

    box_ends(
        b, "setmetatable({}, {__gc = function() end})", SANDBOX_RAISED, "__gc is not available");
    box_ends(b, "setmetatable({}, {__gc = false})", SANDBOX_RAISED, "__gc is not available");
    box_true(b, "getmetatable('') == false and not pcall(setmetatable, '', {})");
    /* a __gc that comes later is never looked at */
    box_is(b,
        "local m, n = {}, 0 setmetatable({}, m) m.__gc = function() n = n + 1 end "
        "for i = 1, 20000 do local t = {i} end return n",
        "0");
    box_true(b, "getmetatable(wharf.null) == false");
}

/* ---- budgets ---- */

static void test_instructions_end_everything(void **state)
{
    struct box *b = *state;
    static const char *const storms[] = {
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "while true do xpcall(function() while true do end end, function() while true do end end) "
        "end",
        "local function f() while true do end end return coroutine.resume(coroutine.create(f))",
        "local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true "
        "do co() end",
        "while true do local co = coroutine.create(function() coroutine.yield() end) "
        "coroutine.resume(co) "
        "coroutine.close(co) end",
        "local t <close> = setmetatable({}, {__close = function() while true do end end}) while "
        "true do end",
        "local function f() local t <close> = setmetatable({}, {__close = function() while true do "
        "end end}) while true do pcall(f) end end f()",
        "local co = coroutine.create(function() local t <close> = setmetatable({}, {__close = "
        "function() while true do end end}) coroutine.yield() end) coroutine.resume(co) "
        "coroutine.close(co)",
        "for a in setmetatable({}, {__call = function() return 1 end}) do end",
        "local m = setmetatable({}, {__index = function(t, k) return t[k + 1] end}) while true do "
        "pcall(function() return m[1] end) end",
        "table.sort({1, 2, 3, 4, 5}, function() while true do end end)",
        "local s = ('a'):rep(100) while true do s:gsub('.', function() while true do end end) end",
    };

    for (size_t i = 0; i < sizeof(storms) / sizeof(storms[0]); i++) {
        box_ends(b, storms[i], SANDBOX_OVER, OVER_INSTRUCTIONS);
        assert_true(b->usage.instructions >= 2000000 && b->usage.instructions < 2300000);
        assert_true(b->error.line > 0);
    }
}

static void test_coroutines_cost_and_are_counted(void **state)
{
    struct box *b = *state;

    box_is(b, "local t = {} for i = 1, 64 do t[i] = coroutine.create(print) end return #t", "64");
    box_ends(b, "local t = {} for i = 1, 65 do t[i] = coroutine.wrap(print) end", SANDBOX_RAISED,
        "more than 64 coroutines are alive");
    /* those that nobody holds or that are over make room */
    box_is(b, "for i = 1, 300 do local co = coroutine.create(print) end return 1", "1");
    box_is(b,
        "local t = {} for i = 1, 300 do t[i] = coroutine.create(function() end) "
        "coroutine.resume(t[i]) end return 1",
        "1");
    assert_true(b->usage.instructions >= 600000);
}

static void test_coroutines_work_as_ever(void **state)
{
    struct box *b = *state;

    box_true(b, "select('#', coroutine.resume(coroutine.create(function(...) return ... end), nil, "
                "nil)) == 3");
    box_is(b,
        "local co = coroutine.create(function(a) local b = coroutine.yield(a + 1) error({b}) end) "
        "local _, x = coroutine.resume(co, 1) local ok, e = coroutine.resume(co, 7) "
        "return {x, ok, e[1], coroutine.status(co)}",
        "[2,false,7,\"dead\"]");
    box_is(b,
        "local w = coroutine.wrap(function() error('oh') end) local ok, e = pcall(w) return e",
        "\"main.lua:1: oh\"");
    box_is(b,
        "local n = 0 local co = coroutine.create(function() local c <close> = setmetatable({}, "
        "{__close = function() n = n + 1 end}) coroutine.yield() end) coroutine.resume(co) local "
        "ok = coroutine.close(co) return {ok, n}",
        "[true,1]");
    box_is(b,
        "local co co = coroutine.create(function() return coroutine.resume(co) end) "
        "local a, b, c = coroutine.resume(co) return {b, c}",
        "[false,\"cannot resume non-suspended coroutine\"]");
    /* yields go through pcall */
    box_is(b,
        "local co = coroutine.wrap(function() return pcall(function() return coroutine.yield(1) + "
        "1 end) end) co() local ok, v = co(41) return v",
        "42");
}

static void test_memory(void **state)
{
    struct box *b = *state;
    static const char *const bombs[] = {
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
        "return #string.rep('x', 1 << 30)",
        "return #('x'):rep(1 << 28)",
        "local t = {} while true do pcall(function() while true do t[#t + 1] = ('x'):rep(1000) .. "
        "#t end end) end",
        "return #table.concat({string.rep('x', 1 << 22), string.rep('x', 1 << 22), string.rep('x', "
        "1 << 22)}, 'y')",
        "local co = coroutine.wrap(function() local t = {} while true do t[#t + 1] = {} end end) "
        "while true do pcall(co) end",
        "return wharf.json.decode(('['):rep(60) .. ('1,'):rep(3000000))",
        "local t = {} for i = 1, 100 do t[i] = ('x'):rep(100000) end return #wharf.json.encode(t)",
    };

    b->config.limits.instructions = 100000000;
    for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
        box_try(b, bombs[i]);
        if (b->error.end != SANDBOX_OVER || strcmp(b->error.code, OVER_MEMORY) != 0)
            fail_msg("%s\nended with %d %s: %s", bombs[i], b->error.end, b->error.code,
                b->error.message);
        assert_true(b->usage.memory_peak <= 16 << 20);
    }
}

static void test_recursion(void **state)
{
    struct box *b = *state;

    b->config.memory = 0;
    box_ends(
        b, "local function f() return 1 + f() end return f()", SANDBOX_RAISED, "stack overflow");
    box_ends(b,
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k .. "
        "'x'] end return t.x",
        SANDBOX_RAISED, "overflow");
    box_ends(b, "local function f() return string.gsub('a', 'a', f) end return f()", SANDBOX_RAISED,
        "overflow");
    box_ends(b, "return ('a'):rep(300):find(('(a?'):rep(40))", SANDBOX_RAISED, "");
    box_ends(b, "return string.find(('a'):rep(300000), ('.-'):rep(300000) .. 'b')", SANDBOX_RAISED,
        "pattern too complex");
}

static void test_deadline(void **state)
{
    struct box *b = *state;

    b->config.limits = (struct sandbox_limits){.deadline_us = clock_monotonic_us() + 5000};
    box_ends(b, "while true do pcall(function() while true do end end) end", SANDBOX_OVER,
        "workflow.budget_time");
}

static void test_limits_begin_anew(void **state)
{
    struct box *b = *state;
    struct sandbox_call call = {.handler = "g", .arg = WHARF_S("{}"), .context = WHARF_S("{}")};
    struct sandbox_limits limits = {.instructions = 100000};
    struct buf out;

    buf_init(&out, 100);
    box_is(b, "function M.g() local n = 0 for i = 1, 10000 do n = n + i end return n end return 1",
        "1");
    call.handler = "f";
    assert_true(sandbox_call(b->sb, &call, NULL, NULL, &b->error));
    call.handler = "g";
    for (int i = 0; i < 100; i++) {
        sandbox_begin(b->sb, &limits);
        buf_clear(&out);
        assert_true(sandbox_call(b->sb, &call, &out, NULL, &b->error));
        assert_string_equal(buf_str(&out).p, "50005000");
    }
    limits.instructions = 3000;
    sandbox_begin(b->sb, &limits);
    assert_false(sandbox_call(b->sb, &call, &out, NULL, &b->error));
    assert_string_equal(b->error.code, OVER_INSTRUCTIONS);
    limits.instructions = 100000;
    sandbox_begin(b->sb, &limits);
    buf_clear(&out);
    assert_true(sandbox_call(b->sb, &call, &out, NULL, &b->error));
    buf_done(&out);
}

/* ---- the same seed gives the same run ---- */

static void test_seed(void **state)
{
    struct box *b = *state;
    static const char order[] = "local t, out = {}, {} for i = 1, 200 do t['k' .. i * 7] = i end "
                                "for k in pairs(t) do out[#out + 1] = k end return "
                                "table.concat(out) .. math.random(1 << 40)";
    char *first, *second;

    assert_true(box_try(b, order));
    assert_true(sandbox_deterministic(b->sb));
    first = strdup(b->result);
    for (int i = 0; i < 5; i++) {
        assert_true(box_try(b, order));
        assert_string_equal(b->result, first);
    }
    b->config.seed = 2;
    assert_true(box_try(b, order));
    second = strdup(b->result);
    assert_string_not_equal(first, second);
    free(first);
    free(second);
}

/* ---- files ---- */

static void test_require(void **state)
{
    struct box *b = *state;

    box_file(b, "lib.sum",
        "count = (count or 0) + 1 return {sum = function(a, b) return a + b end, count = count}");
    box_file(b, "a", "return require('b')");
    box_file(b, "b", "return require('a')");
    box_is(b, "local l = require('lib.sum') return {l.sum(1, 2), require('lib.sum').count, count}",
        "[3,1,1]");
    box_ends(b, "require('a')", SANDBOX_RAISED, "require each other");
    box_ends(b, "require('io')", SANDBOX_RAISED, "there is no file 'io.lua'");
    box_true(b, "require('wharf.text') == wharf.text and require('wharf') == wharf");
    box_ends(b, "require('wharf.nothing')", SANDBOX_RAISED, "there is no module 'wharf.nothing'");
}

static void test_code_is_kept(void **state)
{
    struct box *b = *state;
    struct sandbox_code code = {0};
    const void *kept;

    b->files[0].code = &code;
    box_is(b, "return 1", "1");
    kept = code.p;
    assert_non_null(kept);
    box_is(b, "return 1", "1");
    assert_ptr_equal(code.p, kept);
    /* lines are told with it */
    box_file(b, "bad", "\n\nerror('here')");
    b->files[1].code = NULL;
    free(code.p);
    code = (struct sandbox_code){0};
    box_try(b, "require('bad')");
    box_try(b, "require('bad')");
    assert_string_equal(b->error.file, "bad.lua");
    assert_int_equal(b->error.line, 3);
    free(code.p);
}

/* ---- errors ---- */

static void test_error_places(void **state)
{
    struct box *b = *state;
    struct buf out;

    box_ends(b, "\nlocal function inner() error('broken') end\ninner()", SANDBOX_RAISED, "broken");
    assert_string_equal(b->error.message, "broken");
    assert_string_equal(b->error.file, "main.lua");
    assert_int_equal(b->error.line, 2);
    assert_string_equal(b->error.frames[0].function, "inner");
    assert_string_equal(b->error.frames[1].function, "f");
    assert_int_equal(b->error.frames[1].line, 3);
    buf_init(&out, 4096);
    b->files[0].text = WHARF_S("one\ntwo\nthree\nfour\nfive");
    sandbox_error_json(b->sb, &b->error, "workflow.failed", &out);
    assert_string_equal(buf_str(&out).p,
        "{\"code\":\"workflow.failed\",\"message\":\"broken\",\"file\":\"main.lua\",\"line\":2,"
        "\"function\":\"inner\","
        "\"traceback\":[{\"file\":\"main.lua\",\"line\":2,\"function\":\"inner\"},{\"file\":\"main."
        "lua\",\"line\":3,"
        "\"function\":\"f\"}],\"snippet\":[{\"line\":1,\"text\":\"one\"},{\"line\":2,\"text\":"
        "\"two\"},{\"line\":3,"
        "\"text\":"
        "\"three\"},{\"line\":4,\"text\":\"four\"}]}");
    buf_done(&out);
    box_ends(b, "error({code = 'stock.empty', message = 'nothing left', status = 409})",
        SANDBOX_RAISED, "nothing left");
    assert_string_equal(b->error.code, "stock.empty");
    assert_int_equal(b->error.status, 409);
    box_ends(b,
        "error(setmetatable({}, {__tostring = function() error('x') end, __index = error}))",
        SANDBOX_RAISED, "without message");
    box_ends(b, "error()", SANDBOX_RAISED, "an error object (nil)");
    box_ends(b, "x = = 1", SANDBOX_COMPILE, "unexpected symbol near '='");
    assert_int_equal(b->error.line, 1);
    box_ends(b, "error(('\\xff'):rep(5000))", SANDBOX_RAISED, "????");
}

static void test_reject_and_fail(void **state)
{
    struct box *b = *state;

    box_ends(b, "pcall(wharf.reject, 'no_code', 'send a code', 'code') error('unreached')",
        SANDBOX_REJECTED, "send a code");
    assert_string_equal(b->error.code, "no_code");
    assert_string_equal(b->error.field, "code");
    box_ends(b,
        "coroutine.wrap(function() wharf.fail('later', {retry = true, after_ms = 500}) end)()",
        SANDBOX_FAILED, "later");
    assert_int_equal(b->error.retry, 1);
    assert_int_equal(b->error.after_ms, 500);
    box_ends(b, "wharf.fail('no')", SANDBOX_FAILED, "no");
    assert_int_equal(b->error.retry, -1);
}

static void test_host_answers(void **state)
{
    struct box *b = *state;

    b->text = "{\"status\":200,\"message\":\"ok\",\"data\":{\"id\":\"x\"},\"pagination\":{\"has_"
              "more\":false}}";
    b->answer = SANDBOX_GIVEN;
    box_is(b,
        "local d, e, m = wharf.api.get('/v1/items/x') return {d.id, m.status, "
        "m.pagination.has_more, e == nil}",
        "[\"x\",200,false,true]");
    assert_string_equal(buf_str(&b->log).p, "api.get {\"path\":\"/v1/items/x\"}\n");
    b->text = "{\"code\":\"not_found\",\"message\":\"no\",\"status\":404}";
    b->answer = SANDBOX_REFUSED;
    box_is(b, "local d, e, m = wharf.api.get('/v1/items/x') return {d == nil, e.code, m.status}",
        "[true,\"not_found\",404]");
    b->answer = SANDBOX_MISTAKE;
    box_ends(b, "\nwharf.secret('X')", SANDBOX_RAISED, "no (not_found)");
    assert_int_equal(b->error.line, 2);
    b->answer = SANDBOX_ENDED;
    b->text = "{\"code\":\"workflow.budget_calls\",\"message\":\"too many\"}";
    box_ends(b, "while true do pcall(wharf.api.get, '/v1/items') end", SANDBOX_OVER,
        "workflow.budget_calls");
    box_ends(b, "wharf.api.get('/metrics')", SANDBOX_RAISED, "begins with /v1/");
    b->text = NULL;
    box_ends(b, "wharf.kv.get('a')", SANDBOX_RAISED, "op.unknown");
}

static void test_context(void **state)
{
    struct box *b = *state;

    box_is(b,
        "return {ctx.run.id, ctx.settings.a, ctx.deadline_ms(), ctx.budget().api_calls, "
        "ctx.budget().instructions <= 2000000, ctx.budget().memory < 16 << 20, "
        "ctx.budget().http_calls, "
        "getmetatable(ctx)}",
        "[\"wkf_run_1\",1,77,5,true,true,3,false]");
    box_is(b, "local t = {} for k in pairs(ctx.run) do t[#t + 1] = k end table.sort(t) return t",
        "[\"id\",\"seed\"]");
    box_ends(b, "ctx.run.id = 1", SANDBOX_RAISED, "ctx.run is read-only");
    box_ends(b, "ctx.b = 1", SANDBOX_RAISED, "ctx is read-only; 'b' can't be set");
    box_ends(b, "rawset(ctx, 'a', 1)", SANDBOX_RAISED, "frozen");
    box_ends(
        b, "ctx.settings.a = 2", SANDBOX_RAISED, "ctx.settings is read-only; 'a' can't be set");
    box_ends(b, "for k, v in pairs(ctx) do if k == 'settings' then v.a = 2 end end", SANDBOX_RAISED,
        "ctx.settings is");
    box_is(b,
        "return {ctx.run, ctx.settings, rawequal(ctx.run, ctx.run), "
        "next(wharf.table.copy(ctx.settings))}",
        "[{\"seed\":1,\"id\":\"wkf_run_1\"},{\"a\":1},true,\"a\",1]");
}

static int count_of(const char *text, const char *part)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, part)); p += strlen(part))
        n++;
    return n;
}

static void test_log_lines(void **state)
{
    struct box *b = *state;
    char longer[4098] = {0};

    memset(longer, 'x', 4097);

    box_is(b, "print('a', 1, nil)\nwharf.log.warn('b', {n = 1})", "");
    assert_non_null(strstr(b->log.p, "\"message\":\"a\\t1\\tnil\""));
    assert_non_null(strstr(b->log.p, "\"fields\":{\"n\":1}"));
    assert_non_null(strstr(b->log.p, "\"level\":\"warn\""));
    assert_non_null(strstr(b->log.p, "\"line\":2"));
    buf_clear(&b->log);
    box_is(b, "for i = 1, 600 do wharf.log.info(('x'):rep(5000)) end", "");
    assert_non_null(strstr(b->log.p, "truncated: a run logs"));
    assert_true(b->log.n < 300000);
    assert_null(strstr(b->log.p, longer)); /* 4 KiB of each */
    buf_clear(&b->log);
    /* fields count */
    box_is(b, "for i = 1, 300 do wharf.log.info('m', {t = ('x'):rep(4000)}) end", "");
    assert_int_equal(count_of(b->log.p, "\"m\""), 65);
    assert_int_equal(count_of(b->log.p, "truncated: a run logs"), 1);
    buf_clear(&b->log);
    box_is(b, "for i = 1, 600 do wharf.log.info('short') end", "");
    assert_int_equal(count_of(b->log.p, "\"short\""), 500);
    assert_int_equal(count_of(b->log.p, "truncated"), 1);
}

/* ---- frozen: one state for many calls ---- */

static int answer_of_user(lua_State *lua)
{
    lua_pushinteger(lua, *(int *)sandbox_user(lua));
    return 1;
}

static int keep_function(lua_State *lua)
{
    int *ref = sandbox_user(lua);

    luaL_checktype(lua, 1, LUA_TFUNCTION);
    lua_settop(lua, 1);
    *ref = luaL_ref(lua, LUA_REGISTRYINDEX);
    return 0;
}

static void test_frozen(void **state)
{
    struct box *b = *state;
    int ref = 42;
    struct sandbox_call call = {
        .arg = WHARF_S("{\"input\":{\"a\":1}}"), .context = WHARF_S("{}"), .keep = "input"};
    struct buf out, kept;

    b->config.frozen = true;
    b->config.user = &ref;
    b->config.limits = (struct sandbox_limits){0};
    b->sb = sandbox_new(&b->config);
    b->files[0].text = WHARF_S(
        "shared = wharf.answer() "
        "wharf.hook.before(function(change) change.input.b = shared if change.bad then other = 1 "
        "end if change.string then string.rep = 1 end if change.hook then wharf.hook.before = 1 "
        "end if change.raw then rawset(_G, 'x', 1) end return #wharf.table.keys(string) end)");
    sandbox_files(b->sb, b->files, 1);
    assert_true(sandbox_define(b->sb, "answer", answer_of_user));
    assert_true(sandbox_define(b->sb, "hook.before", keep_function));
    assert_true(sandbox_load(b->sb, "main", &b->error));
    assert_true(sandbox_freeze(b->sb));
    call.ref = ref;
    buf_init(&out, 1000);
    buf_init(&kept, 1000);
    if (!sandbox_call(b->sb, &call, &out, &kept, &b->error))
        fail_msg("%s", b->error.message);
    assert_string_equal(buf_str(&out).p, "16");
    assert_true(!strcmp(buf_str(&kept).p, "{\"a\":1,\"b\":42}") ||
                !strcmp(buf_str(&kept).p, "{\"b\":42,\"a\":1}"));
    static const char *const bad[][2] = {{"{\"input\":{},\"bad\":1}", "globals are frozen"},
        {"{\"input\":{},\"string\":1}", "is frozen"}, {"{\"input\":{},\"hook\":1}", "is frozen"},
        {"{\"input\":{},\"raw\":1}", "is frozen"}};
    for (size_t i = 0; i < 4; i++) {
        struct sandbox_limits none = {0};

        sandbox_begin(b->sb, &none);
        call.arg = (wharf_str){bad[i][0], strlen(bad[i][0])};
        assert_false(sandbox_call(b->sb, &call, &out, &kept, &b->error));
        assert_non_null(strstr(b->error.message, bad[i][1]));
        assert_int_equal(b->error.line, 1);
    }
    buf_done(&out);
    buf_done(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {BOX(test_globals_are_those_and_no_others),
        BOX(test_text_only), BOX(test_metatables), BOX(test_instructions_end_everything),
        BOX(test_coroutines_cost_and_are_counted), BOX(test_coroutines_work_as_ever),
        BOX(test_memory), BOX(test_recursion), BOX(test_deadline), BOX(test_limits_begin_anew),
        BOX(test_seed), BOX(test_require), BOX(test_code_is_kept), BOX(test_error_places),
        BOX(test_reject_and_fail), BOX(test_host_answers), BOX(test_context), BOX(test_log_lines),
        BOX(test_frozen)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
