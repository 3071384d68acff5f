/* workflow_record.c - what is kept of a run, and what failures lead to (spec 08 section 7). */
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

const char *run_status(const wharf_lua_outcome *o)
{
    return o->end == WHARF_LUA_OK         ? "succeeded"
           : o->end == WHARF_LUA_REJECTED ? "rejected"
           : o->end == WHARF_LUA_STOPPED  ? "canceled"
                                          : "failed";
}

void run_count(wharf_req *req, wharf_str type, const char *result)
{
    flow_metrics->count(req, WHARF_S("workflows_runs"),
        W->mem->format(req, "trigger=\"%.*s\",result=\"%s\"", (int)type.n, type.p, result), 1);
}

const char *run_code(const wharf_lua_outcome *o)
{
    static const char *const known[] = {ERR_WORKFLOW_BUDGET_INSTRUCTIONS,
        ERR_WORKFLOW_BUDGET_MEMORY, ERR_WORKFLOW_BUDGET_TIME, ERR_WORKFLOW_BUDGET_CALLS,
        ERR_OVERLOADED, ERR_WORKFLOW_PUBLISHER_INACTIVE};

    if (o->end == WHARF_LUA_REJECTED)
        return ERR_WORKFLOW_REJECTED;
    if (o->end == WHARF_LUA_STOPPED)
        return "workflow.canceled";
    for (size_t i = 0; o->end == WHARF_LUA_OVER && i < sizeof(known) / sizeof(known[0]); i++) {
        if (is(o->code, known[i]))
            return known[i];
    }
    return o->end == WHARF_LUA_NO_CELL ? ERR_OVERLOADED : ERR_WORKFLOW_FAILED;
}

void run_unpublished(struct run *r)
{
    r->outcome = (wharf_lua_outcome){.head = WHARF_HEAD(wharf_lua_outcome),
        .end = WHARF_LUA_OVER,
        .code = WHARF_S(ERR_WORKFLOW_PUBLISHER_INACTIVE),
        .message = WHARF_S("who published the workflow may do nothing any more: publish it again"),
        .field = WHARF_S("")};
}

wharf_val run_usage(wharf_req *req, const struct run *r)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "instructions", val_int((int64_t)r->outcome.instructions));
    W->json->put(out, "memory_peak", val_int((int64_t)r->outcome.memory_peak));
    W->json->put(out, "cpu_ms", val_int(r->outcome.cpu_us / 1000));
    W->json->put(out, "api_calls", val_int(r->asked.api_calls));
    W->json->put(out, "http_calls", val_int(r->asked.http_calls));
    W->json->close(out);
    return val_text(W->json->result_text(out));
}

wharf_val run_error(wharf_req *req, const struct run *r)
{
    static const char *const members[] = {"file", "line", "function", "traceback", "snippet"};
    const wharf_lua_outcome *o = &r->outcome;
    wharf_out *out = W->json->writer(req);

    if (o->end == WHARF_LUA_OK)
        return val_null();
    W->json->open(out, NULL, '{');
    W->json->put(out, "code", val_text(z(run_code(o))));
    W->json->put(out, "custom", val_text_or_null(o->end == WHARF_LUA_OVER ? WHARF_S("") : o->code));
    W->json->put(out, "message", val_text(o->message));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        W->json->put(
            out, members[i], o->error ? val_json(W->json->get(o->error, members[i])) : val_null());
    W->json->close(out);
    return val_text(W->json->result_text(out));
}

static bool same_json(wharf_req *req, const wharf_json *a, const wharf_json *b)
{
    wharf_out *x = W->json->writer(req), *y = W->json->writer(req);

    W->json->put(x, NULL, val_json(a));
    W->json->put(y, NULL, val_json(b));
    return same(W->json->result_text(x), W->json->result_text(y));
}

const wharf_json *run_given(wharf_req *req, const struct secret *secrets, const wharf_json **input,
    const wharf_json **trigger)
{
    const wharf_json *value = secrets_hide_json(req, secrets, *input),
                     *cause = secrets_hide_json(req, secrets, *trigger), *given = NULL;
    wharf_out *out = W->json->builder(req);

    if (same_json(req, value, *input) && same_json(req, cause, *trigger))
        return NULL;
    W->json->open(out, NULL, '{');
    W->json->put(out, "value", val_json(*input));
    W->json->put(out, "trigger", val_json(*trigger));
    W->json->close(out);
    if (W->json->result(req, out, &given) != WHARF_OK)
        W->err->clear(req);
    *input = value;
    *trigger = cause;
    return given;
}

wharf_val run_recorded(wharf_req *req, const char *name, wharf_val v, bool *ret_truncated)
{
    wharf_out *out = W->json->writer(req);
    wharf_str text;

    W->json->open(out, NULL, '{');
    W->json->put(out, name, v);
    W->json->close(out);
    text = W->json->result_text(out);
    *ret_truncated = text.n > RECORD_MAX;
    return *ret_truncated ? val_null() : val_text(text);
}

/* ---- failures ---- */

static wharf_status disable(wharf_req *req, wharf_str workflow_id)
{
    static const char sql[] = "UPDATE workflows.workflow SET enabled = false, disabled_reason = "
                              "'failures', updated_at = $3::timestamptz, "
                              "updated_by = 'sys', version = version + 1 WHERE organization_id = "
                              "$1::text AND id = $2::text AND enabled AND "
                              "deleted_at IS NULL RETURNING id";
    static const char drop_sql[] = "SELECT workflows.drop_waiting($2::text, $1::text, 'skipped')";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(workflow_id), val_time(W->req->now_us(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    s = query_about(req, drop_sql, workflow_id, &rows);
    if (s == WHARF_OK)
        s = schedule_clear(req, workflow_id);
    if (s == WHARF_OK)
        s = hooks_tell(req, workflow_id);
    return s == WHARF_OK ? W->event->emit(req, "workflow.disabled", "workflow", workflow_id, NULL)
                         : s;
}

static wharf_status workflow_record_tell(wharf_req *req, wharf_str run_id, int64_t count)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *extra;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "count", val_int(count));
    W->json->close(out);
    s = W->json->result(req, out, &extra);
    return s == WHARF_OK ? W->event->emit(req, "workflow_run.failed", "workflow_run", run_id, extra)
                         : s;
}

wharf_status run_failures(wharf_req *req, const wharf_rows *rows, uint32_t depth)
{
    wharf_status s = WHARF_OK;

    if (W->db->count(rows))
        flow_events->cause(req, WHARF_S(""), depth + 1, false); /* a workflow may listen to them */
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (row_int(rows, i, 2))
            s = workflow_record_tell(req, row_text(rows, i, 3), row_int(rows, i, 2));
        if (s == WHARF_OK && row_int(rows, i, 1) >= FAILURES_MAX)
            s = disable(req, row_text(rows, i, 0));
        else if (s == WHARF_OK && row_int(rows, i, 1) < 0)
            s = W->event->emit(req, "workflow.failing", "workflow", row_text(rows, i, 0), NULL);
    }
    if (W->db->count(rows))
        flow_events->cause(req, WHARF_S(""), depth, false);
    return s;
}
