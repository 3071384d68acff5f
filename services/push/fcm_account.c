/* fcm_account.c - the access token of Firebase Cloud Messaging: a text signed with the service
 * account's key is changed for it (RFC 7523) (spec 04 section 9.2).
 *
 * The file is read at each exchange, so a new key needs no restart; it is kept nowhere. */
#include <stdio.h>
#include <stdlib.h>

#include "net/host_fetch.h"
#include "push/pusher.h"
#include "push/vapid.h"
#include "secret/rsa.h"
#include "util/json.h"
#include "util/str.h"

enum {
    FILE_MAX = 65536,
    JWT_LIFE_S = 3600, /* a grant is good */
    EARLY_S = 300, /* a token is renewed before its end */
    ANSWER_MAX = 65536,
    EXCHANGE_MS = 10000
};

#define SECOND_US 1000000LL
#define SCOPE     "https://www.googleapis.com/auth/firebase.messaging"
#define TOKEN_URI "https://oauth2.googleapis.com/token"
/* a format */
#define GRANT "grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3Ajwt-bearer&assertion=%s"

struct account {
    wharf_str email, key, key_id, project, token_uri;
};

static wharf_str fcm_account_read_file(struct arena *a, wharf_str path)
{
    char *text = arena_alloc(a, FILE_MAX);
    FILE *f = path.n ? fopen(path.p, "re") : NULL;
    size_t n = f ? fread(text, 1, FILE_MAX - 1, f) : 0;

    if (f && fclose(f) != 0)
        n = 0;
    text[n] = 0;
    return (wharf_str){text, n};
}

static const char *read_account(
    struct arena *a, const wharf_push_account *settings, struct account *ret)
{
    const struct wharf_json *whole;
    struct json_error e;
    wharf_str text;

    if (!settings->file.n)
        return "is needed by fcm: the path of the service account's key file";
    text = fcm_account_read_file(a, settings->file);
    if (!text.n)
        return "names a file that can't be read";
    whole = json_parse(a, text, &e);
    if (!whole)
        return "names a file that is no service account's key (JSON)";
    ret->email = json_text_or(whole, "client_email", "");
    ret->key = json_text_or(whole, "private_key", "");
    ret->key_id = json_text_or(whole, "private_key_id", "");
    ret->project = settings->project.n ? settings->project : json_text_or(whole, "project_id", "");
    ret->token_uri = settings->token_uri.n ? settings->token_uri
                                           : json_text_or(whole, "token_uri", TOKEN_URI);
    return ret->email.n && ret->key.n && ret->project.n
               ? NULL
               : "names a file without client_email, private_key or project_id";
}

static wharf_str jwt_part(struct arena *a, struct buf *b)
{
    wharf_str text = base64url(a, buf_str(b).p, b->n);

    buf_done(b);
    return text;
}

static bool make_jwt(struct arena *a, const struct account *c, int64_t now_s, wharf_str *ret)
{
    struct buf head, claims;
    wharf_str text, signature;
    struct jw w;

    buf_init(&head, 1 << 16);
    jw_init(&w, &head);
    jw_open(&w, NULL, '{');
    jw_z(&w, "alg", "RS256");
    jw_z(&w, "typ", "JWT");
    if (c->key_id.n)
        jw_str(&w, "kid", c->key_id);
    jw_close(&w, '}');
    buf_init(&claims, 1 << 16);
    jw_init(&w, &claims);
    jw_open(&w, NULL, '{');
    jw_str(&w, "iss", c->email);
    jw_z(&w, "scope", SCOPE);
    jw_str(&w, "aud", c->token_uri);
    jw_int(&w, "iat", now_s);
    jw_int(&w, "exp", now_s + JWT_LIFE_S);
    jw_close(&w, '}');
    text = arena_printf(a, "%s.%s", jwt_part(a, &head).p, jwt_part(a, &claims).p);
    if (!rsa_sha256(a, c->key, text, &signature))
        return false;
    *ret = arena_printf(a, "%s.%s", text.p, base64url(a, signature.p, signature.n).p);
    return true;
}

const char *fcm_account_problem(wharf_req *req, const wharf_push_account *account)
{
    struct account a;
    wharf_str jwt;
    const char *problem = read_account(req->arena, account, &a);

    if (!problem && !make_jwt(req->arena, &a, req->now_us / SECOND_US, &jwt))
        problem = "names a file whose private_key is no RSA key of 2,048 bits or more";
    return problem;
}

bool fcm_token_ask(wharf_req *req, wharf_pusher *p)
{
    static const char *const headers[] = {"content-type: application/x-www-form-urlencoded"};
    wharf_fetch_request r = {.head = WHARF_HEAD(wharf_fetch_request),
        .method = "POST",
        .headers = headers,
        .n_headers = 1,
        .flags = WHARF_FETCH_HTTP_IF_SET | WHARF_FETCH_ANY_STATUS | WHARF_FETCH_ANY_BODY,
        .max_bytes = ANSWER_MAX,
        .total_ms = EXCHANGE_MS,
        .tag = &p->token};
    struct account a;
    wharf_str jwt;

    if (read_account(req->arena, &p->account, &a) ||
        !make_jwt(req->arena, &a, req->now_us / SECOND_US, &jwt))
        return false;
    r.url = a.token_uri;
    r.body = arena_printf(req->arena, GRANT, jwt.p);
    p->token.request = push_copy(r.body.p, r.body.n);
    r.body.p = p->token.request;
    if (host_fetch.start(req, &r, &p->token.exchange) == WHARF_OK)
        return true;
    req_clear_problems(&req->problems);
    free(p->token.request);
    p->token.request = NULL;
    return false;
}

/* Returns a code of OAuth such as invalid_grant; nothing else of the answer is kept. */
static const char *error_word(
    struct arena *a, const struct wharf_json *answer, const wharf_fetch *f)
{
    wharf_str word = json_text_or(answer, "error", "");

    if (word.n && word.n < 64 && strspn(word.p, "abcdefghijklmnopqrstuvwxyz_") == word.n)
        return arena_printf(a, "token: %s", word.p).p;
    return host_fetch.status(f) ? arena_printf(a, "token: HTTP %u", host_fetch.status(f)).p
                                : arena_printf(a, "token: %s", host_fetch.outcome(f).p).p;
}

bool fcm_token_take(wharf_req *req, wharf_pusher *p, const wharf_fetch *f, const char **ret_why)
{
    struct fcm_token *t = &p->token;
    struct json_error e;
    const struct wharf_json *answer = json_parse(req->arena, host_fetch.text(f), &e);
    wharf_str bearer = json_text_or(answer, "access_token", "");
    int64_t seconds = json_int_or(answer, "expires_in", JWT_LIFE_S);
    struct account a;

    free(t->request);
    t->request = NULL;
    t->exchange = NULL;
    if (host_fetch.status(f) != 200 || !bearer.n || strpbrk(bearer.p, "\r\n ") ||
        read_account(req->arena, &p->account, &a)) {
        *ret_why = error_word(req->arena, answer, f);
        return false;
    }
    fcm_token_drop(t);
    t->bearer = push_copy(bearer.p, bearer.n);
    t->project = push_copy(a.project.p, a.project.n);
    t->until_us = req->now_us +
                  (seconds > 2 * EARLY_S ? seconds - EARLY_S : seconds / 2) * SECOND_US;
    return true;
}

void fcm_token_drop(struct fcm_token *t)
{
    free(t->bearer);
    free(t->project);
    *t = (struct fcm_token){.until_us = 0};
}
