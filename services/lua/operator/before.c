/* before.c - before hooks: what they are shown of a write, and what they make of its body. */
#include "lua/operator/operator_inside.h"

#include "resource/access.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum { INPUT_BYTES = 64 << 20 };

static void before_text_if_any(struct jw *w, const char *key, wharf_str text)
{
    if (text.n)
        jw_str(w, key, text);
}

wharf_str operator_context(
    struct wharf_req *req, const struct lua_hook *hook, wharf_str location, wharf_str event)
{
    const struct principal *who = req->access.who;
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, 1 << 16);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_open(&w, "run", '{');
    jw_z(&w, "id", req->request_id);
    jw_z(&w, "hook", hook->name);
    jw_int(&w, "depth", req->depth);
    jw_close(&w, '}');
    before_text_if_any(&w, "organization_id", who ? who->organization : str_z(""));
    before_text_if_any(&w, "location_id", location);
    before_text_if_any(&w, "event_id", event);
    if (who && who->actor_id.n) { /* an unknown key has no actor */
        jw_open(&w, "actor", '{');
        jw_str(&w, "type", who->actor_type);
        jw_str(&w, "id", who->actor_id);
        jw_str(&w, "name", who->actor_name);
        jw_close(&w, '}');
    }
    jw_close(&w, '}');
    text = arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

/* ---- what comes of it ---- */

wharf_str operator_message(struct wharf_req *req, const struct sandbox_error *e)
{
    return hook_message(req->engine->config, req->arena, e);
}

void operator_failed(
    struct wharf_req *req, const struct lua_hook *hook, const struct sandbox_error *e)
{
    wharf_str message = operator_message(req, e);

    log_write(WHARF_LOG_ERROR, "lua-hooks", req->request_id, "lua.hook_failed",
        "%s:%d: %s%s%s (hook of line %d)", e->file[0] ? e->file : hook->file,
        e->file[0] ? e->line : hook->line, message.p, e->end == SANDBOX_OVER ? ": " : "",
        e->end == SANDBOX_OVER ? e->code : "", hook->line);
}

wharf_status operator_rejected(struct wharf_req *req, const struct sandbox_error *e)
{
    wharf_str custom = arena_printf(req->arena, "custom.%s", e->code);
    wharf_str message = arena_dupz(req->arena, e->message);

    if (e->field[0])
        req_problem(
            req, ERR_WORKFLOW_REJECTED, arena_dupz(req->arena, e->field), "rejected", message);
    return req_problem(req, ERR_WORKFLOW_REJECTED, custom, "rejected", message);
}

/* Handles a hook that failed or refused. Returns WHARF_OK when the write goes on as if it had not
 * been called. */
static wharf_status before_not_good(
    struct wharf_req *req, const struct lua_hook *hook, const struct sandbox_error *e)
{
    if (e->end == SANDBOX_REJECTED)
        return operator_rejected(req, e);
    operator_failed(req, hook, e);
    if (hook->ignore)
        return WHARF_OK;
    return req_fail(req, ERR_WORKFLOW_HOOK_FAILED, NULL,
        "A rule of this server failed, so nothing was written; its operator finds the reason in "
        "the log, by %s",
        req->request_id);
}

static wharf_status before_run_one(struct wharf_req *req, struct lua_generation *g, struct write *w,
    const struct lua_hook *hook, bool *ret_changed)
{
    wharf_str location = write_location(w),
              row = w->op == OP_DELETE ? str_z("") : write_row_to_be(req, w);
    struct hook_call call = {.hook = hook,
        .arg = write_change_text(req, w, row, true),
        .context = operator_context(req, hook, location, str_z("")),
        .location = location,
        .keep = w->op == OP_DELETE ? NULL : "input"};
    const struct wharf_json *input;
    struct sandbox_error e;
    struct json_error bad;
    struct buf kept;
    bool good;

    buf_init(&kept, INPUT_BYTES);
    good = generation_call(g, req, &call, &kept, &e);
    input = good && call.keep
                ? json_parse(req->arena, arena_dup_str(req->arena, buf_str(&kept)), &bad)
                : NULL;
    buf_done(&kept);
    if (!good)
        return before_not_good(req, hook, &e);
    if (!input || json_equal(input, w->body))
        return WHARF_OK;
    if (!json_is(input, JSON_OBJECT)) {
        e = (struct sandbox_error){
            .end = SANDBOX_RAISED, .message = "change.input must stay a table of fields"};
        return before_not_good(req, hook, &e);
    }
    w->body = input;
    *ret_changed = true;
    return write_values(req, w);
}

wharf_status operator_before(struct wharf_req *req, struct write *w, bool *ret_changed)
{
    struct lua_generation *g = operator_hold(req);
    const struct hook_list *list;
    wharf_status s = WHARF_OK;

    *ret_changed = false;
    if (!g)
        return WHARF_OK;
    list = &g->before[hook_place(g->engine, w->res, w->op)];
    for (size_t i = 0; i < list->n && s == WHARF_OK; i++)
        s = before_run_one(req, g, w, list->items[i], ret_changed);
    return s;
}
