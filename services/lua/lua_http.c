/* lua_http.c - see lua_http.h. */
#include "lua/lua_http.h"

#include <sodium.h>
#include <stdlib.h>

#include "config/config.h"
#include "net/client.h"
#include "resource/engine.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    AT_ONCE = 10, /* requests of wharf.http.all */
    DEFAULT_MS = 5000, /* timeout_ms, when it is not said */
    MOST_MS = 30000, /* timeout_ms at most */
    DEFAULT_BYTES = 1 << 20, /* max_bytes, when it is not said */
    MOST_BYTES = 8 << 20, /* max_bytes at most */
    ANSWERS_MAX = 48 << 20, /* of text, together: a frame to a cell has 64 MiB */
    HEADERS_MAX = 64, /* headers of a request */
    HOST_MAX = 254
};

/* ---- what is asked ---- */

/* Returns what is wrong with the headers, as a sentence in the arena; NULL: nothing. */
static const char *lua_http_read_headers(
    struct arena *a, const struct wharf_json *headers, struct net_request *r)
{
    const char **lines = ARENA_ARRAY(a, const char *, HEADERS_MAX);

    r->headers = lines;
    for (const struct wharf_json *h = json_is(headers, JSON_OBJECT) ? headers->child : NULL; h;
         h = h->next) {
        if (r->n_headers == HEADERS_MAX)
            return arena_printf(a, "a request has at most %d headers", HEADERS_MAX).p;
        if (net_header_reserved(h->key))
            return arena_printf(
                a, "the server sets the header %s by itself; leave it out", h->key.p)
                .p;
        if (h->type != JSON_STRING)
            return arena_printf(a, "the value of the header %s must be a string", h->key.p).p;
        if (h->key_nul || h->has_nul || !net_header_valid(h->key, h->text))
            return arena_printf(
                a, "the header %s has a name or a value that HTTP does not allow", h->key.p)
                .p;
        lines[r->n_headers++] = arena_printf(a, "%s: %s", h->key.p, h->text.p).p;
    }
    return NULL;
}

static bool lua_http_read_body(
    struct arena *a, const struct wharf_json *body, struct net_request *r)
{
    unsigned char *bytes;
    size_t n = 0;

    if (!json_is(body, JSON_STRING))
        return true;
    bytes = arena_alloc(a, body->text.n + 1);
    if (sodium_base642bin(bytes, body->text.n + 1, body->text.p, body->text.n, NULL, &n, NULL,
            sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    r->body = bytes;
    r->body_size = n;
    return n <= MOST_BYTES;
}

static int64_t lua_http_within(int64_t value, int64_t most)
{
    return value < 1 ? 1 : value > most ? most : value;
}

/* Returns what the author did wrong, as a sentence; NULL: nothing. */
static const char *lua_http_read_request(struct wharf_req *req, const struct lua_http *limits,
    const struct wharf_json *args, struct net_request *r)
{
    struct arena *a = req->arena;
    int64_t left_ms = (limits->deadline_us - clock_monotonic_us()) / 1000;
    int64_t ms = lua_http_within(
        json_int_or(args, "timeout_ms", DEFAULT_MS), lua_http_within(left_ms, MOST_MS));
    const char *wrong;

    *r = (struct net_request){.method = json_text_or(args, "method", "GET").p,
        .url = json_text_or(args, "url", ""),
        .owner = req->access.who ? req->access.who->organization : str_z(""),
        .body_fd = -1,
        .flags = NET_GZIP | (req->access.who ? NET_REUSE : 0u) |
                 (req->engine->config->net_allow_http ? NET_HTTP : 0u),
        .limits = {.bytes = (uint64_t)lua_http_within(
                       json_int_or(args, "max_bytes", DEFAULT_BYTES), MOST_BYTES),
            .connect_ms = (uint32_t)ms,
            .total_ms = (uint32_t)ms}};
    wrong = lua_http_read_headers(a, json_get(args, "headers"), r);
    return wrong                                              ? wrong
           : lua_http_read_body(a, json_get(args, "body"), r) ? NULL
                                                              : "the body is larger than 8 MiB";
}

/* Writes the host of a URL in lower case, without its port; empty: the client will say what is
 * wrong with the URL. */
static void host_of(wharf_str url, char host[HOST_MAX + 1])
{
    const char *p = strstr(url.p, "://");
    size_t n = p ? strcspn(p += 3, "/?#") : 0;

    host[0] = 0;
    if (!n || n > HOST_MAX || memchr(p, '@', n))
        return;
    n = p[0] == '[' ? n : strcspn(p, ":/?#");
    for (size_t i = 0; i < n; i++)
        host[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] + 32 : p[i]);
    host[n] = 0;
}

static bool host_matches(const char *host, wharf_str pattern)
{
    size_t n = strlen(host);
    wharf_str rest = pattern.n > 2 && pattern.p[0] == '*'
                         ? (wharf_str){pattern.p + 1, pattern.n - 1}
                         : pattern;

    if (rest.n == pattern.n)
        return n == pattern.n && strncasecmp(host, pattern.p, n) == 0;
    return n > rest.n && strncasecmp(host + n - rest.n, rest.p, rest.n) == 0;
}

/* Refuses what can be refused before anything is sent. Returns NULL when there is nothing. */
static const char *lua_http_refusal(
    struct wharf_req *req, const struct lua_http *limits, wharf_str url, const char **ret_why)
{
    char host[HOST_MAX + 1], own[HOST_MAX + 1];

    host_of(url, host);
    host_of(str_z(req->engine->config->base_url), own);
    *ret_why = "this is the server itself; use wharf.api";
    if (own[0] && !strcmp(host, own))
        return "http.blocked";
    *ret_why = "the host is not among http_hosts";
    if (!json_is(limits->hosts, JSON_ARRAY))
        return NULL;
    for (const struct wharf_json *e = limits->hosts->child; e; e = e->next) {
        if (host[0] && e->type == JSON_STRING && host_matches(host, e->text))
            return NULL;
    }
    return "http.host_not_allowed";
}

/* ---- what comes back ---- */

static const char *lua_http_code_of(enum net_outcome o)
{
    switch (o) {
    case NET_BAD_URL:
    case NET_BAD_PROTOCOL:
    case NET_BAD_HOST:
    case NET_BLOCKED:
        return "http.blocked";
    case NET_NO_NAME:
    case NET_NO_ADDRESS:
        return "http.dns";
    case NET_NO_TRUST:
        return "http.tls";
    case NET_TIMEOUT:
        return "http.timeout";
    case NET_TOO_LARGE:
        return "http.too_large";
    case NET_DONE:
    case NET_REDIRECTS: /* an answer that points elsewhere is an answer */
        return NULL;
    case NET_NO_CONNECTION:
    case NET_ENCODED:
    case NET_BAD_HEADER:
    case NET_BROKEN:
    case NET_SINK:
    case NET_CANCELLED:
        break;
    }
    return "http.failed";
}

/* Says why there is no answer, so that an author knows what to do. */
static const char *sentence_of(enum net_outcome o)
{
    switch (o) {
    case NET_BAD_URL:
        return "this is no URL that can be asked: it needs a scheme and a host, and no user";
    case NET_BAD_PROTOCOL:
        return "only https is asked, and http where the operator allows it (net.allow_http)";
    case NET_BAD_HOST:
        return "a host of this name is never asked";
    case NET_BLOCKED:
        return "the address of the host is not public; the operator's setting net.allow names "
               "those that may be asked all the same";
    case NET_NO_NAME:
        return "there is no host of this name";
    case NET_NO_ADDRESS:
        return "no name server told an address of the host";
    case NET_NO_CONNECTION:
        return "the host takes no connection at this port";
    case NET_NO_TRUST:
        return "the certificate of the host is not trusted, or TLS failed; the operator's setting "
               "net.ca_file names other authorities";
    case NET_TIMEOUT:
        return "there was no whole answer in time (timeout_ms, 5000 when it is not said)";
    case NET_TOO_LARGE:
        return "the answer is larger than max_bytes (1 MiB when it is not said)";
    case NET_ENCODED:
        return "the answer has an encoding that was not asked for";
    case NET_BAD_HEADER:
        return "a header can't be sent";
    case NET_BROKEN:
        return "the answer is no HTTP, or was cut off";
    case NET_CANCELLED:
        return "the run ended before the answer came";
    case NET_DONE:
    case NET_REDIRECTS:
    case NET_SINK:
        break;
    }
    return "there is no answer";
}

/* Writes headers with names in lower case; of a name that comes twice the values are joined, as
 * RFC 9110 allows. */
static void lua_http_write_headers(struct arena *a, struct jw *w, wharf_str head)
{
    wharf_str names[HEADERS_MAX], values[HEADERS_MAX];
    size_t n = 0;

    for (const char *line = strstr(head.p, "\r\n"); line && n < HEADERS_MAX;
         line = strstr(line, "\r\n")) {
        size_t length = strcspn(line += 2, "\r\n"), name = strcspn(line, ":"), i = 0;
        wharf_str value;

        if (!length || name >= length)
            break;
        value = utf8_trim((wharf_str){line + name + 1, length - name - 1});
        names[n] = utf8_lower(a, arena_dup(a, line, name));
        while (i < n && !str_eq(names[i], names[n]))
            i++;
        if (i < n)
            values[i] = arena_printf(a, "%s, %.*s", values[i].p, STR_ARG(value));
        else
            values[n++] = arena_dup_str(a, value);
    }
    jw_open(w, "headers", '{');
    for (size_t i = 0; i < n; i++) {
        if (utf8_valid(names[i].p, names[i].n) && utf8_valid(values[i].p, values[i].n))
            jw_str(w, names[i].p, values[i]);
    }
    jw_close(w, '}');
}

static void write_answer(struct arena *a, struct jw *w, const char *key, struct net_transfer *t)
{
    wharf_str body = net_text(t);
    size_t size = sodium_base64_ENCODED_LEN(body.n, sodium_base64_VARIANT_ORIGINAL);
    char *text = arena_alloc_apart(a, size);

    sodium_bin2base64(
        text, size, (const unsigned char *)body.p, body.n, sodium_base64_VARIANT_ORIGINAL);
    jw_open(w, key, '{');
    jw_int(w, "status", net_status(t));
    lua_http_write_headers(a, w, net_head(t));
    jw_z(w, "body", text);
    jw_close(w, '}');
}

/* Copies a text outside of the request's budget: it is bounded here. */
static wharf_str lua_http_apart(struct arena *a, wharf_str s)
{
    char *p = arena_alloc_apart(a, s.n + 1);

    memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return (wharf_str){p, s.n};
}

struct exchange {
    struct net_request request;
    struct net_transfer *transfer; /* NULL: refused */
    const char *refused, *why;
};

static void lua_http_write_error(
    struct jw *w, const char *key, const char *code, const struct exchange *x)
{
    jw_open(w, key, '{');
    jw_z(w, "code", code);
    jw_z(w, "message", x->transfer ? sentence_of(net_outcome(x->transfer)) : x->why);
    jw_close(w, '}');
}

static const char *lua_http_code_for(const struct exchange *x)
{
    return x->transfer ? lua_http_code_of(net_outcome(x->transfer)) : x->refused;
}

/* ---- the ops ---- */

/* Runs those that are not refused at once. */
static void lua_http_run_all(struct wharf_req *req, struct exchange *list, size_t n)
{
    struct net_queue *q = net_queue_new(NULL);
    size_t under_way = 0;

    for (size_t i = 0; i < n; i++) {
        if (list[i].refused)
            continue;
        list[i].request.arg = &list[i];
        net_submit(req->engine->net, q, &list[i].request);
        under_way++;
    }
    for (; under_way > 0; under_way--) {
        struct net_transfer *t = net_queue_take(q, -1);

        ((struct exchange *)net_arg(t))->transfer = t;
    }
    net_queue_free(q);
}

static enum sandbox_answer answer_one(struct arena *a, struct exchange *x, struct buf *out)
{
    const char *code = lua_http_code_for(x);
    struct jw w;

    jw_init(&w, out);
    if (code)
        lua_http_write_error(&w, NULL, code, x);
    else
        write_answer(a, &w, NULL, x->transfer);
    return code ? SANDBOX_REFUSED : SANDBOX_GIVEN;
}

static enum sandbox_answer answer_all(
    struct arena *a, struct exchange *list, size_t n, struct buf *out)
{
    struct jw w;

    jw_init(&w, out);
    jw_open(&w, NULL, '[');
    for (size_t i = 0; i < n; i++) {
        const char *code = lua_http_code_for(&list[i]);

        jw_open(&w, NULL, '{');
        if (code)
            lua_http_write_error(&w, "error", code, &list[i]);
        else
            write_answer(a, &w, "response", list[i].transfer);
        jw_close(&w, '}');
    }
    jw_close(&w, ']');
    return SANDBOX_GIVEN;
}

static enum sandbox_answer lua_http_mistake(wharf_str *ret_text, const char *message)
{
    *ret_text = str_z(message);
    return SANDBOX_MISTAKE;
}

static enum sandbox_answer mistake_of(
    struct arena *a, wharf_str *ret_text, const char *code, const char *message)
{
    struct buf out;
    struct jw w;

    buf_init(&out, 64 << 10);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_z(&w, "code", code);
    jw_z(&w, "message", message);
    jw_close(&w, '}');
    *ret_text = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return SANDBOX_MISTAKE;
}

enum sandbox_answer lua_http(struct wharf_req *req, struct lua_http *limits, bool all,
    const struct wharf_json *args, wharf_str *ret_text)
{
    const struct wharf_json *asked = all ? json_get(args, "requests") : NULL;
    struct exchange list[AT_ONCE] = {0};
    size_t n = all ? json_is(asked, JSON_ARRAY) ? asked->count : 0 : 1;
    enum sandbox_answer answer;
    struct buf out;

    if (req->tx.depth)
        return lua_http_mistake(ret_text,
            "{\"code\":\"op.unknown\",\"message\":\"inside of a request's transaction nobody "
            "outside is asked; do it in an after hook\"}");
    if (n > AT_ONCE)
        return lua_http_mistake(ret_text,
            "{\"code\":\"param.invalid\",\"message\":\"at most 10 requests run at once\"}");
    if (n > limits->left) {
        *ret_text = str_z("{\"code\":\"workflow.budget_calls\",\"message\":\"the run made more "
                          "HTTP calls than it may\"}");
        return SANDBOX_ENDED;
    }
    limits->left -= (unsigned)n;
    for (size_t i = 0; i < n; i++) {
        const char *wrong = lua_http_read_request(
            req, limits, all ? json_at(asked, i) : args, &list[i].request);

        if (wrong)
            return mistake_of(req->arena, ret_text, ERR_PARAM_INVALID, wrong);
        list[i].refused = lua_http_refusal(req, limits, list[i].request.url, &list[i].why);
    }
    lua_http_run_all(req, list, n);
    buf_init(&out, ANSWERS_MAX);
    answer = all ? answer_all(req->arena, list, n, &out) : answer_one(req->arena, &list[0], &out);
    if (out.failed)
        answer = lua_http_mistake(ret_text,
            "{\"code\":\"http.too_large\",\"message\":\"these answers are "
            "larger than 48 MiB together, as text\"}");
    else
        *ret_text = lua_http_apart(req->arena, buf_str(&out));
    buf_done(&out);
    for (size_t i = 0; i < n; i++) {
        if (list[i].transfer)
            net_transfer_free(list[i].transfer);
    }
    return answer;
}
