/* route_call.c - a call of a hook's route: what its function is shown, the locations that it may
 * tell of, and the answer.
 *
 * Leaves to others: all that HTTP checks before (http/http_check.c); what the options say
 * (route.c). */
#include "lua/operator/operator_inside.h"

#include <stdio.h>
#include <string.h>

#include "host/host.h"
#include "query/query.h"
#include "resource/hooks.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum {
    RESULT_BYTES = 16 << 20, /* bytes of an answer */
    LIST_LIMIT = 20, /* rows of a page */
    LIST_MOST = 1000 /* rows of a page at most */
};

/* ---- what the function is shown ---- */

static bool operator_word(wharf_str op)
{
    static const char *const words[] = {"eq", "!eq", "in", "!in", "gt", "gte", "lt", "lte"};

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eqz(op, words[i]))
            return true;
    }
    return false;
}

static bool filter_value(
    struct wharf_req *req, struct jw *w, const char *key, wharf_str type, wharf_str v)
{
    struct json_error bad;
    const struct wharf_json *number;
    int64_t us;

    if (str_eqz(type, "number")) {
        number = json_parse(req->arena, v, &bad);
        if (!json_is(number, JSON_NUMBER))
            return false;
        jw_raw(w, key, number->text);
    } else if (str_eqz(type, "boolean")) {
        if (!str_eqz(v, "true") && !str_eqz(v, "false"))
            return false;
        jw_bool(w, key, str_eqz(v, "true"));
    } else if (str_eqz(type, "date")) {
        if (!time_parse(v, true, &us))
            return false;
        jw_str(w, key, time_iso(req->arena, us));
    } else {
        jw_str(w, key, v);
    }
    return true;
}

/* Writes name=a,b and name[op]=value as a condition of wharf.filter. */
static bool filter_pair(struct wharf_req *req, struct jw *w, const struct wharf_json *f,
    wharf_str op, const struct query_pair *pair)
{
    bool many = memchr(pair->value.p, ',', pair->value.n) != NULL, good = true;
    wharf_str rest = pair->value;

    if (!op.n)
        op = many ? str_z("in") : str_z("eq");
    if (!operator_word(op) || !pair->value.n)
        return false;
    jw_open(w, NULL, '{');
    jw_str(w, "path", f->key);
    jw_str(w, "op", op);
    if (str_eqz(op, "in") || str_eqz(op, "!in")) {
        jw_open(w, "value", '[');
        while (good && rest.n) {
            const char *comma = memchr(rest.p, ',', rest.n);
            size_t n = comma ? (size_t)(comma - rest.p) : rest.n;

            good = n && filter_value(req, w, NULL, f->text, arena_dup(req->arena, rest.p, n));
            rest = comma ? (wharf_str){comma + 1, rest.n - n - 1} : (wharf_str){rest.p + n, 0};
            good = good && !(comma && !rest.n);
        }
        jw_close(w, ']');
    } else {
        good = filter_value(req, w, "value", f->text, pair->value);
    }
    jw_close(w, '}');
    return good;
}

static bool filters(struct wharf_req *req, struct jw *w, const struct hook_route *hr)
{
    jw_open(w, "filters", '[');
    for (size_t i = 0; i < req->head.n_pairs; i++) {
        wharf_str key = req->head.pairs[i].key, op = {"", 0};
        const char *bracket = memchr(key.p, '[', key.n);

        if (bracket && key.p[key.n - 1] == ']') {
            op = arena_dup(req->arena, bracket + 1, (size_t)(key.p + key.n - bracket) - 2);
            key.n = (size_t)(bracket - key.p);
        }
        for (const struct wharf_json *f = hr->filters->child; f; f = f->next) {
            if (str_eq(f->key, key) && !filter_pair(req, w, f, op, &req->head.pairs[i])) {
                req_problem(req, ERR_PARAM_INVALID, f->key, NULL,
                    arena_printf(req->arena,
                        "%.*s is compared with a %.*s, by eq, !eq, in, !in, gt, gte, lt or lte",
                        STR_ARG(f->key), STR_ARG(f->text)));
                return false;
            }
        }
    }
    jw_close(w, ']');
    return true;
}

/* Writes the locations that the caller reaches; absent: all. */
static void route_call_locations(const struct req_access *access, struct jw *w)
{
    if (!access->who || access->who->access.all_locations)
        return;
    jw_open(w, "locations", '[');
    for (size_t i = 0; i < access->who->access.n_locations; i++)
        jw_str(w, NULL, access->who->access.locations[i]);
    jw_close(w, ']');
}

struct shown_page {
    int64_t page, limit;
};

/* Makes the ctx of other hooks, with what routes have more. Returns false when a problem is on the
 * request. */
static bool context_of(struct wharf_req *req, const struct hook_route *hr, wharf_str location,
    struct shown_page *page, wharf_str *ret_context)
{
    wharf_str base = operator_context(req, hr->hook, location, str_z(""));
    struct buf out;
    struct jw w;
    bool good = true;

    buf_init(&out, 1 << 20);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    route_call_locations(&req->access, &w);
    if (hr->list) {
        good = page_read(req, LIST_LIMIT, LIST_MOST, &page->page, &page->limit) == WHARF_OK;
        jw_open(&w, "page", '{');
        jw_int(&w, "page", page->page);
        jw_int(&w, "limit", page->limit);
        jw_int(&w, "offset", (page->page - 1) * page->limit);
        jw_int(&w, "take", page->limit + 1);
        jw_close(&w, '}');
    }
    if (good && hr->filters)
        good = filters(req, &w, hr);
    if (good) {
        jw_close(&w, '}');
        *ret_context = out.n > 2 ? arena_printf(req->arena, "%.*s,%.*s", (int)base.n - 1, base.p,
                                       (int)out.n - 1, out.p + 1)
                                 : base;
    }
    buf_done(&out);
    return good;
}

static wharf_str request_of(struct wharf_req *req)
{
    const struct principal *who = req->access.who;
    struct buf out;
    struct jw w;
    wharf_str text;

    buf_init(&out, 256 << 20);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    operator_shown(req, &w);
    jw_open(&w, "params", '{');
    for (size_t i = 0; i < req->route->n_params; i++)
        jw_str(&w, req->route->param_names[i], req->params[i]);
    jw_close(&w, '}');
    if (who) {
        jw_open(&w, "key", '{');
        jw_str(&w, "id", who->key_id);
        if (who->access.user_id.n)
            jw_str(&w, "user_id", who->access.user_id);
        if (who->access.device_id.n)
            jw_str(&w, "device_id", who->access.device_id);
        jw_close(&w, '}');
    }
    jw_str(&w, "body", utf8_valid(req->body_text.p, req->body_text.n) ? req->body_text : str_z(""));
    if (req->body_text.n && !(req->route->declared->flags & WHARF_R_RAW_BODY))
        jw_value(&w, "json", req->body);
    jw_close(&w, '}');
    text = out.failed ? (wharf_str){NULL, 0} : arena_dup_str(req->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

/* ---- locations ---- */

/* Finds the location that the request names, for the policy "body": it must be there and the
 * caller's. */
static bool named_location(struct wharf_req *req, wharf_str *ret)
{
    const struct resource *res = engine_locations(req->engine);
    PGresult *r;

    *ret = json_text_or(req->body, "location_id", "");
    if (!ret->n)
        req_param(req, "location_id", ret);
    if (!ret->n) {
        req_problem(req, ERR_VALIDATION_FAILED, str_z("location_id"), "required",
            str_z("location_id says which location"));
        return false;
    }
    if (!principal_may_see(req->access.who, *ret)) {
        req_problem(req, ERR_LOCATION_ACCESS, *ret, NULL, str_z(""));
        return false;
    }
    r = res ? retrieve_row(req, res, *ret) : NULL;
    if (res && r && !PQntuples(r))
        req_problem(req, ERR_VALIDATION_FAILED, str_z("location_id"), "reference",
            str_z("There is no such location"));
    return !req->problems.n;
}

static bool reached(const struct req_access *access, const struct wharf_json *row)
{
    wharf_str id = json_text_or(row, "location_id", "");

    return !id.n || principal_may_see(access->who, id);
}

/* Keeps what the caller reaches, for the policy "row": rows of other locations are left out of a
 * list; another one is refused. */
static bool keep_own(struct wharf_req *req, struct wharf_json *v)
{
    struct wharf_json **at;

    if (v->type == JSON_OBJECT && !reached(&req->access, v)) {
        req_problem(req, ERR_LOCATION_ACCESS, json_text_or(v, "location_id", ""), NULL, str_z(""));
        return false;
    }
    for (at = &v->child; v->type == JSON_ARRAY && *at;) {
        if (reached(&req->access, *at)) {
            at = &(*at)->next;
        } else {
            *at = (*at)->next;
            v->count--;
        }
    }
    return true;
}

/* ---- the answer ---- */

/* Tells whether v is {status, headers, body}, with nothing else in it. */
static bool is_response(const struct wharf_json *v)
{
    if (!json_is(v, JSON_OBJECT) || !json_is(json_get(v, "status"), JSON_NUMBER))
        return false;
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        if (!str_eqz(m->key, "status") && !str_eqz(m->key, "headers") && !str_eqz(m->key, "body"))
            return false;
    }
    return true;
}

static wharf_status route_call_wrong(
    struct wharf_req *req, const struct hook_route *hr, const char *text)
{
    struct sandbox_error e = {.end = SANDBOX_RAISED};

    snprintf(e.message, sizeof(e.message), "%s", text);
    operator_failed(req, hr->hook, &e);
    return req_fail(req, ERR_INTERNAL, NULL, NULL);
}

static wharf_status respond_as(
    struct wharf_req *req, const struct hook_route *hr, const struct wharf_json *v)
{
    struct req_reply *reply = &req->reply;
    const struct wharf_json *body = json_get(v, "body"), *headers = json_get(v, "headers");
    bool text = json_is(body, JSON_STRING);
    int64_t status = 0;
    const char *problem;
    struct jw w;

    if (!json_int(json_get(v, "status"), &status) || status < 200 || status > 599 || status == 304)
        return route_call_wrong(req, hr, "the status of an answer is 200 to 599, and not 304");
    problem = json_is(headers, JSON_OBJECT) ? operator_headers(req, headers) : NULL;
    if (problem)
        return route_call_wrong(req, hr, problem);
    req_respond(reply, (int)status, str_z("ok"));
    if (!body || body->type == JSON_NULL) {
        reply->raw_type = "text/plain; charset=utf-8";
        return WHARF_OK;
    }
    reply->raw_type = hr->content_type ? hr->content_type
                      : text           ? "text/plain; charset=utf-8"
                                       : "application/json; charset=utf-8";
    jw_init(&w, &reply->out);
    if (text)
        buf_adds(&reply->out, body->text);
    else
        jw_value(&w, NULL, body);
    return WHARF_OK;
}

static wharf_status respond_list(struct wharf_req *req, const struct hook_route *hr,
    struct wharf_json *v, const struct shown_page *page)
{
    bool more = v->count > page->limit;
    struct wharf_json *last = v->child;

    if (v->type != JSON_ARRAY)
        return route_call_wrong(req, hr, "a route with list = true returns an array of rows");
    for (int64_t i = 1; more && i < page->limit; i++)
        last = last->next;
    if (more) {
        last->next = NULL;
        v->count = (uint32_t)page->limit;
    }
    if (hr->rows && !keep_own(req, v))
        return WHARF_DENIED;
    req_respond(&req->reply, 200, arena_printf(req->arena, "%u rows retrieved", v->count));
    page_reported(req, page->page, page->limit, more);
    jw_value(&req->reply.w, NULL, v);
    return WHARF_OK;
}

static wharf_status route_call_answer(struct wharf_req *req, const struct hook_route *hr,
    wharf_str text, const struct shown_page *page)
{
    struct json_error bad;
    struct wharf_json *v = text.n ? (struct wharf_json *)json_parse(req->arena, text, &bad) : NULL;

    if (!v || v->type == JSON_NULL)
        return WHARF_OK; /* 204 */
    if (is_response(v))
        return respond_as(req, hr, v);
    if (hr->list)
        return respond_list(req, hr, v, page);
    if (hr->rows && !keep_own(req, v))
        return WHARF_DENIED;
    req_respond(&req->reply, 200, str_z("Done"));
    if (v->type == JSON_ARRAY)
        page_reported(req, 1, v->count ? v->count : 1, false);
    jw_value(&req->reply.w, NULL, v);
    return WHARF_OK;
}

/* ---- a call ---- */

static wharf_status route_call_not_good(
    struct wharf_req *req, const struct hook_route *hr, const struct sandbox_error *e)
{
    if (e->end == SANDBOX_REJECTED || (e->end == SANDBOX_RAISED && e->code[0]))
        return operator_rejected(req, e);
    operator_failed(req, hr->hook, e);
    if (e->end == SANDBOX_OVER && !strcmp(e->code, ERR_WORKFLOW_BUDGET_TIME))
        return req_fail(req, ERR_TIMEOUT, NULL, NULL);
    return req_fail(req, ERR_INTERNAL, NULL,
        "A rule of this server failed; its operator finds the reason in the log, by %s",
        req->request_id);
}

wharf_status route_run(wharf_req *req, void *arg)
{
    struct hook_route *hr = arg;
    struct shown_page page = {0};
    struct hook_call call = {.hook = hr->hook};
    wharf_str location = {"", 0};
    struct sandbox_error e;
    struct buf result;
    wharf_status s;

    if ((hr->named && !named_location(req, &location)) ||
        !context_of(req, hr, location, &page, &call.context))
        return WHARF_INVALID;
    call.arg = request_of(req);
    call.location = location;
    if (!call.arg.p)
        return req_fail(req, ERR_BODY_TOO_LARGE, NULL, NULL);
    buf_init(&result, RESULT_BYTES);
    call.result = &result;
    s = generation_call(operator_hold(req), req, &call, NULL, &e)
            ? route_call_answer(req, hr, arena_dup_str(req->arena, buf_str(&result)), &page)
            : route_call_not_good(req, hr, &e);
    buf_done(&result);
    return s;
}
