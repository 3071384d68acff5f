/* fields.c - what files may fill: the fields of a definition, and the other names of
 * docs/spec/10-batches.md section 9.1. */
#include <string.h>

#include "import/reader.h"
#include "util/json.h"

struct list {
    struct arena *arena;
    struct import_field *fields;
    size_t n, cap;
};

static void fields_add(
    struct list *l, wharf_str path, enum import_type type, enum import_type element)
{
    if (l->n == l->cap) {
        struct import_field *wider = ARENA_ARRAY(l->arena, struct import_field, 2 * l->cap + 16);

        if (l->n)
            memcpy(wider, l->fields, l->n * sizeof(*wider));
        l->fields = wider;
        l->cap = 2 * l->cap + 16;
    }
    l->fields[l->n++] = (struct import_field){path.p, type, element};
}

/* Returns the type of a schema without "null"; "" when it names none. */
static wharf_str fields_type_of(const struct wharf_json *schema)
{
    const struct wharf_json *t = json_get(schema, "type");

    if (json_is(t, JSON_STRING))
        return t->text;
    for (t = json_is(t, JSON_ARRAY) ? t->child : NULL; t; t = t->next)
        if (!str_eqz(t->text, "null"))
            return t->text;
    return str_z("");
}

static enum import_type single(const struct wharf_json *schema)
{
    wharf_str t = fields_type_of(schema);

    if (str_eqz(t, "boolean"))
        return IMPORT_T_BOOL;
    if (str_eqz(t, "integer") || str_eqz(t, "number"))
        return IMPORT_T_NUMBER;
    if (str_eqz(t, "object") || str_eqz(t, "array"))
        return IMPORT_T_JSON;
    return IMPORT_T_TEXT;
}

static void add_schema(
    struct list *l, const char *path, const struct wharf_json *schema, unsigned depth)
{
    wharf_str t = fields_type_of(schema);
    const struct wharf_json *items = json_get(schema, "items"),
                            *members = json_get(schema, "properties");

    if (str_eqz(t, "array")) {
        enum import_type element = items ? single(items) : IMPORT_T_TEXT;

        if (element == IMPORT_T_JSON && depth < 4) {
            fields_add(l, str_z(path), IMPORT_T_JSON, IMPORT_T_TEXT);
            members = json_get(items, "properties");
            for (const struct wharf_json *m = members ? members->child : NULL; m; m = m->next)
                add_schema(
                    l, arena_printf(l->arena, "%s.#.%.*s", path, STR_ARG(m->key)).p, m, depth + 1);
        } else {
            fields_add(
                l, str_z(path), element == IMPORT_T_JSON ? IMPORT_T_JSON : IMPORT_T_LIST, element);
        }
        return;
    }
    fields_add(l, str_z(path), single(schema), IMPORT_T_TEXT);
    for (const struct wharf_json *m = members && depth < 4 ? members->child : NULL; m; m = m->next)
        add_schema(l, arena_printf(l->arena, "%s.%.*s", path, STR_ARG(m->key)).p, m, depth + 1);
}

static void add_children(struct list *l, const struct field *f)
{
    fields_add(l, str_z(f->name), IMPORT_T_JSON, IMPORT_T_TEXT);
    for (size_t i = 0; i < f->children->n_fields; i++) {
        const struct field *c = &f->children->fields[i];

        if (c->json && (c->write || strcmp(c->name, "id") == 0))
            add_schema(l, arena_printf(l->arena, "%s.#.%s", f->name, c->name).p, c->json, 1);
    }
}

static bool has_path(const struct list *l, wharf_str path)
{
    for (size_t i = 0; i < l->n; i++) {
        if (str_eqz(path, l->fields[i].path))
            return true;
    }
    return false;
}

/* Adds what normalize hooks make fields of: "sender.name", "group_contacts.children[]". */
static void add_columns(struct list *l, const struct definition *d)
{
    const struct wharf_json *columns = json_get(
        json_get(json_get(d->json, "x-wharf"), "batch"), "columns");

    for (const struct wharf_json *e = columns ? columns->child : NULL; e; e = e->next) {
        bool many = str_ends(e->text, "[]");
        wharf_str path = arena_dup(l->arena, e->text.p, e->text.n - (many ? 2 : 0));

        if (!has_path(l, path))
            fields_add(l, path, many ? IMPORT_T_LIST : IMPORT_T_TEXT, IMPORT_T_TEXT);
    }
}

const struct import_field *import_fields(struct arena *a, const struct definition *d, size_t *ret_n)
{
    struct list l = {.arena = a};

    for (size_t i = 0; i < d->n_fields; i++) {
        const struct field *f = &d->fields[i];

        if (!f->write && strcmp(f->name, "id") != 0)
            continue;
        if (f->kind == FIELD_CHILDREN) {
            add_children(&l, f);
        } else if (f->store == STORE_METADATA) {
            fields_add(&l, str_z(f->name), IMPORT_T_JSON, IMPORT_T_TEXT);
            fields_add(&l, arena_printf(a, "%s.*", f->name), IMPORT_T_TEXT, IMPORT_T_TEXT);
        } else if (f->json) {
            add_schema(&l, f->name, f->json, 0);
        }
    }
    add_columns(&l, d);
    *ret_n = l.n;
    return l.fields;
}
