/* openapi_components.c - what operations share: schemas, enumerations, headers, and the webhooks
 * (docs/spec/01-platform.md section 17). What is the same on each server is in openapi.json. */
#include "http/openapi_inside.h"

#include "event/event_catalogue.h"
#include "util/str.h"

static void copy_members(struct openapi *o, const struct wharf_json *object)
{
    for (const struct wharf_json *m = object ? object->child : NULL; m; m = m->next)
        jw_value(&o->w, m->key.p, m);
}

static void open_enum(struct jw *w, const char *key, const char *description)
{
    jw_open(w, key, '{');
    jw_z(w, "type", "string");
    jw_z(w, "description", description);
    jw_open(w, "enum", '[');
}

static void close_enum(struct jw *w)
{
    jw_close(w, ']');
    jw_close(w, '}');
}

static void enumerations(struct openapi *o)
{
    const struct engine *e = o->e;
    struct jw *w = &o->w;

    open_enum(w, "ErrorCode", "The error codes of this server and its modules");
    for (size_t i = 0; i < e->n_codes; i++)
        jw_z(w, NULL, e->codes[i].code);
    close_enum(w);
    open_enum(w, "EventType", "The types of events of the modules that are loaded");
    for (size_t i = 0; i < e->n_event_types; i++)
        jw_z(w, NULL, e->event_types[i].type);
    close_enum(w);
    open_enum(w, "Scope", "What a key may be allowed: an area, and whether it may write");
    for (size_t i = 0; i < e->areas.count; i++) {
        jw_str(w, NULL, arena_printf(o->a, "%s:read", e->areas.names[i]));
        jw_str(w, NULL, arena_printf(o->a, "%s:write", e->areas.names[i]));
    }
    close_enum(w);
}

/* Writes the answer that operations share for a status, with the codes that it may have. */
static void shared_refusal(struct openapi *o, const struct wharf_json *status)
{
    struct jw *w = &o->w;
    struct buf text;

    buf_init(&text, 1 << 16);
    for (size_t i = 0; i < o->e->n_codes; i++) {
        const struct error_code *c = &o->e->codes[i];

        if (!c->plugin && openapi_of_kind(c) &&
            str_eqz(status->key, arena_printf(o->a, "%d", c->status).p))
            buf_addf(&text, "%s- `%s`: %s.", text.n ? "\n" : "", c->code, c->text);
    }
    jw_open(w, status->text.p, '{');
    jw_str(w, "description", buf_str(&text));
    buf_done(&text);
    if (str_eqz(status->key, "429"))
        jw_raw(w, "headers",
            WHARF_S("{\"Retry-After\":{\"$ref\":\"#/components/headers/RetryAfter\"}}"));
    jw_raw(w, "content",
        WHARF_S("{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}},"
                "\"application/problem+json\":{\"schema\":{\"$ref\":"
                "\"#/components/schemas/Problem\"}}}"));
    jw_close(w, '}');
}

/* ---- webhooks ---- */

static wharf_str data_name(const struct openapi *o, const struct resource *res)
{
    return arena_printf(o->a, "%.*sEventData", STR_ARG(schema_name(o->a, res->def)));
}

/* Tells whether the type is the first of its resource: it brings the schema of their data. */
static bool first_of_resource(const struct engine *e, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (e->event_types[k].resource == e->event_types[i].resource)
            return false;
    return e->event_types[i].resource != NULL;
}

static void data_schemas(struct openapi *o)
{
    const struct engine *e = o->e;
    struct jw *w = &o->w;

    for (size_t i = 0; i < e->n_event_types; i++) {
        if (!first_of_resource(e, i))
            continue;
        jw_open(w, data_name(o, e->event_types[i].resource).p, '{');
        jw_z(w, "type", "object");
        jw_open(w, "properties", '{');
        schema_event_properties(&o->s, e->event_types[i].resource);
        jw_close(w, '}');
        jw_raw(w, "required", WHARF_S("[\"object\"]"));
        jw_close(w, '}');
    }
}

/* Writes the members that this type has beside those of its resource. */
static void own_members(struct openapi *o, const char *key, const struct event_type *t)
{
    struct jw *w = &o->w;

    jw_open(w, key, '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    if (!t->resource)
        jw_raw(w, "object", WHARF_S("{\"type\":\"string\"}"));
    for (const struct wharf_json *m = t->members ? t->members->child : NULL; m; m = m->next)
        schema_copy(&o->s, m->key.p, m);
    jw_close(w, '}');
    jw_close(w, '}');
}

static void openapi_components_event_data(struct openapi *o, const struct event_type *t)
{
    struct jw *w = &o->w;
    wharf_str ref = t->resource ? arena_printf(o->a, "{\"$ref\":\"#/components/schemas/%.*s\"}",
                                      STR_ARG(data_name(o, t->resource)))
                                : str_z("");

    if (!t->resource) {
        own_members(o, "data", t);
    } else if (!t->members || !t->members->child) {
        jw_raw(w, "data", ref);
    } else {
        jw_open(w, "data", '{');
        jw_open(w, "allOf", '[');
        jw_raw(w, NULL, ref);
        own_members(o, NULL, t);
        jw_close(w, ']');
        jw_close(w, '}');
    }
}

/* Writes the body of a delivery: the members of every event, with the data of this type. */
static void event_body(struct openapi *o, const struct event_type *t)
{
    const struct wharf_json *event = json_get(o->fixed, "event");
    struct jw *w = &o->w;

    jw_open(w, "schema", '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    copy_members(o, json_get(event, "properties"));
    jw_raw(w, "type", arena_printf(o->a, "{\"const\":\"%s\"}", t->type));
    openapi_components_event_data(o, t);
    jw_close(w, '}');
    jw_value(w, "required", json_get(event, "required"));
    jw_close(w, '}');
    jw_open(w, "example", '{');
    copy_members(o, json_get(event, "example"));
    jw_z(w, "type", t->type);
    jw_z(w, "resource_type", t->resource_type);
    jw_raw(w, "data", t->example_text);
    jw_close(w, '}');
}

void openapi_webhooks(struct openapi *o)
{
    struct jw *w = &o->w;

    jw_open(w, "webhooks", '{');
    for (size_t i = 0; i < o->e->n_event_types; i++) {
        const struct event_type *t = &o->e->event_types[i];

        jw_open(w, t->type, '{');
        jw_open(w, "post", '{');
        jw_str(w, "operationId", arena_printf(o->a, "event.%s", t->type));
        jw_z(w, "summary", t->type);
        jw_z(w, "description", t->description);
        jw_raw(w, "tags", WHARF_S("[\"Events\"]"));
        jw_value(w, "parameters", json_get(json_get(o->fixed, "event"), "headers"));
        jw_open(w, "requestBody", '{');
        jw_open(w, "content", '{');
        jw_open(w, "application/json", '{');
        event_body(o, t);
        jw_close(w, '}');
        jw_close(w, '}');
        jw_close(w, '}');
        jw_raw(w, "responses",
            WHARF_S(
                "{\"2XX\":{\"description\":\"The event was taken; any other answer, or none, "
                "is tried again later\"},\"4XX\":{\"description\":\"Tried again as `retry_mode` "
                "says; 410 disables the webhook\"}}"));
        jw_z(w, "x-module", t->module);
        jw_close(w, '}');
        jw_close(w, '}');
    }
    jw_close(w, '}');
}

void openapi_components(struct openapi *o)
{
    const struct wharf_json *refusals = json_get(o->fixed, "refusals");
    struct jw *w = &o->w;

    jw_open(w, "components", '{');
    jw_value(w, "securitySchemes", json_get(o->fixed, "securitySchemes"));
    jw_value(w, "parameters", json_get(o->fixed, "parameters"));
    jw_value(w, "headers", json_get(o->fixed, "headers"));
    jw_open(w, "responses", '{');
    copy_members(o, json_get(o->fixed, "responses"));
    for (const struct wharf_json *s = refusals ? refusals->child : NULL; s; s = s->next)
        shared_refusal(o, s);
    jw_close(w, '}');
    jw_open(w, "schemas", '{');
    o->schemas_from = w->out->n - 1;
    copy_members(o, json_get(o->fixed, "schemas"));
    enumerations(o);
    schema_components(&o->s);
    data_schemas(o);
    jw_close(w, '}');
    o->schemas_to = w->out->n;
    jw_close(w, '}');
}
