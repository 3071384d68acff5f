/* outside.c - what a run does outside of the API (spec 08 section 5): wharf.http, wharf.lock,
 * wharf.sleep. */
#include <string.h>
#include <time.h>

#include "workflows.h"
#include "wharf/errors.h"

enum {
    LOCK_NAME_MAX = 200, /* bytes of a lock's name */
    TTL_MS = 30000, /* a lock is held, when it does not say */
    TTL_MOST_MS = 120000, /* a lock is held at most */
    STEP_MS = 50,
    NAP_MS = 500
};

int64_t run_clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t outside_left_ms(const struct asked *a)
{
    int64_t left = (a->until_us - run_clock_us()) / 1000;

    return left > 0 ? left : 0;
}

static void nap(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static int64_t outside_number(
    const wharf_json *args, const char *name, int64_t otherwise, int64_t most)
{
    const wharf_json *v = W->json->get(args, name);
    int64_t i = otherwise;

    if (v)
        W->json->integer(v, &i);
    return i < 0 ? 0 : i > most ? most : i;
}

uint32_t http_answer(
    wharf_req *req, struct asked *a, wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    const wharf_json *hosts = a->code->options ? W->json->get(a->code->options, "http_hosts")
                                               : NULL;
    wharf_lua_outside limits = {.head = WHARF_HEAD(wharf_lua_outside),
        .left_us = outside_left_ms(a) * 1000,
        .calls = a->budget->http_calls - a->http_calls,
        .hosts = json_is_null(hosts) ? NULL : hosts};
    uint32_t answer = flow_lua->http(req, &limits, op, args, ret_text);

    a->http_calls = a->budget->http_calls - limits.calls;
    return answer;
}

/* Tells whether the run is stopped: whoever cancels it need not wait for the end of what it waits
 * for. */
static bool outside_stopped(wharf_req *req, struct asked *a)
{
    a->stopped = a->stopped || (a->stop && a->stop(req, a));
    return a->stopped;
}

static uint32_t end_of_run(wharf_req *req, wharf_str *ret_text)
{
    return refuse_op(req, WHARF_LUA_ENDED, "workflow.canceled", "the run was stopped", ret_text);
}

uint32_t sleep_answer(wharf_req *req, struct asked *a, const wharf_json *args, wharf_str *ret_text)
{
    int64_t ms = outside_number(args, "ms", 0, INT32_MAX);

    if (!a->budget->sleep_ms)
        return refuse_op(req, WHARF_LUA_MISTAKE, "op.unknown",
            "somebody waits for this run: it can't sleep", ret_text);
    if (ms > a->budget->sleep_ms - a->slept_ms)
        return refuse_op(req, WHARF_LUA_MISTAKE, ERR_PARAM_INVALID,
            "a run sleeps 10 seconds at most in all", ret_text);
    a->slept_ms += ms;
    for (ms = ms < outside_left_ms(a) ? ms : outside_left_ms(a); ms > 0; ms -= NAP_MS) {
        nap(ms < NAP_MS ? ms : NAP_MS);
        if (outside_stopped(req, a))
            return end_of_run(req, ret_text);
    }
    return WHARF_LUA_GIVEN;
}

/* ---- locks: rows with an end, so that a run that died holds none for long ---- */

static const char take_sql[] =
    "SELECT * FROM workflows.take_lock($1::text, $2::text, $3::text, $4::text, $5::bigint)";
static const char give_sql[] =
    "DELETE FROM workflows.lock WHERE organization_id = $1::text AND workflow_id = "
    "$2::text AND token = $3::text";
static const char end_sql[] =
    "DELETE FROM workflows.lock WHERE organization_id = $1::text AND workflow_id = "
    "$2::text AND starts_with(token, $3::text || '.')";

static uint32_t outside_take(
    wharf_req *req, struct asked *a, const wharf_json *args, wharf_str *ret_text)
{
    wharf_str name = json_text(args, "name"),
              token = W->mem->format(req, "%s.%u", a->lock_id.p, a->locks);
    int64_t wait = outside_number(args, "wait_ms", 0, outside_left_ms(a)),
            ttl = outside_number(args, "ttl_ms", TTL_MS, TTL_MOST_MS),
            until = run_clock_us() / 1000 + wait;
    const wharf_val values[] = {val_text(W->req->organization(req)), val_text(a->code->workflow_id),
        val_text(name), val_text(token), val_int(ttl)};
    const wharf_rows *rows;

    if (!name.n || name.n > LOCK_NAME_MAX)
        return refuse_op(req, WHARF_LUA_MISTAKE, ERR_PARAM_INVALID,
            "the name of a lock has 1 to 200 bytes", ret_text);
    for (;;) {
        if (query_alone(req, take_sql, values, 5, &rows) != WHARF_OK) {
            W->err->clear(req);
            return refuse_op(req, WHARF_LUA_ENDED, ERR_OVERLOADED,
                "locks can't be reached at the moment", ret_text);
        }
        if (W->db->count(rows)) {
            a->locks++;
            *ret_text = W->mem->format(req, "{\"token\":\"%s\"}", token.p);
            return WHARF_LUA_GIVEN;
        }
        if (outside_stopped(req, a))
            return end_of_run(req, ret_text);
        wait = until - run_clock_us() / 1000; /* looking takes its time too */
        if (wait <= 0)
            return refuse_op(
                req, WHARF_LUA_REFUSED, "lock.busy", "another run holds the lock", ret_text);
        nap(wait < STEP_MS ? wait : STEP_MS);
    }
}

uint32_t lock_answer(
    wharf_req *req, struct asked *a, wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    const wharf_val values[] = {val_text(W->req->organization(req)), val_text(a->code->workflow_id),
        val_text(json_text(args, "token"))};
    const wharf_rows *none;

    if (a->budget->in_write)
        return refuse_op(req, WHARF_LUA_MISTAKE, "op.unknown",
            "before a change nothing is waited for; lock in an after hook", ret_text);
    if (is(op, "lock.take"))
        return outside_take(req, a, args, ret_text);
    if (query_alone(req, give_sql, values, 3, &none) == WHARF_OK)
        a->locks_given++;
    else
        W->err->clear(req); /* it ends by itself */
    return WHARF_LUA_GIVEN;
}

void locks_end(wharf_req *req, const struct asked *a)
{
    const wharf_val values[] = {
        val_text(W->req->organization(req)), val_text(a->code->workflow_id), val_text(a->lock_id)};
    const wharf_rows *none;

    if (a->locks > a->locks_given && query_alone(req, end_sql, values, 3, &none) != WHARF_OK)
        W->err->clear(req); /* they end by themselves */
}
