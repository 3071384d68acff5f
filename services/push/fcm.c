/* fcm.c - Firebase Cloud Messaging, HTTP v1: what a message looks like, and what the answers mean
 * (spec 04 section 9.2, spec 07 section 16.2). */
#include <stdlib.h>

#include "net/host_fetch.h"
#include "push/pusher.h"
#include "util/json.h"
#include "util/str.h"

enum {
    TTL_MAX_S = 2419200, /* FCM keeps a message at most */
    WORD_MAX = 40
};

/* ---- what is sent ---- */

static void put_platforms(
    struct arena *a, struct jw *w, const wharf_push_message *m, const char *topic)
{
    uint32_t ttl = m->ttl_s < TTL_MAX_S ? m->ttl_s : TTL_MAX_S;

    jw_open(w, "android", '{');
    jw_z(w, "priority", m->urgent ? "HIGH" : "NORMAL");
    jw_str(w, "ttl", arena_printf(a, "%us", ttl));
    if (topic[0])
        jw_z(w, "collapse_key", topic);
    jw_close(w, '}');
    if (!topic[0])
        return;
    jw_open(w, "apns", '{');
    jw_open(w, "headers", '{');
    jw_z(w, "apns-collapse-id", topic);
    jw_close(w, '}');
    jw_close(w, '}');
}

wharf_str fcm_text(struct arena *a, const wharf_push_message *m, const char *topic)
{
    struct buf b;
    struct jw w;
    wharf_str text;

    buf_init(&b, 1 << 16);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    jw_open(&w, "message", '{');
    jw_str(&w, "token", m->token);
    if (m->title.n || m->body.n) {
        jw_open(&w, "notification", '{');
        jw_str(&w, "title", m->title);
        jw_str(&w, "body", m->body);
        jw_close(&w, '}');
    }
    push_put_data(&w, m);
    put_platforms(a, &w, m, topic);
    jw_close(&w, '}');
    jw_close(&w, '}');
    text = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return text;
}

const char *fcm_send(wharf_req *req, wharf_pusher *p, struct message *m)
{
    const char *lines[3] = {"content-type: application/json", "user-agent: Wharf-Push/1"};
    wharf_fetch_request r = push_request(m);

    lines[2] = arena_printf(req->arena, "authorization: Bearer %s", p->token.bearer).p;
    r.headers = lines;
    r.n_headers = 3;
    r.url = arena_printf(
        req->arena, "%s/v1/projects/%s/messages:send", p->account.endpoint.p, p->token.project);
    r.body = m->text;
    m->token_until_us = p->token.until_us;
    return host_fetch.start(req, &r, &m->fetch) == WHARF_OK
               ? NULL
               : "the URL is not one that the server sends to";
}

/* ---- what the answer means ---- */

/* Returns a word of the service such as UNREGISTERED: nothing else of what it says is kept. */
static wharf_str fcm_word(wharf_str text)
{
    bool plain = text.n && text.n <= WORD_MAX &&
                 strspn(text.p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == text.n;

    return plain ? text : str_z("");
}

/* Reads error.details[]: the code of FCM, and the fields that are wrong. */
static wharf_str fcm_code_of(const struct wharf_json *error, bool *ret_about_token)
{
    const struct wharf_json *details = json_get(error, "details"), *fields;
    wharf_str code = str_z(""), one;

    *ret_about_token = strstr(json_text_or(error, "message", "").p, "registration token") != NULL;
    for (const struct wharf_json *d = details ? details->child : NULL; d; d = d->next) {
        one = json_text_or(d, "errorCode", "");
        if (one.n)
            code = one;
        fields = json_get(d, "fieldViolations");
        for (const struct wharf_json *v = fields ? fields->child : NULL; v; v = v->next)
            *ret_about_token |= str_eqz(json_text_or(v, "field", ""), "message.token");
    }
    return code.n ? code : json_text_or(error, "status", "");
}

bool fcm_judge(wharf_req *req, const wharf_fetch *f, wharf_push_result *ret)
{
    struct json_error e;
    const struct wharf_json *answer = json_parse(req->arena, host_fetch.text(f), &e);
    uint32_t status = ret->http_status;
    bool about_token = false;
    wharf_str code;

    if (status == 200 && json_text_or(answer, "name", "").n) {
        ret->end = WHARF_PUSH_TAKEN;
        return false;
    }
    code = fcm_code_of(json_get(answer, "error"), &about_token);
    ret->error = fcm_word(code);
    if ((status == 404 && str_eqz(code, "UNREGISTERED")) ||
        (status == 403 && str_eqz(code, "SENDER_ID_MISMATCH")) ||
        (status == 400 && str_eqz(code, "INVALID_ARGUMENT") && about_token))
        ret->end = WHARF_PUSH_DEAD;
    else if (status == 429 || status >= 500)
        ret->end = WHARF_PUSH_AGAIN;
    return status == 401;
}
