/* lua_cell.c - what a run of a workflow costs between the server and its cell, without HTTP and
 * database: from the call to the end of it, a fresh state
 * and the answer included, in a process that waits; and what of it is the cell's own time; and
 * how long after their limit runs of hostile scripts are over. Prints figures; asserts nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cell/cell.h"
#include "config/config.h"
#include "lua/lua_run.h"
#include "resource/engine.h"
#include "util/str.h"
#include "util/time.h"
#include "../unit/lua_hostile.h"

enum {
    RUNS = 20000,
    RARE = 1000,
    PAUSE_US = 3000 /* before each of those that are rare, as writes of one caller are */,
    FIRST = 400 /* not counted: processes start */
};

static const char trivial[] = "return {on_event = function(ev, ctx) return 1 end}";
static const char rule[] =
    "return {before = function(change)\n"
    "  if change.input.name == '' or change.new.name == 'nobody' or change.old.version == 0 "
    "then wharf.reject('no') end\n"
    "end}";
static const char row[] =
    "{\"id\":\"thing_0351uLlGgB1Xw9pRMk4Vts\",\"object\":\"thing\",\"name\":\"A\",\"email\":\"a@"
    "example.com\","
    "\"phone\":null,\"tags\":[\"x\",\"y\"],\"metadata\":{\"k\":\"v\"},\"version\":3}";
static const char context[] =
    "{\"run\":{\"id\":\"wkf_run_0351uLlGgB1Xw9pRMk4Vts\",\"key\":\"wkf_run_"
    "0351uLlGgB1Xw9pRMk4Vts\",\"attempt\":1,"
    "\"depth\":0,\"seed\":77,\"trigger\":{\"type\":\"hook\"}},\"workflow\":{\"id\":\"wkf_1\","
    "\"name\":\"W\","
    "\"version\":1},\"organization_id\":\"org_1\",\"location_id\":null,\"actor\":\"user_1\"}";

static uint32_t nothing(
    wharf_req *req, void *arg, wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    return WHARF_LUA_GIVEN;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t own_cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void print(const char *what, int64_t *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_size);
    printf(
        "  %s: p50 %lld us, p99 %lld us\n", what, (long long)v[n / 2], (long long)v[n * 99 / 100]);
}

static void runs(
    struct wharf_req *req, const char *title, wharf_lua_spec *spec, int n, useconds_t pause_us)
{
    static int64_t whole[RUNS], inside[RUNS], here[RUNS];
    size_t wrong = 0;

    for (int i = -FIRST; i < n; i++) {
        struct arena_mark mark = arena_mark(req->arena);
        wharf_lua_outcome o = {.head = WHARF_HEAD(wharf_lua_outcome)};
        int64_t begun, cpu;

        if (i >= 0 && pause_us)
            usleep(pause_us);
        begun = clock_monotonic_us();
        cpu = own_cpu_us();
        spec->seed = (uint64_t)(i + FIRST);
        wrong += !lua_run(req, spec, &o) || o.end != WHARF_LUA_OK;
        if (i >= 0) {
            whole[i] = clock_monotonic_us() - begun;
            here[i] = own_cpu_us() - cpu;
            inside[i] = o.cpu_us;
        }
        arena_rewind(req->arena, mark);
    }
    printf("%s, %d runs, %zu of them failed:\n", title, n + FIRST, wrong);
    print("from the call to the end", whole, n);
    print("CPU inside of the cell, its socket left out", inside, n);
    print("CPU of the server's thread", here, n);
}

enum { LIMIT_US = 100000 };

/* One behind the other, each as a body of on_event; the limit is that of a before hook. */
static int64_t latest(
    struct wharf_req *req, wharf_lua_spec *spec, const char *const *bodies, size_t n)
{
    int64_t most = 0;

    for (size_t i = 0; i < n; i++) {
        wharf_lua_file file = {WHARF_S("main"),
            arena_printf(req->arena, "return {on_event = function() %s end}", bodies[i])};
        wharf_lua_outcome o = {.head = WHARF_HEAD(wharf_lua_outcome)};

        spec->files = &file;
        do { /* processes that were killed are being replaced */
            lua_run(req, spec, &o);
        } while (o.end == WHARF_LUA_NO_CELL);
        if (o.end == WHARF_LUA_OK)
            printf("  it ended well: %s\n", bodies[i]);
        most = o.duration_us > most ? o.duration_us : most;
    }
    return most - LIMIT_US;
}

static void hostile(struct wharf_req *req, wharf_lua_spec *spec)
{
    size_t n = sizeof(endless) / sizeof(endless[0]), k = sizeof(bounded) / sizeof(bounded[0]);
    int64_t a, b;

    spec->wall_us = LIMIT_US;
    spec->handler = WHARF_S("on_event");
    spec->keep = WHARF_S("");
    spec->share = WHARF_S("");
    spec->instructions = 100000000;
    spec->memory = 64 << 20;
    a = latest(req, spec, endless, n);
    b = latest(req, spec, bounded, k);
    printf("%zu hostile scripts with a limit of %d ms: the last one was over %.1f ms after it\n",
        n + k, LIMIT_US / 1000, (double)(a > b ? a : b) / 1000);
}

int main(void)
{
    char dir[512];
    const char *build = getenv("BUILD");
    struct config config = {.data = "/tmp", .database_pool = 8, .cell_dir = dir};
    struct engine e = {.config = &config};
    struct principal who = {.organization = WHARF_S("org_1")};
    struct wharf_req req = {.engine = &e, .arena = arena_new(0), .access.who = &who};
    wharf_lua_file file = {WHARF_S("main"), WHARF_S("")};
    wharf_lua_spec spec = {.head = WHARF_HEAD(wharf_lua_spec),
        .n_files = 1,
        .files = &file,
        .handler = WHARF_S("on_event"),
        .arg = {row, sizeof(row) - 1},
        .context = {context, sizeof(context) - 1},
        .instructions = 500000,
        .memory = 8 << 20,
        .wall_us = 1000000,
        .result_max = 65536,
        .answer = nothing,
        .share = WHARF_S("trivial 1")};

    snprintf(dir, sizeof(dir), "%s/cells", build ? build : "build");
    file.text = (wharf_str){trivial, sizeof(trivial) - 1};
    runs(&req, "a trivial handler", &spec, RUNS, 0);
    file.text = (wharf_str){rule, sizeof(rule) - 1};
    spec.handler = WHARF_S("before");
    spec.keep = WHARF_S("input");
    spec.share = WHARF_S("rule 1");
    spec.arg = arena_printf(req.arena,
        "{\"resource\":\"thing\",\"action\":\"update\",\"old\":%s,\"input\":{\"name\":\"B\"},"
        "\"new\":%s}",
        row, row);
    runs(&req, "a before hook of three comparisons", &spec, RUNS, 0);
    runs(&req, "the same, 3 ms after the one before", &spec, RARE, PAUSE_US);
    hostile(&req, &spec);
    arena_free(req.arena);
    return 0;
}
