/* host_http.c - the service wharf.http (plugin-api/wharf/service/http.h): bytes and headers of
 * requests with a raw body, and answers as they are. */
#include <strings.h>

#include "http/exchange.h"
#include "host/host.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"
#include "wharf/service/http.h"

static wharf_str h_body(wharf_req *req)
{
    return req->body_text.p ? req->body_text : str_z("");
}

static wharf_str h_header(wharf_req *req, const char *name)
{
    struct req_head *head = &req->head;

    for (size_t i = 0; i < head->n_lines; i++) {
        if (head->lines[i].name.n == strlen(name) && !strcasecmp(head->lines[i].name.p, name))
            return head->lines[i].value;
    }
    return str_z("");
}

static bool h_header_at(wharf_req *req, size_t i, wharf_str *ret_name, wharf_str *ret_value)
{
    if (i >= req->head.n_lines)
        return false;
    *ret_name = req->head.lines[i].name;
    *ret_value = req->head.lines[i].value;
    return true;
}

static wharf_str h_address(wharf_req *req)
{
    return req->head.remote_addr.p ? req->head.remote_addr : str_z("");
}

static bool h_query_at(wharf_req *req, size_t i, wharf_str *ret_name, wharf_str *ret_value)
{
    if (i >= req->head.n_pairs)
        return false;
    *ret_name = req->head.pairs[i].key;
    *ret_value = req->head.pairs[i].value;
    return true;
}

static wharf_status h_use_key(wharf_req *req)
{
    struct req_access *access = &req->access;

    if (!access->offered) {
        access->offer_missed = true; /* counted where failures are, before the answer goes out */
        return req_fail(
            req, access->offer_refused ? access->offer_refused : ERR_API_KEY_MISSING, NULL, NULL);
    }
    if (!access->who || !str_eq(access->who->organization, access->offered->organization))
        return req_fail(req, ERR_NOT_FOUND, NULL, NULL);
    principal_unref(access->who);
    access->who = access->offered;
    access->offered = NULL;
    req_leave_organization(req);
    return WHARF_OK;
}

/* Takes a token of who is named by n bytes. Problem rate_limited, with the reason. */
static wharf_status host_http_take_token(wharf_req *req, char kind, wharf_str whom,
    wharf_str purpose, uint32_t per_minute, enum limit_reason reason)
{
    enum { MINUTE_US = 60000000, SECOND_US = 1000000, PURPOSE_MAX = 60 };
    const struct limit_rate rate = {per_minute, per_minute, MINUTE_US};
    struct board *b = req->engine->board;
    char text[128];
    size_t n = whom.n < sizeof(text) - PURPOSE_MAX ? whom.n : sizeof(text) - PURPOSE_MAX,
           m = purpose.n < PURPOSE_MAX ? purpose.n : PURPOSE_MAX;
    int64_t wait_us;

    memcpy(text, whom.p, n);
    memcpy(text + n, purpose.p, m);
    if (limit_take(&b->limits, limit_owner(b, kind, (wharf_str){text, n + m}), &rate,
            clock_monotonic_us(), &wait_us) >= 0)
        return WHARF_OK;
    req->reply.retry_after = (int)((wait_us + SECOND_US - 1) / SECOND_US);
    atomic_fetch_add_explicit(&b->rate_limited[reason], 1, memory_order_relaxed);
    return req_fail(req, ERR_RATE_LIMITED, limit_reasons[reason], NULL);
}

/* Finds the client's address, of which the /64 of an IPv6 address is one. Empty: there is none. */
static wharf_str host_http_address_of(wharf_req *req, struct ip *ip)
{
    if (!req->head.remote_addr.n ||
        !ip_parse(req->head.remote_addr.p, (unsigned)req->head.remote_addr.n, ip))
        return str_z("");
    return (wharf_str){(const char *)ip->b, ip_is_v4(ip) ? sizeof(ip->b) : 8};
}

static wharf_status h_limit(wharf_req *req, wharf_str purpose, uint32_t per_minute)
{
    struct ip ip;
    wharf_str address = host_http_address_of(req, &ip);

    return per_minute && address.n
               ? host_http_take_token(req, 'a', address, purpose, per_minute, LIMIT_BY_IP)
               : WHARF_OK;
}

static wharf_status h_limit_endpoint(
    wharf_req *req, uint32_t owner, wharf_str purpose, uint32_t per_minute)
{
    const struct principal *who = req->access.who;
    struct ip ip;
    wharf_str whom = str_z("");

    if (owner == WHARF_LIMIT_ADDRESS)
        whom = host_http_address_of(req, &ip);
    else if (owner == WHARF_LIMIT_USER && who)
        whom = who->actor_id;
    else if (owner == WHARF_LIMIT_ORGANIZATION && who)
        whom = who->organization;
    if (!per_minute || !whom.n || !req->engine->config->rate_endpoint)
        return WHARF_OK;
    return host_http_take_token(
        req, (char)('0' + owner), whom, purpose, per_minute, LIMIT_BY_ENDPOINT);
}

static void h_answer(wharf_req *req, uint32_t status, wharf_str type, wharf_str body)
{
    struct req_reply *reply = &req->reply;

    req_respond(reply, (int)status, str_z(""));
    reply->raw_type = arena_dup_str(req->arena, type).p;
    reply->foreign = true;
    buf_clear(&reply->out);
    buf_adds(&reply->out, body);
}

static void h_answer_header(wharf_req *req, wharf_str name, wharf_str value)
{
    struct req_reply *reply = &req->reply;
    struct header_line *list = ARENA_ARRAY(req->arena, struct header_line, reply->n_added + 1);

    if (reply->n_added)
        memcpy(list, reply->added, reply->n_added * sizeof(*list));
    list[reply->n_added++] = (struct header_line){
        arena_dup_str(req->arena, name), arena_dup_str(req->arena, value)};
    reply->added = list;
}

static void h_remark(wharf_req *req, wharf_str text)
{
    struct req_reply *reply = &req->reply;
    wharf_str *list = ARENA_ARRAY(req->arena, wharf_str, reply->n_remarks + 1);

    if (reply->n_remarks)
        memcpy(list, reply->remarks, reply->n_remarks * sizeof(*list));
    list[reply->n_remarks++] = arena_dup_str(req->arena, text);
    reply->remarks = list;
}

static wharf_str h_accepted(wharf_req *req)
{
    return req->head.other_type.p ? req->head.other_type : str_z("");
}

static bool h_respond_async(wharf_req *req)
{
    if (req->head.respond_async)
        req->reply.preference_applied = str_z(
            req->head.strict ? "handling=strict, respond-async" : "respond-async");
    return req->head.respond_async;
}

const wharf_http_api host_http = {WHARF_HEAD(wharf_http_api), h_body, h_header, h_header_at,
    h_address, h_query_at, h_use_key, h_limit, h_answer, h_answer_header, h_limit_endpoint,
    h_remark, h_accepted, h_respond_async};
