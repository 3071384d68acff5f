/* after.c - after and event hooks: jobs, asked for in the transaction of their cause, one per
 * hook, in order per row; and the job, of schedules too. */
#include "lua/operator/operator_inside.h"

#include <string.h>

#include "event/event_record.h"
#include "job/job.h"
#include "plugin/manifest.h"
#include "resource/access.h"
#include "db/notifier.h"
#include "util/log.h"
#include "util/str.h"
#include "wharf/errors.h"
#include "wharf/hash.h"

enum { DEPTH_MAX = 5 }; /* changes of hooks that cause each other */

const char operator_job_policy[] = "{\"retries\": 3, \"backoff\": {\"first\": \"10s\", \"factor\": "
                                   "6, \"max\": \"5m\"}, \"timeout\": \"90s\","
                                   " \"keep_parked\": \"30d\", \"transaction\": \"own\"}";

/* ---- asking ---- */

static bool after_too_deep(const struct wharf_req *req, const struct lua_hook *hook, int depth)
{
    if (depth < DEPTH_MAX)
        return false;
    log_write(WHARF_LOG_WARN, "lua-hooks", req->request_id, "workflow.depth_exceeded",
        "%s:%d is not called: its cause was caused by hooks %d times over", hook->file, hook->line,
        DEPTH_MAX);
    return true;
}

/* Writes the arguments of a job. hook: for servers that know no marks, and for who reads the
 * table. */
void operator_job_args(struct jw *w, const struct lua_hook *hook)
{
    jw_open(w, NULL, '{');
    jw_z(w, "hook", hook->name);
    jw_str(w, "mark", hook->mark);
}

static wharf_str order_args(
    struct wharf_req *req, const struct lua_hook *hook, wharf_str change, wharf_str location)
{
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, JOB_ARGS_MAX);
    jw_init(&w, &out);
    operator_job_args(&w, hook);
    jw_int(&w, "depth", req->depth);
    jw_raw(&w, "context", operator_context(req, hook, location, str_z("")));
    jw_raw(&w, "change", change);
    jw_close(&w, '}');
    text = out.failed ? (wharf_str){"", 0} : arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

/* Returns a change without what a job's arguments have no room for; the hook can ask for the
 * row. */
static wharf_str short_change(struct wharf_req *req, const struct write *w)
{
    struct write bare = {.res = w->res, .op = w->op, .id = w->id};
    wharf_str text = write_change_text(req, &bare, str_z(""), true);

    return arena_printf(req->arena, "%.*s,\"cut\":true}", (int)text.n - 1, text.p);
}

wharf_status operator_after(struct wharf_req *req, const struct write *w)
{
    struct lua_generation *g = operator_hold(req);
    const struct hook_list *list = g ? &g->after[hook_place(g->engine, w->res, w->op)] : NULL;
    struct view view = {.in = IN_RETRIEVE};
    wharf_str change = {"", 0}, location;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; list && i < list->n && s == WHARF_OK; i++) {
        struct job_order order = {.job = "wharf.lua_hook",
            .key = w->id.n > JOB_KEY_MAX ? (wharf_str){w->id.p, JOB_KEY_MAX} : w->id};

        if (after_too_deep(req, list->items[i], req->depth))
            continue;
        location = record_location(w->new_rec && w->op != OP_DELETE ? w->new_rec : w->old_rec);
        if (!change.n)
            change = write_change_text(req, w,
                w->op == OP_DELETE ? str_z("") : record_json(req->arena, w->new_rec, &view), true);
        order.args = order_args(req, list->items[i], change, location);
        if (!order.args.n)
            order.args = order_args(req, list->items[i], short_change(req, w), location);
        s = job_enqueue(req, &order);
    }
    return s;
}

static unsigned after_lane_of(wharf_str s, int lanes)
{
    uint32_t h = wharf_hash32(WHARF_HASH32_START, s.p, s.n);

    return h % (unsigned)lanes;
}

/* Returns the key of an event's job. Jobs of one key run one after the other: a hook with as many
 * keys as calls it may have at a time has never more. */
static wharf_str event_key(struct wharf_req *req, const struct lua_hook *h, const wharf_event *e)
{
    wharf_str row = e->resource_id.n > JOB_KEY_MAX ? (wharf_str){e->resource_id.p, JOB_KEY_MAX}
                                                   : e->resource_id;

    if (h->order == ORDER_HOOK)
        return str_z(h->name);
    if (h->at_once)
        return arena_printf(req->arena, "%s/%u", h->name,
            after_lane_of(h->order == ORDER_ROW ? row : e->id, h->at_once));
    return h->order == ORDER_ROW ? row : str_z("");
}

static wharf_str event_args(struct wharf_req *req, const struct lua_hook *h, const wharf_event *e)
{
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, JOB_ARGS_MAX);
    jw_init(&w, &out);
    operator_job_args(&w, h);
    jw_str(&w, "event", e->id);
    jw_close(&w, '}');
    text = arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

bool operator_events(struct wharf_req *req, struct event *const *events, size_t n)
{
    struct lua_generation *g = req->engine->operator_lua
                                   ? operator_current(req->engine->operator_lua)
                                   : NULL;
    struct job_order *orders;
    struct db_error error = {.status = DB_OK};
    size_t n_orders = 0;

    if (!g || !g->events.n) {
        generation_unref(g);
        return true;
    }
    orders = ARENA_ARRAY(req->arena, struct job_order, n * g->events.n);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < g->events.n; k++) {
            const struct lua_hook *h = g->events.items[k];
            const wharf_event *e = &events[i]->pub;

            if (!events[i]->type || !event_matches(events[i]->type, e->type, h->pattern) ||
                after_too_deep(req, h, (int)e->depth))
                continue;
            orders[n_orders++] = (struct job_order){.job = "wharf.lua_hook",
                .organization = e->organization,
                .key = event_key(req, h, e),
                .args = event_args(req, h, e)};
        }
    }
    generation_unref(g);
    if (!n_orders)
        return true;
    req_leave_organization(req);
    if (job_enqueue_many(req->engine, req->thread->db, orders, n_orders, req->now_us, &error) !=
        DB_OK) {
        req_database_problem(req, &error);
        return false;
    }
    req_tell(req, NEWS_JOBS);
    return true;
}

/* ---- running ---- */

/* Reads the event. Returns false when it is not there any more. */
static bool event_input(
    struct wharf_req *req, const struct lua_hook *hook, wharf_str id, struct hook_call *call)
{
    const struct wharf_json *body;
    struct event *e;

    if (!event_read(req, &id, 1, &e) || !e || event_parse(req, e, &body) != WHARF_OK)
        return false;
    req->depth = (int)e->pub.depth; /* what it writes and emits is one deeper: inner.c, tell.c */
    call->arg = jw_text(req->arena, body);
    call->location = json_text_or(body, "location_id", "");
    call->context = operator_context(req, hook, call->location, id);
    return true;
}

/* Tells whether a failed hook is tried again (section 7, as of runs of workflows): a limit but
 * that of time is met by another try too, and its author's word is final unless he asks for one. */
static bool tried_again(const struct sandbox_error *e)
{
    switch (e->end) {
    case SANDBOX_RAISED:
        return true;
    case SANDBOX_OVER:
        return !strcmp(e->code, ERR_WORKFLOW_BUDGET_TIME) || !strcmp(e->code, ERR_OVERLOADED);
    case SANDBOX_FAILED:
        return e->retry == 1;
    default:
        return false;
    }
}

static wharf_status after_run(struct wharf_req *req, struct lua_generation *g,
    const struct lua_hook *hook, struct hook_call *call)
{
    struct sandbox_error e;

    if (generation_call(g, req, call, NULL, &e) || e.end == SANDBOX_REJECTED)
        return WHARF_OK;
    operator_failed(req, hook, &e);
    if (!tried_again(&e))
        return WHARF_OK;
    if (e.end == SANDBOX_FAILED && e.after_ms >= 0)
        req->job->again_us = e.after_ms * 1000;
    req_clear_problems(&req->problems);
    return req_fail(req, ERR_WORKFLOW_HOOK_FAILED, NULL, "%s:%d: %s",
        e.file[0] ? e.file : hook->file, e.file[0] ? e.line : hook->line,
        operator_message(req, &e).p);
}

/* Finds the hook as it was when the job was asked for, or returns NULL. Older servers said its
 * place in the file only: it has to be of the job's kind at least. */
static const struct lua_hook *hook_of(const struct lua_generation *g, const struct wharf_json *args)
{
    enum hook_phase phase = json_get(args, "event")    ? PHASE_EVENT
                            : json_get(args, "due_us") ? PHASE_SCHEDULE
                                                       : PHASE_AFTER;
    wharf_str mark = json_text_or(args, "mark", "");
    const struct lua_hook *hook = mark.n ? generation_find(g, mark)
                                         : generation_find_named(g, json_text_or(args, "hook", ""));

    return hook && hook->phase == phase ? hook : NULL;
}

/* Tells that a hook is gone. A change or event that nobody hears of is lost; what a schedule was
 * to do then is planned anew by the one that took its place. */
static void tell_gone(const struct wharf_req *req)
{
    wharf_str name = json_text_or(req->body, "hook", "");

    log_write(json_get(req->body, "due_us") ? WHARF_LOG_WARN : WHARF_LOG_ERROR, "lua-hooks",
        req->request_id, "lua.hook_gone",
        "the hook %s that was to be called is not in its file any more as it was (%s); this call "
        "of it is dropped",
        name.p, json_text_or(req->body, "mark", name.p).p);
}

wharf_status operator_job(struct wharf_req *req, void *arg)
{
    /* what it writes has the hooks of this one too */
    struct lua_generation *g = operator_hold(req);
    wharf_str event = json_text_or(req->body, "event", "");
    const struct lua_hook *hook = g ? hook_of(g, req->body) : NULL;
    struct hook_call call = {.hook = hook};
    int64_t due = json_int_or(req->body, "due_us", 0);
    wharf_status s = WHARF_OK;

    if (g)
        generation_ref(g); /* the request lets go of it with each transaction of the hook's ops */
    if (!hook) {
        tell_gone(req);
    } else if (event.n) {
        if (event_input(req, hook, event, &call))
            s = after_run(req, g, hook, &call);
        else if (req->problems.n)
            s = WHARF_UNAVAILABLE;
    } else if (due) {
        call.context = operator_context(req, hook, str_z(""), str_z(""));
        if (schedule_tick(req, hook, due, &call.arg))
            s = after_run(req, g, hook, &call);
    } else {
        req->depth = (int)json_int_or(req->body, "depth", 0);
        call.arg = jw_text(req->arena, json_get(req->body, "change"));
        call.context = jw_text(req->arena, json_get(req->body, "context"));
        call.location = json_text_or(json_get(req->body, "context"), "location_id", "");
        s = after_run(req, g, hook, &call);
    }
    generation_unref(g);
    return s;
}
