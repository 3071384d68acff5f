/* lua_main.c - the `lua` cell: runs one workflow in a sandbox (services/lua/sandbox/sandbox.h).
 * One process serves one run, or runs of one owner. */
#include <sodium.h>
#include <string.h>

#include "cell_lua.h"
#include "child.h"

/* Makes everything that libraries make at their first use, before the walls: a run is done and
 * thrown away. */
static bool lua_prepare(void)
{
    static const char code[] = "return {f = function(v) return wharf.text.slug(v.a) .. "
                               "wharf.time.iso(0) .. wharf.crypto.uuid() end}";
    static const char warm[] =
        "{\"handler\":\"f\",\"arg\":\"{\\\"a\\\":\\\"x\\\"}\",\"context\":\"{}\",\"memory\":"
        "1048576,\"files\":[{\"name\":"
        "\"main\",\"text\":\"%s\"}]}";
    struct buf call, answer;
    bool good;

    if (sodium_init() < 0 || !sandbox_prepare())
        return false;
    buf_init(&call, 4096);
    buf_init(&answer, 65536);
    buf_addf(&call, warm, code);
    good = cell_lua_run(buf_str(&call), 0, &answer) && strstr(buf_str(&answer).p, "\"end\":0");
    buf_done(&call);
    buf_done(&answer);
    return good;
}

static void lua_main_call(const struct cell_task *task)
{
    struct buf answer;

    buf_init(&answer, LUA_ANSWER_MAX);
    if (!cell_lua_run((wharf_str){task->payload, task->n}, task->limit_ms, &answer) ||
        answer.failed)
        cell_failed("the call is not understood");
    else
        cell_result(answer.p, answer.n);
    buf_done(&answer);
}

static void lua_main_ahead(const char *p, size_t n)
{
    cell_lua_ahead((wharf_str){p, n});
}

int main(int argc, char **argv)
{
    static const struct cell_program program = {
        .name = "lua", .prepare = lua_prepare, .call = lua_main_call, .ahead = lua_main_ahead};

    return cell_main(argc, argv, &program);
}
