/* route.c - wharf.hook.route: what a route's options say, and how it is found
 * (docs/spec/08-workflows-and-lua.md section 9).
 *
 * Leaves to others: registering (register.c), calling and answering (route_call.c). */
#include "lua/operator/operator_inside.h"

#include <string.h>

#include "http/openapi.h"
#include "process/board.h"
#include "util/str.h"

enum {
    PATH_LEN_MAX = 100, /* letters of a path */
    ROUTE_PARAMS = 4,

    FILTERS_MAX = 50 /* filters of a list */
};

const char *const route_options[] = {"scope", "location", "module", "operation", "summary",
    "description", "query", "body", "response", "statuses", "list", "filters", "raw",
    "content_type", "timeout_ms", "per_minute", "max_body", NULL};
static const struct plugin owner = {.name = "lua-hooks"};

/* ---- what the options say ---- */

static bool segment_ok(wharf_str s, size_t *params)
{
    bool param = s.n && s.p[0] == ':';
    const char *letters = param ? "abcdefghijklmnopqrstuvwxyz0123456789_"
                                : "abcdefghijklmnopqrstuvwxyz0123456789_-.";

    *params += param;
    return s.n > (size_t)param && strspn(s.p + param, letters) >= s.n - param;
}

static const char *path_problem(const char *path)
{
    size_t n = strlen(path), params = 0;

    if (n > PATH_LEN_MAX || strncmp(path, "/v1/x/", 6) != 0)
        return "a route's path begins with /v1/x/ and has at most 100 characters";
    for (const char *p = path + 5; *p;) {
        size_t length = strcspn(p + 1, "/");

        if (!segment_ok((wharf_str){p + 1, length}, &params) || params > ROUTE_PARAMS)
            return "a route's path has segments of a-z, 0-9, '_', '-' and '.', and at most four of "
                   "the form :name";
        p += 1 + length;
    }
    return NULL;
}

static const char *scope_problem(const struct engine *e, wharf_str scope, struct route *r)
{
    const char *colon = memchr(scope.p, ':', scope.n);
    size_t area = colon ? (size_t)(colon - scope.p) : 0;

    r->area = -1;
    r->public_route = str_eqz(scope, "public");
    if (r->public_route || str_eqz(scope, "any"))
        return NULL;
    if (!colon || (strcmp(colon, ":read") != 0 && strcmp(colon, ":write") != 0))
        return "scope is 'area:read' or 'area:write', 'any' for any key, 'public' for none";
    r->area = area_find(&e->areas, (wharf_str){scope.p, area});
    r->level = !strcmp(colon, ":read") ? SCOPE_READ : SCOPE_WRITE;
    return r->area < 0 ? "there is no such scope in the modules that are enabled" : NULL;
}

static const char *location_problem(wharf_str policy, struct hook_route *hr)
{
    hr->rows = str_eqz(policy, "row");
    hr->named = str_eqz(policy, "body");
    if (hr->rows || hr->named || str_eqz(policy, "none"))
        return hr->route.public_route && !str_eqz(policy, "none")
                   ? "a public route's location is 'none'"
                   : NULL;
    return "location is 'none', 'row' (what is returned has a location_id) or 'body' (the request "
           "names one)";
}

static const char *filters_problem(const struct wharf_json *filters)
{
    for (const struct wharf_json *f = filters ? filters->child : NULL; f; f = f->next) {
        if (!f->key.n || strspn(f->key.p, "abcdefghijklmnopqrstuvwxyz0123456789_.") < f->key.n ||
            f->type != JSON_STRING ||
            (!str_eqz(f->text, "string") && !str_eqz(f->text, "number") &&
                !str_eqz(f->text, "boolean") && !str_eqz(f->text, "date")))
            return "filters are names with their types: 'string', 'number', 'boolean' or 'date'";
    }
    return filters && filters->count > FILTERS_MAX ? "a route has at most 50 filters" : NULL;
}

struct body_trouble {
    struct arena *a;
    const char *text;
};

static void body_schema_problem(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct body_trouble *t = arg;

    (void)rule;
    t->text = arena_printf(t->a, "body, at %.*s: %.*s", STR_ARG(path), STR_ARG(message)).p;
}

static const struct wharf_json *route_object_of(const struct wharf_json *options, const char *name)
{
    const struct wharf_json *v = json_get(options, name);

    return json_is(v, JSON_OBJECT) ? v : NULL;
}

static void query_member(struct jw *w, const char *name, const char *schema)
{
    jw_raw(w, name, str_z(schema));
}

/* Makes "call_docks_dock_table" of GET /v1/x/docks/:dock/table; other methods stand at the end. */
static wharf_str call_name(struct arena *a, const struct route *r)
{
    wharf_str s = arena_printf(a, "call%s%s%s", r->pattern + 5,
        !strcmp(r->method, "GET") ? "" : "/by/", !strcmp(r->method, "GET") ? "" : r->method);
    char *p = (char *)s.p;
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        char c = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] + 32) : p[i];

        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            p[n++] = c;
        else if (n && p[n - 1] != '_')
            p[n++] = '_';
    }
    return (wharf_str){p, n};
}

/* Writes what the document says where the options say nothing. */
static void put_unsaid(
    struct jw *w, struct arena *a, const struct hook_route *hr, const struct wharf_json *options)
{
    const struct route *r = &hr->route;
    bool sends = !strcmp(r->method, "POST") || !strcmp(r->method, "PUT");

    jw_z(w, "tag", "Operator's routes");
    if (!json_get(options, "operation"))
        jw_str(w, "operation", call_name(a, r));
    if (!json_get(options, "description"))
        jw_z(w, "description",
            "A route of the operator of this server: a file of Lua says what it takes and what it "
            "answers.");
    if (sends && json_bool_or(options, "raw", false))
        jw_z(w, "request_type", "*/*");
    else if (sends && !json_get(options, "body"))
        jw_raw(w, "body",
            WHARF_S("{\"type\":\"object\",\"description\":\"What the route takes\","
                    "\"additionalProperties\":true}"));
    if (!json_get(options, "response") && !json_get(options, "content_type"))
        jw_raw(w, "response", WHARF_S("{\"$ref\":\"#/components/schemas/AnyValue\"}"));
}

static void put_query(struct jw *w, const struct hook_route *hr, const struct wharf_json *query)
{
    jw_open(w, "query", '{');
    for (const struct wharf_json *q = query ? query->child : NULL; q; q = q->next)
        jw_value(w, q->key.p, q);
    if (hr->list) {
        query_member(w, "page",
            "{\"type\":\"integer\",\"minimum\":1,\"description\":\"Page number from 1\"}");
        query_member(w, "limit",
            "{\"type\":[\"integer\",\"string\"],\"minimum\":1,\"maximum\":1000,"
            "\"description\":\"Rows per page\"}");
    }
    for (const struct wharf_json *f = hr->filters ? hr->filters->child : NULL; f; f = f->next)
        query_member(w, f->key.p,
            "{\"type\":\"string\",\"description\":\"A value, or several with commas; "
            "name[op]=value with eq, !eq, in, "
            "!in, gt, gte, lt, lte\"}");
    jw_close(w, '}');
}

/* Makes what the document shows, and what the kernel's own routes have as their definition. */
static const struct wharf_json *definition_of(
    struct arena *a, const struct hook_route *hr, const struct wharf_json *options)
{
    static const char *const copied[] = {"operation", "summary", "description", "location", "body",
        "response", "statuses", "content_type"};
    const struct wharf_json *parsed;
    struct json_error bad;
    struct buf out;
    struct jw w;

    buf_init(&out, 1 << 20);
    jw_init(&w, &out);
    jw_open(&w, NULL, '{');
    jw_bool(&w, "nothing", true);
    for (size_t i = 0; i < sizeof(copied) / sizeof(*copied); i++) {
        if (json_get(options, copied[i]))
            jw_value(&w, copied[i], json_get(options, copied[i]));
    }
    put_unsaid(&w, a, hr, options);
    put_query(&w, hr, route_object_of(options, "query"));
    jw_close(&w, '}');
    parsed = json_parse(a, arena_dup_str(a, buf_str(&out)), &bad);
    buf_done(&out);
    return parsed;
}

/* Returns the path with its names taken out: two routes that differ in names only are the same. */
static wharf_str shape_of(struct arena *a, const char *method, const char *path)
{
    wharf_str s = arena_printf(a, "%s %s", method, path);
    char *p = (char *)s.p;
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        p[n++] = p[i];
        while (p[n - 1] == ':' && i + 1 < s.n && p[i + 1] != '/')
            i++;
    }
    return (wharf_str){p, n};
}

static const char *taken(struct hook_state *st, const struct route_wish *wish)
{
    const struct engine *e = st->gen->engine;
    wharf_str params[ROUTE_PARAMS] = {{0}}, allow,
              mine = shape_of(st->arena, wish->method, wish->path);
    const struct route *found;

    for (size_t i = 0; i < st->n_functions; i++) {
        const struct lua_hook *h = st->gen->hooks[i];

        if (h->phase == PHASE_ROUTE &&
            str_eq(shape_of(st->arena, h->route->route.method, h->route->route.pattern), mine))
            return arena_printf(st->arena, "%s:%d registers this route already", h->file, h->line)
                .p;
    }
    if (e->tree && engine_route(e, wish->method, str_z(wish->path), st->arena, &found, params,
                       &allow) == ROUTE_FOUND)
        return "a module has this route already";
    return NULL;
}

static bool module_there(const struct engine *e, wharf_str name)
{
    for (size_t i = 0; i < e->n_plugins; i++) {
        if (str_eqz(name, e->plugins[i].name))
            return true;
    }
    return false;
}

static const char *method_of(const char *method)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "DELETE"};

    for (size_t i = 0; i < 4; i++) {
        if (!strcmp(methods[i], method))
            return methods[i];
    }
    return NULL;
}

static const char *body_read(
    struct arena *a, const struct wharf_json *options, struct hook_route *hr)
{
    const struct wharf_json *body = route_object_of(options, "body");
    struct body_trouble trouble = {.a = a};
    struct json_error bad;

    if (!strcmp(hr->route.method, "GET") || !strcmp(hr->route.method, "DELETE"))
        return json_get(options, "body") || json_bool_or(options, "raw", false)
                   ? "a route of GET or DELETE has no body"
                   : NULL;
    if (json_get(options, "body") && !body)
        return "body is a JSON Schema, a table";
    if (body && json_bool_or(options, "raw", false))
        return "a route has a body schema, or takes the body raw";
    hr->route.body_schema = schema_compile(a,
        body ? body : json_parse(a, WHARF_S("{\"type\":\"object\"}"), &bad), body_schema_problem,
        &trouble);
    return trouble.text;
}

static const char *route_fill(struct arena *a, const struct wharf_json *options,
    struct hook_route *hr, const struct engine *e)
{
    struct route *r = &hr->route;
    const char *problem = scope_problem(e, json_text_or(options, "scope", ""), r);

    hr->list = json_bool_or(options, "list", false);
    hr->filters = route_object_of(options, "filters");
    hr->content_type = json_text_or(options, "content_type", "").n
                           ? json_text_or(options, "content_type", "").p
                           : NULL;
    r->per_minute = json_int_or(options, "per_minute", 0);
    r->max_body = json_int_or(options, "max_body", 0);
    if (!problem)
        problem = location_problem(json_text_or(options, "location", ""), hr);
    if (!problem)
        problem = filters_problem(hr->filters);
    if (!problem && (r->per_minute < 0 || r->max_body < 0 || r->max_body > 64 << 20))
        problem = "per_minute and max_body are whole numbers; a body has at most 64 MiB";
    if (!problem)
        problem = body_read(a, options, hr);
    return problem;
}

const char *route_read(
    struct hook_state *st, struct route_wish *wish, struct hook_route **ret_route)
{
    struct arena *a = st->first ? st->gen->arena : st->arena;
    struct json_error bad;
    const struct wharf_json *options = json_parse(a, arena_dup_str(a, wish->options), &bad);
    const char *problem = path_problem(wish->path), *method = method_of(wish->method);
    wharf_str module = json_text_or(options, "module", "");
    struct hook_route *hr;

    *ret_route = NULL;
    if (!method)
        return "the method is GET, POST, PUT or DELETE";
    if (problem)
        return problem;
    wish->left_out = module.n && !module_there(st->gen->engine, module);
    if (wish->left_out)
        return NULL;
    hr = ARENA_NEW(a, struct hook_route);
    hr->route = (struct route){.kind = ROUTE_PLUGIN,
        .method = method,
        .pattern = arena_dupz(a, wish->path).p,
        .plugin = &owner,
        .declared = &hr->declared,
        .shows_request = true};
    hr->declared = (wharf_route){.head = WHARF_HEAD(wharf_route),
        .method = method,
        .path = hr->route.pattern,
        .handler = route_run,
        .arg = hr,
        .flags = WHARF_R_NO_TX | (json_bool_or(options, "raw", false) ? WHARF_R_RAW_BODY : 0)};
    problem = route_fill(a, options, hr, st->gen->engine);
    if (!problem)
        problem = taken(st, wish);
    hr->route.definition = definition_of(a, hr, options);
    *ret_route = hr;
    return problem;
}

void routes_link(struct lua_generation *g)
{
    const struct engine *e = g->engine;
    struct buf problems;

    if (!g->routes.n)
        return;
    g->view = (struct engine){.arena = g->arena,
        .areas = e->areas,
        .codes = e->codes,
        .n_codes = e->n_codes,
        .resources = e->resources,
        .n_resources = e->n_resources,
        .plugins = e->plugins,
        .n_plugins = e->n_plugins};
    g->view.routes = ARENA_ARRAY(g->arena, struct route, g->routes.n);
    for (size_t i = 0; i < g->routes.n; i++) {
        struct route *r = &g->view.routes[g->view.n_routes++];

        *r = g->routes.items[i]->route->route;
        r->metrics = e->board ? board_route(e->board, r->method, r->pattern, owner.name) : NULL;
    }
    buf_init(&problems, 4096);
    route_tree_build(&g->view, &problems); /* all were checked when they were registered */
    buf_done(&problems);
    if (e->openapi.n)
        g->openapi = openapi_with(&g->view, e->openapi);
}

/* ---- finding ---- */

enum route_result operator_find_route(struct wharf_req *req, wharf_str *ret_allow)
{
    struct req_head *head = &req->head;
    enum route_result found = engine_route(
        req->engine, head->method, head->path, req->arena, &req->route, req->params, ret_allow);
    const struct lua_generation *g;

    if (found != ROUTE_NONE || !str_starts(head->path, "/v1/x/"))
        return found;
    g = operator_hold(req);
    if (!g || !g->view.tree)
        return found;
    memset(req->params, 0, sizeof(req->params));
    return engine_route(
        &g->view, head->method, head->path, req->arena, &req->route, req->params, ret_allow);
}

bool operator_route_is(const struct route *r)
{
    return r && r->plugin == &owner;
}
