/* openapi_example.c - an example of a resource's event, made from its definition: what a schema
 * says itself (examples, enum, default), else the simplest value of the type
 * (docs/spec/07-events-and-webhooks.md section 3). */
#include "resource/openapi_schema.h"

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

/* Writes a text that the schema's simple rules accept; words where they ask for a form are the
 * definition's own examples. */
static void example_value(struct jw *w, struct arena *a, const struct field *f)
{
    const struct wharf_json *reported = example_reported(f->json);
    const struct wharf_json *types = json_get(f->json, "type");
    wharf_str type = json_is(types, JSON_ARRAY) && types->child ? types->child->text
                     : types                                    ? types->text
                                                                : str_z("");

    if (reported)
        jw_value(w, f->name, reported);
    else if (f->store == STORE_JSON && json_get(f->json, "properties"))
        example_object(w, f->name, f->json);
    else if (f->store == STORE_TIME && !f->nullable)
        jw_z(w, f->name, "2025-03-01T09:15:02.114Z");
    else if (f->nullable || f->kind == FIELD_EMBED)
        jw_null(w, f->name);
    else if (str_eqz(type, "array") && f->kind == FIELD_COLUMN && !f->n_show)
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

void schema_event_example(struct jw *w, struct arena *a, const struct resource *res)
{
    const struct definition *d = res->def;

    jw_z(w, "object", d->name);
    for (size_t i = 0; i < d->n_fields; i++) {
        if (!schema_in_events(&d->events, &d->fields[i]))
            continue;
        if (!strcmp(d->fields[i].name, "id"))
            jw_str(w, "id", arena_printf(a, "%s_0000000000000000000000", d->ids.prefix));
        else
            example_value(w, a, &d->fields[i]);
    }
}
