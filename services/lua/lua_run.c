/* lua_run.c - see lua_run.h. Nothing that the cell says is believed: its texts are parsed
 * strictly, its sizes are bounded, its time is kept here. */
#include "lua/lua_run.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell/shared.h"
#include "config/config.h"
#include "lua/samples.h"
#include "lua/sandbox/sandbox.h"
#include "lua/lua_share.h"
#include "lua/wire.h"
#include "resource/engine.h"
#include "util/str.h"
#include "util/time.h"
#include "util/zone.h"
#include "wharf/errors.h"

enum {
    WAIT_US = 5000000, /* for a free process */
    CALL_MAX = 8 << 20,
    CPU_S = 70, /* processor time of a process */
    STOP_US = 500000,
    SHARE_MAX = 96,
    SHARED_RUNS = 1000, /* runs of one owner that a process serves */
    SHORT_US = 50000, /* runs in a process that is kept; with SHARED_RUNS far below CPU_S */
    SMALL = 16 << 20,
    /* where nobody waits for the answer: a tenth of a processor that others want as well */
    STEP_BACK = 10,
};

#define TIME_OVER "the run took more time than it may"

static const struct cell_kind lua_kind = {.name = "lua",
    .calls = 1, /* code of one tenant never meets a process that ran another's */
    .owned_calls = SHARED_RUNS,
    .memory_mib = 256,
    .cpu_s = CPU_S,
    .idle_s = 30,
    .frame_max = LUA_ASK_MAX + 1024,
    .log_fd = -1};
static struct cell_shared cells = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the call ---- */

static bool is_test(const wharf_lua_spec *s)
{
    return WHARF_HAS(wharf_lua_spec, s, tests) && s->tests;
}

static void lua_run_write_call(
    struct wharf_req *req, struct buf *out, const wharf_lua_spec *s, bool share)
{
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    if (s->handler.n)
        jw_str(&w, "handler", s->handler);
    if (s->keep.n)
        jw_str(&w, "keep", s->keep);
    jw_open(&w, "handlers", '[');
    for (uint32_t i = 0; i < s->n_handlers; i++)
        jw_str(&w, NULL, s->handlers[i]);
    jw_close(&w, ']');
    jw_str(&w, "arg", s->arg.n ? s->arg : str_z("null"));
    jw_str(&w, "context", s->context.n ? s->context : str_z("{}"));
    jw_int(&w, "instructions", (int64_t)s->instructions);
    jw_int(&w, "memory", (int64_t)s->memory);
    jw_int(&w, "seed", (int64_t)s->seed);
    jw_int(&w, "result_max", (int64_t)s->result_max);
    jw_int(&w, "now_us", req->now_us);
    jw_bool(&w, "kept", share);
    if (WHARF_HAS(wharf_lua_spec, s, record) && s->record)
        jw_bool(&w, "record", true);
    if (is_test(s)) {
        jw_bool(&w, "tests", true);
        jw_raw(&w, "samples", lua_samples(req->arena, req->engine));
    }
    jw_open(&w, "files", '[');
    for (uint32_t i = 0; i < s->n_files; i++) {
        jw_open(&w, NULL, '{');
        jw_str(&w, "name", s->files[i].name);
        jw_str(&w, "text", s->files[i].text);
        jw_close(&w, '}');
    }
    jw_close(&w, ']');
    jw_close(&w, '}');
}

/* ---- questions ---- */

static void lua_run_answer_zone(struct cell_run *run, wharf_str name)
{
    char bytes[ZONE_BYTES_MAX];
    size_t n = zone_read(name.p, bytes, sizeof(bytes));

    cell_run_answer(run, n == 0, (wharf_str){bytes, n});
}

/* Answers one question; the memory of its answer is gone when it was sent. What it waits for in
 * the database ends when the run's time is over. */
static void lua_run_answer(struct wharf_req *req, const wharf_lua_spec *spec, struct cell_run *run,
    wharf_str said, int64_t until_us)
{
    static const char letters[] = {LUA_GIVEN, LUA_REFUSED, LUA_MISTAKE, LUA_ENDED};
    struct req_scope scope = req_scope_begin(req);
    wharf_str question = arena_dup_str(req->arena, said), op, text = str_z("");
    const char *end = memchr(question.p, '\n', question.n);
    const struct wharf_json *args;
    struct json_error bad;
    int64_t before_us;
    uint32_t kind;
    char *out;

    op = arena_dup(req->arena, question.p, end ? (size_t)(end - question.p) : question.n);
    question = end ? (wharf_str){end + 1, question.n - op.n - 1} : str_z("");
    if (str_eqz(op, "zone")) {
        lua_run_answer_zone(run, question);
        req_scope_end(req, &scope);
        return;
    }
    if (req->tx.speculation != SPECULATION_NONE &&
        /* what it would be told comes too early (resource/speculation.h) */
        !str_eqz(op, "budget")) {
        req->tx.speculation = SPECULATION_WRONG;
        cell_run_answer(run, false,
            WHARF_S("e{\"code\":\"workflow.failed\",\"message\":\"the run begins again\"}"));
        req_scope_end(req, &scope);
        return;
    }
    args = json_parse(req->arena, question, &bad);
    before_us = db_deadline(req->thread->db, until_us);
    kind = args ? spec->answer(req, spec->answer_arg, op, args, &text) : WHARF_LUA_ENDED;
    db_deadline_end(req->thread->db, before_us);
    if (kind == WHARF_LUA_ENDED &&
        clock_monotonic_us() >= until_us) /* by that, whatever it was told */
        text = str_z("{\"code\":\"workflow.budget_time\",\"message\":\"" TIME_OVER "\"}");
    out = arena_alloc_apart(req->arena, text.n + 1); /* who answers bounds it */
    out[0] = letters[kind < sizeof(letters) ? kind : WHARF_LUA_ENDED];
    memcpy(out + 1, text.p, text.n);
    cell_run_answer(run, false, (wharf_str){out, text.n + 1});
    req_scope_end(req, &scope);
}

/* Takes a log line. A run may say as much as it has time for: the memory of each line is gone when
 * it was heard. */
static void lua_run_log_line(struct wharf_req *req, const wharf_lua_spec *spec, wharf_str said)
{
    struct req_scope scope = req_scope_begin(req);
    struct json_error bad;
    const struct wharf_json *args = json_parse(req->arena, arena_dup_str(req->arena, said), &bad);
    wharf_str none = str_z(""), note = json_text_or(args, "note", ""),
              op = note.n ? str_z("note") : str_z("log");

    if (json_is(args, JSON_OBJECT) &&
        (!note.n || (WHARF_HAS(wharf_lua_spec, spec, record) && spec->record)))
        spec->answer(req, spec->answer_arg, op, args, &none);
    req_scope_end(req, &scope);
}

/* ---- the end ---- */

static void lua_run_reported(struct wharf_req *req, wharf_str said, wharf_lua_outcome *o)
{
    struct json_error bad;
    const struct wharf_json *v = json_parse(req->arena, arena_dup_str(req->arena, said), &bad),
                            *usage = json_get(v, "usage");
    int64_t end = json_int_or(v, "end", -1);

    /* the numbers of enum sandbox_end and of enum wharf_lua_end are not the same */
    static const uint32_t ends[] = {WHARF_LUA_OK, WHARF_LUA_RAISED, WHARF_LUA_COMPILE,
        WHARF_LUA_REJECTED, WHARF_LUA_FAILED, WHARF_LUA_OVER};

    o->end = v && end >= 0 && end < 6 ? ends[end] : WHARF_LUA_DIED;
    o->code = json_text_or(v, "code", "");
    o->message = json_text_or(v, "message", "");
    o->field = json_text_or(v, "field", "");
    o->status = (int32_t)json_int_or(v, "status", 0);
    o->retry = (int32_t)json_int_or(v, "retry", -1);
    o->after_ms = sandbox_after_ms(json_int_or(v, "after_ms", -1));
    o->error = json_is(json_get(v, "error"), JSON_OBJECT) ? json_get(v, "error") : NULL;
    o->result = json_get(v, "result");
    o->kept = json_get(v, "kept");
    o->instructions = (uint64_t)json_int_or(usage, "instructions", 0);
    o->memory_peak = (uint64_t)json_int_or(usage, "memory_peak", 0);
    o->cpu_us = json_int_or(usage, "cpu_us", 0);
}

static void lua_run_over(wharf_lua_outcome *o, uint32_t end, const char *code, const char *message)
{
    o->end = end;
    o->code = str_z(code);
    o->message = str_z(message);
}

static void ended(
    struct wharf_req *req, const struct cell_result *r, wharf_str said, wharf_lua_outcome *o)
{
    switch (r->status) {
    case CELL_OK:
        lua_run_reported(req, said, o);
        return;
    case CELL_DEADLINE:
        lua_run_over(o, WHARF_LUA_OVER, ERR_WORKFLOW_BUDGET_TIME, TIME_OVER);
        return;
    case CELL_MEMORY:
        lua_run_over(o, WHARF_LUA_OVER, ERR_WORKFLOW_BUDGET_MEMORY,
            "the run needed more memory than it may have");
        return;
    case CELL_UNAVAILABLE:
        lua_run_over(
            o, WHARF_LUA_NO_CELL, ERR_OVERLOADED, "no process is free to run it; try again");
        return;
    case CELL_FAILED:
    case CELL_CRASHED:
    case CELL_PROTOCOL:
    case CELL_CANCELED:
        break;
    }
    lua_run_over(
        o, WHARF_LUA_DIED, ERR_WORKFLOW_FAILED, "the process that ran it ended unexpectedly");
}

/* Waits for the next event; with a stop function not before that was asked. Returns false when it
 * says that the run is over. */
static bool lua_run_next(struct wharf_req *req, const wharf_lua_spec *spec, struct cell_run *run,
    int64_t *stop_us, enum cell_event *ret_event, wharf_str *ret_said)
{
    if (!WHARF_HAS(wharf_lua_spec, spec, stop)) {
        *ret_event = cell_run_next(run, true, ret_said);
        return true;
    }
    while ((*ret_event = cell_run_next(run, false, ret_said)) == CELL_EVENT_NONE) {
        struct pollfd p = {.fd = cell_run_fd(run), .events = POLLIN};
        int64_t now = clock_monotonic_us(),
                until = *stop_us < cell_run_due_us(run) ? *stop_us : cell_run_due_us(run);

        if (now >= *stop_us) {
            struct req_scope scope = req_scope_begin(req);
            bool stop = spec->stop(req, spec->answer_arg);

            req_scope_end(req, &scope);
            if (stop)
                return false;
            *stop_us = now + STOP_US;
        } else {
            poll(&p, 1, until > now ? (int)((until - now) / 1000) + 1 : 0);
        }
    }
    return true;
}

/* Returns whose process it may be: the organization, so that nothing that a plugin says mixes two,
 * and the text of the plugin. */
static wharf_str lua_run_owner_of(struct wharf_req *req, const wharf_lua_spec *spec)
{
    if (!WHARF_HAS(wharf_lua_spec, spec, share.n) || spec->share.n > SHARE_MAX)
        return str_z("");
    return arena_printf(
        req->arena, "%.*s %.*s", STR_ARG(req->access.who->organization), STR_ARG(spec->share));
}

/* Tells whether a run was orderly: a process is kept only after a run that ended as authors' code
 * does, soon, and with little memory. */
static bool was_orderly(const wharf_lua_outcome *o, int64_t took_us)
{
    return o->end != WHARF_LUA_OVER && o->end != WHARF_LUA_COMPILE && o->end != WHARF_LUA_DIED &&
           took_us < SHORT_US && o->memory_peak < SMALL;
}

static void run_in(
    struct wharf_req *req, struct cell_pool *pool, const wharf_lua_spec *spec, wharf_lua_outcome *o)
{
    int64_t started_us = clock_monotonic_us(), left_us = req->deadline_us - started_us;
    struct cell_call call = {.deadline_us = started_us + spec->wall_us + LUA_GRACE_MS * 1000,
        .wait_us = req->job || left_us > WAIT_US ? WAIT_US : left_us,
        .waits_apart = true,
        .owner = lua_run_owner_of(req, spec),
        .mark = spec->seed};
    int64_t stop_us = started_us + STOP_US;
    struct cell_run *run;
    enum cell_event e;
    struct buf text;
    wharf_str said;

    buf_init(&text, CALL_MAX);
    lua_run_write_call(req, &text, spec, call.owner.n > 0);
    if (text.failed) {
        lua_run_over(
            o, WHARF_LUA_OVER, ERR_WORKFLOW_BUDGET_MEMORY, "the input of the run is too large");
        buf_done(&text);
        return;
    }
    call.payload = buf_str(&text);
    run = cell_run_start(pool, &call);
    started_us = clock_monotonic_us(); /* the wait for a process is not the run's */
    while (lua_run_next(req, spec, run, &stop_us, &e, &said) && e != CELL_EVENT_END) {
        if (e == CELL_EVENT_ASK)
            lua_run_answer(req, spec, run, said, started_us + spec->wall_us);
        else if (e == CELL_EVENT_DATA)
            lua_run_log_line(req, spec, said);
    }
    if (e == CELL_EVENT_END)
        ended(req, cell_run_result(run), said, o);
    else
        lua_run_over(o, WHARF_LUA_STOPPED, "workflow.canceled", "the run was stopped");
    if (!was_orderly(o, clock_monotonic_us() - started_us))
        cell_run_spoil(run);
    cell_run_end(run);
    buf_done(&text);
    o->depth = (uint32_t)req->depth;
    o->duration_us = clock_monotonic_us() - started_us;
    if (o->end != WHARF_LUA_NO_CELL) /* of a process that was killed nobody told what it took */
        share_spend(req, o->cpu_us > 0 ? o->cpu_us : o->duration_us);
}

/* Tells whether the organization has its share left. Jobs ask before they claim runs; a write is
 * not refused because its organization computed too much elsewhere. */
static bool has_share(struct wharf_req *req, const wharf_lua_spec *spec, wharf_lua_outcome *o)
{
    int64_t wait = spec->handler.n && !req->job && !req->tx.depth ? share_wait_us(req) : 0;

    if (!wait)
        return true;
    lua_run_over(o, WHARF_LUA_NO_CELL, ERR_WORKFLOW_QUOTA,
        "the organization's runs took their share of the processor; wait");
    req->reply.retry_after = (int)(wait / 1000000) + 1;
    return false;
}

static struct cell_pool *find_pool(struct wharf_req *req, struct cell_kind *kind)
{
    *kind = lua_kind;
    share_cells(req->engine->config, &kind->min, &kind->max);
    kind->nice = req->job ? STEP_BACK : 0;
    return cell_shared_pool(&cells, kind, req->engine->config->cell_dir);
}

void lua_ahead(struct wharf_req *req, const wharf_lua_spec *spec)
{
    struct cell_kind kind;
    struct cell_pool *pool = find_pool(req, &kind);
    char text[96];
    int n = snprintf(text, sizeof(text), "{\"memory\":%lld,\"seed\":%lld}", (long long)spec->memory,
        (long long)spec->seed);

    if (pool)
        cell_pool_ahead(
            pool, lua_run_owner_of(req, spec), spec->seed, (wharf_str){text, (size_t)n});
}

bool lua_run(struct wharf_req *req, const wharf_lua_spec *spec, wharf_lua_outcome *o)
{
    struct cell_kind kind;
    struct cell_pool *pool = find_pool(req, &kind);
    if (!pool)
        return false;
    *o = (wharf_lua_outcome){.head = o->head,
        .retry = -1,
        .after_ms = -1,
        .code = WHARF_S(""),
        .message = WHARF_S(""),
        .field = WHARF_S("")};
    if (!has_share(req, spec, o))
        return true;
    run_in(req, pool, spec, o);
    return true;
}
