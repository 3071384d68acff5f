/* workflow_http.c - triggers of type http (spec 08 section 3): a URL per workflow, who may ask
 * it, and what it answers. How a run goes: workflow_run.c. */
#include <string.h>
#include <strings.h>

#include "workflows.h"
#include "workflows.gen.h"

enum { HEADERS_SENT_MAX = 50 }; /* headers of an answer */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* ---- what may stand in one ---- */

static bool workflow_http_among(const char *const *words, wharf_str word)
{
    for (size_t i = 0; words[i]; i++) {
        if (is(word, words[i]))
            return true;
    }
    return false;
}

/* Takes the next segment. Returns false when there is none. A leading slash says nothing. */
static bool workflow_http_next_segment(wharf_str *rest, wharf_str *ret)
{
    const char *end;

    if (!rest->n)
        return false;
    end = memchr(rest->p, '/', rest->n);
    *ret = (wharf_str){rest->p, end ? (size_t)(end - rest->p) : rest->n};
    *rest = end ? (wharf_str){end + 1, rest->n - ret->n - 1} : (wharf_str){rest->p + rest->n, 0};
    return true;
}

static wharf_str workflow_http_path_of(const wharf_json *t)
{
    wharf_str path = json_text(t, "path");

    return path.n && path.p[0] == '/' ? (wharf_str){path.p + 1, path.n - 1} : path;
}

wharf_status http_check(wharf_req *req, const wharf_json *t, const char *path)
{
    wharf_status s = input_schema_check(req, t, path);

    if (s != WHARF_OK)
        return s;
    if (is(json_text(t, "auth"), "signature") ? secret_key_good(json_text(t, "secret_key"))
                                              : !W->json->get(t, "secret_key"))
        return WHARF_OK;
    return W->err->fail(req, ERR_WORKFLOW_TRIGGER_INVALID, path,
        "secret_key names the workflow's secret that a signature is made with; it goes with auth "
        "signature");
}

/* ---- its URL ---- */

/* Registers or forgets the workflow in the transaction that publishes or removes: it is found by
 * its id without a key, or not any more. */
wharf_status http_name(wharf_req *req, wharf_str workflow_id, bool there)
{
    wharf_status s = flow_tokens->revoke(req, "http", workflow_id);

    return s == WHARF_OK && there ? flow_tokens->name(req, "http", workflow_id, workflow_id) : s;
}

/* ---- the trigger of a request ---- */

struct ask {
    struct run run;
    const wharf_json *trigger, *body; /* body: as JSON, or NULL */
    bool broken; /* it was said to be JSON, and is none */
    wharf_str method, path, auth;
    bool enabled, text_body; /* of the workflow; the body is a text */
};

static int workflow_http_hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes a text of a URL. Returns false when it is not what a URL may hold. */
static bool workflow_http_decode(wharf_req *req, wharf_str s, wharf_str *ret)
{
    char *out = W->mem->alloc(req, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '%') {
            if (i + 2 >= s.n || workflow_http_hex(s.p[i + 1]) < 0 ||
                workflow_http_hex(s.p[i + 2]) < 0)
                return false;
            out[n++] = (char)(workflow_http_hex(s.p[i + 1]) * 16 + workflow_http_hex(s.p[i + 2]));
            i += 2;
        } else {
            out[n++] = s.p[i];
        }
    }
    out[n] = 0;
    *ret = (wharf_str){out, n};
    return flow_text->is_text(*ret);
}

/* Returns the bits of the segments, the first one highest: 1 where a word stands and no capture;
 * -1: it is not its path. */
static int64_t fit(wharf_req *req, wharf_str pattern, wharf_str path)
{
    int64_t rank = 0;
    wharf_str p, s, plain;

    for (;;) {
        bool more = workflow_http_next_segment(&pattern, &p),
             others = workflow_http_next_segment(&path, &s);

        if (!more || !others)
            return more == others ? rank : -1;
        if (!workflow_http_decode(req, s, &plain) || (p.p[0] == ':' ? !plain.n : !same(p, plain)))
            return -1;
        rank = rank * 2 + (p.p[0] != ':');
    }
}

static void find_trigger(wharf_req *req, struct ask *a)
{
    const wharf_json *triggers = a->run.code.triggers;
    int64_t best = -1;

    for (const wharf_json *t = triggers ? W->json->at(triggers, 0) : NULL; t;
         t = W->json->next(t)) {
        int64_t rank = is(json_text(t, "type"), "http") && trigger_enabled(t)
                           ? fit(req, workflow_http_path_of(t), a->path)
                           : -1;

        if (rank > best) {
            best = rank;
            a->trigger = t;
        }
    }
}

/* Tells whether the trigger takes the method. HEAD is asked for what GET answers. */
static bool takes_method(
    wharf_req *req, const wharf_json *t, wharf_str method, wharf_str *ret_allow)
{
    const wharf_json *list = W->json->get(t, "methods");
    bool takes = !list && is(method, "POST"), get = is(method, "HEAD");
    wharf_str one;

    *ret_allow = list ? WHARF_S("") : WHARF_S("POST");
    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
        if (!W->json->text(e, &one))
            continue;
        takes = takes || same(one, method) || (get && is(one, "GET"));
        *ret_allow = W->mem->format(req, "%s%s%s%s", ret_allow->p, ret_allow->n ? ", " : "", one.p,
            is(one, "GET") ? ", HEAD" : "");
    }
    return takes;
}

static wharf_status judge_path(wharf_req *req, struct ask *a)
{
    wharf_str allow;

    find_trigger(req, a);
    if (!a->trigger)
        return W->err->fail(req, ERR_WORKFLOW_NO_SUCH_PATH, NULL, NULL);
    a->auth = json_text(a->trigger, "auth").n ? json_text(a->trigger, "auth") : WHARF_S("key");
    if (takes_method(req, a->trigger, a->method, &allow))
        return WHARF_OK;
    flow_http->answer_header(req, WHARF_S("Allow"), allow);
    return W->err->fail(
        req, ERR_WORKFLOW_METHOD, NULL, "This path of the workflow takes %s", allow.p);
}

/* ---- who asks ---- */

static wharf_status check_signature(wharf_req *req, struct ask *a)
{
    wharf_str secret = secret_of(a->run.asked.secrets, json_text(a->trigger, "secret_key"));

    if (secret.n && flow_crypto->verify(secret, flow_http->header(req, "webhook-id"),
                        flow_http->header(req, "webhook-timestamp"),
                        flow_http->header(req, "webhook-signature"), flow_http->body(req),
                        W->req->now_us(req) / 1000000) == WHARF_SIGNATURE_GOOD)
        return WHARF_OK;
    return W->err->fail(req, ERR_WORKFLOW_SIGNATURE, NULL, NULL);
}

/* Checks the key, which must be one that sees the workflow. */
static wharf_status check_key(wharf_req *req, const struct ask *a)
{
    const wharf_rec *rec;
    wharf_status s = flow_http->use_key(req);

    if (s == WHARF_OK)
        s = W->req->need_scope(req, "workflow:read");
    return s == WHARF_OK ? W->res->fetch(req, "workflow", a->run.code.workflow_id, 0, &rec) : s;
}

static wharf_status check_caller(wharf_req *req, struct ask *a)
{
    if (is(a->auth, "none"))
        return flow_http->limit(req, a->run.code.workflow_id, flow_public_rate);
    return is(a->auth, "signature") ? check_signature(req, a) : check_key(req, a);
}

/* ---- what the handler gets ---- */

static bool secret_header(wharf_str name)
{
    static const char *const names[] = {
        "authorization", "proxy-authorization", "cookie", "svc-api-key", "x-api-key", NULL};

    return workflow_http_among(names, name);
}

typedef bool pair_fn(wharf_req *req, size_t i, wharf_str *ret_name, wharf_str *ret_value);

static bool header_pair(wharf_req *req, size_t i, wharf_str *ret_name, wharf_str *ret_value)
{
    if (!flow_http->header_at(req, i, ret_name, ret_value))
        return false;
    *ret_name = text_lower(req, *ret_name);
    return true;
}

static bool query_pair(wharf_req *req, size_t i, wharf_str *ret_name, wharf_str *ret_value)
{
    return flow_http->query_at(req, i, ret_name, ret_value);
}

/* Writes an object of names; of a name that comes several times an array (of headers: the lines,
 * with commas between them). */
static void put_pairs(wharf_req *req, wharf_out *out, const char *key, pair_fn *pair, bool headers)
{
    wharf_str name, value, other, more;

    W->json->open(out, key, '{');
    for (size_t i = 0; pair(req, i, &name, &value); i++) {
        bool before = headers && secret_header(name);
        size_t times = 1;

        for (size_t k = 0; k < i && !before && pair(req, k, &other, &more); k++)
            before = same(other, name);
        for (size_t k = i + 1; !before && pair(req, k, &other, &more); k++) {
            if (!same(other, name))
                continue;
            if (headers)
                value = W->mem->format(req, "%s, %s", value.p, more.p);
            else if (times++ == 1)
                W->json->open(out, name.p, '['), W->json->put(out, NULL, val_text(value));
            if (!headers)
                W->json->put(out, NULL, val_text(more));
        }
        if (!before && times > 1)
            W->json->close(out);
        else if (!before)
            W->json->put(out, name.p, val_text(value));
    }
    W->json->close(out);
}

static void put_params(wharf_req *req, wharf_out *out, const struct ask *a)
{
    wharf_str pattern = workflow_http_path_of(a->trigger), path = a->path, p, s, plain;

    W->json->open(out, "params", '{');
    while (workflow_http_next_segment(&pattern, &p) && workflow_http_next_segment(&path, &s)) {
        if (p.p[0] == ':' && workflow_http_decode(req, s, &plain))
            W->json->put(out, W->mem->dup(req, p.p + 1, p.n - 1).p, val_text(plain));
    }
    W->json->close(out);
}

/* Reads the body, as JSON when it is said to be that, or when the trigger's input_schema wants it:
 * then it has to fit. */
static wharf_status workflow_http_read_body(wharf_req *req, struct ask *a)
{
    const wharf_json *schema = W->json->get(a->trigger, "input_schema");
    wharf_str body = flow_http->body(req),
              type = text_lower(req, flow_http->header(req, "content-type"));
    size_t n = strcspn(type.p, "; \t");
    bool json = n >= 5 &&
                (!strncmp(type.p + n - 5, "+json", 5) || !strncmp(type.p + n - 5, "/json", 5));

    bool wanted = !json_is_null(schema) && (body.n || is(a->method, "POST") ||
                                               is(a->method, "PUT") || is(a->method, "PATCH"));

    a->text_body = flow_text->is_text(body);
    if (a->text_body && body.n && (json || wanted) &&
        W->json->parse(req, body, &a->body) != WHARF_OK) {
        if (wanted)
            return W->err->current(req);
        W->err->clear(req);
        a->body = NULL;
        a->broken = true;
    }
    if (wanted && !a->body)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "body", "The body must be JSON");
    return wanted ? flow_schemas->validate(req, schema, a->body, "body") : WHARF_OK;
}

static wharf_str workflow_http_request_text(wharf_req *req, const struct ask *a)
{
    const wharf_caller *caller = flow_keys->caller(req);
    wharf_str body = flow_http->body(req);
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "method", val_text(a->method));
    W->json->put(out, "path", val_text(W->mem->format(req, "/%.*s", (int)a->path.n, a->path.p)));
    put_params(req, out, a);
    put_pairs(req, out, "query", query_pair, false);
    put_pairs(req, out, "headers", header_pair, true);
    if (a->text_body)
        W->json->put(out, "body", val_text(body));
    else
        W->json->put(out, "body_base64", val_text(flow_crypto->base64(req, body)));
    if (a->body)
        W->json->put(out, "json", val_json(a->body));
    if (a->broken)
        W->json->put(out, "json_error",
            val_text(WHARF_S("the body is no JSON; wharf.json.decode(request.body) tells where")));
    W->json->put(out, "remote_addr", val_text(flow_http->address(req)));
    if (is(a->auth, "key")) {
        W->json->open(out, "key", '{');
        W->json->put(out, "id", val_text(caller->key_id));
        if (caller->user_id.n)
            W->json->put(out, "user_id", val_text(caller->user_id));
        if (caller->device_id.n)
            W->json->put(out, "device_id", val_text(caller->device_id));
        W->json->close(out);
    }
    W->json->close(out);
    return W->json->result_text(out);
}

static wharf_str workflow_http_trigger_text(wharf_req *req, const struct ask *a)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "type", val_text(WHARF_S("http")));
    W->json->put(out, "name", val_text_or_null(json_text(a->trigger, "name")));
    W->json->put(out, "path", val_text(a->path));
    W->json->put(out, "method", val_text(a->method));
    W->json->put(out, "auth", val_text(a->auth));
    W->json->close(out);
    return W->json->result_text(out);
}

/* ---- what comes back ---- */

/* Tells whether a header is refused: those that are the server's own, that bind the connection, or
 * that reach beyond this answer. */
static bool refused_header(wharf_str name)
{
    static const char *const names[] = {"connection", "keep-alive", "proxy-authenticate",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
        "content-length", "content-encoding", "content-type", "date", "set-cookie", "set-cookie2",
        "svc-api-key", "x-api-key", "svc-mode", "request-id", "x-request-id",
        "x-content-type-options", "content-security-policy", "strict-transport-security",
        "www-authenticate", "clear-site-data", "alt-svc", "nel", "report-to", "reporting-endpoints",
        "service-worker-allowed", "origin-agent-cluster", NULL};

    return workflow_http_among(names, name) || !strncmp(name.p, "access-control-", 15) ||
           !strncmp(name.p, "ratelimit", 9);
}

static bool plain_value(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7F)
            return false;
    }
    return true;
}

/* Judges a header. Returns NULL when it may be sent, else what is wrong. */
static const char *header_problem(wharf_req *req, const wharf_json *h)
{
    wharf_str name = text_lower(req, W->json->key(h)), value;

    if (!name.n || name.n > 100 || strspn(name.p, LETTERS "!#$%&'*+-.^_`|~") != name.n)
        return "is no name of a header";
    if (!W->json->text(h, &value) || !plain_value(value))
        return "is no text of one line";
    return refused_header(name) && !is(name, "content-type") ? "is not for workflows to set" : NULL;
}

/* Tells whether the result is an answer: a table with a status, and nothing but headers and a body
 * beside it; any other one is the data of an envelope. */
static bool is_answer(const wharf_json *v)
{
    int64_t status;

    if (!v || W->json->type(v) != WHARF_J_OBJECT || !W->json->get(v, "status") ||
        !W->json->integer(W->json->get(v, "status"), &status))
        return false;
    for (const wharf_json *m = W->json->at(v, 0); m; m = W->json->next(m)) {
        if (!is(W->json->key(m), "status") && !is(W->json->key(m), "headers") &&
            !is(W->json->key(m), "body") && !is(W->json->key(m), "body_base64"))
            return false;
    }
    return true;
}

/* Tells what is wrong with an answer; "": nothing. */
static wharf_str answer_fault(wharf_req *req, const wharf_json *v)
{
    const wharf_json *headers = W->json->get(v, "headers"),
                     *base64 = W->json->get(v, "body_base64");
    int64_t status = 0;
    wharf_str text;

    if (base64 &&
        (W->json->get(v, "body") || !W->json->text(base64, &text) || !bytes_of_base64(req, text).p))
        return WHARF_S(
            "body_base64 is the base64 of the body's bytes, and stands alone: without body");
    W->json->integer(W->json->get(v, "status"), &status);
    if (status < 200 || status > 599)
        return WHARF_S("the status of an answer is 200 to 599");
    if (headers &&
        (W->json->type(headers) != WHARF_J_OBJECT || W->json->count(headers) > HEADERS_SENT_MAX))
        return WHARF_S("headers is a table of at most 50 names and texts");
    for (const wharf_json *h = headers ? W->json->at(headers, 0) : NULL; h; h = W->json->next(h)) {
        const char *problem = header_problem(req, h);

        if (problem)
            return W->mem->format(req, "the header %s %s", W->json->key(h).p, problem);
    }
    return WHARF_S("");
}

static void send_answer(wharf_req *req, const wharf_json *v)
{
    const wharf_json *headers = W->json->get(v, "headers"), *body = W->json->get(v, "body");
    wharf_str text = WHARF_S(""), type = WHARF_S("text/plain; charset=utf-8"), value;
    wharf_out *out = W->json->writer(req);
    int64_t status = 200;

    W->json->integer(W->json->get(v, "status"), &status);
    if (!json_is_null(body) && !W->json->text(body, &text)) {
        W->json->put(out, NULL, val_json(body));
        text = W->json->result_text(out);
        type = WHARF_S("application/json; charset=utf-8");
    }
    if (W->json->get(v, "body_base64")) {
        text = bytes_of_base64(req, json_text(v, "body_base64"));
        type = WHARF_S("application/octet-stream");
    }
    for (const wharf_json *h = headers ? W->json->at(headers, 0) : NULL; h; h = W->json->next(h)) {
        if (!W->json->text(h, &value))
            continue;
        if (is(text_lower(req, W->json->key(h)), "content-type"))
            type = value;
        else
            flow_http->answer_header(req, W->json->key(h), value);
    }
    flow_http->answer(req, (uint32_t)status, type, text);
}

static void send_result(wharf_req *req, const struct run *r)
{
    const wharf_json *v = r->outcome.result;

    if (is_answer(v))
        send_answer(req, v);
    else if (!json_is_null(v))
        W->json->put(W->req->respond(req, 200, "The workflow answered"), NULL, val_json(v));
}

/* ---- the request ---- */

static wharf_status workflow_http_find_workflow(wharf_req *req, struct ask *a)
{
    wharf_str name = {"", 0}, id;
    bool found = false;
    wharf_status s;

    W->req->param(req, "workflow", &name);
    W->req->param(req, "path", &a->path);
    s = flow_tokens->enter(req, "http", name, &id);
    if (s == WHARF_OK)
        s = code_load(req, id, 0, &a->run.code, &a->enabled, &found);
    return s == WHARF_OK && !found ? W->err->fail(req, ERR_NOT_FOUND, NULL, NULL) : s;
}

/* Reads only; the run comes behind it. */
static wharf_status workflow_http_prepare(wharf_req *req, struct ask *a)
{
    struct run *r = &a->run;
    wharf_status s = judge_path(req, a);

    if (s == WHARF_OK)
        s = secrets_load(req, r->code.workflow_id, &r->asked.secrets);
    if (s == WHARF_OK)
        s = check_caller(req, a);
    if (s == WHARF_OK && !a->enabled)
        s = W->err->fail(req, ERR_WORKFLOW_DISABLED, NULL, NULL);
    if (s != WHARF_OK)
        return s;
    s = workflow_http_read_body(req, a);
    if (s != WHARF_OK)
        return s;
    r->location_id = json_text(a->body, "location_id");
    W->req->param(req, "location_id", &r->location_id);
    s = run_check_location(req, r, is(a->auth, "key"));
    if (s == WHARF_OK)
        s = run_actor(req, &r->code, is(a->auth, "key"), &r->asked.actor);
    if (s == WHARF_OK && !r->asked.actor)
        s = W->err->fail(req, ERR_WORKFLOW_PUBLISHER_INACTIVE, NULL, NULL);
    r->trigger = workflow_http_trigger_text(req, a);
    r->input = workflow_http_request_text(req, a);
    r->actor = is(a->auth, "key") ? W->req->actor(req) : WHARF_S("");
    return s;
}

static wharf_status workflow_http_later(wharf_req *req, struct ask *a)
{
    wharf_str id;
    wharf_out *out;
    wharf_status s = run_queue(
        req, &a->run, "http", is(a->auth, "key") ? run_reach(req) : NULL, &id);

    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 202, "Workflow run is queued");
    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("workflow_run")));
    W->json->put(out, "id", val_text(id));
    W->json->put(out, "status", val_text(WHARF_S("queued")));
    W->json->close(out);
    return WHARF_OK;
}

static wharf_status workflow_http_now(wharf_req *req, struct ask *a)
{
    const wharf_json *input = NULL;
    struct run *r = &a->run;
    wharf_str fault;
    wharf_status s;

    r->handler = "on_http";
    r->budget = is(a->auth, "none") ? &public_budget : &sync_budget;
    s = run_begin(req, r);
    if (s != WHARF_OK)
        return s;
    fault = is_answer(r->outcome.result) ? answer_fault(req, r->outcome.result) : WHARF_S("");
    if (fault.n) {
        r->outcome.end = WHARF_LUA_RAISED;
        r->outcome.message = fault;
        r->outcome.result = NULL;
    }
    s = W->json->parse(req, r->input, &input);
    if (s == WHARF_OK)
        s = run_record(req, r, "http", input);
    if (s != WHARF_OK)
        return s;
    if (r->outcome.end != WHARF_LUA_OK)
        return run_problem(req, r);
    send_result(req, r);
    return WHARF_OK;
}

wharf_status http_route(wharf_req *req, void *arg)
{
    struct ask a = {.method = z(arg)};
    wharf_status s = workflow_http_find_workflow(req, &a);

    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s != WHARF_OK)
        return s;
    s = workflow_http_prepare(req, &a);
    W->db->rollback(req); /* only read */
    if (s != WHARF_OK)
        return s;
    return is(json_text(a.trigger, "mode"), "async") ? workflow_http_later(req, &a)
                                                     : workflow_http_now(req, &a);
}
