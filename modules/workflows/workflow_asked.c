/* workflow_asked.c - what a run asks for, and what it is told: the API with its rights, its
 * log, events and mail; kv.c has the store (spec 08 section 5). */
#include <string.h>

#include "workflows.h"
#include "workflows.gen.h"

enum { LOG_BYTES = 300 << 10 };

uint32_t refuse_op(
    wharf_req *req, uint32_t how, const char *code, const char *message, wharf_str *ret_text)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "code", val_text(z(code)));
    W->json->put(out, "message", val_text(z(message)));
    W->json->close(out);
    *ret_text = W->json->result_text(out);
    return how;
}

/* Writes what was said. What the engine cut ends anywhere, maybe inside of a secret: that is
 * looked for while it is known. */
static void put_said(wharf_req *req, struct asked *a, const wharf_json *said)
{
    const wharf_json *fields = W->json->get(said, "fields"),
                     *cut = fields ? W->json->get(fields, "truncated") : NULL;
    wharf_str message = json_text(said, "message"), text;

    W->json->put(a->logs, "level", val_json(W->json->get(said, "level")));
    W->json->put(a->logs, "message",
        val_text(json_truth(W->json->get(said, "cut")) ? secrets_hide_cut(req, a->secrets, message)
                                                       : message));
    if (!cut || !W->json->text(cut, &text)) {
        W->json->put(a->logs, "fields", val_json(fields));
        return;
    }
    W->json->open(a->logs, "fields", '{');
    for (const wharf_json *m = W->json->at(fields, 0); m; m = W->json->next(m))
        W->json->put(a->logs, W->json->key(m).p,
            m == cut ? val_text(secrets_hide_cut(req, a->secrets, text)) : val_json(m));
    W->json->close(a->logs);
}

/* Takes a log line. The engine bounds lines and bytes, as they are before they are JSON; a process
 * that somebody took over does not. */
static uint32_t workflow_asked_log_line(wharf_req *req, struct asked *a, const wharf_json *args)
{
    static const char full[] = "{\"level\":\"warn\",\"message\":\"truncated: the lines of a run "
                               "are at most 300 KiB of JSON\"}";
    wharf_out *own = W->json->writer(req);
    const wharf_json *said = args;

    W->json->put(own, NULL, val_json(args));
    if (a->log_bytes > LOG_BYTES)
        return WHARF_LUA_GIVEN;
    a->log_bytes += W->json->result_text(own).n;
    if (a->log_bytes > LOG_BYTES &&
        W->json->parse(req, (wharf_str){full, sizeof(full) - 1}, &said) != WHARF_OK)
        return WHARF_LUA_GIVEN;
    W->json->open(a->logs, NULL, '{');
    W->json->put(a->logs, "at", val_time(W->req->now_us(req)));
    put_said(req, a, said);
    W->json->put(a->logs, "file", val_json(W->json->get(args, "file")));
    W->json->put(a->logs, "line", val_json(W->json->get(args, "line")));
    W->json->close(a->logs);
    return WHARF_LUA_GIVEN;
}

static uint32_t api(
    wharf_req *req, struct asked *a, wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    wharf_str key = WHARF_S("");

    if (a->budget->in_write && !is(op, "api.get"))
        return refuse_op(req, WHARF_LUA_MISTAKE, "op.unknown",
            "before a change the API is only read; write in an after hook", ret_text);
    if (a->api_calls >= a->budget->api_calls)
        return refuse_op(req, WHARF_LUA_ENDED, ERR_WORKFLOW_BUDGET_CALLS,
            "the run made more calls of the API than it may", ret_text);
    a->api_calls++;
    if (!is(op, "api.get")) {
        a->writes++;
        key = W->mem->format(req, "%s:%u", a->run_key.p, a->writes);
    }
    return flow_lua->call(req, a->actor, op, args, key, ret_text);
}

/* Sends events and mail: the workflow's, about itself unless it says otherwise. */
static uint32_t workflow_asked_tell(
    wharf_req *req, struct asked *a, wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    bool mail = is(op, "mail.send");
    uint32_t *used = mail ? &a->mails : &a->emits,
             most = mail ? a->budget->mails : a->budget->emits;
    const wharf_lua_sender sender = {.head = WHARF_HEAD(wharf_lua_sender),
        .resource_type = WHARF_S("workflow"),
        .resource_id = a->code->workflow_id,
        .location_id = a->location_id,
        .key = W->mem->format(req, "%s.%u", a->run_key.p, a->mails + 1)};

    if (*used >= most)
        return refuse_op(req, WHARF_LUA_ENDED, ERR_WORKFLOW_BUDGET_CALLS,
            mail ? "the run sent more mails than it may"
                 : "the run emitted more events than it may",
            ret_text);
    ++*used;
    return flow_lua->tell(req, a->actor, &sender, op, args, ret_text);
}

static uint32_t workflow_asked_answer(
    wharf_req *req, struct asked *a, wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    if (is(op, "api.get") || is(op, "api.post") || is(op, "api.delete"))
        return api(req, a, op, args, ret_text);
    if (op.n > 3 && !memcmp(op.p, "kv.", 3))
        return kv_answer(req, a, op, args, ret_text);
    if (is(op, "http.request") || is(op, "http.all"))
        return http_answer(req, a, op, args, ret_text);
    if (is(op, "sleep"))
        return sleep_answer(req, a, args, ret_text);
    if (is(op, "lock.take") || is(op, "lock.give"))
        return lock_answer(req, a, op, args, ret_text);
    if (is(op, "emit") || is(op, "mail.send"))
        return workflow_asked_tell(req, a, op, args, ret_text);
    if (is(op, "secret"))
        return secret_answer(req, a, args, ret_text);
    if (is(op, "budget")) {
        *ret_text = W->mem->format(req, "{\"api_calls\":%u,\"http_calls\":%u}",
            a->budget->api_calls - a->api_calls, a->budget->http_calls - a->http_calls);
        return WHARF_LUA_GIVEN;
    }
    return refuse_op(req, WHARF_LUA_MISTAKE, "op.unknown",
        "this function is not available on this server yet", ret_text);
}

uint32_t asked_answer(
    wharf_req *req, void *arg, wharf_str op, const wharf_json *args, wharf_str *ret_text)
{
    struct asked *a = arg;
    uint32_t how = WHARF_LUA_GIVEN;

    if (is(op, "log"))
        return workflow_asked_log_line(req, a, args);
    if (!is(op, "note"))
        how = workflow_asked_answer(req, a, op, args, ret_text);
    if (a->io)
        recording_add(req, a, op, args, how, *ret_text);
    return how;
}
