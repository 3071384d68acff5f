/* around.c - request and response hooks: before a request is routed, and before its answer is
 * sent (docs/spec/08-workflows-and-lua.md section 9).
 *
 * They have five milliseconds of the processor, and nothing that waits: no API, no database, no
 * HTTP (operator_host.c). What is asked over HTTP only has them, and not probes, metrics and
 * answers that are written while a body is still coming. */
#include "lua/operator/operator_inside.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "query/query.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    HEADERS_MAX = 20, /* headers that a hook adds */
    HEADERS_BYTES = 4096, /* bytes of these */
    RESULT_BYTES = 64 << 10
};

/* ---- what they are shown ---- */

static bool is_secret(wharf_str name)
{
    static const char *const names[] = {
        "svc-api-key", "x-api-key", "authorization", "cookie", "proxy-authorization"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (name.n == strlen(names[i]) && !strncasecmp(name.p, names[i], name.n))
            return true;
    }
    return false;
}

static void shown_headers(struct wharf_req *req, struct jw *w)
{
    struct req_head *head = &req->head;

    jw_open(w, "headers", '{');
    for (size_t i = 0; i < head->n_lines; i++) {
        char *name = (char *)arena_dup_str(req->arena, head->lines[i].name).p;
        bool again = false;

        for (size_t k = 0; k < i && !again; k++)
            again = !strcasecmp(head->lines[k].name.p, name);
        for (size_t k = 0; name[k]; k++)
            name[k] = (char)tolower((unsigned char)name[k]);
        if (!again && !is_secret(head->lines[i].name) && utf8_valid(name, strlen(name)))
            jw_str(w, name, head->lines[i].value);
    }
    jw_close(w, '}');
}

static void shown_query(struct wharf_req *req, struct jw *w)
{
    const struct query_pair *pairs = NULL;
    size_t n = 0;
    wharf_str bad;

    if (req->head.raw_query.n)
        query_split(req->arena, req->head.raw_query, &pairs, &n, &bad);
    jw_open(w, "query", '{');
    for (size_t i = 0; i < n; i++) {
        bool again = pairs[i].broken;

        for (size_t k = i + 1; k < n && !again; k++)
            again = str_eq(pairs[k].key, pairs[i].key); /* the last one counts */
        if (!again)
            jw_str(w, pairs[i].key.p, pairs[i].value);
    }
    jw_close(w, '}');
}

void operator_shown(struct wharf_req *req, struct jw *w)
{
    struct req_head *head = &req->head;

    jw_z(w, "method", head->method);
    jw_str(w, "path", head->path);
    shown_query(req, w);
    shown_headers(req, w);
    jw_z(w, "request_id", req->request_id);
    if (head->remote_addr.n)
        jw_str(w, "remote_addr", head->remote_addr);
}

static wharf_str around_request_text(struct wharf_req *req, int status)
{
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, 1 << 20);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    operator_shown(req, &w);
    if (status) {
        jw_int(&w, "status", status);
        if (req->problems.n)
            jw_z(&w, "code", req->problems.list[0].code);
        if (req->route)
            jw_z(&w, "route", req->route->pattern);
        jw_raw(&w, "duration_ms",
            arena_printf(
                req->arena, "%.3f", (double)(clock_monotonic_us() - req->start_us) / 1000));
    }
    jw_close(&w, '}');
    text = arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

/* ---- headers of the answer ---- */

/* Tells whether a header is one that the server says itself, or that would say something of the
 * connection. */
static bool around_is_ours(wharf_str name)
{
    static const char *const names[] = {"connection", "keep-alive", "proxy-authenticate", "te",
        "trailer", "transfer-encoding", "upgrade", "content-length", "content-type",
        "content-encoding", "set-cookie", "date", "server", "allow", "etag", "vary",
        "cache-control", "location", "retry-after", "www-authenticate", "request-id",
        "x-request-id", "x-content-type-options", "x-accel-buffering", "idempotent-replayed",
        "preference-applied", "deprecation", "sunset", "link", "content-security-policy",
        "referrer-policy"};
    static const char *const beginnings[] = {"svc-", "ratelimit", "access-control-"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (name.n == strlen(names[i]) && !strncasecmp(name.p, names[i], name.n))
            return true;
    }
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        if (!strncasecmp(name.p, beginnings[i], strlen(beginnings[i])))
            return true;
    }
    return false;
}

static bool header_ok(wharf_str name, wharf_str value)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-";

    if (!name.n || strspn(name.p, letters) < name.n)
        return false;
    for (size_t i = 0; i < value.n; i++) {
        if ((unsigned char)value.p[i] < 0x20 || (unsigned char)value.p[i] > 0x7e)
            return false;
    }
    return true;
}

static void add_header(struct wharf_req *req, wharf_str name, wharf_str value)
{
    struct req_reply *reply = &req->reply;
    struct header_line *more;

    for (size_t i = 0; i < reply->n_added; i++) {
        if (reply->added[i].name.n == name.n &&
            !strncasecmp(reply->added[i].name.p, name.p, name.n)) {
            reply->added[i].value = arena_dup_str(req->arena, value); /* the last one says it */
            return;
        }
    }
    more = ARENA_ARRAY(req->arena, struct header_line, reply->n_added + 1);
    if (reply->n_added)
        memcpy(more, reply->added, reply->n_added * sizeof(*more));
    more[reply->n_added++] = (struct header_line){
        arena_dup_str(req->arena, name), arena_dup_str(req->arena, value)};
    reply->added = more;
}

const char *operator_headers(struct wharf_req *req, const struct wharf_json *headers)
{
    struct req_reply *reply = &req->reply;
    size_t bytes = 0;

    for (size_t i = 0; i < reply->n_added; i++)
        bytes += reply->added[i].name.n + reply->added[i].value.n;
    for (const struct wharf_json *h = headers->child; h; h = h->next) {
        bytes += h->key.n + h->text.n;
        if (h->type != JSON_STRING && h->type != JSON_NUMBER)
            return "the values of headers are texts";
        if (!header_ok(h->key, h->text))
            return arena_printf(req->arena,
                "the header %.*s has a name of letters, digits and '-', and a value of "
                "printable ASCII characters",
                STR_ARG(h->key))
                .p;
        if (around_is_ours(h->key))
            return arena_printf(req->arena, "the header %.*s is the server's own", STR_ARG(h->key))
                .p;
    }
    if (reply->n_added + headers->count > HEADERS_MAX || bytes > HEADERS_BYTES)
        return "hooks add at most 20 headers, of 4 KiB together";
    for (const struct wharf_json *h = headers->child; h; h = h->next)
        add_header(req, h->key, h->text);
    return NULL;
}

/* ---- running ---- */

static bool is_probe(wharf_str path)
{
    return str_eqz(path, "/livez") || str_eqz(path, "/readyz") || str_eqz(path, "/healthz") ||
           str_eqz(path, "/metrics");
}

static const struct hook_list *hooks_of(struct wharf_req *req, bool response)
{
    static const struct hook_list none;
    const struct lua_generation *g = req->engine->admin || is_probe(req->head.path)
                                         ? NULL
                                         : operator_hold(req);

    return !g ? &none : response ? &g->responses : &g->requests;
}

bool operator_asks_request(struct wharf_req *req)
{
    return hooks_of(req, false)->n > 0;
}

bool operator_asks_response(struct wharf_req *req)
{
    return hooks_of(req, true)->n > 0;
}

/* Takes what a hook returned: nothing, or {headers = {…}}. Returns NULL, or what is wrong. */
static const char *around_take_result(struct wharf_req *req, wharf_str text)
{
    struct json_error bad;
    const struct wharf_json *v = text.n ? json_parse(req->arena, text, &bad) : NULL;
    const struct wharf_json *headers = json_get(v, "headers");

    if (!v || v->type == JSON_NULL)
        return NULL;
    if (!json_is(v, JSON_OBJECT) || v->count != 1 || !headers ||
        (headers->type != JSON_OBJECT && (headers->type != JSON_ARRAY || headers->count)))
        return "a request or response hook returns nothing, or {headers = {name = value}}";
    return headers->type == JSON_OBJECT ? operator_headers(req, headers) : NULL;
}

static bool around_call(
    struct wharf_req *req, const struct lua_hook *hook, int status, struct sandbox_error *e)
{
    struct hook_call call = {.hook = hook,
        .arg = around_request_text(req, status),
        .context = operator_context(req, hook, str_z(""), str_z(""))};
    struct buf result;
    const char *problem;
    bool good;

    buf_init(&result, RESULT_BYTES);
    call.result = &result;
    good = generation_call(operator_hold(req), req, &call, NULL, e);
    problem = good ? around_take_result(req, arena_dup_str(req->arena, buf_str(&result))) : NULL;
    buf_done(&result);
    if (problem) {
        *e = (struct sandbox_error){.end = SANDBOX_RAISED};
        memcpy(e->message, problem,
            strlen(problem) < sizeof(e->message) ? strlen(problem) : sizeof(e->message) - 1);
    }
    return good && !problem;
}

static void around_failed(struct wharf_req *req, const struct lua_hook *hook)
{
    if (!hook->ignore)
        req_fail(req, ERR_WORKFLOW_HOOK_FAILED, NULL,
            "A rule of this server failed; its operator finds the reason in the log, by %s",
            req->request_id);
}

void operator_request(struct wharf_req *req)
{
    const struct hook_list *list = hooks_of(req, false);
    struct sandbox_error e;

    for (size_t i = 0; i < list->n && !req->problems.n; i++) {
        if (around_call(req, list->items[i], 0, &e))
            continue;
        if (e.end == SANDBOX_REJECTED) {
            operator_rejected(req, &e);
        } else {
            operator_failed(req, list->items[i], &e);
            around_failed(req, list->items[i]);
        }
    }
}

/* Tells whether a hook may refuse: a write that was done is told as done, whatever a hook says. */
static bool may_refuse(const struct wharf_req *req)
{
    return !req->problems.n &&
           (!strcmp(req->head.method, "GET") || !strcmp(req->head.method, "HEAD"));
}

void operator_response(struct wharf_req *req)
{
    const struct hook_list *list = hooks_of(req, true);
    int status = req->problems.n ? code_status(req->engine, req->problems.list[0].code)
                                 : req->reply.status;
    struct sandbox_error e;

    for (size_t i = 0; i < list->n; i++) {
        const struct lua_hook *hook = list->items[i];

        if (around_call(req, hook, status, &e))
            continue;
        if (e.end != SANDBOX_REJECTED || !may_refuse(req))
            operator_failed(req, hook, &e);
        if (!may_refuse(req))
            continue;
        if (e.end == SANDBOX_REJECTED)
            operator_rejected(req, &e);
        else
            around_failed(req, hook);
    }
}
