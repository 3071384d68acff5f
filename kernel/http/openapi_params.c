/* openapi_params.c - parameters of operations: of the path, of lists and filters, of rules, and
 * headers (docs/spec/01-platform.md sections 2.4, 8, 10 and 11). */
#include "http/openapi_inside.h"

#include "resource/place_sql.h"
#include "util/str.h"

static const char text_schema[] = "{\"type\":\"string\"}";
static const char bool_schema[] = "{\"type\":\"boolean\"}";

static void parameter(struct jw *w, const char *name, const char *description, const char *schema)
{
    jw_open(w, NULL, '{');
    jw_z(w, "name", name);
    jw_z(w, "in", "query");
    jw_bool(w, "required", false);
    jw_z(w, "description", description);
    jw_raw(w, "schema", str_z(schema));
    jw_close(w, '}');
}

static void openapi_params_shared(struct jw *w, const char *name)
{
    char text[96];

    snprintf(text, sizeof(text), "{\"$ref\":\"#/components/parameters/%s\"}", name);
    jw_raw(w, NULL, str_z(text));
}

/* ---- lists ---- */

static void limit_parameter(struct openapi *o, const struct definition *d)
{
    parameter(&o->w, "limit", "Rows per page, or all for the list's maximum",
        arena_printf(o->a,
            "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":1,\"maximum\":%d},{\"type\":\"string\","
            "\"enum\":[\"all\"]}],\"default\":%d}",
            d->list.max, d->list.limit)
            .p);
}

static void order_parameter(struct jw *w, const struct definition_list *list)
{
    jw_open(w, NULL, '{');
    jw_z(w, "name", "order_by");
    jw_z(w, "in", "query");
    jw_bool(w, "required", false);
    jw_z(w, "description", "The field to sort by; rows of one value by id");
    jw_open(w, "schema", '{');
    jw_z(w, "type", "string");
    jw_open(w, "enum", '[');
    for (size_t i = 0; i < list->n_sorts; i++)
        jw_z(w, NULL, list->sorts[i]->name);
    if (list->by_relevance)
        jw_z(w, NULL, "_relevance");
    jw_close(w, ']');
    jw_close(w, '}');
    jw_close(w, '}');
}

/* Writes the members of a filter, or anything, as one item of a list. */
static void filter_item(struct jw *w, const struct filter *f)
{
    jw_open(w, "items", '{');
    jw_z(w, "type", "string");
    if (f->type == FILTER_ENUM && f->n_members) {
        jw_open(w, "enum", '[');
        for (size_t i = 0; i < f->n_members; i++)
            jw_z(w, NULL, f->members[i]);
        jw_close(w, ']');
    }
    jw_close(w, '}');
}

/* Writes the schema of a filter: a text takes the operators, what lies beside it is the value
 * without one. */
static void filter_schema(struct jw *w, const struct filter *f)
{
    bool list = f->type == FILTER_ENUM || f->type == FILTER_ID || f->type == FILTER_ARRAY ||
                f->type == FILTER_NAMES || f->type == FILTER_TREE || f->type == FILTER_FLAGS;

    if (f->type == FILTER_BOOL && !f->nullable && !f->lenient) {
        jw_raw(w, "schema", str_z(bool_schema));
        return;
    }
    if (!list && f->type != FILTER_NUMBER && f->type != FILTER_BOOL &&
        f->type != FILTER_MANY_BOOL) {
        jw_raw(w, "schema", str_z(text_schema));
        return;
    }
    if (list) { /* by comma */
        jw_z(w, "style", "form");
        jw_bool(w, "explode", false);
    }
    jw_open(w, "schema", '{');
    jw_open(w, "anyOf", '[');
    jw_open(w, NULL, '{');
    jw_z(w, "type", list ? "array" : f->type == FILTER_NUMBER ? "number" : "boolean");
    if (list)
        filter_item(w, f);
    jw_close(w, '}');
    jw_raw(w, NULL, str_z(text_schema));
    jw_close(w, ']');
    jw_close(w, '}');
}

static void filter_parameter(struct openapi *o, const struct filter *f)
{
    struct jw *w = &o->w;

    jw_open(w, NULL, '{');
    jw_z(w, "name", f->name);
    jw_z(w, "in", "query");
    jw_bool(w, "required", false);
    jw_z(w, "description", filter_help(f->type));
    filter_schema(w, f);
    jw_close(w, '}');
}

static void list_parameters(struct openapi *o, const struct definition *d)
{
    struct jw *w = &o->w;

    openapi_params_shared(w, "Page");
    limit_parameter(o, d);
    openapi_params_shared(w, "Cursor");
    if (d->list.n_sorts) {
        order_parameter(w, &d->list);
        openapi_params_shared(w, "Direction");
    }
    if (d->list.n_searches || d->list.n_reported) {
        openapi_params_shared(w, "Search");
        openapi_params_shared(w, "SearchStrategy");
    }
    openapi_params_shared(w, "IncludeTotalCount");
    openapi_params_shared(w, "Fields");
    for (size_t i = 0; i < d->list.n_filters; i++)
        filter_parameter(o, &d->list.filters[i]);
}

/* ---- what else is asked ---- */

/* Tells whether the field is the first with its flag; several fields may have one flag. */
static bool first_with_flag(const struct definition *d, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (d->fields[k].include_flag &&
            !strcmp(d->fields[k].include_flag, d->fields[i].include_flag))
            return false;
    }
    return true;
}

static void include_parameters(struct openapi *o, const struct definition *d)
{
    for (size_t i = 0; i < d->n_fields; i++) {
        if (d->fields[i].include_flag && first_with_flag(d, i))
            parameter(&o->w, d->fields[i].include_flag,
                arena_printf(o->a, "true: with `%s`", d->fields[i].name).p, bool_schema);
    }
}

/* Writes the parameters that add what other modules show of a row. */
static void embed_parameters(struct openapi *o, const struct route *r)
{
    for (size_t i = 0; r->kind != ROUTE_LIST && i < o->e->n_embeds; i++) {
        const struct embed_entry *e = &o->e->embeds[i];

        if (definition_links(r->resource->def, e->key + 1))
            parameter(
                &o->w, e->param, arena_printf(o->a, "true: with `%s`", e->key).p, bool_schema);
    }
}

static void query_of_definition(struct openapi *o, const struct route *r)
{
    const struct wharf_json *query = json_get(r->definition, "query");

    for (const struct wharf_json *q = query ? query->child : NULL; q; q = q->next) {
        jw_open(&o->w, NULL, '{');
        jw_str(&o->w, "name", q->key);
        jw_z(&o->w, "in", "query");
        jw_bool(&o->w, "required", json_bool_or(q, "x-required", false));
        if (json_get(q, "description"))
            jw_value(&o->w, "description", json_get(q, "description"));
        schema_copy(&o->s, "schema", q);
        jw_close(&o->w, '}');
    }
}

static void headers_of_definition(struct openapi *o, const struct route *r)
{
    const struct wharf_json *headers = json_get(r->definition, "headers");

    for (const struct wharf_json *h = headers ? headers->child : NULL; h; h = h->next) {
        jw_open(&o->w, NULL, '{');
        jw_str(&o->w, "name", h->key);
        jw_z(&o->w, "in", "header");
        jw_bool(&o->w, "required", json_bool_or(h, "x-required", false));
        if (json_get(h, "description"))
            jw_value(&o->w, "description", json_get(h, "description"));
        schema_copy(&o->s, "schema", h);
        jw_close(&o->w, '}');
    }
}

static uint32_t op_of(const struct route *r)
{
    switch (r->kind) {
    case ROUTE_LIST:
        return OP_LIST;
    case ROUTE_CREATE:
        return OP_CREATE;
    case ROUTE_RETRIEVE:
        return OP_RETRIEVE;
    case ROUTE_UPDATE:
        return OP_UPDATE;
    case ROUTE_DELETE:
        return OP_DELETE;
    case ROUTE_PLUGIN:
    case ROUTE_KERNEL:
        break;
    }
    return 0;
}

/* Writes a parameter that rules of the resource read. */
static void rule_parameter(struct openapi *o, const struct route *r, const struct query_param *p)
{
    struct jw *w = &o->w;

    if (!(p->ops & op_of(r)) ||
        (r->kind == ROUTE_LIST && definition_filter(&r->resource->def->list, str_z(p->name))))
        return;
    jw_open(w, NULL, '{');
    jw_z(w, "name", p->name);
    jw_z(w, "in", "query");
    jw_bool(w, "required", false);
    if (p->description)
        jw_z(w, "description", p->description);
    if (p->schema) {
        schema_copy(&o->s, "schema", p->schema);
        jw_close(w, '}');
        return;
    }
    jw_open(w, "schema", '{');
    if (p->n_words == 2 && !strcmp(p->words[0], "true") && !strcmp(p->words[1], "false")) {
        jw_z(w, "type", "boolean");
    } else {
        jw_z(w, "type", "string");
        if (p->n_words) {
            jw_open(w, "enum", '[');
            for (size_t i = 0; i < p->n_words; i++)
                jw_z(w, NULL, p->words[i]);
            jw_close(w, ']');
        }
    }
    jw_close(w, '}');
    jw_close(w, '}');
}

/* Writes the headers that every operation of its kind reads. */
static void header_parameters(struct openapi *o, const struct route *r)
{
    struct jw *w = &o->w;
    bool get = !strcmp(r->method, "GET");

    if (r->kind == ROUTE_KERNEL || r->any_answer || r->event_stream)
        return;
    openapi_params_shared(w, "DatetimeFormat");
    if (get)
        openapi_params_shared(w, "IfNoneMatch");
    else if (openapi_takes_idempotency_key(r))
        openapi_params_shared(w, "IdempotencyKey");
    if (r->kind == ROUTE_UPDATE || r->kind == ROUTE_DELETE)
        openapi_params_shared(w, "IfMatch");
    openapi_params_shared(w, "Prefer");
}

/* Returns the resource whose id a parameter of the path is, or NULL: the route's own, the one that
 * the route is guarded by, or the one of that name. */
static const struct resource *openapi_params_id_of(
    const struct openapi *o, const struct route *r, size_t i)
{
    const char *name = r->param_names[i];

    if (!r->guards[i] && r->resource && !strcmp(name, r->resource->def->ids.param))
        return r->resource;
    return r->guards[i] ? r->guards[i] : engine_resource(o->e, name);
}

/* Writes a parameter of the path. x-id-of: the resource whose id it is. */
static void path_parameter(struct openapi *o, const struct route *r, size_t i)
{
    const struct resource *res = openapi_params_id_of(o, r, i);
    const char *said = json_text_or(json_get(r->definition, "parameters"), r->param_names[i], "").p;
    struct jw *w = &o->w;

    if (!*said && res)
        said = arena_printf(o->a, "Id of the %s", res->title_lower).p;
    jw_open(w, NULL, '{');
    jw_z(w, "name", r->param_names[i]);
    jw_z(w, "in", "path");
    jw_bool(w, "required", true);
    if (*said)
        jw_z(w, "description", said);
    if (res)
        jw_z(w, "x-id-of", res->def->name);
    jw_raw(w, "schema", str_z(text_schema));
    jw_close(w, '}');
}

void openapi_parameters(struct openapi *o, const struct route *r)
{
    jw_open(&o->w, "parameters", '[');
    for (size_t i = 0; i < r->n_params; i++)
        path_parameter(o, r, i);
    if (r->kind == ROUTE_LIST)
        list_parameters(o, r->resource->def);
    if (r->resource) {
        include_parameters(o, r->resource->def);
        embed_parameters(o, r);
    }
    for (size_t i = 0; r->resource && i < r->resource->def->n_params; i++)
        rule_parameter(o, r, &r->resource->def->params[i]);
    query_of_definition(o, r);
    headers_of_definition(o, r);
    header_parameters(o, r);
    jw_close(&o->w, ']');
}
