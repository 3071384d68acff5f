/* openapi.c - paths and operations; openapi_schema.c writes the schemas. See openapi.h. */
#include "http/openapi.h"

#include <stdio.h>
#include <stdlib.h>

#include "resource/openapi_schema.h"
#include "resource/place_sql.h"
#include "plugin/manifest.h"
#include "util/str.h"

struct writer {
    const struct engine *e;
    struct jw w;
};

/* Makes "/v1/locations/{location}/layouts" of "/v1/locations/:location/layouts"; "*path" too,
 * which the description has no word for. */
static wharf_str template_of(struct arena *a, const char *pattern)
{
    char *out = arena_alloc(a, strlen(pattern) * 2 + 1);
    size_t n = 0;

    for (const char *p = pattern; *p;) {
        if (*p != ':' && *p != '*') {
            out[n++] = *p++;
            continue;
        }
        out[n++] = '{';
        for (p++; *p && *p != '/'; p++)
            out[n++] = *p;
        out[n++] = '}';
    }
    return (wharf_str){out, n};
}

/* ---- parameters ---- */

static void parameter(struct jw *w, const char *name, const char *in, bool required,
    const char *description, const char *schema)
{
    jw_open(w, NULL, '{');
    jw_z(w, "name", name);
    jw_z(w, "in", in);
    jw_bool(w, "required", required);
    if (description)
        jw_z(w, "description", description);
    jw_raw(w, "schema", str_z(schema ? schema : "{\"type\":\"string\"}"));
    jw_close(w, '}');
}

static const char words_direction[] = "{\"type\":\"string\",\"enum\":[\"asc\",\"desc\"]}";
static const char words_strategy[] = "{\"type\":\"string\",\"enum\":[\"match_any\",\"match_all\"]}";
static const char words_total[] =
    "{\"type\":[\"boolean\",\"string\"],\"enum\":[true,false,\"estimated\"]}";
static const struct {
    const char *name, *text, *schema; /* schema NULL: made in place, or text */
} list_controls[] = {
    {"page", "Page number from 1; not together with cursor",
        "{\"type\":\"integer\",\"minimum\":1}"},
    {"limit", "Rows per page, or all for the list's maximum", NULL},
    {"cursor", "start, then pagination.next_cursor: walks a list of any size", NULL},
    {"direction", "asc or desc", words_direction},
    {"search", "Words; any of them matches", NULL},
    {"search_strategy", "match_all: all words must match", words_strategy},
    {"include_total_count", "true: exact, estimated: exact up to 10,000", words_total},
    {"fields", "Comma list of the fields to return", NULL},
};

static const char *limit_schema(struct writer *o, const struct definition *d)
{
    return arena_printf(o->e->arena,
        "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":1,\"maximum\":%d},{\"type\":\"string\","
        "\"enum\":[\"all\"]}],"
        "\"default\":%d}",
        d->list.max, d->list.limit)
        .p;
}

static void order_parameter(struct jw *w, const struct definition_list *list)
{
    jw_open(w, NULL, '{');
    jw_z(w, "name", "order_by");
    jw_z(w, "in", "query");
    jw_bool(w, "required", false);
    jw_open(w, "schema", '{');
    jw_z(w, "type", "string");
    jw_open(w, "enum", '[');
    for (size_t i = 0; i < list->n_sorts; i++)
        jw_z(w, NULL, list->sorts[i]->name);
    jw_close(w, ']');
    jw_close(w, '}');
    jw_close(w, '}');
}

static void list_parameters(struct writer *o, const struct definition *d)
{
    struct jw *w = &o->w;

    for (size_t i = 0; i < sizeof(list_controls) / sizeof(list_controls[0]); i++) {
        bool limit = !strcmp(list_controls[i].name, "limit");

        if (!d->list.n_sorts && !strcmp(list_controls[i].name, "direction"))
            continue;
        parameter(w, list_controls[i].name, "query", false, list_controls[i].text,
            limit ? limit_schema(o, d) : list_controls[i].schema);
    }
    if (d->list.n_sorts)
        order_parameter(w, &d->list);
    for (size_t i = 0; i < d->list.n_filters; i++)
        parameter(
            w, d->list.filters[i].name, "query", false, filter_help(d->list.filters[i].type), NULL);
}

/* Tells whether this field is the first with its flag; several fields may have one flag. */
static bool first_with_flag(const struct definition *d, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (d->fields[k].include_flag &&
            !strcmp(d->fields[k].include_flag, d->fields[i].include_flag))
            return false;
    }
    return true;
}

static void include_parameters(struct writer *o, const struct definition *d)
{
    for (size_t i = 0; i < d->n_fields; i++) {
        if (d->fields[i].include_flag && first_with_flag(d, i))
            parameter(&o->w, d->fields[i].include_flag, "query", false, "true or false", NULL);
    }
}

/* Writes the parameters that add what other modules show of a row. */
static void embed_parameters(struct writer *o, const struct route *r)
{
    for (size_t i = 0; r->kind != ROUTE_LIST && i < o->e->n_embeds; i++) {
        const struct embed_entry *e = &o->e->embeds[i];

        if (definition_links(r->resource->def, e->key + 1))
            parameter(&o->w, e->param, "query", false, "true or false", NULL);
    }
}

static void query_of_definition(struct writer *o, const struct route *r)
{
    const struct wharf_json *query = json_get(r->definition, "query");

    for (const struct wharf_json *q = query ? query->child : NULL; q; q = q->next) {
        jw_open(&o->w, NULL, '{');
        jw_str(&o->w, "name", q->key);
        jw_z(&o->w, "in", "query");
        jw_bool(&o->w, "required", false);
        schema_copy(&o->w, "schema", q);
        jw_close(&o->w, '}');
    }
}

/* Writes a parameter that rules of the resource read. */
static void rule_parameter(struct writer *o, const struct route *r, const struct query_param *p)
{
    if (r->kind != ROUTE_LIST || !definition_filter(&r->resource->def->list, str_z(p->name)))
        parameter(&o->w, p->name, "query", false,
            p->n_words ? param_words(o->e->arena, p) : "Read by the rules of the resource", NULL);
}

static void parameters(struct writer *o, const struct route *r)
{
    jw_open(&o->w, "parameters", '[');
    for (size_t i = 0; i < r->n_params; i++)
        parameter(&o->w, r->param_names[i], "path", true, NULL, NULL);
    if (r->kind == ROUTE_LIST)
        list_parameters(o, r->resource->def);
    if (r->resource)
        include_parameters(o, r->resource->def);
    if (r->resource)
        embed_parameters(o, r);
    for (size_t i = 0; r->resource && i < r->resource->def->n_params; i++)
        rule_parameter(o, r, &r->resource->def->params[i]);
    query_of_definition(o, r);
    jw_close(&o->w, ']');
}

/* ---- bodies and answers ---- */

static void json_content(struct jw *w)
{
    jw_open(w, "content", '{');
    jw_open(w, "application/json", '{');
    jw_open(w, "schema", '{');
}

static void end_content(struct jw *w)
{
    jw_close(w, '}');
    jw_close(w, '}');
    jw_close(w, '}');
}

static void reference(struct jw *w, const char *key, const char *prefix, wharf_str name)
{
    char text[160];

    if (name.n > 100)
        name.n = 100;
    jw_open(w, key, '{');
    snprintf(text, sizeof(text), "#/components/schemas/%.*s%s", STR_ARG(name), prefix);
    jw_z(w, "$ref", text);
    jw_close(w, '}');
}

static void request_body(struct writer *o, const struct route *r)
{
    struct jw *w = &o->w;
    const struct wharf_json *body = json_get(r->definition, "body");

    if (r->kind != ROUTE_CREATE && r->kind != ROUTE_UPDATE && !body)
        return;
    jw_open(w, "requestBody", '{');
    jw_bool(w, "required", false);
    jw_open(w, "content", '{');
    jw_open(w, "application/json", '{');
    if (body)
        schema_copy(w, "schema", body);
    else
        reference(w, "schema", r->kind == ROUTE_CREATE ? "Create" : "Update",
            schema_name(o->e->arena, r->resource->def));
    jw_close(w, '}');
    jw_close(w, '}');
    jw_close(w, '}');
}

/* Writes the schema of a row of the short list. */
static void short_row(struct jw *w, const struct definition_list *list)
{
    jw_open(w, NULL, '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < list->n_cache; i++)
        schema_copy(w, list->cache[i]->name, list->cache[i]->json);
    jw_close(w, '}');
    jw_open(w, "required", '[');
    for (size_t i = 0; i < list->n_cache; i++)
        jw_z(w, NULL, list->cache[i]->name);
    jw_close(w, ']');
    jw_bool(w, "additionalProperties", false);
    jw_close(w, '}');
}

static void data_schema(struct writer *o, const struct route *r)
{
    struct jw *w = &o->w;
    const struct wharf_json *response = json_get(r->definition, "response");
    wharf_str name = r->resource ? schema_name(o->e->arena, r->resource->def) : str_z("");

    if (r->resource && r->kind == ROUTE_LIST) {
        jw_open(w, "data", '{');
        jw_z(w, "type", "array");
        if (r->resource->def->list.n_cache) {
            jw_open(w, "items", '{');
            jw_open(w, "anyOf", '[');
            reference(w, NULL, "", name);
            short_row(w, &r->resource->def->list);
            jw_close(w, ']');
            jw_close(w, '}');
        } else {
            reference(w, "items", "", name);
        }
        jw_close(w, '}');
    } else if (r->kind == ROUTE_DELETE) {
        reference(w, "data", "", WHARF_S("Deleted"));
    } else if (r->resource) {
        reference(w, "data", "", name);
    } else if (response) {
        schema_copy(w, "data", response);
    } else {
        jw_open(w, "data", '{');
        jw_close(w, '}');
    }
}

static void success_status(struct writer *o, const struct route *r, int64_t status)
{
    struct jw *w = &o->w;

    jw_open(w, status == 201 ? "201" : status == 202 ? "202" : "200", '{');
    jw_z(w, "description", status == 201 ? "Created" : "Done");
    json_content(w);
    jw_open(w, "allOf", '[');
    reference(w, NULL, "", WHARF_S("Envelope"));
    jw_open(w, NULL, '{');
    jw_open(w, "properties", '{');
    data_schema(o, r);
    jw_close(w, '}');
    jw_open(w, "required", '[');
    jw_z(w, NULL, "data");
    jw_close(w, ']');
    jw_close(w, '}');
    jw_close(w, ']');
    end_content(w);
    jw_close(w, '}');
}

/* Writes the answers of success. Routes of plugins name what they answer: "status", or "statuses"
 * when there is more than one. */
static void success(struct writer *o, const struct route *r)
{
    const struct wharf_json *statuses = json_get(r->definition, "statuses");
    int64_t status;

    if (!statuses || r->kind == ROUTE_CREATE)
        success_status(
            o, r, r->kind == ROUTE_CREATE ? 201 : json_int_or(r->definition, "status", 200));
    for (const struct wharf_json *s = statuses ? statuses->child : NULL; s; s = s->next) {
        if (json_int(s, &status))
            success_status(o, r, status);
    }
    if (json_bool_or(r->definition, "nothing", false))
        jw_raw(&o->w, "204", WHARF_S("{\"description\":\"Done, and nothing to tell\"}"));
}

/* Writes what every operation may answer beside its success. */
static void failure(struct jw *w)
{
    static const char *const statuses[] = {"4XX", "default"};

    for (size_t i = 0; i < 2; i++) {
        jw_open(w, statuses[i], '{');
        jw_z(w, "$ref", "#/components/responses/Refused");
        jw_close(w, '}');
    }
}

/* Writes the answers of routes that let somebody else answer. */
static void whatever(struct jw *w)
{
    static const char *const statuses[] = {"2XX", "3XX", "5XX"};

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        jw_open(w, statuses[i], '{');
        jw_z(w, "description", "What the other side answers, of any type");
        jw_close(w, '}');
    }
}

static void plain_success(struct writer *o, const char *type)
{
    struct jw *w = &o->w;

    jw_open(w, "responses", '{');
    jw_open(w, "200", '{');
    jw_z(w, "description", "OK");
    jw_open(w, "content", '{');
    jw_open(w, type, '{');
    jw_open(w, "schema", '{');
    jw_close(w, '}');
    jw_close(w, '}');
    jw_close(w, '}');
    jw_close(w, '}');
    failure(w);
    jw_close(w, '}');
}

/* ---- operations ---- */

static const char *verb_of(const struct route *r)
{
    switch (r->kind) {
    case ROUTE_LIST:
        return "list";
    case ROUTE_CREATE:
        return "create";
    case ROUTE_RETRIEVE:
        return "retrieve";
    case ROUTE_UPDATE:
        return "update";
    case ROUTE_DELETE:
        return "delete";
    case ROUTE_PLUGIN:
    case ROUTE_KERNEL:
        break;
    }
    return "";
}

static const char *method_key(const char *method)
{
    static const char *const names[][2] = {
        {"GET", "get"}, {"POST", "post"}, {"DELETE", "delete"}, {"PUT", "put"}, {"PATCH", "patch"}};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(method, names[i][0]))
            return names[i][1];
    }
    return "get";
}

static wharf_str operation_id(struct arena *a, const struct route *r)
{
    char *p;
    wharf_str s;

    /* each method of such a path is told apart by its own name; elsewhere a PUT stands alone,
     * and its name is an old one */
    if (r->any_answer)
        s = arena_printf(a, "%s%s", method_key(r->method), r->pattern);
    else if (r->resource)
        return arena_printf(a, "%s%s_%s", verb_of(r),
            r->below                                                    ? "_below"
            : r->n_params || r->pattern == r->resource->def->collection ? ""
                                                                        : "_own",
            r->resource->def->name);
    else
        s = arena_printf(a, "%s%s",
            !strcmp(r->method, "GET")     ? "get"
            : !strcmp(r->method, "POST")  ? "post"
            : !strcmp(r->method, "PATCH") ? "patch"
                                          : "delete",
            r->pattern);
    p = (char *)s.p;
    for (size_t i = 0; i < s.n; i++) {
        if (p[i] == '/' || p[i] == ':' || p[i] == '-' || p[i] == '.' || p[i] == '*')
            p[i] = '_';
    }
    return s;
}

/* Writes what the author wrote, and who may call the route. */
static void description(struct writer *o, const struct route *r, wharf_str title)
{
    wharf_str text = json_text_or(r->definition, "description", "");
    const char *who = "Any API key may call it.";

    if (r->optional_key)
        who = "";
    else if (r->public_route)
        who = "No API key is needed.";
    else if (r->area >= 0)
        who = arena_printf(o->e->arena, "Needs the scope `%s:%s`.", o->e->areas.names[r->area],
            r->level == SCOPE_READ ? "read" : "write")
                  .p;
    if (!text.n && r->resource)
        text = json_text_or(r->resource->def->json, "description", "");
    if (!text.n)
        text = arena_printf(o->e->arena, "%.*s.", STR_ARG(title));
    jw_str(&o->w, "description", arena_printf(o->e->arena, "%.*s %s", STR_ARG(text), who));
}

static void summary(struct writer *o, const struct route *r)
{
    wharf_str text = json_text_or(r->definition, "summary", "");

    if (r->kind == ROUTE_LIST)
        text = arena_printf(o->e->arena, "List %s", r->resource->def->title_plural);
    else if (r->resource)
        text = arena_printf(
            o->e->arena, "%c%s a %s", verb_of(r)[0] - 32, verb_of(r) + 1, r->resource->title_lower);
    else if (!text.n)
        text = arena_printf(o->e->arena, "%s %s", r->method, r->pattern);
    jw_str(&o->w, "summary", text);
    description(o, r, text);
}

static bool serves(const struct plugin *p, const struct manifest_service *asked, size_t n)
{
    for (size_t i = 0; i < n * p->manifest->n_provides; i++) {
        if (!strcmp(asked[i % n].name, p->manifest->provides[i / n].name))
            return true;
    }
    return false;
}

/* Tells whether code of p runs in the route: p's own route, a write of a resource that it has
 * rules on, or a service that one of these asks. */
static bool takes_part(const struct route *r, const struct plugin *p)
{
    const struct resource *res = r->resource;
    size_t n = res ? res->n_hooks : 0;

    for (size_t i = 0; i <= n; i++) {
        const struct plugin *one = i < n ? res->hooks[i].plugin : r->plugin;

        if (one && one->manifest &&
            (!strcmp(one->name, p->name) ||
                serves(p, one->manifest->needs, one->manifest->n_needs) ||
                serves(p, one->manifest->wants, one->manifest->n_wants)))
            return true;
    }
    return false;
}

/* Writes the codes of modules that an operation may answer with, beside those of the platform,
 * which any may (head()). Declared reads run no code of modules. */
static void x_errors(struct writer *o, const struct route *r)
{
    const struct engine *e = o->e;

    jw_open(&o->w, "x-errors", '[');
    for (size_t i = 0; r->kind != ROUTE_LIST && r->kind != ROUTE_RETRIEVE && i < e->n_codes; i++) {
        for (size_t k = 0; e->codes[i].plugin && k < e->n_plugins; k++) {
            if (!strcmp(e->plugins[k].name, e->codes[i].plugin) && takes_part(r, &e->plugins[k]))
                jw_z(&o->w, NULL, e->codes[i].code);
        }
    }
    jw_close(&o->w, ']');
}

static void extensions(struct writer *o, const struct route *r)
{
    struct jw *w = &o->w;
    const struct definition *d = r->resource ? r->resource->def : NULL;

    if (r->area >= 0)
        jw_str(w, "x-scope",
            arena_printf(o->e->arena, "%s:%s", o->e->areas.names[r->area],
                r->level == SCOPE_READ ? "read" : "write"));
    jw_str(w, "x-location-policy",
        d && d->place.location ? str_z(d->place.location->store == STORE_ARRAY ? "multi" : "row")
                               : json_text_or(r->definition, "location", "none"));
    if (d)
        jw_z(w, "x-resource", d->name);
    if (d && r->kind == ROUTE_LIST)
        schema_filters(&o->w, &d->list);
    x_errors(o, r);
}

static void operation(struct writer *o, const struct route *r)
{
    struct jw *w = &o->w;

    jw_open(w, method_key(r->method), '{');
    if (r->deprecated)
        jw_bool(w, "deprecated", true);
    jw_str(w, "operationId", operation_id(o->e->arena, r));
    jw_open(w, "tags", '[');
    jw_z(w, NULL, r->plugin ? r->plugin->name : "wharf");
    jw_close(w, ']');
    summary(o, r);
    if (r->public_route) {
        jw_open(w, "security", '[');
        if (r->optional_key)
            jw_raw(w, NULL, str_z("{},{\"ApiKey\":[]}"));
        jw_close(w, ']');
    }
    parameters(o, r);
    request_body(o, r);
    if (json_get(r->definition, "content_type")) {
        plain_success(o, json_text_or(r->definition, "content_type", "").p);
    } else if (r->kind == ROUTE_KERNEL || r->event_stream) {
        plain_success(o, r->stream_tokens || r->event_stream ? "text/event-stream"
                         : strstr(r->pattern, "json")        ? "application/json"
                                                             : "text/plain");
    } else {
        jw_open(w, "responses", '{');
        success(o, r);
        if (r->any_answer)
            whatever(w);
        failure(w);
        jw_close(w, '}');
    }
    extensions(o, r);
    jw_close(w, '}');
}

static bool first_of_pattern(const struct engine *e, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (!strcmp(e->routes[k].pattern, e->routes[i].pattern))
            return false;
    }
    return true;
}

static void paths(struct writer *o)
{
    const struct engine *e = o->e;

    jw_open(&o->w, "paths", '{');
    for (size_t i = 0; i < e->n_routes; i++) {
        if (e->routes[i].absent || !first_of_pattern(e, i) ||
            !strcmp(e->routes[i].pattern, "/metrics"))
            continue;
        jw_open(&o->w, template_of(e->arena, e->routes[i].pattern).p, '{');
        for (size_t k = i; k < e->n_routes; k++) {
            if (!e->routes[k].absent && !strcmp(e->routes[k].pattern, e->routes[i].pattern))
                operation(o, &e->routes[k]);
        }
        jw_close(&o->w, '}');
    }
    jw_close(&o->w, '}');
}

static void head(struct writer *o)
{
    struct jw *w = &o->w;

    jw_z(w, "openapi", "3.1.0");
    jw_open(w, "x-errors", '[');
    for (size_t i = 0; i < o->e->n_codes; i++) {
        if (!o->e->codes[i].plugin)
            jw_z(w, NULL, o->e->codes[i].code);
    }
    jw_close(w, ']');
    jw_open(w, "info", '{');
    jw_z(w, "title", "Wharf");
    jw_z(w, "version", "1");
    jw_z(w, "description",
        "The back office of a warehouse or mailroom: the modules that this server has loaded.");
    jw_open(w, "contact", '{');
    jw_z(w, "name", "The operator of this server");
    jw_close(w, '}');
    jw_open(w, "license", '{');
    jw_z(w, "name", "Apache-2.0");
    jw_z(w, "identifier", "Apache-2.0");
    jw_close(w, '}');
    jw_close(w, '}');
    jw_open(w, "servers", '[');
    jw_open(w, NULL, '{');
    jw_z(w, "url", "/");
    jw_close(w, '}');
    jw_close(w, ']');
    jw_open(w, "security", '[');
    jw_open(w, NULL, '{');
    jw_open(w, "ApiKey", '[');
    jw_close(w, ']');
    jw_close(w, '}');
    jw_close(w, ']');
    jw_open(w, "tags", '[');
    for (size_t i = 0; i < o->e->n_plugins; i++) {
        jw_open(w, NULL, '{');
        jw_z(w, "name", o->e->plugins[i].name);
        if (o->e->plugins[i].manifest->description)
            jw_z(w, "description", o->e->plugins[i].manifest->description);
        jw_close(w, '}');
    }
    jw_open(w, NULL, '{');
    jw_z(w, "name", "wharf");
    jw_z(w, "description", "The kernel");
    jw_close(w, '}');
    jw_open(w, NULL, '{');
    jw_z(w, "name", "lua-hooks");
    jw_z(w, "description", "Routes of the operator's own");
    jw_close(w, '}');
    jw_close(w, ']');
}

wharf_str openapi_build(const struct engine *e)
{
    struct writer o = {.e = e};
    struct buf b;
    wharf_str s;

    buf_init(&b, 64 << 20);
    jw_init(&o.w, &b);
    jw_open(&o.w, NULL, '{');
    head(&o);
    paths(&o);
    openapi_components(&o.w, e);
    jw_close(&o.w, '}');
    s = arena_dup_str(e->arena, buf_str(&b));
    buf_done(&b);
    return s;
}

wharf_str openapi_with(const struct engine *more, wharf_str document)
{
    static const char begin[] = "\"paths\":{";
    const char *at = strstr(document.p, begin);
    struct writer o = {.e = more};
    struct buf b;
    wharf_str s;
    size_t head;

    if (!at)
        return document;
    head = (size_t)(at - document.p) + sizeof(begin) - 1;
    buf_init(&b, 64 << 20);
    buf_add(&b, document.p, head);
    b.n -= sizeof(begin) - 1; /* paths() writes it again */
    jw_init(&o.w, &b);
    jw_open(&o.w, NULL, '{');
    b.n--;
    paths(&o);
    b.n--; /* the document's own paths go on behind a comma */
    buf_addc(&b, ',');
    buf_add(&b, document.p + head, document.n - head);
    s = arena_dup_str(more->arena, buf_str(&b));
    buf_done(&b);
    return s;
}
