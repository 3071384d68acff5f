/* web.c - Web Push: what a message to a browser looks like, and what its push service answers
 * (RFC 8030; spec 07 section 16.2). */
#include <sodium.h>
#include <stdlib.h>

#include "net/host_fetch.h"
#include "push/pusher.h"
#include "push/vapid.h"
#include "push/web_message.h"
#include "util/id.h"
#include "util/json.h"
#include "util/str.h"

enum { HEADERS = 8 };

wharf_str web_text(struct arena *a, const wharf_push_message *m)
{
    struct buf b;
    struct jw w;
    wharf_str text;

    buf_init(&b, 1 << 16);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    if (m->title.n || m->body.n) {
        jw_str(&w, "title", m->title);
        jw_str(&w, "body", m->body);
    }
    push_put_data(&w, m);
    jw_close(&w, '}');
    text = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return text;
}

/* Seals the message's text, by a pair and a salt of its own. Returns NULL or what is wrong. */
static const char *seal(struct message *m, size_t *ret_n)
{
    unsigned char salt[WEB_SALT], out[WEB_RECORD];
    struct web_reader reader;
    struct p256 once;

    if (!base64url_read(m->p256dh, reader.public, P256_PUBLIC) ||
        !base64url_read(m->auth, reader.auth, WEB_AUTH))
        return "the keys of the subscription are none";
    random_bytes(salt, sizeof(salt));
    *ret_n = p256_make(&once) ? web_message_seal(&reader, &once, salt, m->text, out) : 0;
    sodium_memzero(&once, sizeof(once));
    if (!*ret_n)
        return m->text.n > WEB_PLAIN_MAX ? "the message is too long"
                                         : "the keys of the subscription are none";
    free(m->body);
    m->body = push_copy((const char *)out, *ret_n);
    return NULL;
}

const char *web_send(wharf_req *req, wharf_pusher *p, struct message *m)
{
    const char *lines[HEADERS] = {"content-type: application/octet-stream",
        "content-encoding: aes128gcm", "user-agent: Wharf-Push/1"};
    wharf_fetch_request r = push_request(m);
    wharf_str authorization;
    size_t n = 0;
    const char *problem = seal(m, &n);

    if (problem)
        return problem;
    if (!vapid_header(req->arena, m->endpoint, p->account.contact, req->now_us, &authorization))
        return "the endpoint is no URL";
    r.url = m->endpoint;
    r.body = (wharf_str){m->body, n};
    r.headers = lines;
    r.n_headers = 3;
    lines[r.n_headers++] = arena_printf(req->arena, "authorization: %s", authorization.p).p;
    lines[r.n_headers++] = arena_printf(req->arena, "ttl: %u", m->ttl_s).p;
    lines[r.n_headers++] = m->urgent ? "urgency: high" : "urgency: normal";
    if (m->topic[0])
        lines[r.n_headers++] = arena_printf(req->arena, "topic: %s", m->topic).p;
    return host_fetch.start(req, &r, &m->fetch) == WHARF_OK ? NULL
                                                            : "the server has no room for it";
}

void web_judge(wharf_req *req, const wharf_fetch *f, wharf_push_result *ret)
{
    uint32_t status = ret->http_status;

    ret->end = status >= 200 && status < 300    ? WHARF_PUSH_TAKEN
               : status == 404 || status == 410 ? WHARF_PUSH_DEAD
               : status == 429 || status >= 500 ? WHARF_PUSH_AGAIN
                                                : WHARF_PUSH_REFUSED;
}
