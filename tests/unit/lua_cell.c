/* lua_cell.c - scripts that mean harm, in `lua` cells: each run ends at its deadline with a
 * status, and the pool goes on. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../cell/int80.h"
#include "cell/cell.h"
#include "lua_hostile.h"
#include "util/str.h"
#include "util/time.h"

enum { MS = 1000, LONG_US = 20000 * MS };

static const struct cell_kind kind = {.name = "lua",
    .min = 2,
    .max = 4,
    .calls = 1,
    .memory_mib = 256,
    .cpu_s = 60,
    .frame_max = 4 << 20,
    .log_fd = -1};

static struct cell_result run(struct cell_pool *p, const char *body, int64_t us, struct buf *out)
{
    struct cell_call call = {.deadline_us = clock_monotonic_us() + us, .wait_us = LONG_US};
    struct buf text, code;
    struct cell_run *r;
    struct cell_result result;
    wharf_str said;
    enum cell_event e;

    buf_init(&text, 1 << 20);
    buf_init(&code, 1 << 20);
    buf_addf(&code, "return {f = function() %s end}", body);
    buf_addf(&text, "{\"handler\":\"f\",\"arg\":\"null\",\"context\":\"{}\",\"memory\":33554432,"
                    "\"instructions\":20000000,"
                    "\"result_max\":1048576,\"files\":[{\"name\":\"main\",\"text\":");
    json_quote(&text, buf_str(&code));
    buf_addz(&text, "}]}");
    call.payload = buf_str(&text);
    r = cell_run_start(p, &call);
    while ((e = cell_run_next(r, true, &said)) != CELL_EVENT_END) {
        if (e == CELL_EVENT_ASK)
            cell_run_answer(r, true, str_z("no"));
    }
    result = *cell_run_result(r);
    buf_clear(out);
    if (result.status == CELL_OK)
        buf_adds(out, said);
    cell_run_end(r);
    buf_done(&text);
    buf_done(&code);
    return result;
}

static void test_endless_ones_are_killed(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, getenv("WHARF_CELLS"));
    struct buf out;

    buf_init(&out, 4 << 20);
    for (size_t i = 0; i < sizeof(endless) / sizeof(endless[0]); i++) {
        struct cell_result r = run(p, endless[i], 150 * MS, &out);

        if (r.status != CELL_DEADLINE &&
            !(r.status == CELL_OK && strstr(out.p, "workflow.budget_")))
            fail_msg(
                "%s\nended with %d: %s %s", endless[i], r.status, r.reason, out.p ? out.p : "");
        r = run(p, "return 1", LONG_US, &out);
        assert_int_equal(r.status, CELL_OK);
        assert_non_null(strstr(out.p, "\"result\":1"));
    }
    buf_done(&out);
    cell_pool_free(p);
}

static void test_bounded_ones_end_by_themselves(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, getenv("WHARF_CELLS"));
    struct buf out;

    buf_init(&out, 4 << 20);
    for (size_t i = 0; i < sizeof(bounded) / sizeof(bounded[0]); i++) {
        struct cell_result r = run(p, bounded[i], LONG_US, &out);

        if (r.status != CELL_OK || strstr(out.p, "\"end\":0"))
            fail_msg(
                "%s\nended with %d: %s %s", bounded[i], r.status, r.reason, out.p ? out.p : "");
    }
    buf_done(&out);
    cell_pool_free(p);
}

/* With what was said ahead, "" for nothing. */
static void run_reported(
    struct cell_pool *p, const char *reported, const char *body, struct buf *out)
{
    struct cell_call call = {.deadline_us = clock_monotonic_us() + LONG_US,
        .wait_us = LONG_US,
        .owner = str_z("a"),
        .mark = 5};
    struct cell_result r;
    struct buf text;

    if (reported[0])
        cell_pool_ahead(p, call.owner, call.mark, str_z(reported));
    buf_init(&text, 1 << 20);
    buf_addf(&text,
        "{\"handler\":\"f\",\"arg\":\"null\",\"context\":\"{}\",\"memory\":1048576,"
        "\"instructions\":1000000,"
        "\"seed\":5,\"result_max\":1048576,\"files\":[{\"name\":\"main\",\"text\":\"return {f = "
        "function() %s end}\"}]}",
        body);
    call.payload = buf_str(&text);
    buf_clear(out);
    r = cell_call(p, &call, out);
    assert_int_equal(r.status, CELL_OK);
    buf_done(&text);
}

/* Whatever was said ahead: the run is what its call says. */
static void test_ahead_changes_nothing(void **state)
{
    static const char *const reported[] = {"{\"memory\":1048576,\"seed\":5}",
        "{\"memory\":1048576,\"seed\":6}", "{\"memory\":99999999,\"seed\":5}",
        "{\"memory\":1,\"seed\":5}", "{\"seed\":5}", "{}", "no JSON", "[]"};
    struct cell_kind k = kind;
    struct cell_pool *p;
    struct buf plain, out;

    k.owned_calls = 1000;
    p = cell_pool_new(&k, getenv("WHARF_CELLS"));
    buf_init(&plain, 1 << 20);
    buf_init(&out, 1 << 20);
    run_reported(p, "", "x = (x or 0) + 1 return math.random(1 << 40) .. ' ' .. x", &plain);
    assert_non_null(strstr(plain.p, " 1\""));
    for (size_t i = 0; i < sizeof(reported) / sizeof(reported[0]); i++) {
        run_reported(
            p, reported[i], "x = (x or 0) + 1 return math.random(1 << 40) .. ' ' .. x", &out);
        assert_memory_equal(strstr(out.p, "\"result\""), strstr(plain.p, "\"result\""), 20);
        run_reported(p, reported[i], "return ('x'):rep(2000000)", &out);
        assert_non_null(strstr(out.p, "workflow.budget_memory"));
        run_reported(p, reported[i], "while true do end", &out);
        assert_non_null(strstr(out.p, "workflow.budget_instructions"));
    }
    buf_done(&plain);
    buf_done(&out);
    cell_pool_free(p);
}

/* Compiled chunks are no text, whatever stands behind their first byte. */
static void test_bytecode_is_refused(void **state)
{
    static const char compiled[] =
        "{\"handler\":\"f\",\"arg\":\"null\",\"context\":\"{}\",\"memory\":33554432,"
        "\"instructions\":20000000,"
        "\"result_max\":1048576,\"files\":[{\"name\":\"main\",\"text\":\"\\u001bLuaT\\u0000\"}]}";
    struct cell_pool *p = cell_pool_new(&kind, getenv("WHARF_CELLS"));
    struct cell_call call = {.deadline_us = clock_monotonic_us() + LONG_US,
        .wait_us = LONG_US,
        .payload = str_z(compiled)};
    struct buf out;

    buf_init(&out, 1 << 20);
    assert_int_equal(cell_call(p, &call, &out).status, CELL_OK);
    assert_non_null(strstr(out.p, "compiled code, not text"));
    buf_done(&out);
    cell_pool_free(p);
}

/* Every zone comes from outside, so nothing of the system is opened inside; randomness and
 * clocks work behind the walls. */
static void test_the_library_behind_the_walls(void **state)
{
    struct cell_pool *p = cell_pool_new(&kind, getenv("WHARF_CELLS"));
    struct buf out;
    struct cell_result r;

    buf_init(&out, 4 << 20);
    r = run(p,
        "local _ = {os.date(), os.date('*t'), os.clock(), wharf.time.now(), "
        "wharf.crypto.random_bytes(32), "
        "wharf.crypto.uuid(), "
        "wharf.crypto.sha256('x'), wharf.text.slug('Gr\xC3\xB6\xC3\x9F"
        "e'), wharf.json.encode({0.1}), wharf.csv.decode('a,b'), "
        "tostring({}), string.format('%5.2f %a %p', 1, 2, {}), ('x'):byte(), utf8.char(8364), "
        "math.random()} return #_",
        LONG_US, &out);
    assert_int_equal(r.status, CELL_OK);
    if (!strstr(out.p, "\"result\":15"))
        fail_msg("%s", out.p);
    r = run(p, "return wharf.time.format(0, '%H', 'Europe/Berlin')", LONG_US, &out);
    assert_int_equal(r.status, CELL_OK);
    assert_non_null(strstr(out.p, "there is no time zone"));
    buf_done(&out);
    cell_pool_free(p);
}

/* The test build of the cell: whatever gets out of Lua meets the walls. */
static void test_system_calls_from_inside(void **state)
{
    char place[512], body[128];
    struct cell_pool *p;
    struct buf names, out;
    unsigned n = 0;

    snprintf(place, sizeof(place), "%s/lua/probe", getenv("WHARF_CELLS"));
    p = cell_pool_new(&kind, place);
    buf_init(&names, 1 << 20);
    buf_init(&out, 4 << 20);
    assert_int_equal(run(p, "return wharf.probe('list')", LONG_US, &names).status, CELL_OK);
    assert_non_null(strstr(names.p, "\"result\":\"open\\nopenat\\n"));
    for (char *name = strstr(names.p, "\"result\":\"") + 10, *end; (end = strstr(name, "\\n"));
         name = end + 2) {
        struct cell_result r;

        snprintf(body, sizeof(body), "return wharf.probe('%.*s')", (int)(end - name), name);
        r = run(p, body, LONG_US, &out);
        if (r.status != CELL_CRASHED ||
            !(strncmp(name, "int80\\n", 7) == 0 ? int80_may_end_with(r.signal)
                                                : r.signal == SIGSYS))
            fail_msg(
                "%s ended with %d, signal %d: %s", body, r.status, r.signal, out.p ? out.p : "");
        n++;
    }
    assert_true(n > 80);
    /* and it would tell of one that is not refused: what there is no call for is no end */
    assert_int_equal(run(p, "return wharf.probe('none')", LONG_US, &out).status, CELL_OK);
    assert_non_null(strstr(out.p, "no such probe"));
    buf_done(&names);
    buf_done(&out);
    cell_pool_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {UNIT(test_system_calls_from_inside),
        UNIT(test_endless_ones_are_killed), UNIT(test_bounded_ones_end_by_themselves),
        UNIT(test_bytecode_is_refused), UNIT(test_ahead_changes_nothing),
        UNIT(test_the_library_behind_the_walls)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
