/* host_token.c - the service wharf.token (plugin-api/wharf/service/token.h): rows of
 * wharf.token, found by hash (docs/decisions 5). */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "identity/auth.h"
#include "host/host.h"
#include "kernel_queries.gen.h"
#include "util/digest.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/service/token.h"

enum { TOKEN_BYTES = 32, TOKEN_TEXT = 43, NAME_MAX_BYTES = 100, HASH_HEX = 2 * DIGEST_BYTES };

/* Returns the token's hash as PostgreSQL reads bytea. */
static struct sql_arg host_token_hash_of(wharf_req *req, wharf_str token)
{
    unsigned char digest[DIGEST_BYTES];
    char *hex = arena_alloc(req->arena, HASH_HEX + 3);

    digest_sha256(&token, 1, digest);
    hex[0] = '\\';
    hex[1] = 'x';
    sodium_bin2hex(hex + 2, HASH_HEX + 1, digest, sizeof(digest));
    return (struct sql_arg){hex, HASH_HEX + 2};
}

static struct sql_arg host_token_time_arg(wharf_req *req, int64_t us)
{
    wharf_str iso = time_iso(req->arena, us);

    return (struct sql_arg){iso.p, iso.n};
}

/* Returns a kind such as "support.attachment": plugins do not meet. */
static struct sql_arg kind_arg(wharf_req *req, const char *kind)
{
    wharf_str s = arena_printf(
        req->arena, "%s.%s", req->plugin ? req->plugin->name : "wharf", kind);

    return (struct sql_arg){s.p, s.n};
}

static wharf_status host_token_keep(
    wharf_req *req, const char *kind, wharf_str text, wharf_str id, struct sql_arg expires)
{
    struct sql_arg args[6] = {host_token_hash_of(req, text),
        {req->access.who->organization.p, req->access.who->organization.n}, kind_arg(req, kind),
        {id.p, id.n}, host_token_time_arg(req, req->now_us), expires};

    return req_query(req,
               "INSERT INTO wharf.token (hash, organization_id, kind, id, created_at, expires_at)"
               " VALUES ($1::bytea, $2, $3, $4, $5::timestamptz, $6::timestamptz)",
               args, 6)
               ? WHARF_OK
               : req_failed(req);
}

static wharf_status t_name(wharf_req *req, const char *kind, wharf_str name, wharf_str id)
{
    if (!name.n || name.n > NAME_MAX_BYTES)
        return req_fail(req, ERR_INTERNAL, NULL, NULL);
    return host_token_keep(req, kind, name, id, (struct sql_arg){"infinity", 8});
}

static wharf_status t_make(
    wharf_req *req, const char *kind, wharf_str id, int64_t expires_us, wharf_str *ret_token)
{
    unsigned char random[TOKEN_BYTES];
    char text[TOKEN_TEXT + 1];

    random_bytes(random, sizeof(random));
    sodium_bin2base64(
        text, sizeof(text), random, sizeof(random), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    *ret_token = arena_dup(req->arena, text, TOKEN_TEXT);
    return host_token_keep(req, kind, *ret_token, id, host_token_time_arg(req, expires_us));
}

/* Makes a principal for somebody who holds a token: he may do nothing but what the route does. */
static struct principal *bearer(
    const char *organization, const char *live, const char *expire_after)
{
    struct arena *a = arena_new(0);
    struct principal *p = principal_new(a);

    p->arena = a;
    p->organization = p->access.organization = arena_dupz(a, organization);
    p->access.live_organization = arena_dupz(a, live);
    p->test_mode = strcmp(organization, live) != 0;
    p->actor_type = str_z("system");
    p->actor_id = str_z("sys");
    p->actor_name = str_z("link");
    p->event_days = principal_event_days(expire_after);
    return p;
}

static wharf_status t_enter(wharf_req *req, const char *kind, wharf_str token, wharf_str *ret_id)
{
    struct sql_arg args[3] = {
        host_token_hash_of(req, token), kind_arg(req, kind), host_token_time_arg(req, req->now_us)};
    PGresult *r;

    if (req->access.who || !token.n || token.n > NAME_MAX_BYTES)
        return req_fail(req, req->access.who ? ERR_INTERNAL : ERR_NOT_FOUND, NULL, NULL);
    r = req_query(req, QUERY_TOKEN_HOLDER, args, 3);
    if (!r)
        return req_failed(req);
    if (!PQntuples(r))
        return req_fail(req, ERR_NOT_FOUND, NULL, NULL);
    req->access.who = bearer(PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 3), PQgetvalue(r, 0, 2));
    *ret_id = arena_dupz(req->arena, PQgetvalue(r, 0, 1));
    return WHARF_OK;
}

static wharf_status t_revoke(wharf_req *req, const char *kind, wharf_str id)
{
    struct sql_arg args[3] = {{req->access.who->organization.p, req->access.who->organization.n},
        kind_arg(req, kind), {id.p, id.n}};

    return req_query(req,
               "DELETE FROM wharf.token WHERE organization_id = $1 AND kind = $2 AND id = $3 AND "
               "expires_at IS NOT NULL",
               args, 3)
               ? WHARF_OK
               : req_failed(req);
}

/* Writes a page in that language. Its form has no action: it posts to the page's own address, with
 * its query. */
static void t_page_in(wharf_req *req, uint32_t http_status, wharf_str language, wharf_str title,
    wharf_str sentence, wharf_str button)
{
    struct buf *b = &req->reply.out;

    req_respond(&req->reply, (int)http_status, title);
    req->reply.raw_type = "text/html; charset=utf-8";
    req->reply.page = true;
    BUF_LIT(b, "<!doctype html><html lang=\"");
    buf_add_html(b, language);
    BUF_LIT(b, "\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
               "content=\"width=device-width\"><title>");
    buf_add_html(b, title);
    BUF_LIT(b, "</title><body style=\"font-family:sans-serif;max-width:36em;margin:4em "
               "auto;padding:0 1em\"><h1>");
    buf_add_html(b, title);
    BUF_LIT(b, "</h1><p>");
    buf_add_html(b, sentence);
    BUF_LIT(b, "</p>");
    if (button.n) {
        BUF_LIT(b, "<form method=\"post\"><button style=\"font-size:1.1em;padding:.5em 1em\">");
        buf_add_html(b, button);
        BUF_LIT(b, "</button></form>");
    }
    BUF_LIT(b, "</body></html>\n");
}

static void t_page(
    wharf_req *req, uint32_t http_status, wharf_str title, wharf_str sentence, wharf_str button)
{
    t_page_in(req, http_status, WHARF_S("en"), title, sentence, button);
}

const wharf_token_api host_token = {
    WHARF_HEAD(wharf_token_api), t_make, t_enter, t_revoke, t_page, t_name, t_page_in};
