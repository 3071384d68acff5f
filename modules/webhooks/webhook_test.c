/* webhook_test.c - the test event: sent by POST /v1/webhooks/:webhook/test, on create when
 * asked for, and before a disabled webhook comes back (spec 07 section 5). */
#include "webhooks.h"
#include "webhooks.gen.h"

wharf_status target_of(wharf_req *req, const wharf_rec *rec, struct target *ret)
{
    wharf_str headers = field_text(rec, WEBHOOK_SEALED_HEADERS);
    wharf_status s = WHARF_OK;

    *ret = (struct target){.webhook_id = W->res->id(rec),
        .url = field_text(rec, WEBHOOK_URL),
        .timeout_ms = get_integer(rec, WEBHOOK_TIMEOUT_MS, 15000)};
    if (headers.n)
        s = W->json->parse(req, headers, &ret->headers);
    return s == WHARF_OK ? secrets_read(req, field_text(rec, WEBHOOK_SECRETS), W->req->now_us(req),
                               &ret->secrets)
                         : s;
}

static const char *actor_type(wharf_str actor)
{
    return actor.n > 5 && !memcmp(actor.p, "user_", 5)  ? "user"
           : actor.n > 4 && !memcmp(actor.p, "dev_", 4) ? "device"
           : is(actor, "sys")                           ? "system"
                                                        : "api_key";
}

/* Makes a body as an event has it; it is not stored and has no sequence. */
static wharf_str webhook_test_body(
    wharf_req *req, const struct target *t, const struct message *m, const wharf_json *example)
{
    wharf_out *out = W->json->writer(req);
    wharf_str actor = W->req->actor(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(m->event_id));
    W->json->put(out, "object", val_text(WHARF_S("event")));
    W->json->put(out, "type", val_text(m->type));
    W->json->put(out, "timestamp", val_time(W->req->now_us(req)));
    W->json->put(out, "api_version", val_text(WHARF_S("v1")));
    W->json->put(out, "sequence", val_null());
    W->json->put(out, "organization_id", val_text(W->req->organization(req)));
    W->json->put(out, "location_id", val_null());
    W->json->put(out, "resource_type", val_text(WHARF_S("webhook")));
    W->json->put(out, "resource_id", val_text(t->webhook_id));
    W->json->put(out, "batch_id", val_null());
    W->json->open(out, "actor", '{');
    W->json->put(out, "type", val_text(z(actor_type(actor))));
    W->json->put(out, "id", val_text(actor));
    W->json->put(out, "name", val_null());
    W->json->close(out);
    if (example) {
        W->json->put(out, "data", val_json(example));
    } else {
        W->json->open(out, "data", '{');
        W->json->put(out, "id", val_text(t->webhook_id));
        W->json->put(out, "object", val_text(WHARF_S("webhook")));
        W->json->close(out);
    }
    W->json->put(out, "previous_attributes", val_null());
    W->json->close(out);
    return W->json->result_text(out);
}

void put_response(wharf_req *req, wharf_out *out, const struct result *r)
{
    const wharf_json *headers;

    if (!r->headers.n || W->json->parse(req, r->headers, &headers) != WHARF_OK) {
        W->json->put(out, "response", val_null());
        return;
    }
    W->json->open(out, "response", '{');
    W->json->put(out, "status", val_int(r->status));
    W->json->put(out, "headers", val_json(headers));
    W->json->put(out, "body", val_text(r->body));
    if (r->encoding.n)
        W->json->put(out, "body_encoding", val_text(r->encoding));
    W->json->put(out, "body_truncated", val_bool(r->truncated));
    W->json->close(out);
}

void put_error(wharf_out *out, const struct result *r)
{
    if (!*r->error) {
        W->json->put(out, "error", val_null());
        return;
    }
    W->json->open(out, "error", '{');
    W->json->put(out, "code", val_text(z(r->error)));
    W->json->put(out, "message", val_text(r->error_text));
    W->json->close(out);
}

static wharf_status webhook_test_show(wharf_req *req, const struct target *t,
    const struct message *m, const struct result *r, wharf_str request, const wharf_json **ret)
{
    static const char *const outcomes[] = {"success", "failure", "rate_limited"};
    wharf_out *out = W->json->builder(req);
    const wharf_json *sent;
    int64_t now = W->req->now_us(req);
    wharf_status s = W->json->parse(req, request, &sent);

    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("outgoing_webhook")));
    W->json->put(out, "id", val_text(W->req->new_id(req, "out_whk")));
    W->json->put(out, "event_id", val_text(m->event_id));
    W->json->put(out, "webhook_id", val_text(t->webhook_id));
    W->json->put(out, "delivery_id", val_null());
    W->json->put(out, "attempt", val_int(1));
    W->json->put(out, "trigger", val_text(WHARF_S("test")));
    W->json->put(out, "status", val_text(z(outcomes[r->outcome])));
    W->json->put(out, "counts_as_retry", val_bool(false));
    W->json->put(out, "delivery_status", val_null());
    W->json->put(out, "request", val_json(sent));
    put_response(req, out, r);
    put_error(out, r);
    W->json->put(out, "retry_after_ms", val_null());
    W->json->put(out, "next_attempt_at", val_null());
    W->json->put(out, "started_at", val_time(now));
    W->json->put(out, "finished_at", val_time(now + r->duration_us));
    W->json->put(out, "duration_ms", val_int(r->duration_us / 1000));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

wharf_status attempt_test(wharf_req *req, const struct target *t, wharf_str type,
    const wharf_json *example, struct result *ret, const wharf_json **ret_attempt)
{
    struct message m = {.event_id = W->req->new_id(req, "evt"),
        .type = type,
        .lane = WHARF_S("direct"),
        .traceparent = WHARF_S(""),
        .number = 1};
    wharf_fetch *f;
    wharf_str request;
    wharf_status s;

    m.body = webhook_test_body(req, t, &m, example);
    s = attempt_start(req, t, &m, NULL, &f, &request);
    if (s != WHARF_OK)
        return s;
    hooks_fetch->wait(req, f);
    attempt_judge(req, f, ret);
    hooks_fetch->done(req, f);
    return webhook_test_show(req, t, &m, ret, request, ret_attempt);
}

wharf_status last_test_of(wharf_req *req, const struct result *r, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "at", val_time(W->req->now_us(req)));
    W->json->put(out, "success", val_bool(r->outcome == OUT_SUCCESS));
    W->json->put(out, "response_status", r->status ? val_int(r->status) : val_null());
    put_error(out, r);
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* Keeps the last test, which is not a change of the webhook: no version, no event. */
static wharf_status keep_last_test(wharf_req *req, wharf_str id, const struct result *r)
{
    static const char sql[] = "UPDATE webhooks.webhook SET last_test = $3::jsonb WHERE "
                              "organization_id = $1::text AND id = $2::text";
    const wharf_json *last;
    wharf_status s = last_test_of(req, r, &last);
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(id), val_json(s == WHARF_OK ? last : NULL)};

    return s == WHARF_OK ? W->db->exec(req, sql, args, 3, NULL) : s;
}

static wharf_status webhook_test_example_of(wharf_req *req, wharf_str type, const wharf_json **ret)
{
    wharf_event_type t = {.head = WHARF_HEAD(wharf_event_type)};

    if (!hooks_events->type_find(hooks_self, type, &t))
        return W->err->fail(req, ERR_WEBHOOK_EVENT_UNKNOWN, "type", NULL);
    return W->json->parse(req, t.example, ret);
}

wharf_status webhook_test(wharf_req *req, void *arg)
{
    const wharf_json *body, *attempt, *sent, *example = NULL;
    wharf_str id, type = WHARF_S("webhook.test");
    struct target target;
    struct result result;
    const wharf_rec *rec;
    wharf_status s = find_webhook(req, 0, &rec, &id);

    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s != WHARF_OK)
        return s;
    sent = W->json->get(body, "type");
    if (sent && W->json->text(sent, &type))
        s = webhook_test_example_of(req, type, &example);
    if (s == WHARF_OK)
        s = target_of(req, rec, &target);
    if (s == WHARF_OK)
        s = attempt_test(req, &target, type, example, &result, &attempt);
    if (s == WHARF_OK)
        s = keep_last_test(req, id, &result);
    if (s != WHARF_OK)
        return s;
    wharf_out *out = W->req->respond(req, 200,
        result.outcome == OUT_SUCCESS ? "The receiver took the test event"
                                      : "The receiver did not take the test event");
    W->json->put(out, NULL, val_json(attempt));
    return WHARF_OK;
}
