/* tests.c - the tests that come with a workflow, before it is published (spec 08 section 4,
 * step 5). */
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

static const struct budget test_budget = {
    .memory = 128 << 20, .wall_us = 10000000, .result_max = 2 << 20};

static bool has_tests(const struct code *c)
{
    for (const wharf_json *f = c->files ? W->json->at(c->files, 0) : NULL; f;
         f = W->json->next(f)) {
        wharf_str name = W->json->key(f);

        if (name.n > 5 && !strcmp(name.p + name.n - 5, "_test"))
            return true;
    }
    return false;
}

static uint32_t tests_nothing_outside(
    wharf_req *req, void *arg, wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    return refuse_op(req, WHARF_LUA_ENDED, "op.unknown", "tests ask for nothing outside", ret_text);
}

/* Adds "hello/main_test.lua:12: counts parcels: got 1, expected 2". */
static void add_failure(
    wharf_req *req, const struct code *c, const wharf_json *error, wharf_str name)
{
    const wharf_lua_outcome o = {.message = json_text(error, "message"), .error = error};
    wharf_str place = place_of(req, c, &o);
    size_t before = place.n - o.message.n;

    if (name.n)
        place = W->mem->format(req, "%.*s%s: %s", (int)before, place.p, name.p, o.message.p);
    W->err->add(req, ERR_WORKFLOW_TESTS_FAILED, place.p, "%s", place.p);
    flow_lua->place(req, error);
}

/* Adds where runs of a failed case went wrong: the case tells only what it missed. */
static void tests_add_runs(wharf_req *req, const struct code *c, const wharf_json *runs)
{
    for (const wharf_json *r = runs ? W->json->at(runs, 0) : NULL; r; r = W->json->next(r)) {
        const wharf_json *error = W->json->get(r, "error");

        if (is(json_text(r, "status"), "failed") && !json_is_null(error))
            add_failure(req, c, error, json_text(r, "handler"));
    }
}

static size_t tell_file(wharf_req *req, const struct code *c, const wharf_json *file)
{
    const wharf_json *cases = W->json->get(file, "cases"), *error = W->json->get(file, "error");
    size_t n = 0;

    if (error) {
        add_failure(req, c, error, (wharf_str){"", 0});
        return 1;
    }
    for (const wharf_json *e = cases ? W->json->at(cases, 0) : NULL; e; e = W->json->next(e)) {
        if (is(json_text(e, "status"), "failed")) {
            add_failure(req, c, W->json->get(e, "error"), json_text(e, "name"));
            tests_add_runs(req, c, W->json->get(e, "runs"));
            n++;
        }
    }
    return n;
}

static wharf_status tests_tell(wharf_req *req, const struct code *c, const wharf_lua_outcome *o)
{
    size_t failed = 0;

    if (o->end == WHARF_LUA_NO_CELL)
        return W->err->fail(req, ERR_OVERLOADED, NULL, NULL);
    if (o->end != WHARF_LUA_OK)
        return W->err->fail(
            req, ERR_WORKFLOW_TESTS_FAILED, NULL, "The tests did not end: %s", o->message.p);
    for (const wharf_json *f = o->result ? W->json->at(o->result, 0) : NULL; f;
         f = W->json->next(f))
        failed += tell_file(req, c, f);
    return failed ? W->err->current(req) : WHARF_OK;
}

wharf_status tests_pass(wharf_req *req, const struct code *c, const wharf_json *body)
{
    wharf_lua_spec spec = {.head = WHARF_HEAD(wharf_lua_spec),
        .memory = test_budget.memory,
        .wall_us = test_budget.wall_us,
        .result_max = test_budget.result_max,
        .answer = tests_nothing_outside,
        .tests = 1};
    wharf_lua_outcome o = {.head = WHARF_HEAD(wharf_lua_outcome)};
    const wharf_json *reported = W->json->get(body, "run_tests");
    bool run = true;
    wharf_status s;

    if (reported)
        W->json->truth(reported, &run);
    if (!run || !has_tests(c))
        return WHARF_OK;
    spec_files(req, c, &spec);
    s = flow_lua->run(req, &spec, &o);
    return s == WHARF_OK ? tests_tell(req, c, &o) : s;
}
