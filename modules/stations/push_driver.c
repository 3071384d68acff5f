/* push_driver.c - the push services Pushy and webhook: what a push looks like, and what their
 * answers mean (the table of spec 04 section 9.2). FCM is the service wharf.push. */
#include <stdio.h>
#include <stdlib.h>

#include "push.h"

enum {
    CONNECT_MS = 5000, /* until the connection stands */
    TOTAL_MS = 15000, /* one push */
    ANSWER_MAX = 65536,
    HOST_TRANSFERS = 100
};

/* ---- what is sent ---- */

/* Writes the payload of section 9.1. */
static void put_payload(wharf_out *out, const struct push *p)
{
    W->json->put(out, "type", val_text(z(p->type)));
    W->json->put(out, "seq", val_int(p->seq));
    W->json->put(out, "station_id", val_text(z(p->station)));
    if (p->job[0])
        W->json->put(out, "job_id", val_text(z(p->job)));
    W->json->put(out, "at", val_time(p->at_us));
}

/* Returns the text that JSON has of a moment. */
static wharf_str moment_text(wharf_req *req, int64_t at_us)
{
    wharf_out *out = W->json->writer(req);
    wharf_str text;

    W->json->open(out, NULL, '[');
    W->json->put(out, NULL, val_time(at_us));
    W->json->close(out);
    text = W->json->result_text(out);
    return W->mem->format(req, "%.*s", (int)(text.n - 4), text.p + 2);
}

size_t push_texts(
    wharf_req *req, const struct push *p, wharf_str names[PUSH_TEXTS], wharf_str values[PUSH_TEXTS])
{
    static const char *const all[PUSH_TEXTS] = {"type", "seq", "station_id", "at", "job_id"};

    for (size_t i = 0; i < PUSH_TEXTS; i++)
        names[i] = z(all[i]);
    values[0] = z(p->type);
    values[1] = W->mem->format(req, "%lld", (long long)p->seq);
    values[2] = z(p->station);
    values[3] = moment_text(req, p->at_us);
    values[4] = z(p->job);
    return p->job[0] ? PUSH_TEXTS : PUSH_TEXTS - 1;
}

static wharf_str pushy_body(wharf_req *req, const struct push *p)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "to", val_text(z(p->device_token)));
    W->json->open(out, "data", '{');
    put_payload(out, p);
    W->json->close(out);
    W->json->put(out, "time_to_live", val_int(p->ttl));
    W->json->close(out);
    return W->json->result_text(out);
}

static wharf_str webhook_body(wharf_req *req, const struct push *p)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    put_payload(out, p);
    W->json->put(out, "device_token", val_text(z(p->device_token)));
    W->json->close(out);
    return W->json->result_text(out);
}

static bool is_driver(const struct push *p, const char *name)
{
    return !strcmp(p->driver, name);
}

/* Escapes a text for a query but for letters that need no escape; keys of services have no
 * others. */
static wharf_str in_query(wharf_req *req, wharf_str text)
{
    char *out = W->mem->alloc(req, 3 * text.n + 1), *to = out;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     strchr("-._~", c);

        to += snprintf(to, 4, plain ? "%c" : "%%%02X", c);
    }
    return (wharf_str){out, (size_t)(to - out)};
}

wharf_status push_send(wharf_req *req, struct push *p, wharf_fetch **ret_fetch)
{
    const char *lines[6] = {"content-type: application/json", "user-agent: Wharf-Push/1"};
    wharf_fetch_request r = {.head = WHARF_HEAD(wharf_fetch_request),
        .method = "POST",
        .headers = lines,
        .n_headers = 2,
        .flags = WHARF_FETCH_HTTP_IF_SET | WHARF_FETCH_PORT_80 | WHARF_FETCH_REUSE |
                 WHARF_FETCH_ANY_STATUS | WHARF_FETCH_ANY_BODY,
        .max_bytes = ANSWER_MAX,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .per_host = HOST_TRANSFERS,
        .tag = p};
    wharf_str body, secret = push_setting("webhook.secret", "");
    int64_t now_s = W->req->now_us(req) / SECOND_US;

    if (is_driver(p, "pushy")) {
        body = pushy_body(req, p);
        r.url = W->mem->format(req, "%s/push?api_key=%s", push_setting("pushy.endpoint", "").p,
            in_query(req, push_setting("pushy.api_key", "")).p);
    } else {
        body = webhook_body(req, p);
        r.url = push_setting("webhook.url", "");
        lines[r.n_headers++] = W->mem->format(req, "webhook-id: %s", p->id).p;
        lines[r.n_headers++] = W->mem->format(req, "webhook-timestamp: %lld", (long long)now_s).p;
        lines[r.n_headers++] = W->mem
                                   ->format(req, "webhook-signature: %s",
                                       print_crypto->sign(req, &secret, 1, z(p->id), now_s, body).p)
                                   .p;
    }
    free(p->body);
    p->body = push_need(strdup(body.p));
    r.body = (wharf_str){p->body, body.n};
    return print_fetch->start(req, &r, ret_fetch);
}

/* ---- what the answer means ---- */

/* Returns a word of the service such as NO_RECIPIENTS: nothing else of what it says is kept. */
static const char *push_driver_word(wharf_req *req, wharf_str text)
{
    bool plain = text.n && text.n <= 40 &&
                 strspn(text.p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == text.n;

    return plain ? W->mem->format(req, "%s", text.p).p : NULL;
}

/* Tells whether the code is about who shall get it; NO_RECIPIENTS is what Pushy says of a token it
 * does not know. */
static bool pushy_dead(
    wharf_req *req, const wharf_json *answer, uint32_t status, const char **ret_word)
{
    wharf_str code = json_text(answer, "code");

    *ret_word = push_driver_word(req, code);
    return status == 400 && (is(code, "NO_RECIPIENTS") || strstr(code.p, "TOKEN"));
}

static bool accepted(const struct push *p, const wharf_json *answer, uint32_t status)
{
    if (is_driver(p, "pushy"))
        return status == 200 && answer && json_truth(W->json->get(answer, "success"));
    return status >= 200 && status < 300;
}

struct push_outcome push_judge(wharf_req *req, const struct push *p, const wharf_fetch *f)
{
    struct push_outcome o = {.end = PUSH_FAILED, .status = print_fetch->status(f)};
    const wharf_json *answer = NULL;
    const char *said = NULL;
    bool dead = o.status == 410;

    if (!is(print_fetch->outcome(f), "done")) {
        o.end = PUSH_AGAIN;
        o.error = W->mem->format(req, "no answer: %s", print_fetch->outcome(f).p).p;
        return o;
    }
    if (!is_driver(p, "webhook") &&
        W->json->parse(req, print_fetch->text(f), &answer) != WHARF_OK) {
        W->err->clear(req);
        answer = NULL;
    }
    if (accepted(p, answer, o.status)) {
        o.end = PUSH_DELIVERED;
        return o;
    }
    if (!is_driver(p, "webhook"))
        dead = pushy_dead(req, answer, o.status, &said);
    o.error = said ? said : W->mem->format(req, "HTTP %u", o.status).p;
    if (dead)
        o.end = PUSH_DEAD;
    else if (o.status == 429 || o.status >= 500)
        o.end = PUSH_AGAIN;
    o.later_ms = o.end == PUSH_AGAIN ? print_fetch->retry_after_ms(req, f) : 0;
    return o;
}
