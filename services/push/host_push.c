/* host_push.c - the service wharf.push (plugin-api/wharf/service/push.h): the messages of a pusher
 * from send() to next(). */
#include <openssl/sha.h>
#include <stdlib.h>

#include "net/host_fetch.h"
#include "config/config.h"
#include "push/host_push.h"
#include "push/pusher.h"
#include "push/vapid.h"
#include "push/web_message.h"
#include "util/log.h"
#include "util/str.h"

enum {
    CONNECT_MS = 5000, /* until the connection stands */
    TOTAL_MS = 15000, /* one push */
    ANSWER_MAX = 65536,
    HOST_TRANSFERS = 100,
    MESSAGE_ARENA = 2048
};

char *push_copy(const char *p, size_t n)
{
    char *copy = malloc(n + 1);

    if (!copy)
        abort();
    memcpy(copy, p, n);
    copy[n] = 0;
    return copy;
}

/* ---- lists ---- */

static void host_push_add(struct message_list *list, struct message *m)
{
    m->next = NULL;
    m->prev = list->last;
    *(list->last ? &list->last->next : &list->first) = m;
    list->last = m;
}

static void host_push_take_out(struct message_list *list, struct message *m)
{
    *(m->prev ? &m->prev->next : &list->first) = m->next;
    *(m->next ? &m->next->prev : &list->last) = m->prev;
}

static void message_free(struct message *m)
{
    free(m->body);
    arena_free(m->arena);
}

static void host_push_over(
    wharf_pusher *p, struct message *m, enum wharf_push_end end, const char *error)
{
    m->result.end = end;
    m->result.error = arena_dupz(m->arena, error);
    host_push_add(&p->over, m);
}

/* ---- sending ---- */

void push_put_data(struct jw *w, const wharf_push_message *m)
{
    jw_open(w, "data", '{');
    for (size_t i = 0; i < m->n_data; i++) {
        jw_key(w, m->names[i]);
        jw_str(w, NULL, m->values[i]);
    }
    jw_close(w, '}');
}

wharf_fetch_request push_request(const struct message *m)
{
    return (wharf_fetch_request){.head = WHARF_HEAD(wharf_fetch_request),
        .method = "POST",
        .flags = WHARF_FETCH_HTTP_IF_SET | WHARF_FETCH_PORT_80 | WHARF_FETCH_REUSE |
                 WHARF_FETCH_ANY_STATUS | WHARF_FETCH_ANY_BODY,
        .max_bytes = ANSWER_MAX,
        .connect_ms = CONNECT_MS,
        .total_ms = TOTAL_MS,
        .per_host = HOST_TRANSFERS,
        .organization = m->organization,
        .tag = (void *)m};
}

static void send_now(wharf_req *req, wharf_pusher *p, struct message *m)
{
    const char *problem = m->kind == WHARF_PUSH_FCM ? fcm_send(req, p, m) : web_send(req, p, m);

    if (problem)
        host_push_over(p, m, WHARF_PUSH_REFUSED, problem);
    else
        host_push_add(&p->sent, m);
}

/* Sends what waited for a token; without one it is told so. */
static void release_held(wharf_req *req, wharf_pusher *p, uint32_t status, const char *why)
{
    struct message_list held = p->held;
    struct message *m;

    p->held = (struct message_list){NULL, NULL};
    while ((m = held.first)) {
        host_push_take_out(&held, m);
        m->result.http_status = status;
        if (why)
            host_push_over(p, m, WHARF_PUSH_AGAIN, why);
        else
            send_now(req, p, m);
    }
}

static void ask_for_token(wharf_req *req, wharf_pusher *p)
{
    if (p->token.exchange || fcm_token_ask(req, p))
        return;
    log_write(WHARF_LOG_WARN, req->plugin ? req->plugin->name : NULL, NULL, "push.account",
        "the file of the service account can't be used");
    release_held(req, p, 0, "token: the service account can't be used");
}

static void dispatch(wharf_req *req, wharf_pusher *p, struct message *m)
{
    const struct fcm_token *t = &p->token;

    if (m->kind != WHARF_PUSH_FCM || (t->bearer && req->now_us < t->until_us && !t->exchange)) {
        send_now(req, p, m);
        return;
    }
    host_push_add(&p->held, m);
    ask_for_token(req, p);
}

/* Makes the name of a topic: 32 characters of base64url (RFC 8030 section 5.4). */
static void name_topic(struct message *m, wharf_str topic)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];

    if (!topic.n)
        return;
    SHA256((const unsigned char *)topic.p, topic.n, hash);
    memcpy(m->topic, base64url(m->arena, hash, 24).p, sizeof(m->topic));
}

static wharf_str copied(struct arena *a, wharf_str s)
{
    return s.p ? arena_dup_str(a, s) : str_z("");
}

static void p_send(wharf_req *req, wharf_pusher *p, const wharf_push_message *given)
{
    size_t known = given->head.size < sizeof(*given) ? given->head.size : sizeof(*given);
    struct arena *a = arena_small(MESSAGE_ARENA);
    struct message *m = ARENA_NEW(a, struct message);
    wharf_push_message w = {.kind = 0};

    memcpy(&w, given, known);
    *m = (struct message){.kind = w.kind,
        .ttl_s = w.ttl_s,
        .urgent = w.urgent,
        .token = copied(a, w.token),
        .endpoint = copied(a, w.endpoint),
        .p256dh = copied(a, w.p256dh),
        .auth = copied(a, w.auth),
        .organization = copied(a, w.organization),
        .arena = a,
        .result.tag = w.tag};
    name_topic(m, w.topic);
    m->text = w.kind == WHARF_PUSH_FCM ? fcm_text(a, &w, m->topic) : web_text(a, &w);
    dispatch(req, p, m);
}

/* ---- answers ---- */

/* Tells whether the fetch ended before anything was sent, because of the URL itself. */
static bool never_sent(wharf_str outcome)
{
    return str_starts(outcome, "bad_");
}

/* Judges an answer. Returns true when the token was refused. */
static bool host_push_judge(wharf_req *req, struct message *m, const wharf_fetch *f)
{
    wharf_push_result *r = &m->result;
    wharf_str outcome = host_fetch.outcome(f);
    bool renew = false;

    r->http_status = host_fetch.status(f);
    r->later_ms = 0;
    r->end = WHARF_PUSH_REFUSED;
    r->error = str_z("");
    if (!str_eqz(outcome, "done")) {
        r->end = never_sent(outcome) ? WHARF_PUSH_REFUSED : WHARF_PUSH_AGAIN;
        r->error = arena_printf(m->arena, "no answer: %.*s", STR_ARG(outcome));
        return false;
    }
    if (m->kind == WHARF_PUSH_FCM)
        renew = fcm_judge(req, f, r);
    else
        web_judge(req, f, r);
    if (r->end != WHARF_PUSH_TAKEN && !r->error.n)
        r->error = arena_printf(m->arena, "HTTP %u", r->http_status);
    r->error = arena_dup_str(m->arena, r->error);
    if (r->end == WHARF_PUSH_AGAIN)
        r->later_ms = host_fetch.retry_after_ms(req, f);
    return renew;
}

static void host_push_take_token(wharf_req *req, wharf_pusher *p, const wharf_fetch *f)
{
    const char *why = NULL;
    bool good = fcm_token_take(req, p, f, &why);

    if (!good)
        log_write(WHARF_LOG_WARN, req->plugin ? req->plugin->name : NULL, NULL, "push.token",
            "no access token for fcm, %s", why);
    release_held(req, p, host_fetch.status(f), good ? NULL : why);
}

static struct message *find_sent(const wharf_pusher *p, const void *tag)
{
    struct message *m = p->sent.first;

    while (m && m != tag)
        m = m->next;
    return m;
}

/* Ends a message. A token that is refused is changed once; a message that the new one does not
 * help either is refused like any other. */
static bool p_finished(wharf_req *req, wharf_pusher *p, wharf_fetch *f)
{
    void *tag = host_fetch.tag(f);
    struct message *m;
    bool renew;

    if (tag == &p->token) {
        host_push_take_token(req, p, f);
        host_fetch.done(req, f);
        return true;
    }
    m = find_sent(p, tag);
    if (!m)
        return false;
    host_push_take_out(&p->sent, m);
    m->fetch = NULL;
    renew = host_push_judge(req, m, f);
    host_fetch.done(req, f);
    if (!renew || m->renewed) {
        host_push_add(&p->over, m);
        return true;
    }
    m->renewed = true;
    if (m->token_until_us == p->token.until_us && !p->token.exchange)
        fcm_token_drop(&p->token);
    dispatch(req, p, m);
    return true;
}

static bool p_next(wharf_req *req, wharf_pusher *p, wharf_push_result *ret_result)
{
    struct message *m = p->over.first;
    wharf_head head = ret_result->head;
    size_t known = head.size < sizeof(m->result) ? head.size : sizeof(m->result);

    if (!m)
        return false;
    host_push_take_out(&p->over, m);
    m->result.error = arena_dup_str(req->arena, m->result.error);
    memcpy(ret_result, &m->result, known);
    ret_result->head = head;
    message_free(m);
    return true;
}

/* ---- life ---- */

static const char *p_problem(wharf_req *req, const wharf_push_account *account)
{
    return fcm_account_problem(req, account);
}

static wharf_pusher *p_open(wharf_req *req, const wharf_push_account *account)
{
    struct arena *a = arena_small(MESSAGE_ARENA);
    wharf_pusher *p = ARENA_NEW(a, wharf_pusher);
    const char *from = req->engine->config->mail_from;

    p->arena = a;
    p->account = (wharf_push_account){.file = copied(a, account->file),
        .project = copied(a, account->project),
        .token_uri = copied(a, account->token_uri),
        .endpoint = copied(a, account->endpoint),
        .contact = copied(a, account->contact)};
    if (!p->account.contact.n && from && from[0])
        p->account.contact = arena_printf(a, "mailto:%s", from);
    return p;
}

static void host_push_free_list(struct message_list *list)
{
    struct message *m;

    while ((m = list->first)) {
        list->first = m->next;
        message_free(m);
    }
    list->last = NULL;
}

static void p_close(wharf_req *req, wharf_pusher *p)
{
    for (struct message *m = p->sent.first; m; m = m->next)
        host_fetch.done(req, m->fetch);
    if (p->token.exchange)
        host_fetch.done(req, p->token.exchange);
    free(p->token.request);
    host_push_free_list(&p->sent);
    host_push_free_list(&p->held);
    host_push_free_list(&p->over);
    fcm_token_drop(&p->token);
    arena_free(p->arena);
}

static wharf_str p_public_key(wharf_req *req)
{
    return arena_dupz(req->arena, vapid_public());
}

static const char *p_keys_problem(wharf_req *req, wharf_str p256dh, wharf_str auth)
{
    struct web_reader reader;

    if (!base64url_read(p256dh, reader.public, P256_PUBLIC) || !p256_point(reader.public))
        return "p256dh must be a point of P-256: 65 bytes in base64url, as the browser gives it";
    return base64url_read(auth, reader.auth, WEB_AUTH)
               ? NULL
               : "auth must be 16 bytes in base64url, as the browser gives it";
}

const wharf_push_api host_push = {WHARF_HEAD(wharf_push_api), p_problem, p_open, p_send, p_finished,
    p_next, p_close, p_public_key, p_keys_problem};
