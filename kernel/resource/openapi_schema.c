/* openapi_schema.c - schemas by name, and resources as they are read. Leaves to others: as they are
 * sent, and all components (openapi_sent.c), filters (openapi_filter.c). */
#include "resource/openapi_schema_inside.h"

#include "plugin/manifest.h"
#include "util/str.h"

enum { WHOLE_DEPTH = 5 };

static const char ref_prefix[] = "#/components/schemas/";
/* Schemas of the description that are made from what is loaded (http/openapi_components.c). */
static const char *const made_schemas[] = {"ErrorCode", "EventType", "Scope"};

wharf_str schema_name(struct arena *a, const struct definition *d)
{
    char *out = arena_alloc(a, strlen(d->name) + 1);
    size_t n = 0;
    bool up = true;

    for (const char *p = d->name; *p; p++) {
        if (*p == '_') {
            up = true;
            continue;
        }
        out[n++] = up && *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
        up = false;
    }
    return (wharf_str){out, n};
}

/* ---- names ---- */

/* Finds the schema that a plugin's manifest calls by this name, or NULL. */
static const struct wharf_json *shape_of_plugin(const struct engine *e, wharf_str name)
{
    for (size_t i = 0; i < e->n_plugins; i++) {
        const struct wharf_json *shapes = e->plugins[i].manifest->shapes,
                                *one = shapes ? json_get_n(shapes, name) : NULL;

        if (one)
            return one;
    }
    return NULL;
}

/* Tells whether the name is schema_name() of the definition. */
static bool is_name_of(const struct definition *d, wharf_str name)
{
    size_t at = 0;
    bool up = true;

    for (const char *p = d->name; *p; p++) {
        if (*p == '_') {
            up = true;
            continue;
        }
        if (at == name.n || name.p[at++] != (up && *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p))
            return false;
        up = false;
    }
    return at == name.n;
}

static const struct resource *resource_of_name(const struct schema_writer *s, wharf_str name)
{
    for (size_t i = 0; i < s->e->n_resources; i++)
        if (is_name_of(s->e->resources[i].def, name))
            return &s->e->resources[i];
    return NULL;
}

/* Returns the x-wharf.shape of a property: what its object is called; "" for none. */
wharf_str schema_shape_name(const struct wharf_json *property)
{
    return json_text_or(json_get(property, "x-wharf"), "shape", "");
}

/* Finds the first property that is of the shape, at the top of a resource, or NULL. */
const struct wharf_json *schema_shape_of_field(const struct engine *e, wharf_str name)
{
    for (size_t i = 0; i < e->n_resources; i++) {
        const struct definition *d = e->resources[i].def;

        for (size_t k = 0; k < d->n_fields; k++)
            if (str_eq(schema_shape_name(d->fields[k].json), name))
                return d->fields[k].json;
    }
    return NULL;
}

static wharf_str without(wharf_str name, const char *suffix)
{
    size_t n = strlen(suffix);

    return str_ends(name, suffix) ? (wharf_str){name.p, name.n - n} : str_z("");
}

/* Tells whether the document has a schema of this name. Fields are looked at last: there are
 * thousands of them, and most names are found before. */
static bool openapi_schema_is_known(const struct schema_writer *s, wharf_str name)
{
    wharf_str create = without(name, "Create"), update = without(name, "Update"),
              input = without(name, "Input");
    bool known = (s->own && json_get_n(s->own, name)) || shape_of_plugin(s->e, name) ||
                 resource_of_name(s, name) || (create.n && resource_of_name(s, create)) ||
                 (update.n && resource_of_name(s, update));

    for (size_t i = 0; i < sizeof(made_schemas) / sizeof(made_schemas[0]) && !known; i++)
        known = str_eqz(name, made_schemas[i]);
    return known || schema_shape_of_field(s->e, name) ||
           (input.n && schema_shape_of_field(s->e, input));
}

/* Writes what a $ref stands for in its place, as far as that is known without the description. */
static void written_out(struct schema_writer *s, const char *key, wharf_str name)
{
    const struct wharf_json *shape = shape_of_plugin(s->e, name);
    const struct resource *res = resource_of_name(s, name);

    s->depth++;
    if (s->depth > WHOLE_DEPTH)
        jw_raw(s->w, key, WHARF_S("{}"));
    else if (shape)
        schema_copy(s, key, shape);
    else if (res)
        schema_resource(s, key, res, NULL);
    else
        jw_raw(s->w, key, WHARF_S("{\"type\":\"object\"}"));
    s->depth--;
}

void schema_ref(struct schema_writer *s, const char *key, wharf_str name)
{
    struct jw *w = s->w;

    if (s->whole) {
        written_out(s, key, name);
        return;
    }
    jw_open(w, key, '{');
    if (openapi_schema_is_known(s, name)) {
        jw_str(w, "$ref", arena_printf(s->a, "%s%.*s", ref_prefix, STR_ARG(name)));
    } else {
        jw_z(w, "type", "object");
        jw_z(w, "description", "Of a module that this server does not load");
        jw_bool(w, "additionalProperties", true);
        jw_str(w, "x-not-loaded", name);
    }
    jw_close(w, '}');
}

void schema_reference(struct schema_writer *s, const char *key, wharf_str name, const char *suffix)
{
    schema_ref(s, key, arena_printf(s->a, "%.*s%s", STR_ARG(name), suffix));
}

/* ---- copies ---- */

/* Marks a field that is going away (http/deprecation.h). */
void schema_mark_deprecated(struct jw *w, const struct wharf_json *property)
{
    if (json_get(json_get(property, "x-wharf"), "deprecated") && !json_get(property, "deprecated"))
        jw_bool(w, "deprecated", true);
}

/* Returns the name that a $ref of the description stands for; "" when the schema is another. */
wharf_str schema_ref_name(const struct wharf_json *schema)
{
    wharf_str to = json_text_or(schema, "$ref", "");
    size_t n = sizeof(ref_prefix) - 1;

    return str_starts(to, ref_prefix) ? (wharf_str){to.p + n, to.n - n} : str_z("");
}

bool schema_names_create(const struct wharf_json *schema, const struct definition *d)
{
    return is_name_of(d, without(schema_ref_name(schema), "Create"));
}

const struct wharf_json *schema_meant(const struct engine *e, const struct wharf_json *schema)
{
    wharf_str name = schema ? schema_ref_name(schema) : str_z("");
    const struct wharf_json *shape = name.n ? shape_of_plugin(e, name) : NULL;

    return shape ? shape : schema;
}

/* Writes the resource that a schema extends, with the members that the schema has. */
static void extended(struct schema_writer *s, const char *key, const struct wharf_json *v)
{
    wharf_str name = json_text_or(v, "extends", "");
    const struct resource *res = resource_of_name(s, name);

    if (res)
        schema_resource(s, key, res, v);
    else
        schema_ref(s, key, name);
}

void schema_copy(struct schema_writer *s, const char *key, const struct wharf_json *v)
{
    struct jw *w = s->w;

    if (v->type == JSON_OBJECT && schema_ref_name(v).n) {
        schema_ref(s, key, schema_ref_name(v));
    } else if (v->type == JSON_OBJECT && json_text_or(v, "extends", "").n) {
        extended(s, key, v);
    } else if (v->type == JSON_OBJECT) {
        jw_open(w, key, '{');
        schema_mark_deprecated(w, v);
        for (const struct wharf_json *m = v->child; m; m = m->next) {
            if (strcmp(m->key.p, "x-wharf") != 0)
                schema_copy(s, m->key.p, m);
        }
        jw_close(w, '}');
    } else if (v->type == JSON_ARRAY) {
        jw_open(w, key, '[');
        for (const struct wharf_json *e = v->child; e; e = e->next)
            schema_copy(s, NULL, e);
        jw_close(w, ']');
    } else {
        jw_value(w, key, v);
    }
}

/* ---- as read ---- */

/* Writes a member that is null where nothing is set: its schema, with null among its types and
 * values. */
static void member_or_null(struct schema_writer *s, const char *key, const struct wharf_json *p)
{
    struct jw *w = s->w;

    jw_open(w, key, '{');
    for (const struct wharf_json *m = p->child; m; m = m->next) {
        bool type = str_eqz(m->key, "type") && m->type == JSON_STRING;

        if (type || str_eqz(m->key, "enum")) {
            jw_open(w, m->key.p, '[');
            for (const struct wharf_json *e = type ? m : m->child; e; e = type ? NULL : e->next)
                if (e->type != JSON_NULL)
                    jw_value(w, NULL, e);
            if (type)
                jw_z(w, NULL, "null");
            else
                jw_null(w, NULL);
            jw_close(w, ']');
        } else if (strcmp(m->key.p, "x-wharf") != 0) {
            schema_copy(s, m->key.p, m);
        }
    }
    jw_close(w, '}');
}

static void member_as_read(struct schema_writer *s, const struct wharf_json *p)
{
    if (json_get(p, "properties"))
        schema_nested(s, p->key.p, p, true);
    else if (json_text_or(p, "type", "").n && !json_get(p, "default"))
        member_or_null(s, p->key.p, p);
    else
        schema_copy(s, p->key.p, p);
}

/* Writes what nested objects hold after being written out complete: every member, null where
 * nothing is set. */
void schema_nested(
    struct schema_writer *s, const char *key, const struct wharf_json *schema, bool or_null)
{
    const struct wharf_json *properties = json_get(schema, "properties");
    const struct wharf_json *more = json_get(schema, "additionalProperties");
    struct jw *w = s->w;

    jw_open(w, key, '{');
    if (or_null)
        jw_raw(w, "type", WHARF_S("[\"object\",\"null\"]"));
    else
        jw_z(w, "type", "object");
    if (json_get(schema, "description"))
        jw_value(w, "description", json_get(schema, "description"));
    jw_open(w, "properties", '{');
    for (const struct wharf_json *p = properties->child; p; p = p->next)
        member_as_read(s, p);
    jw_close(w, '}');
    if (!more || (more->type == JSON_BOOL && !more->truth))
        jw_bool(w, "additionalProperties", false);
    jw_open(w, "required", '[');
    for (const struct wharf_json *p = properties->child; p; p = p->next)
        jw_str(w, NULL, p->key);
    jw_close(w, ']');
    jw_close(w, '}');
}

/* Writes a $ref to the shape, or null. */
void schema_shape_or_null(struct schema_writer *s, const char *key, wharf_str shape)
{
    jw_open(s->w, key, '{');
    jw_open(s->w, "anyOf", '[');
    schema_ref(s, NULL, shape);
    jw_raw(s->w, NULL, WHARF_S("{\"type\":\"null\"}"));
    jw_close(s->w, ']');
    jw_close(s->w, '}');
}

static void children_as_read(struct schema_writer *s, const char *key, const struct field *f)
{
    const struct child_set *set = f->children;
    struct jw *w = s->w;

    jw_open(w, key, '{');
    jw_z(w, "type", "array");
    jw_open(w, "items", '{');
    jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < set->n_fields; i++)
        schema_field_as_read(s, set->fields[i].name, NULL, &set->fields[i]);
    jw_close(w, '}');
    jw_bool(w, "additionalProperties", false);
    jw_open(w, "required", '[');
    for (size_t i = 0; i < set->n_fields; i++) {
        if (set->fields[i].in)
            jw_z(w, NULL, set->fields[i].name);
    }
    jw_close(w, ']');
    jw_close(w, '}');
    jw_close(w, '}');
}

/* Writes an object of some fields of another resource's row; res may be NULL when its module is
 * not loaded. */
static void part_of_row(struct schema_writer *s, const char *key, const struct resource *other,
    const char *const *names, size_t n, bool or_null)
{
    struct jw *w = s->w;

    jw_open(w, key, '{');
    if (or_null)
        jw_raw(w, "type", WHARF_S("[\"object\",\"null\"]"));
    else
        jw_z(w, "type", "object");
    jw_open(w, "properties", '{');
    for (size_t i = 0; i < n; i++) {
        const struct field *f = other ? definition_field(other->def, names[i]) : NULL;

        if (f)
            schema_field_as_read(s, names[i], other, f);
        else if (!strcmp(names[i], "object") && other)
            jw_raw(w, names[i], arena_printf(s->a, "{\"const\":\"%s\"}", other->def->name));
        else
            jw_raw(w, names[i], WHARF_S("{\"type\":[\"string\",\"null\"]}"));
    }
    jw_close(w, '}');
    jw_open(w, "required", '[');
    for (size_t i = 0; i < n; i++)
        jw_z(w, NULL, names[i]);
    jw_close(w, ']');
    jw_bool(w, "additionalProperties", false);
    jw_close(w, '}');
}

static const struct resource *other_of(
    const struct schema_writer *s, const struct resource *res, const struct field *f)
{
    if (res && res->refs && res->def->fields + f->index == f && res->refs[f->index])
        return res->refs[f->index];
    return f->ref ? engine_resource(s->e, f->ref) : NULL;
}

static void rows_as_read(
    struct schema_writer *s, const char *key, const struct resource *res, const struct field *f)
{
    jw_open(s->w, key, '{');
    jw_z(s->w, "type", "array");
    part_of_row(s, "items", other_of(s, res, f), f->show, f->n_show, false);
    jw_close(s->w, '}');
}

static void time_as_read(struct schema_writer *s, const char *key, const struct field *f)
{
    const struct wharf_json *text = json_get(f->json, "description");

    jw_open(s->w, key, '{');
    if (f->nullable)
        jw_raw(s->w, "type", WHARF_S("[\"string\",\"null\"]"));
    else
        jw_z(s->w, "type", "string");
    jw_z(s->w, "format", "date-time");
    if (text)
        jw_value(s->w, "description", text);
    jw_close(s->w, '}');
}

void schema_field_as_read(
    struct schema_writer *s, const char *key, const struct resource *res, const struct field *f)
{
    const struct wharf_json *said = json_get(
        json_get(json_get(f->json, "x-wharf"), "describe"), "read");

    if (said)
        schema_copy(s, key, said);
    else if (f->kind == FIELD_CHILDREN)
        children_as_read(s, key, f);
    else if (f->n_show)
        rows_as_read(s, key, res, f);
    else if (f->store == STORE_TIME)
        time_as_read(s, key, f);
    else if (f->kind == FIELD_EMBED)
        part_of_row(
            s, key, other_of(s, res, f->embed_from), f->embed_fields, f->n_embed_fields, true);
    else if (f->store == STORE_METADATA && !s->whole)
        schema_ref(s, key, WHARF_S("Metadata"));
    else if (schema_shape_name(f->json).n && !s->whole)
        schema_shape_or_null(s, key, schema_shape_name(f->json));
    else if (f->store == STORE_JSON && json_get(f->json, "properties"))
        schema_nested(s, key, f->json, true);
    else
        schema_copy(s, key, f->json);
}

static bool ever_shown(const struct field *f)
{
    return f->in || f->include_flag;
}

/* Tells whether each row shows the field, wherever rows are shown. */
static bool always_shown(const struct field *f)
{
    return (f->in & IN_LIST) && (f->in & IN_RETRIEVE) && !f->include_flag && !f->writers &&
           !f->input;
}

/* Writes the resource. more: a schema that extends it, or NULL. */
void schema_resource(struct schema_writer *s, const char *key, const struct resource *res,
    const struct wharf_json *more)
{
    const struct definition *d = res->def;
    const struct wharf_json *words = json_get(more ? more : d->json, "description"),
                            *members = json_get(more, "properties"),
                            *needed = json_get(more, "required");
    struct jw *w = s->w;

    jw_open(w, key, '{');
    jw_z(w, "type", "object");
    jw_z(w, "title", d->title);
    if (words)
        jw_value(w, "description", words);
    jw_open(w, "properties", '{');
    jw_open(w, "object", '{');
    jw_z(w, "const", d->name);
    jw_close(w, '}');
    for (size_t i = 0; i < d->n_fields; i++) {
        if (ever_shown(&d->fields[i]))
            schema_field_as_read(s, d->fields[i].name, res, &d->fields[i]);
    }
    if (d->list.n_searches || d->list.n_reported)
        schema_ref(s, "_search", WHARF_S("SearchHit"));
    for (const struct wharf_json *m = members ? members->child : NULL; m; m = m->next)
        schema_copy(s, m->key.p, m);
    jw_close(w, '}');
    jw_open(w, "required", '[');
    jw_z(w, NULL, "object");
    jw_z(w, NULL, "id");
    for (size_t i = 0; i < d->n_fields; i++) {
        if (always_shown(&d->fields[i]) && strcmp(d->fields[i].name, "id") != 0)
            jw_z(w, NULL, d->fields[i].name);
    }
    for (const struct wharf_json *m = needed ? needed->child : NULL; m; m = m->next)
        jw_str(w, NULL, m->text);
    jw_close(w, ']');
    jw_bool(w, "additionalProperties", false);
    jw_close(w, '}');
}

bool schema_in_events(const struct definition_events *events, const struct field *f)
{
    for (size_t i = 0; i < events->n_parts; i++) {
        if (events->parts[i].field == f)
            return true;
    }
    for (size_t i = 0; i < events->n_without; i++) {
        if (events->without[i] == f)
            return false;
    }
    return (f->in & IN_RETRIEVE) && !f->writers;
}

void schema_event_properties(struct schema_writer *s, const struct resource *res)
{
    const struct definition *d = res->def;
    struct jw *w = s->w;

    jw_open(w, "object", '{');
    jw_z(w, "const", d->name);
    jw_close(w, '}');
    for (size_t i = 0; i < d->n_fields; i++) {
        if (schema_in_events(&d->events, &d->fields[i]))
            schema_field_as_read(s, d->fields[i].name, res, &d->fields[i]);
    }
    if (!definition_field(d, "location_id")) /* of data that was too large */
        jw_raw(w, "location_id", WHARF_S("{\"type\":[\"string\",\"null\"]}"));
    if (!definition_field(d, "deleted_at"))
        jw_raw(w, "deleted_at", WHARF_S("{\"type\":[\"string\",\"null\"]}"));
}
