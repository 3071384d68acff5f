/* openapi_sent.c - resources as they are sent, and the components of the description
 * (docs/spec/01-platform.md section 17). How they are read: openapi_schema.c. */
#include "resource/openapi_schema_inside.h"

#include "plugin/manifest.h"
#include "schema/names.h"
#include "util/str.h"

static void set_input(struct schema_writer *s, const struct field *f)
{
    static const char *const verbs[] = {"add", "remove", "set"};
    struct jw *w = s->w;

    jw_open(w, f->name, '{');
    jw_open(w, "anyOf", '[');
    schema_copy(s, NULL, f->json);
    jw_open(w, NULL, '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < 3; i++)
        jw_raw(w, verbs[i],
            WHARF_S("{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}"));
    jw_close(w, '}');
    jw_close(w, '}');
    jw_close(w, ']');
    jw_close(w, '}');
}

/* Tells a default in words: generators of clients take the keyword for "always there", in what is
 * sent as well. */
static void default_in_words(
    struct jw *w, struct arena *a, const struct wharf_json *schema, const struct wharf_json *value)
{
    wharf_str text = json_text_or(schema, "description", "");
    struct buf b;
    struct jw words;

    buf_init(&b, 65536);
    jw_init(&words, &b);
    jw_value(&words, NULL, value);
    jw_str(w, "description",
        arena_printf(a, "%.*s%sDefault: %.*s.", STR_ARG(text), text.n ? " " : "", (int)b.n, b.p));
    buf_done(&b);
}

static void sent_copy(struct schema_writer *s, const char *key, const struct wharf_json *v);

static void sent_members(struct schema_writer *s, const struct wharf_json *properties)
{
    jw_open(s->w, "properties", '{');
    for (const struct wharf_json *p = properties->child; p; p = p->next)
        sent_copy(s, p->key.p, p);
    jw_close(s->w, '}');
}

static void sent_copy(struct schema_writer *s, const char *key, const struct wharf_json *v)
{
    const struct wharf_json *value = json_get(v, "default");
    struct jw *w = s->w;

    if (v->type != JSON_OBJECT || schema_ref_name(v).n) {
        schema_copy(s, key, v);
        return;
    }
    jw_open(w, key, '{');
    schema_mark_deprecated(w, v);
    for (const struct wharf_json *m = v->child; m; m = m->next) {
        if (m == value)
            default_in_words(w, s->a, v, value);
        else if (str_eqz(m->key, "properties"))
            sent_members(s, m);
        else if (str_eqz(m->key, "items"))
            sent_copy(s, "items", m);
        else if (strcmp(m->key.p, "x-wharf") != 0 && !(value && str_eqz(m->key, "description")))
            schema_copy(s, m->key.p, m);
    }
    jw_close(w, '}');
}

static void metadata_as_sent(struct jw *w, const char *key)
{
    jw_raw(w, key,
        WHARF_S("{\"type\":\"object\",\"maxProperties\":1000,\"additionalProperties\":{\"type\":["
                "\"string\",\"number\",\"boolean\",\"null\"]},\"description\":\"Merged with what "
                "is stored; null or an empty text takes a key away.\"}"));
}

static void shape_as_sent(struct schema_writer *s, const struct field *f)
{
    wharf_str input = arena_printf(s->a, "%.*sInput", STR_ARG(schema_shape_name(f->json)));

    if (f->nullable)
        schema_shape_or_null(s, f->name, input);
    else
        schema_ref(s, f->name, input);
}

static void field_as_sent(struct schema_writer *s, const struct field *f)
{
    const struct wharf_json *said = json_get(
        json_get(json_get(f->json, "x-wharf"), "describe"), "sent");

    if (said)
        schema_copy(s, f->name, said);
    else if (f->set_input)
        set_input(s, f);
    else if (f->store == STORE_METADATA)
        metadata_as_sent(s->w, f->name);
    else if (schema_shape_name(f->json).n)
        shape_as_sent(s, f);
    else
        sent_copy(s, f->name, f->json);
}

static bool openapi_sent_is_sent(const struct field *f, uint32_t op)
{
    const struct wharf_json *said = json_get(
        json_get(json_get(f->json, "x-wharf"), "describe"), "sent");

    if (said && said->type == JSON_BOOL) /* false: rules write it, nobody sends it */
        return said->truth;
    return (f->write & op) && !(f->kind == FIELD_COMPUTED && !f->input) && f->kind != FIELD_EMBED;
}

/* Writes the members that rules of the resource read beside its fields (x-wharf.inputs), those of
 * the verb. */
static void inputs_as_sent(struct schema_writer *s, const struct definition *d, const char *verb)
{
    const struct wharf_json *inputs = json_get(json_get(d->json, "x-wharf"), "inputs");

    for (const struct wharf_json *in = inputs ? inputs->child : NULL; in; in = in->next) {
        const struct wharf_json *ops = json_get(json_get(in, "x-wharf"), "ops");
        bool told = !ops;

        for (const struct wharf_json *op = ops ? ops->child : NULL; op; op = op->next)
            told |= str_eqz(op->text, verb);
        if (told)
            schema_copy(s, in->key.p, in);
    }
}

const struct names *schema_judged_inside(
    struct arena *a, const struct definition *d, const struct wharf_json *schemas)
{
    const struct wharf_json *inputs = json_get(json_get(d->json, "x-wharf"), "inputs");
    struct names_member *members = ARENA_ARRAY(
        a, struct names_member, d->n_fields + (inputs ? inputs->count : 0) + 1);
    size_t n = 0;

    for (size_t i = 0; i < d->n_fields; i++) {
        const struct wharf_json *said = json_get(
            json_get(json_get(d->fields[i].json, "x-wharf"), "describe"), "sent");

        if (said && said->type == JSON_OBJECT)
            members[n++] = (struct names_member){str_z(d->fields[i].name), said};
    }
    for (const struct wharf_json *in = inputs ? inputs->child : NULL; in; in = in->next)
        members[n++] = (struct names_member){in->key, in};
    return n ? names_collect_inside(a, schemas, members, n) : NULL;
}

bool schema_field_needed(const struct definition *d, const struct field *f)
{
    const struct wharf_json *describe = json_get(json_get(f->json, "x-wharf"), "describe");

    return f->required && f->write & OP_CREATE && f != d->place.parent &&
           !json_bool_or(describe, "optional", false);
}

static void resource_as_sent(struct schema_writer *s, const struct resource *res, uint32_t op)
{
    const struct definition *d = res->def;
    struct jw *w = s->w;
    wharf_str name = arena_printf(
        s->a, "%.*s%s", STR_ARG(schema_name(s->a, d)), op == OP_CREATE ? "Create" : "Update");

    jw_open(w, name.p, '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < d->n_fields; i++) {
        if (openapi_sent_is_sent(&d->fields[i], op))
            field_as_sent(s, &d->fields[i]);
    }
    inputs_as_sent(s, d, op == OP_CREATE ? "create" : "update");
    if (d->events.disable_webhooks && !definition_field(d, "disable_webhooks"))
        jw_raw(w, "disable_webhooks", WHARF_S("{\"type\":\"boolean\"}"));
    jw_close(w, '}');
    if (op == OP_CREATE) {
        jw_open(w, "required", '[');
        for (size_t i = 0; i < d->n_fields; i++) {
            if (schema_field_needed(d, &d->fields[i]))
                jw_z(w, NULL, d->fields[i].name);
        }
        jw_close(w, ']');
    }
    jw_close(w, '}');
}

/* ---- components ---- */

/* Tells whether the text of a route's document names the schema. */
static bool names(const struct wharf_json *v, wharf_str name)
{
    if (v->type == JSON_OBJECT && schema_ref_name(v).n)
        return str_eq(schema_ref_name(v), name);
    for (const struct wharf_json *m = v->type == JSON_OBJECT || v->type == JSON_ARRAY ? v->child
                                                                                      : NULL;
         m; m = m->next)
        if (names(m, name))
            return true;
    return false;
}

/* Tells whether a route of a plugin, or a shape of a module, names the schema. */
static bool openapi_sent_named(const struct engine *e, wharf_str name)
{
    for (size_t i = 0; i < e->n_routes; i++) {
        const struct wharf_json *body = json_get(e->routes[i].definition, "body");

        if (body && names(body, name))
            return true;
    }
    for (size_t i = 0; i < e->n_plugins; i++) {
        const struct wharf_json *shapes = e->plugins[i].manifest->shapes;

        if (shapes && names(shapes, name))
            return true;
    }
    return false;
}

/* Tells whether requests bring the resource so: by a route of this kind, or by a route of a plugin
 * whose document names the schema. */
static bool brought(
    struct schema_writer *s, const struct resource *res, enum route_kind kind, const char *suffix)
{
    const struct engine *e = s->e;

    for (size_t i = 0; i < e->n_routes; i++)
        if (e->routes[i].resource == res && e->routes[i].kind == kind)
            return true;
    return openapi_sent_named(
        e, arena_printf(s->a, "%.*s%s", STR_ARG(schema_name(s->a, res->def)), suffix));
}

/* Tells whether something that is sent is of the shape: a field, or what a schema names. */
static bool shape_is_sent(const struct engine *e, wharf_str shape, wharf_str input)
{
    for (size_t i = 0; i < e->n_resources; i++) {
        const struct definition *d = e->resources[i].def;

        for (size_t k = 0; k < d->n_fields; k++) {
            const struct wharf_json *x = json_get(d->fields[k].json, "x-wharf"),
                                    *sent = json_get(json_get(x, "describe"), "sent");

            if ((sent && names(sent, input)) ||
                (!sent && str_eq(schema_shape_name(d->fields[k].json), shape) &&
                    openapi_sent_is_sent(&d->fields[k], OP_CREATE | OP_UPDATE)))
                return true;
        }
    }
    return openapi_sent_named(e, input);
}

/* Writes the shapes of a resource's fields, each when it is the first with that name. */
static void shapes_of_fields(struct schema_writer *s, const struct definition *d)
{
    for (size_t i = 0; i < d->n_fields; i++) {
        const struct wharf_json *property = d->fields[i].json;
        wharf_str name = schema_shape_name(property), input;

        if (!name.n || schema_shape_of_field(s->e, name) != property)
            continue;
        schema_nested(s, name.p, property, false);
        input = arena_printf(s->a, "%.*sInput", STR_ARG(name));
        if (!shape_is_sent(s->e, name, input))
            continue;
        jw_open(s->w, input.p, '{');
        jw_z(s->w, "type", "object");
        sent_members(s, json_get(property, "properties"));
        jw_close(s->w, '}');
    }
}

void schema_components(struct schema_writer *s)
{
    const struct engine *e = s->e;

    for (size_t i = 0; i < e->n_resources; i++) {
        const struct resource *res = &e->resources[i];

        schema_resource(s, schema_name(s->a, res->def).p, res, NULL);
        if (brought(s, res, ROUTE_CREATE, "Create"))
            resource_as_sent(s, res, OP_CREATE);
        if (brought(s, res, ROUTE_UPDATE, "Update"))
            resource_as_sent(s, res, OP_UPDATE);
        shapes_of_fields(s, res->def);
    }
    for (size_t i = 0; i < e->n_plugins; i++) {
        const struct wharf_json *shapes = e->plugins[i].manifest->shapes;

        for (const struct wharf_json *one = shapes ? shapes->child : NULL; one; one = one->next)
            schema_copy(s, one->key.p, one);
    }
}
