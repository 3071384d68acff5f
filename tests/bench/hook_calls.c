/* hook_calls.c - what operators' hooks cost inside of a worker, without HTTP and database:
 * asking whether there are any, calling one with three comparisons on a change of usual size,
 * and loading a folder of fifty files. Prints figures; asserts nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lua/operator/operator_inside.h"
#include "process/board.h"
#include "util/str.h"
#include "util/time.h"

enum { LOOKS = 5000000, CALLS = 20000, LOADS = 50, FILES = 50, STATES = 4 /* as database.pool */ };

static const char rule[] =
    "wharf.hook.before('thing', 'update', function(change, ctx)\n"
    "  if change.input.name == '' or change.new.name == 'nobody' or change.old.version == 0 "
    "then wharf.reject('no') end\n"
    "end)\n";
static const char change[] = "{\"resource\":\"thing\",\"action\":\"update\",\"id\":\"thing_"
                             "0351uLlGgB1Xw9pRMk4Vts\",\"old\":{\"id\":"
                             "\"thing_0351uLlGgB1Xw9pRMk4Vts\",\"object\":\"thing\",\"name\":\"A\","
                             "\"email\":\"a@example.com\",\"phone\":null,"
                             "\"tags\":["
                             "\"x\",\"y\"],\"metadata\":{\"k\":\"v\"},\"version\":3},\"input\":{"
                             "\"name\":\"B\"},\"new\":{\"id\":"
                             "\"thing_0351uLlGgB1Xw9pRMk4Vts\",\"object\":\"thing\",\"name\":\"B\","
                             "\"email\":\"a@example.com\",\"phone\":null,"
                             "\"tags\":["
                             "\"x\",\"y\"],\"metadata\":{\"k\":\"v\"},\"version\":3}}";

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void looks(const struct engine *e, const struct wharf_req *req)
{
    int64_t begun = clock_monotonic_us();
    unsigned found = 0;

    for (int i = 0; i < LOOKS; i++)
        found += operator_wants(req, &e->resources[0], OP_CREATE);
    printf("is there a hook for this write? %.0f ns (%u times yes)\n",
        (double)(clock_monotonic_us() - begun) * 1000 / LOOKS, found);
}

static void calls(const struct engine *e, struct wharf_req *req)
{
    static int64_t took[CALLS];
    struct lua_generation *g = operator_hold(req);
    struct hook_call call = {.hook = g->hooks[0],
        .arg = {change, sizeof(change) - 1},
        .context = WHARF_S("{\"run\":{\"id\":\"req_1\"},\"organization_id\":\"org_1\",\"actor\":{"
                           "\"type\":\"user\"}}"),
        .keep = "input"};
    size_t wrong = 0;

    for (int i = 0; i < CALLS; i++) {
        int64_t begun = clock_monotonic_us();
        struct sandbox_error error;
        struct buf kept;

        buf_init(&kept, 1 << 20);
        wrong += !generation_call(g, req, &call, &kept, &error);
        buf_done(&kept);
        took[i] = clock_monotonic_us() - begun;
    }
    qsort(took, CALLS, sizeof(took[0]), by_size);
    printf("a before hook of three comparisons: p50 %lld us, p99 %lld us (%zu failed)\n",
        (long long)took[CALLS / 2], (long long)took[CALLS * 99 / 100], wrong);
    operator_release(req);
    (void)e;
}

static void loads(const struct engine *e)
{
    static int64_t took[LOADS];
    size_t wrong = 0;

    for (int i = 0; i < LOADS; i++) {
        int64_t begun = clock_monotonic_us();
        struct arena *a = arena_new(0);
        struct hook_folder folder = {
            .files = ARENA_ARRAY(a, struct hook_file, FILES), .n = FILES, .print = (uint64_t)i + 1};
        struct hook_problem problem;
        struct lua_generation *g;

        for (int k = 0; k < FILES; k++)
            folder.files[k] = (struct hook_file){.name = arena_printf(a, "%02d-part", k).p,
                .text = arena_printf(a, "-- %d\n%s", i, rule)};
        g = generation_load(e, a, &folder, STATES, &problem);
        took[i] = clock_monotonic_us() - begun;
        wrong += !g;
        generation_unref(g);
    }
    qsort(took, LOADS, sizeof(took[0]), by_size);
    printf("loading a folder of %d files for %d threads: p50 %.1f ms, most %.1f ms (%zu failed)\n",
        FILES, STATES, (double)took[LOADS / 2] / 1000, (double)took[LOADS - 1] / 1000, wrong);
}

int main(void)
{
    char dir[] = "/tmp/wharf-hook-calls-XXXXXX", file[64];
    struct definition def = {.name = "thing", .title = "Thing"};
    struct resource res = {.def = &def};
    struct config config = {.lua_hooks_strict = true, .data = "/tmp", .database_pool = 4};
    struct worker_boot boot = {.kind = WORKER_WEB};
    struct engine e = {.resources = &res, .n_resources = 1};
    struct wharf_req req = {.engine = &e, .arena = arena_new(0)};
    wharf_str problem = {"", 0};
    int fd;
    FILE *f;

    boot.board = board_create(&fd);
    if (!mkdtemp(dir) || !boot.board)
        return 1;
    config.data = dir;
    config.lua_hooks_dir = dir;
    snprintf(file, sizeof(file), "%s/10-rule.lua", dir);
    f = fopen(file, "we");
    if (!f || fputs(rule, f) < 0 || fclose(f) != 0)
        return 1;
    e.operator_lua = operator_start(&e, &config, &boot, &problem);
    if (e.operator_lua) {
        looks(&e, &req);
        calls(&e, &req);
        loads(&e);
    } else {
        printf("%s\n", problem.p);
    }
    unlink(file);
    snprintf(file, sizeof(file), "%s/lua-hooks.json", dir);
    unlink(file);
    rmdir(dir);
    return e.operator_lua ? 0 : 1;
}
