/* push_token.c - the access token of Firebase Cloud Messaging: a text signed with the service
 * account's key is changed for it (RFC 7523) (spec 04 section 9.2).
 *
 * The file is read at each exchange, so a new key needs no restart; it is kept nowhere. */
#include <stdio.h>
#include <stdlib.h>

#include "push.h"

enum {
    FILE_MAX = 65536,
    JWT_LIFE_S = 3600,
    EARLY_S = 300,
    ANSWER_MAX = 65536,
    EXCHANGE_MS = 10000
};

#define SCOPE     "https://www.googleapis.com/auth/firebase.messaging"
#define TOKEN_URI "https://oauth2.googleapis.com/token"
/* a format */
#define GRANT "grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3Ajwt-bearer&assertion=%s"

struct account {
    wharf_str email, key, key_id, project, token_uri;
};

static wharf_str read_file(wharf_req *req, wharf_str path)
{
    char *text = W->mem->alloc(req, FILE_MAX);
    FILE *f = path.n ? fopen(path.p, "re") : NULL;
    size_t n = f ? fread(text, 1, FILE_MAX - 1, f) : 0;

    if (f && fclose(f) != 0)
        n = 0;
    text[n] = 0;
    return (wharf_str){text, n};
}

static const char *read_account(wharf_req *req, struct account *ret)
{
    wharf_str file = push_setting("fcm.service_account", ""), text = read_file(req, file);
    const wharf_json *whole;

    if (!file.n)
        return "is needed by fcm: the path of the service account's key file";
    if (!text.n)
        return "names a file that can't be read";
    if (W->json->parse(req, text, &whole) != WHARF_OK) {
        W->err->clear(req);
        return "names a file that is no service account's key (JSON)";
    }
    ret->email = json_text(whole, "client_email");
    ret->key = json_text(whole, "private_key");
    ret->key_id = json_text(whole, "private_key_id");
    ret->project = push_setting("fcm.project", json_text(whole, "project_id").p);
    ret->token_uri = push_setting("fcm.token_uri", json_text(whole, "token_uri").p);
    if (!ret->token_uri.n)
        ret->token_uri = WHARF_S(TOKEN_URI);
    return ret->email.n && ret->key.n && ret->project.n
               ? NULL
               : "names a file without client_email, private_key or project_id";
}

/* Encodes in the letters of RFC 4648 section 5, without padding. */
static wharf_str base64url(wharf_req *req, wharf_str bytes)
{
    wharf_str plain = print_crypto->base64(req, bytes);
    char *out = W->mem->alloc(req, plain.n + 1);
    size_t n = 0;

    for (; n < plain.n && plain.p[n] != '='; n++)
        out[n] = plain.p[n] == '+' ? '-' : plain.p[n] == '/' ? '_' : plain.p[n];
    out[n] = 0;
    return (wharf_str){out, n};
}

static wharf_str json_of(wharf_req *req, const char *const *keys, const wharf_val *values, size_t n)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < n; i++)
        W->json->put(out, keys[i], values[i]);
    W->json->close(out);
    return W->json->result_text(out);
}

static bool make_jwt(wharf_req *req, const struct account *a, wharf_str *ret)
{
    static const char *const head_keys[] = {"alg", "typ", "kid"}, *const claim_keys[] = {"iss",
                                                                      "scope", "aud", "iat", "exp"};
    int64_t now_s = W->req->now_us(req) / SECOND_US;
    const wharf_val head[] = {
        val_text(WHARF_S("RS256")), val_text(WHARF_S("JWT")), val_text(a->key_id)};
    const wharf_val claims[] = {val_text(a->email), val_text(WHARF_S(SCOPE)),
        val_text(a->token_uri), val_int(now_s), val_int(now_s + JWT_LIFE_S)};
    wharf_str text = W->mem->format(req, "%s.%s",
        base64url(req, json_of(req, head_keys, head, a->key_id.n ? 3 : 2)).p,
        base64url(req, json_of(req, claim_keys, claims, 5)).p);
    wharf_str signature;

    if (!print_crypto->rs256(req, a->key, text, &signature))
        return false;
    *ret = W->mem->format(req, "%s.%s", text.p, base64url(req, signature).p);
    return true;
}

const char *push_account_problem(wharf_req *req)
{
    struct account a;
    wharf_str jwt;
    const char *problem = read_account(req, &a);

    if (!problem && !make_jwt(req, &a, &jwt))
        problem = "names a file whose private_key is no RSA key of 2,048 bits or more";
    return problem;
}

bool push_token_ask(wharf_req *req, struct push_token *t)
{
    static const char *const headers[] = {"content-type: application/x-www-form-urlencoded"};
    wharf_fetch_request r = {.head = WHARF_HEAD(wharf_fetch_request),
        .method = "POST",
        .headers = headers,
        .n_headers = 1,
        .flags = WHARF_FETCH_HTTP_IF_SET | WHARF_FETCH_ANY_STATUS | WHARF_FETCH_ANY_BODY,
        .max_bytes = ANSWER_MAX,
        .total_ms = EXCHANGE_MS,
        .tag = t};
    struct account a;
    wharf_str jwt;
    wharf_fetch *f;

    if (read_account(req, &a) || !make_jwt(req, &a, &jwt))
        return false;
    r.url = a.token_uri;
    r.body = W->mem->format(req, GRANT, jwt.p);
    t->request = push_need(strdup(r.body.p));
    r.body.p = t->request;
    if (print_fetch->start(req, &r, &f) == WHARF_OK)
        return true;
    W->err->clear(req);
    free(t->request);
    t->request = NULL;
    return false;
}

/* Returns a code of OAuth such as invalid_grant; nothing else of the answer is kept. */
static const char *error_word(wharf_req *req, const wharf_json *answer, const wharf_fetch *f)
{
    wharf_str word = json_text(answer, "error");

    if (word.n && word.n < 64 && strspn(word.p, "abcdefghijklmnopqrstuvwxyz_") == word.n)
        return W->mem->format(req, "token: %s", word.p).p;
    return print_fetch->status(f) ? W->mem->format(req, "token: HTTP %u", print_fetch->status(f)).p
                                  : W->mem->format(req, "token: %s", print_fetch->outcome(f).p).p;
}

bool push_token_take(
    wharf_req *req, const wharf_fetch *f, struct push_token *t, const char **ret_why)
{
    const wharf_json *answer = NULL, *life;
    struct account a;
    wharf_str bearer;
    int64_t seconds = 0;

    free(t->request);
    t->request = NULL;
    if (W->json->parse(req, print_fetch->text(f), &answer) != WHARF_OK) {
        W->err->clear(req);
        answer = NULL;
    }
    bearer = json_text(answer, "access_token");
    life = answer ? W->json->get(answer, "expires_in") : NULL;
    if (print_fetch->status(f) != 200 || !bearer.n || strpbrk(bearer.p, "\r\n ") ||
        read_account(req, &a)) {
        *ret_why = error_word(req, answer, f);
        return false;
    }
    if (!life || !W->json->integer(life, &seconds))
        seconds = JWT_LIFE_S;
    push_token_drop(t);
    t->bearer = push_need(strdup(bearer.p));
    t->project = push_need(strdup(a.project.p));
    t->until_us = W->req->now_us(req) +
                  (seconds > 2 * EARLY_S ? seconds - EARLY_S : seconds / 2) * SECOND_US;
    return true;
}

void push_token_drop(struct push_token *t)
{
    free(t->bearer);
    free(t->project);
    *t = (struct push_token){.until_us = 0};
}
