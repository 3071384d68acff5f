/* attempt.c - one request to a receiver: what it carries, and what its end means (spec 07
 * sections 4, 6 and 7).
 *
 * Leaves to others: when (delivery.c, webhook_engine.c), what follows for the webhook
 * (webhook_health.c). */
#include "reply.h"
#include "webhooks.h"

enum {
    GONE = 410, /* status of a receiver that wants nothing more */
    HEADERS_FIXED = 12,
    HEADERS_MAX = HEADERS_FIXED + 20,
    CONNECT_MS = 5000, /* until the connection stands */
    ENDPOINT_TRANSFERS = 1000
};

/* ---- sending ---- */

struct lines {
    const char *line[HEADERS_MAX];
    size_t n;
    wharf_out *shown;
};

static void attempt_add(wharf_req *req, struct lines *l, const char *name, wharf_str value)
{
    if (l->n == HEADERS_MAX)
        return;
    l->line[l->n++] = W->mem->format(req, "%s: %.*s", name, (int)value.n, value.p).p;
    W->json->put(l->shown, name, val_text(value));
}

static void add_custom(wharf_req *req, struct lines *l, const wharf_json *headers)
{
    for (const wharf_json *m = headers ? W->json->at(headers, 0) : NULL; m && l->n < HEADERS_MAX;
         m = W->json->next(m)) {
        wharf_str value = WHARF_S(""), name = W->json->key(m);

        W->json->text(m, &value);
        l->line[l->n++] =
            W->mem->format(req, "%.*s: %.*s", (int)name.n, name.p, (int)value.n, value.p).p;
        W->json->put(l->shown, W->mem->dup(req, name.p, name.n).p, val_text(WHARF_S("***")));
    }
}

static void attempt_add_event(
    wharf_req *req, struct lines *l, const struct target *t, const struct message *m, int64_t now_s)
{
    attempt_add(req, l, "content-type", WHARF_S("application/json"));
    attempt_add(req, l, "user-agent", WHARF_S("Wharf-Webhooks/1"));
    attempt_add(req, l, "webhook-id", m->event_id);
    attempt_add(req, l, "webhook-timestamp", W->mem->format(req, "%lld", (long long)now_s));
    attempt_add(req, l, "webhook-signature",
        hooks_crypto->sign(req, t->secrets.secret, t->secrets.n, m->event_id, now_s, m->body));
    attempt_add(req, l, "wharf-webhook", t->webhook_id);
    attempt_add(req, l, "wharf-event-type", m->type);
    if (m->sequence)
        attempt_add(req, l, "wharf-sequence", W->mem->format(req, "%lld", (long long)m->sequence));
    attempt_add(req, l, "wharf-attempt", W->mem->format(req, "%lld", (long long)m->number));
    attempt_add(req, l, "wharf-lane", m->lane);
    if (m->superseded)
        attempt_add(
            req, l, "wharf-superseded", W->mem->format(req, "%lld", (long long)m->superseded));
    if (m->traceparent.n)
        attempt_add(req, l, "traceparent", m->traceparent);
}

wharf_status attempt_start(wharf_req *req, const struct target *t, const struct message *m,
    void *tag, wharf_fetch **ret_fetch, wharf_str *ret_request)
{
    struct lines l = {.shown = W->json->writer(req)};
    wharf_fetch_request r = {.head = WHARF_HEAD(wharf_fetch_request),
        .method = "POST",
        .url = t->url,
        .family = "webhook",
        .headers = l.line,
        .body = m->body,
        .flags = WHARF_FETCH_HTTP_IF_SET | WHARF_FETCH_PORT_80 | WHARF_FETCH_NO_FRAGMENT |
                 WHARF_FETCH_REUSE | WHARF_FETCH_GZIP | WHARF_FETCH_ANY_STATUS |
                 WHARF_FETCH_ANY_BODY,
        .max_bytes = BODY_READ,
        .connect_ms = t->timeout_ms < CONNECT_MS ? t->timeout_ms : CONNECT_MS,
        .first_byte_ms = t->timeout_ms,
        .stall_ms = t->timeout_ms,
        .stall_bytes = 1,
        .total_ms = t->timeout_ms,
        .per_host = ENDPOINT_TRANSFERS,
        .organization = t->organization,
        .tag = tag};

    W->json->open(l.shown, NULL, '{');
    W->json->put(l.shown, "url", val_text(t->url));
    W->json->open(l.shown, "headers", '{');
    attempt_add_event(req, &l, t, m, W->req->now_us(req) / SECOND_US);
    add_custom(req, &l, t->headers);
    W->json->close(l.shown);
    W->json->close(l.shown);
    r.n_headers = l.n;
    *ret_request = W->json->result_text(l.shown);
    return hooks_fetch->start(req, &r, ret_fetch);
}

/* ---- what became of it ---- */

struct meaning {
    const char *outcome, *error, *text;
};
static const struct meaning meanings[] = {
    {"blocked_address", "blocked_address", "The host's address is not public"},
    {"bad_url", "blocked_address", "The URL is not one that the server sends to"},
    {"bad_protocol", "blocked_address", "The URL is not https"},
    {"bad_host", "blocked_address", "The host is not public"},
    {"bad_header", "protocol",
        "A header of the webhook is one that only the server sets, or is not allowed in HTTP"},
    {"no_such_name", "dns", "There is no such host"},
    {"no_address", "dns", "The name servers gave no address of the host"},
    {"no_connection", "connect", "The host did not accept the connection"},
    {"tls", "tls", "The TLS handshake failed, or the certificate is not the host's"},
    {"timeout", "timeout", "The receiver did not answer in time"},
};

static void tell_outcome(struct result *r, wharf_str outcome)
{
    r->error = "protocol";
    r->error_text = WHARF_S("What the receiver sent is no HTTP answer");
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (is(outcome, meanings[i].outcome)) {
            r->error = meanings[i].error;
            r->error_text = (wharf_str){meanings[i].text, strlen(meanings[i].text)};
        }
    }
    r->refused = is(outcome, "no_such_name") || !strcmp(r->error, "blocked_address");
}

/* Returns the text in whole characters: one that was cut in the middle does not make the text
 * something else. */
static wharf_str whole_characters(wharf_str s)
{
    size_t n = s.n;

    for (size_t back = 0; back < 3 && n && ((unsigned char)s.p[n - 1] & 0xC0) == 0x80; back++)
        n--;
    if (n && (unsigned char)s.p[n - 1] >= 0xC0)
        n--;
    return (wharf_str){s.p, n};
}

static void keep_body(wharf_req *req, wharf_str body, bool more, struct result *r)
{
    r->truncated = more || body.n > BODY_KEPT;
    if (body.n > BODY_KEPT)
        body.n = BODY_KEPT;
    if (!hooks_text->is_text(body) && r->truncated && hooks_text->is_text(whole_characters(body)))
        body = whole_characters(body);
    if (hooks_text->is_text(body)) {
        r->body = W->mem->dup(req, body.p, body.n);
    } else {
        r->body = hooks_crypto->base64(req, body);
        r->encoding = WHARF_S("base64");
    }
}

static wharf_str printable(wharf_req *req, wharf_str s)
{
    if (hooks_text->is_text(s))
        return s;
    char *out = W->mem->alloc(req, s.n + 1);

    for (size_t i = 0; i < s.n; i++)
        out[i] = (unsigned char)s.p[i] >= ' ' && (unsigned char)s.p[i] < 0x7f ? s.p[i] : '?';
    return (wharf_str){out, s.n};
}

/* Keeps the answer's headers as an object, in lower case; of several lines of one name the values
 * by comma. */
static wharf_str keep_headers(wharf_req *req, wharf_str head)
{
    struct {
        wharf_str name, value;
    } kept[64];
    wharf_out *out = W->json->writer(req);
    wharf_str name, value;
    size_t n = 0, at = 0, k;

    while (reply_line(head, &at, &name, &value)) {
        char *lower = W->mem->alloc(req, name.n + 1);

        for (size_t i = 0; i < name.n; i++)
            lower[i] = name.p[i] >= 'A' && name.p[i] <= 'Z' ? (char)(name.p[i] + 32) : name.p[i];
        name = printable(req, (wharf_str){lower, name.n});
        value = printable(req, value);
        for (k = 0; k < n && !same(kept[k].name, name);)
            k++;
        if (k < n) {
            kept[k].value = W->mem->format(
                req, "%.*s, %.*s", (int)kept[k].value.n, kept[k].value.p, (int)value.n, value.p);
        } else if (n < sizeof(kept) / sizeof(kept[0])) {
            kept[n].name = name;
            kept[n++].value = value;
        }
    }
    W->json->open(out, NULL, '{');
    for (k = 0; k < n; k++)
        W->json->put(
            out, W->mem->dup(req, kept[k].name.p, kept[k].name.n).p, val_text(kept[k].value));
    W->json->close(out);
    return W->json->result_text(out);
}

static void judge_answer(wharf_req *req, const wharf_fetch *f, struct result *r)
{
    wharf_str head = hooks_fetch->answer_head(f);
    int64_t now = W->req->now_us(req);

    r->headers = keep_headers(req, head);
    reply_directives(head, &r->abort, &r->disable);
    if (r->status == GONE)
        r->abort = r->disable = true;
    if (r->status >= 200 && r->status < 300) {
        r->outcome = OUT_SUCCESS;
    } else if (r->status == 429) {
        r->outcome = OUT_RATE_LIMITED;
        r->pause_ms = 0;
        reply_pause(head, now, &r->pause_ms);
    } else if (r->status >= 502 && r->status <= 504) {
        reply_later(head, now, &r->later_ms);
    }
    if (r->outcome != OUT_SUCCESS) {
        r->error = "http_status";
        r->error_text = W->mem->format(req, "The receiver answered %u", r->status);
    }
}

void attempt_judge(wharf_req *req, const wharf_fetch *f, struct result *ret)
{
    wharf_str outcome = hooks_fetch->outcome(f);
    bool more = is(outcome, "too_large");

    *ret = (struct result){.outcome = OUT_FAILURE,
        .error = "",
        .error_text = WHARF_S(""),
        .headers = WHARF_S(""),
        .body = WHARF_S(""),
        .encoding = WHARF_S(""),
        .duration_us = hooks_fetch->elapsed_us(f)};
    /* An answer that says more than is read, or says it compressed, is an answer. */
    if (is(outcome, "done") ||
        ((more || is(outcome, "content_encoding")) && hooks_fetch->status(f))) {
        ret->status = hooks_fetch->status(f);
        keep_body(req, hooks_fetch->text(f), more, ret);
        judge_answer(req, f, ret);
    } else {
        tell_outcome(ret, outcome);
    }
}
