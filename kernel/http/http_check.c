/* http_check.c - what can be refused from the headers alone, in the order of
 * docs/spec/01-platform.md section 2.1, and what they ask of the answer: Accept, Accept-Encoding,
 * Prefer. */
#include <stdlib.h>
#include <strings.h>

#include "http/deprecation.h"
#include "http/exchange.h"
#include "http/stream.h"
#include "resource/observe.h"
#include "resource/absent.h"
#include "plugin/manifest.h"
#include "resource/idempotency.h"
#include "process/board.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

static const char *http_check_header(const struct exchange *x, const char *name)
{
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

static bool token_text(const char *s, size_t max)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

    return n && n <= max && !s[n];
}

static void http_check_read_identity(struct exchange *x)
{
    const char *client = http_check_header(x, "X-Request-Id"),
               *trace = http_check_header(x, "traceparent"), *range = http_check_header(x, "Range"),
               *if_range = http_check_header(x, "If-Range"),
               *none_match = http_check_header(x, "If-None-Match"),
               *last = http_check_header(x, "Last-Event-ID");

    if (range)
        x->req.head.wish.range = arena_dupz(x->req.arena, range);
    if (if_range)
        x->req.head.wish.if_range = arena_dupz(x->req.arena, if_range);
    if (none_match)
        x->req.head.wish.if_none_match = arena_dupz(x->req.arena, none_match);

    if (last)
        x->req.head.last_event_id = arena_dupz(x->req.arena, last);
    if (client && token_text(client, 128))
        x->req.head.client_request_id = arena_dupz(x->req.arena, client);
    if (trace && token_text(trace, 128))
        x->req.head.traceparent = arena_dupz(x->req.arena, trace);
}

static void read_origin(struct exchange *x)
{
    const struct config_list *origins = &x->server->config->cors_origins;
    const char *origin = http_check_header(x, "Origin");

    for (size_t i = 0; origin && i < origins->count; i++) {
        if (!strcmp(origins->items[i], "*") || !strcmp(origins->items[i], origin))
            x->origin = arena_dupz(x->req.arena, strcmp(origins->items[i], "*") ? origin : "*");
    }
}

/* ---- Accept ---- */

struct range {
    wharf_str type;
    int q; /* thousandths */
};

static int quality(wharf_str params)
{
    const char *p = params.p, *end = params.p + params.n;
    int q = 1000;

    while (p < end) {
        while (p < end && (*p == ';' || *p == ' '))
            p++;
        if (end - p > 2 && (*p == 'q' || *p == 'Q') && p[1] == '=') {
            int unit = 100;

            q = p[2] == '1' ? 1000 : 0;
            for (p += 3; p < end && (*p == '.' || (*p >= '0' && *p <= '9')); p++) {
                if (*p != '.' && q < 1000) {
                    q += (*p - '0') * unit;
                    unit /= 10;
                }
            }
        }
        while (p < end && *p != ';')
            p++;
    }
    return q;
}

static bool next_range(const char **p, struct range *ret)
{
    const char *start = *p + strspn(*p, ", \t");
    size_t n = strcspn(start, ",");
    size_t type = strcspn(start, ",; \t");

    if (!*start)
        return false;
    *p = start + n;
    ret->type = (wharf_str){start, type};
    ret->q = quality((wharf_str){start + type, n - type});
    return true;
}

static bool http_check_type_is(wharf_str t, const char *name)
{
    return t.n == strlen(name) && !strncasecmp(t.p, name, t.n);
}

/* Notes the route's type that is asked for most, when it is one. */
static void note_other_type(struct exchange *x, const struct range *r, int *best)
{
    const struct wharf_json *types = json_get(x->req.route->definition, "other_types");

    for (const struct wharf_json *t = types ? types->child : NULL; t; t = t->next) {
        if (r->q > *best && http_check_type_is(r->type, t->text.p)) {
            x->req.head.other_type = t->text;
            *best = r->q;
        }
    }
}

static bool acceptable(struct exchange *x)
{
    const char *accept = http_check_header(x, "Accept");
    int json = -1, problem = -1, wide = -1, other = 0;
    struct range r;

    if (!accept || !*accept || x->req.route->stream_tokens || x->req.route->event_stream)
        return true;
    while (next_range(&accept, &r)) {
        if (http_check_type_is(r.type, "application/json"))
            json = r.q;
        else if (http_check_type_is(r.type, "application/problem+json"))
            problem = r.q;
        else if (http_check_type_is(r.type, "application/*") || http_check_type_is(r.type, "*/*"))
            wide = r.q > wide ? r.q : wide;
        else
            note_other_type(x, &r, &other);
    }
    if (json < 0)
        json = wide;
    if (other <= json)
        x->req.head.other_type = str_z("");
    x->req.head.problem_details = problem > 0 && problem > json;
    if (json > 0 || problem > 0 || x->req.head.other_type.n || x->req.route->any_answer)
        return true;
    req_fail(&x->req, ERR_NOT_ACCEPTABLE, NULL, NULL);
    return false;
}

struct codings { /* qualities; -1: not named */
    int gzip, identity, others;
};

static enum MHD_Result read_codings(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct codings *c = cls;
    struct range r;

    (void)kind;
    if (strcasecmp(name, "Accept-Encoding") != 0)
        return MHD_YES;
    while (value && next_range(&value, &r)) {
        if (http_check_type_is(r.type, "gzip") || http_check_type_is(r.type, "x-gzip"))
            c->gzip = r.q;
        else if (http_check_type_is(r.type, "identity"))
            c->identity = r.q;
        else if (http_check_type_is(r.type, "*"))
            c->others = r.q;
    }
    return MHD_YES;
}

/* Reads Accept-Encoding (RFC 9110 section 12.5.3): * stands for what is not named, and is not
 * asked where gzip is; the one with the larger quality is sent. */
static void read_accept_encoding(struct exchange *x)
{
    struct codings c = {-1, -1, -1};
    int gzip;

    MHD_get_connection_values(x->connection, MHD_HEADER_KIND, read_codings, &c);
    gzip = c.gzip >= 0 ? c.gzip : c.others;
    x->gzip_answer = gzip > 0 && gzip >= c.identity;
}

/* ---- before the key ---- */

/* Tells whether the request is OPTIONS *, which asks for the server as a whole (RFC 9110 section
 * 9.3.7). */
static bool asks_whole_server(struct exchange *x)
{
    if (x->req.head.path.n != 1 || x->req.head.path.p[0] != '*')
        return false;
    x->allow = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
    x->req.reply.status = 204;
    return true;
}

/* Tells whether this listener serves the route. The admin listener is plain HTTP, beside the
 * operator's hooks and limits: it has the probes and the metrics, and nothing of the API. */
static bool served_here(const struct wharf_req *req)
{
    return !req->engine->admin || (req->route->kind == ROUTE_KERNEL && req->route->silent);
}

static bool http_check_find_route(struct exchange *x, const char *method)
{
    struct wharf_req *req = &x->req;
    wharf_str allow = {NULL, 0};

    if (asks_whole_server(x))
        return false;
    switch (request_find_route(req, &allow)) {
    case ROUTE_FOUND:
        if (served_here(req))
            return true;
        break;
    case ROUTE_METHOD:
        if (req->engine->admin)
            break;
        x->allow = allow.p;
        if (!strcmp(method, "OPTIONS")) {
            req->reply.status = 204;
            return false;
        }
        req_fail(req, ERR_METHOD_NOT_ALLOWED, NULL, "%s is not possible here; this path takes %s",
            method, allow.p);
        return false;
    case ROUTE_NONE:
        break;
    }
    req_fail(req, ERR_ROUTE_NOT_FOUND, NULL, NULL);
    return false;
}

/* Tells whether the module of the route is not left out of this generation
 * (docs/reference/plugin-abi.md section 11); else adds a problem. */
static bool in_service(struct exchange *x)
{
    const struct absent *m = x->req.route->absent;

    if (!m)
        return true;
    x->req.reply.retry_after = ABSENT_RETRY_S;
    req_fail(&x->req, ERR_MODULE_UNAVAILABLE, NULL,
        "The module %s is out of service at the moment; try again later", m->manifest->name);
    return false;
}

void read_form(struct exchange *x)
{
    http_check_read_identity(x);
    read_origin(x);
    read_accept_encoding(x);
    x->expects = http_check_header(x, "Expect") != NULL;
}

bool check_its_route(struct exchange *x)
{
    return http_check_find_route(x, x->req.head.method) && in_service(x) &&
           !deprecation_gone(&x->req);
}

/* ---- key, scope ---- */

static void count_refusal(struct exchange *x, unsigned kind)
{
    if (x->req.engine->board)
        atomic_fetch_add_explicit(
            &x->req.engine->board->auth_failures[kind], 1, memory_order_relaxed);
}

static unsigned refusal_kind(const char *code)
{
    static const char *const kinds[] = {ERR_API_KEY_MISSING, ERR_API_KEY_INVALID,
        ERR_API_KEY_EXPIRED, ERR_API_KEY_REVOKED, ERR_PRINCIPAL_DISABLED, ERR_SCOPE_ACCESS,
        ERR_LOCATION_ACCESS, ERR_IP_ACCESS};

    for (unsigned i = 0; i < 8; i++) {
        if (!strcmp(kinds[i], code))
            return i;
    }
    return 1;
}

static bool refuse_key(struct exchange *x, const char *code)
{
    count_refusal(x, refusal_kind(code));
    if (limit_failure(x))
        req_fail(&x->req, code, NULL, NULL);
    return false;
}

static bool address_good(struct exchange *x)
{
    const struct principal *who = x->req.access.who;
    struct ip ip;

    for (size_t i = 0; who->n_networks && client_ip(x, &ip) && i < who->n_networks; i++) {
        if (network_has(&who->networks[i], &ip))
            return true;
    }
    return !who->n_networks;
}

/* Judges whether a good key may be used from the client's address: some keys are good from some
 * addresses only. */
bool address_allowed(struct exchange *x)
{
    if (address_good(x))
        return true;
    count_refusal(x, refusal_kind(ERR_IP_ACCESS));
    req_fail(&x->req, ERR_IP_ACCESS, NULL, NULL);
    return false;
}

void offer_missed(struct exchange *x)
{
    struct wharf_req *req = &x->req;

    req_clear_problems(&req->problems);
    refuse_key(x, req->access.offer_refused);
}

/* Finds the principal of the key. Returns NULL when it must be read first (*ret_wait), or
 * *ret_code says why there is none. */
static struct principal *find_principal(struct exchange *x, bool *ret_wait, const char **ret_code)
{
    struct auth_headers h = {http_check_header(x, "SVC-API-KEY"), http_check_header(x, "X-API-KEY"),
        http_check_header(x, "Authorization")};
    struct wharf_req *req = &x->req;

    if (!req->access.who) {
        if (!auth_key_hash(&h, x->server->config->auth_pepper, x->key_hash, ret_code))
            return NULL;
        req->access.who = auth_cache_get(req->engine->auth, x->key_hash, x->server->turn_us);
        *ret_wait = !req->access.who;
        if (!req->access.who)
            return NULL;
    }
    *ret_code = req->access.who->refusal;
    if (!*ret_code && req->access.who->expires_at_us <= req->now_us)
        *ret_code = ERR_API_KEY_EXPIRED;
    return *ret_code ? NULL : req->access.who;
}

/* Puts the key aside: the handler will say whether it counts (offered_key() in exchange.h). */
static bool offer(struct exchange *x, const char *code)
{
    struct wharf_req *req = &x->req;

    if (!code && !address_good(x))
        code = ERR_IP_ACCESS;
    req->access.offer_refused = code;
    if (!code) {
        auth_used(req->engine->auth, req->access.who);
        if (!limit_request(x))
            return false;
        req->access.offered = req->access.who;
    } else {
        principal_unref(req->access.who);
    }
    req->access.who = NULL;
    return true;
}

bool check_key(struct exchange *x, bool *ret_wait)
{
    struct wharf_req *req = &x->req;
    const char *code = NULL;
    bool good;

    *ret_wait = false;
    if ((req->route->public_route && !req->route->optional_key) || stream_by_token(req))
        return true;
    good = find_principal(x, ret_wait, &code) != NULL;
    if (*ret_wait)
        return true;
    if (req->route->optional_key)
        return offer(x, code);
    if (!good)
        return refuse_key(x, code);
    if (!address_allowed(x))
        return false;
    auth_used(req->engine->auth, req->access.who);
    return limit_request(x);
}

static bool scope_ok(struct exchange *x)
{
    const struct route *r = x->req.route;
    const char *missing;

    if (r->area < 0 || !x->req.access.who || x->req.access.who->levels[r->area] >= r->level)
        return true;
    missing = arena_printf(x->req.arena, "%s:%s", x->req.engine->areas.names[r->area],
        r->level == SCOPE_READ ? "read" : "write")
                  .p;
    count_refusal(x, 5);
    req_fail(&x->req, ERR_SCOPE_ACCESS, missing, "The API key lacks the scope %s", missing);
    return false;
}

/* ---- what the body claims to be ---- */

static bool charset_ok(const char *params)
{
    const char *c = strcasestr(params, "charset=");
    const char *value = c ? c + 8 : "utf-8";

    size_t n;

    value += *value == '"';
    n = strcspn(value, "\"; \t");
    return (n == 5 && !strncasecmp(value, "utf-8", n)) ||
           (n == 4 && !strncasecmp(value, "utf8", n));
}

static bool json_media_type(const char *type)
{
    size_t n = strcspn(type, "; \t");

    if (n < 16 || strncasecmp(type, "application/", 12) != 0)
        return false;
    if (!(n == 16 && !strncasecmp(type + 12, "json", 4)) &&
        strncasecmp(type + n - 5, "+json", 5) != 0)
        return false;
    return charset_ok(type + n);
}

/* Tells whether the route takes a body; of the others it is read and dropped. */
bool takes_body(const struct exchange *x)
{
    const struct route *r = x->req.route;

    return !strcmp(x->req.head.method, "POST") || r->body_schema || (raw_body(r) && !takes_file(r));
}

static bool body_headers_ok(struct exchange *x)
{
    const char *length = http_check_header(x, "Content-Length"),
               *type = http_check_header(x, "Content-Type"),
               *coding = http_check_header(x, "Content-Encoding");
    bool has_body = (length && strtoull(length, NULL, 10) > 0) ||
                    http_check_header(x, "Transfer-Encoding");
    const struct route *route = x->req.route;
    size_t limit = route->max_body     ? (size_t)route->max_body
                   : route->large_body ? (size_t)LARGE_BODY
                                       : (size_t)x->server->config->body_limit;

    x->body_limit = limit;
    if (!takes_body(x) || !has_body)
        return true;
    if (type && !raw_body(x->req.route) && !json_media_type(type)) {
        req_fail(&x->req, ERR_MEDIA_TYPE_UNSUPPORTED, NULL, NULL);
        return false;
    }
    if (coding && strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "identity") != 0) {
        req_fail(&x->req, ERR_CONTENT_ENCODING_UNSUPPORTED, NULL, NULL);
        return false;
    }
    x->gzip_body = coding && !strcasecmp(coding, "gzip");
    if (length && strtoull(length, NULL, 10) > limit) {
        req_fail(&x->req, ERR_BODY_TOO_LARGE, NULL, "The body has more than %zu bytes", limit);
        return false;
    }
    return true;
}

static bool takes_precondition(const struct exchange *x)
{
    enum route_kind kind = x->req.route->kind;

    return kind == ROUTE_UPDATE || kind == ROUTE_DELETE || kind == ROUTE_PLUGIN;
}

/* Reads Idempotency-Key: 1 to 255 printable ASCII characters; a structured-field string is
 * unquoted. */
static bool read_idempotency_key(struct exchange *x)
{
    const char *sent = http_check_header(x, "Idempotency-Key");
    size_t n = sent ? strlen(sent) : 0, k = 0;
    bool quoted = n >= 2 && sent[0] == '"' && sent[n - 1] == '"';
    char *key;

    if (!sent || x->req.route->any_answer ||
        (strcmp(x->req.head.method, "POST") != 0 && strcmp(x->req.head.method, "DELETE") != 0))
        return true;
    key = arena_alloc(x->req.arena, n + 1);
    for (size_t i = quoted; i < n - quoted; i++) {
        if (quoted && sent[i] == '\\' && i + 1 < n - quoted)
            i++;
        key[k++] = sent[i];
    }
    if (idempotency_key_good((wharf_str){key, k})) {
        x->req.head.idempotency_key = (wharf_str){key, k};
        return true;
    }
    req_fail(&x->req, ERR_PARAM_INVALID, "Idempotency-Key",
        "Idempotency-Key has 1 to 255 printable ASCII characters");
    return false;
}

static bool preferences_ok(struct exchange *x)
{
    static const char *const formats[] = {"iso_8601", "epoch", "epoch_millis"};
    const char *prefer = http_check_header(x, "Prefer"),
               *format = http_check_header(x, "SVC-Datetime-Format"),
               *match = takes_precondition(x) ? http_check_header(x, "If-Match") : NULL;
    bool known = !format;

    if (x->req.access.who)
        x->req.head.datetime_format = (enum datetime_format)x->req.access.who->datetime_format;
    if (match)
        x->req.head.if_match = arena_dupz(x->req.arena, match);
    if (prefer && strstr(prefer, "handling=strict")) {
        x->req.head.strict = true;
        x->req.reply.preference_applied = str_z("handling=strict");
    }
    x->req.head.respond_async = prefer && strstr(prefer, "respond-async");
    for (unsigned i = 0; format && i < 3; i++) {
        if (!strcmp(formats[i], format)) {
            x->req.head.datetime_format = (enum datetime_format)i;
            known = true;
        }
    }
    if (!known)
        req_fail(&x->req, ERR_PARAM_INVALID, "SVC-Datetime-Format",
            "SVC-Datetime-Format is iso_8601, epoch or epoch_millis");
    return known;
}

bool check_after_key(struct exchange *x)
{
    return scope_ok(x) && body_headers_ok(x) && acceptable(x) && preferences_ok(x) &&
           read_idempotency_key(x);
}
