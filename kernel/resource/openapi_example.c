/* openapi_example.c - an example of a resource's event, made from its definition: what a schema
 * says itself (examples, enum, default), else the simplest value of the type
 * (docs/spec/07-events-and-webhooks.md section 3). */
#include "resource/openapi_schema_inside.h"

#include "util/str.h"

/* Writes an example of an object, complete: what is not set is the default, or null. */
static void example_object(struct jw *w, const char *key, const struct wharf_json *schema)
{
    const struct wharf_json *properties = json_get(schema, "properties");

    jw_open(w, key, '{');
    for (const struct wharf_json *p = properties->child; p; p = p->next) {
        if (json_get(p, "properties"))
            example_object(w, p->key.p, p);
        else if (json_get(p, "default"))
            jw_value(w, p->key.p, json_get(p, "default"));
        else
            jw_null(w, p->key.p);
    }
    jw_close(w, '}');
}

/* Writes an example of an array with as few items as the schema takes. */
static void example_array(struct jw *w, const char *key, const struct wharf_json *schema)
{
    const struct wharf_json *items = json_get(schema, "items"), *values = json_get(items, "enum"),
                            *one = values ? values->child : NULL;

    jw_open(w, key, '[');
    for (int64_t i = 0; i < json_int_or(schema, "minItems", 0); i++) {
        if (one)
            jw_value(w, NULL, one);
        else
            jw_z(w, NULL, "example");
        one = one ? one->next : NULL;
    }
    jw_close(w, ']');
}

/* Returns what the schema itself says: an example, the first member of an enumeration, the
 * default. */
static const struct wharf_json *example_reported(const struct wharf_json *schema)
{
    const struct wharf_json *examples = json_get(schema, "examples"),
                            *values = json_get(schema, "enum");

    if (examples && examples->child)
        return examples->child;
    return values && values->child          ? values->child
           : json_get(schema, "properties") ? NULL
                                            : json_get(schema, "default");
}

/* ---- of what the definition describes apart ---- */

static void openapi_example_of(
    const struct engine *e, struct jw *w, const char *key, const struct wharf_json *schema);

/* Returns what a $ref stands for, as far as it is a shape; NULL for other names. */
static const struct wharf_json *openapi_example_meant(
    const struct engine *e, const struct wharf_json *schema)
{
    wharf_str name = schema_ref_name(schema);
    const struct wharf_json *shape = schema_meant(e, schema);

    if (!name.n)
        return schema;
    return shape && !schema_ref_name(shape).n ? shape : schema_shape_of_field(e, name);
}

/* Returns the choice of a schema that an example is made of: null, where it is one. */
static const struct wharf_json *choice_of(const struct wharf_json *schema)
{
    const struct wharf_json *choices = json_get(schema, "anyOf");

    choices = choices ? choices : json_get(schema, "oneOf");
    for (const struct wharf_json *c = choices ? choices->child : NULL; c; c = c->next)
        if (str_eqz(json_text_or(c, "type", ""), "null"))
            return c;
    return choices ? choices->child : NULL;
}

/* Writes the members that are always there. */
static void example_members(
    const struct engine *e, struct jw *w, const char *key, const struct wharf_json *schema)
{
    const struct wharf_json *properties = json_get(schema, "properties"),
                            *needed = json_get(schema, "required");

    jw_open(w, key, '{');
    for (const struct wharf_json *n = needed ? needed->child : NULL; n; n = n->next)
        if (properties && json_get_n(properties, n->text))
            openapi_example_of(e, w, n->text.p, json_get_n(properties, n->text));
    jw_close(w, '}');
}

static void example_plain(const struct engine *e, struct jw *w, const char *key, wharf_str type,
    const struct wharf_json *schema)
{
    if (str_eqz(type, "object"))
        example_members(e, w, key, schema);
    else if (str_eqz(type, "array"))
        jw_raw(w, key, WHARF_S("[]"));
    else if (str_eqz(type, "boolean"))
        jw_bool(w, key, false);
    else if (str_eqz(type, "integer") || str_eqz(type, "number"))
        jw_int(w, key, json_int_or(schema, "minimum", 1));
    else if (str_eqz(json_text_or(schema, "format", ""), "date-time"))
        jw_z(w, key, "2025-03-01T09:15:02.114Z");
    else
        jw_z(w, key, "example");
}

/* Writes an example of a schema: null where that is allowed, the members that are always there. */
static void openapi_example_of(
    const struct engine *e, struct jw *w, const char *key, const struct wharf_json *schema)
{
    const struct wharf_json *said = openapi_example_meant(e, schema),
                            *types = json_get(said, "type"), *reported;
    bool or_null = false;

    if (said && choice_of(said)) {
        openapi_example_of(e, w, key, choice_of(said));
        return;
    }
    reported = said ? example_reported(said) : NULL;
    if (said && json_get(said, "const"))
        reported = json_get(said, "const");
    for (const struct wharf_json *t = json_is(types, JSON_ARRAY) ? types->child : NULL; t;
         t = t->next)
        or_null |= str_eqz(t->text, "null");
    if (reported)
        jw_value(w, key, reported);
    else if (!said)
        jw_raw(w, key, WHARF_S("{}"));
    else if (or_null || str_eqz(json_text_or(said, "type", ""), "null"))
        jw_null(w, key);
    else
        example_plain(e, w, key, json_text_or(said, "type", ""), said);
}

/* ---- of fields ---- */

/* Writes an example of the field's type. A text is one that the schema's simple rules accept;
 * words where they ask for a form are the definition's own examples. */
static void example_of_type(struct jw *w, struct arena *a, const struct field *f)
{
    const struct wharf_json *types = json_get(f->json, "type");
    wharf_str type = json_is(types, JSON_ARRAY) && types->child ? types->child->text
                     : types                                    ? types->text
                                                                : str_z("");

    if (str_eqz(type, "array") && f->kind == FIELD_COLUMN && !f->n_show)
        example_array(w, f->name, f->json);
    else if (str_eqz(type, "array"))
        jw_raw(w, f->name, WHARF_S("[]"));
    else if (str_eqz(type, "object"))
        jw_raw(w, f->name, WHARF_S("{}"));
    else if (str_eqz(type, "boolean"))
        jw_bool(w, f->name, false);
    else if (str_eqz(type, "integer") || str_eqz(type, "number"))
        jw_int(w, f->name, json_int_or(f->json, "minimum", 1));
    else if (str_eqz(json_text_or(f->json, "format", ""), "email"))
        jw_z(w, f->name, "someone@example.com");
    else
        jw_str(w, f->name, arena_printf(a, "example %s", f->name));
}

static void example_value(
    const struct engine *e, struct jw *w, struct arena *a, const struct field *f)
{
    const struct wharf_json *reported = example_reported(f->json);
    const struct wharf_json *described = json_get(
        json_get(json_get(f->json, "x-wharf"), "describe"), "read");

    if (reported)
        jw_value(w, f->name, reported);
    else if (described)
        openapi_example_of(e, w, f->name, described);
    else if (f->store == STORE_JSON && json_get(f->json, "properties"))
        example_object(w, f->name, f->json);
    else if (f->store == STORE_TIME && !f->nullable)
        jw_z(w, f->name, "2025-03-01T09:15:02.114Z");
    else if (f->nullable || f->kind == FIELD_EMBED)
        jw_null(w, f->name);
    else
        example_of_type(w, a, f);
}

void schema_event_example(
    const struct engine *e, struct jw *w, struct arena *a, const struct resource *res)
{
    const struct definition *d = res->def;

    jw_z(w, "object", d->name);
    for (size_t i = 0; i < d->n_fields; i++) {
        if (!schema_in_events(&d->events, &d->fields[i]))
            continue;
        if (!strcmp(d->fields[i].name, "id"))
            jw_str(w, "id", arena_printf(a, "%s_0000000000000000000000", d->ids.prefix));
        else
            example_value(e, w, a, &d->fields[i]);
    }
}
