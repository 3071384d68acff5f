/* inner.c - see inner.h. */
#include "lua/inner.h"

#include "resource/observe.h"
#include "resource/engine.h"
#include "resource/envelope.h"
#include "resource/idempotency.h"
#include "resource/plan.h"
#include "util/id.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    ARENA = 64 << 20,
    DEPTH_MAX = 5 /* requests of hooks inside of each other */
};

static const struct wharf_json empty_object = {.type = JSON_OBJECT};

/* ---- the request ---- */

static void add_encoded(struct buf *b, wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
            strchr("-._~,:", c))
            buf_addc(b, (char)c);
        else
            buf_addf(b, "%%%02X", c);
    }
}

static void add_pair(struct buf *b, wharf_str key, const struct wharf_json *v)
{
    if (b->n)
        buf_addc(b, '&');
    add_encoded(b, key);
    buf_addc(b, '=');
    if (v->type == JSON_BOOL)
        buf_addz(b, v->truth ? "true" : "false");
    else if (v->type == JSON_STRING || v->type == JSON_NUMBER)
        add_encoded(b, v->text);
    else if (v->type == JSON_NULL)
        buf_addz(b, "null");
}

static wharf_str query_text(
    struct wharf_req *req, wharf_str in_path, const struct wharf_json *query)
{
    struct buf b;
    wharf_str text;

    buf_init(&b, 64 << 10);
    buf_adds(&b, in_path);
    for (const struct wharf_json *m = json_is(query, JSON_OBJECT) ? query->child : NULL; m;
         m = m->next) {
        if (m->type == JSON_ARRAY) {
            for (const struct wharf_json *e = m->child; e; e = e->next)
                add_pair(&b, m->key, e);
        } else {
            add_pair(&b, m->key, m);
        }
    }
    text = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
    return text;
}

/* Returns the body as HTTP would have brought it: what an Idempotency-Key is remembered with. */
static wharf_str inner_body_text(struct wharf_req *req, const struct wharf_json *body)
{
    struct buf b;
    struct jw w;
    wharf_str text;

    buf_init(&b, ARENA);
    jw_init(&w, &b);
    jw_value(&w, NULL, body);
    text = arena_dup_str(req->arena, buf_str(&b));
    buf_done(&b);
    return text;
}

static void inner_begin(
    struct wharf_req *req, struct wharf_req *outer, const struct inner_call *call)
{
    struct req_head *head = &req->head;
    const char *mark = memchr(call->path.p, '?', call->path.n);
    size_t n = mark ? (size_t)(mark - call->path.p) : call->path.n;
    wharf_str in_path = mark ? (wharf_str){mark + 1, call->path.n - n - 1} : str_z("");
    char id[ID_MAX];

    req->arena = arena_new(ARENA);
    req->engine = outer->engine;
    req->thread = outer->thread;
    head->method = call->method;
    head->path = arena_dup(req->arena, call->path.p, n);
    head->raw_query = query_text(req, in_path, call->query);
    head->client_request_id = head->traceparent = head->last_event_id = str_z("");
    req->body = call->body ? call->body : &empty_object;
    req->body_text = call->body ? inner_body_text(req, call->body) : str_z("");
    head->idempotency_key = call->idempotency_key.p ? call->idempotency_key : str_z("");
    head->if_match = req->batch_id = str_z("");
    req->access.who = call->who;
    req->depth = outer->depth + 1;
    request_share(outer, req);
    req->start_us = clock_monotonic_us();
    req->deadline_us = outer->deadline_us;
    req->now_us = clock_now_us();
    id_new("req", req->now_us, id);
    memcpy(req->request_id, id, sizeof(req->request_id));
    buf_init(&req->reply.out, ARENA);
}

/* ---- what HTTP checks before a request runs ---- */

static bool available(struct wharf_req *req)
{
    const struct route *r = req->route;

    if (r->absent)
        return req_fail(req, ERR_MODULE_UNAVAILABLE, NULL, NULL), false;
    if (r->kind == ROUTE_KERNEL || r->stream_tokens || r->event_stream ||
        (r->declared && r->declared->flags & WHARF_R_RAW_BODY))
        return req_fail(req, ERR_ROUTE_NOT_FOUND, NULL, "This path is not available to workflows"),
               false;
    if (req->depth > DEPTH_MAX)
        return req_fail(req, ERR_CONFLICT, NULL, "Workflows call each other too deep"), false;
    return true;
}

static bool inner_checked(struct wharf_req *req)
{
    struct req_head *head = &req->head;
    wharf_str allow = {NULL, 0}, bad;
    const char *missing;

    switch (request_find_route(req, &allow)) {
    case ROUTE_FOUND:
        break;
    case ROUTE_METHOD:
        return req_fail(req, ERR_METHOD_NOT_ALLOWED, NULL,
                   "%s is not possible here; this path takes %s", head->method, allow.p),
               false;
    case ROUTE_NONE:
        return req_fail(req, ERR_ROUTE_NOT_FOUND, NULL, NULL), false;
    }
    if (!available(req))
        return false;
    if (req->route->area >= 0 && req->access.who->levels[req->route->area] < req->route->level) {
        missing = arena_printf(req->arena, "%s:%s", req->engine->areas.names[req->route->area],
            req->route->level == SCOPE_READ ? "read" : "write")
                      .p;
        return req_fail(req, ERR_SCOPE_ACCESS, missing, "The workflow lacks the scope %s", missing),
               false;
    }
    if (req->body->type != JSON_OBJECT &&
        !(req->route->array_body && req->body->type == JSON_ARRAY))
        return req_fail(req, ERR_BODY_MALFORMED, NULL, "The body's top level must be an object"),
               false;
    if (head->raw_query.n &&
        !query_split(req->arena, head->raw_query, &head->pairs, &head->n_pairs, &bad) &&
        req->route->kind != ROUTE_LIST && req->route->kind != ROUTE_RETRIEVE)
        return req_problem(req, ERR_PARAM_INVALID, bad, NULL,
                   str_z("A parameter has a broken %-escape or is not UTF-8")),
               false;
    return true;
}

/* ---- the answer ---- */

static bool inner_answer(struct wharf_req *req, struct buf *out)
{
    struct req_problems *problems = &req->problems;
    struct req_reply *reply = &req->reply;
    bool good = !problems->n;
    struct jw w;

    if (good && reply->replay.n) { /* the whole envelope of the first time */
        buf_adds(out, reply->replay);
        return true;
    }
    jw_init(&w, out);
    jw_open(&w, NULL, '{');
    jw_int(&w, "status", good ? reply->status : code_status(req->engine, problems->list[0].code));
    if (!good)
        jw_z(&w, "code", problems->list[0].code);
    jw_str(&w, "message",
        good ? reply->message.p ? reply->message : str_z("") : problems->list[0].text);
    if (good && reply->out.n)
        jw_raw(&w, "data", buf_str(&reply->out));
    if (good && reply->pagination.n)
        jw_raw(&w, "pagination", reply->pagination);
    if (!good)
        envelope_errors(&w, req);
    jw_close(&w, '}');
    return good;
}

static void inner_run_alone(struct wharf_req *req, const struct inner_call *call)
{
    if (!inner_checked(req))
        return;
    if (call->key_is_ours && req->route->declared && req->route->declared->flags & WHARF_R_NO_TX)
        req->head.idempotency_key = str_z("");
    request_run(req);
}

/* Runs a read in the outer one's transaction, behind a savepoint: a statement that fails takes
 * nothing else along. */
static void run_inside(struct wharf_req *req, struct wharf_req *outer)
{
    if (req_begin(outer) != WHARF_OK) {
        req_fail(req, ERR_OVERLOADED, NULL, NULL);
        return;
    }
    req_leave_organization(outer);
    req->tx.depth = req->tx.floor = outer->tx.depth;
    if (inner_checked(req) &&
        (req->route->kind == ROUTE_LIST || req->route->kind == ROUTE_RETRIEVE ||
            (req->route->declared && req->route->declared->flags & WHARF_R_READONLY)))
        request_run(req);
    else if (!req->problems.n)
        req_fail(
            req, ERR_ROUTE_NOT_FOUND, NULL, "This path is not available inside of a transaction");
    outer->tx.plugin_role = outer->tx.plugin_role || req->tx.plugin_role;
    if (req->problems.n)
        req_rollback(outer);
    else
        req_commit(outer);
}

bool inner_key(const struct wharf_json *args, wharf_str *ret_key, wharf_str *ret_mistake)
{
    const struct wharf_json *key = json_get(args, "idempotency_key");

    *ret_key = (wharf_str){NULL, 0};
    if (!key)
        return true;
    if (key->type == JSON_STRING && idempotency_key_good(key->text)) {
        *ret_key = key->text;
        return true;
    }
    *ret_mistake = WHARF_S(
        "{\"code\":\"param.invalid\",\"message\":\"idempotency_key is a text of 1 to 255 printable "
        "ASCII characters; shorten or encode it, or leave it out\"}");
    return false;
}

bool inner_request(struct wharf_req *outer, const struct inner_call *call, wharf_str *ret_text)
{
    struct wharf_req req = {0};
    struct buf out;
    bool good;

    inner_begin(&req, outer, call);
    if (outer->tx.depth)
        run_inside(&req, outer);
    else
        inner_run_alone(&req, call);
    if (!req.problems.n && (req.parked || req.reply.served || req.stream || req.reply.raw_type))
        req_fail(&req, ERR_ROUTE_NOT_FOUND, NULL, "This answer is not available to workflows");
    buf_init(&out, ARENA);
    request_release(&req);
    good = inner_answer(&req, &out);
    *ret_text = out.failed ? WHARF_S("{\"code\":\"body.too_large\",\"message\":\"the answer is too "
                                     "large\",\"status\":413}")
                           : arena_dup_str(outer->arena, buf_str(&out));
    good = good && !out.failed;
    buf_done(&out);
    buf_done(&req.reply.out);
    arena_free(req.arena);
    return good;
}
