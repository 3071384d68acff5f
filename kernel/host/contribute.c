/* contribute.c - see contribute.h. Works on text before the definition is compiled: whatever the
 * engine makes of properties that are written out (validation, merging, defaults, documents)
 * holds for contributed ones too. */
#include "host/contribute.h"

#include <string.h>

#include "plugin/manifest.h"
#include "util/str.h"

enum { TEXT_MAX = 4 * 1024 * 1024, SOURCES_MAX = 64 };

struct merge {
    struct wharf_decl *d;
    struct jw w;
};

/* Schemas of one name, each from another plugin. */
struct sources {
    const struct wharf_json *items[SOURCES_MAX];
    size_t n;
};

static void write_object(
    struct merge *m, const char *key, const struct sources *from, const char *path);

static bool contribute_has_before(const struct sources *from, size_t n, wharf_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (json_get_n(from->items[i], name))
            return true;
    }
    return false;
}

/* Writes a schema that one plugin wrote; objects that are written out take no other members. */
static void write_name(
    struct merge *m, const struct sources *maps, wharf_str name, const char *path)
{
    struct sources same = {.n = 0};
    const char *inner = arena_printf(m->d->arena, "%s.%.*s", path, STR_ARG(name)).p;
    bool objects = true;

    for (size_t i = 0; i < maps->n; i++) {
        const struct wharf_json *schema = json_get_n(maps->items[i], name);

        if (schema)
            same.items[same.n++] = schema;
        objects = objects && (!schema || json_is(json_get(schema, "properties"), JSON_OBJECT));
    }
    if (!same.n) /* nobody declares it */
        return;
    if (objects)
        write_object(m, name.p, &same, inner);
    else
        jw_value(&m->w, name.p, same.items[0]);
    if (!objects && same.n > 1)
        buf_addf(
            m->d->problems, "%s: two plugins declare this setting; rename one of them\n", inner);
}

/* Writes the properties. maps: objects of name to schema. */
static void write_properties(struct merge *m, const struct sources *maps, const char *path)
{
    jw_open(&m->w, "properties", '{');
    for (size_t i = 0; i < maps->n; i++) {
        for (const struct wharf_json *p = maps->items[i]->child; p; p = p->next) {
            if (!contribute_has_before(maps, i, p->key))
                write_name(m, maps, p->key, path);
        }
    }
    jw_close(&m->w, '}');
}

static void write_object(
    struct merge *m, const char *key, const struct sources *from, const char *path)
{
    struct sources maps = {.n = from->n};

    jw_open(&m->w, key, '{');
    for (const struct wharf_json *s = from->items[0]->child; s; s = s->next) {
        if (!str_eqz(s->key, "properties") && !str_eqz(s->key, "additionalProperties"))
            jw_value(&m->w, s->key.p, s);
    }
    if (!json_get(from->items[0], "default")) /* shown with its members' defaults */
        jw_raw(&m->w, "default", WHARF_S("{}"));
    for (size_t i = 0; i < from->n; i++)
        maps.items[i] = json_get(from->items[i], "properties");
    write_properties(m, &maps, path);
    jw_bool(&m->w, "additionalProperties", false);
    jw_close(&m->w, '}');
}

static void write_property(struct merge *m, const struct wharf_json *property)
{
    struct sources maps = {.n = 0};

    for (size_t i = 0; i < m->d->n_manifests && maps.n < SOURCES_MAX; i++) {
        if (m->d->manifests[i]->settings)
            maps.items[maps.n++] = m->d->manifests[i]->settings;
    }
    jw_open(&m->w, property->key.p, '{');
    for (const struct wharf_json *s = property->child; s; s = s->next)
        jw_value(&m->w, s->key.p, s);
    write_properties(m, &maps, property->key.p);
    jw_bool(&m->w, "additionalProperties", false);
    jw_close(&m->w, '}');
}

/* Returns the SQL of the service that shows the rows of the resource, or NULL when no loaded
 * plugin has it. */
static const char *service_sql(const struct merge *m, wharf_str service, wharf_str resource)
{
    static const char word[] = "{resource}";
    const char *sql = NULL, *at;
    struct buf b;
    wharf_str text;

    for (size_t i = 0; i < m->d->n_manifests && !sql; i++) {
        const struct wharf_json *shows = m->d->manifests[i]->shows;

        sql = shows && json_get_n(shows, service) ? json_get_n(shows, service)->text.p : NULL;
    }
    if (!sql)
        return NULL;
    buf_init(&b, TEXT_MAX);
    for (; (at = strstr(sql, word)); sql = at + sizeof(word) - 1)
        buf_addf(&b, "%.*s%.*s", (int)(at - sql), sql, STR_ARG(resource));
    buf_addz(&b, sql);
    buf_addc(&b, 0);
    text = arena_dup_str(m->d->arena, buf_str(&b));
    buf_done(&b);
    return text.p;
}

/* Writes a field that a service of another plugin shows, with that service's SQL; without it the
 * field is empty. */
static void write_shown(struct merge *m, const struct wharf_json *property, wharf_str resource)
{
    const struct wharf_json *x = json_get(property, "x-wharf");
    const char *sql = service_sql(m, json_get(x, "shown_by")->text, resource);

    jw_open(&m->w, property->key.p, '{');
    for (const struct wharf_json *s = property->child; s; s = s->next) {
        if (s != x)
            jw_value(&m->w, s->key.p, s);
    }
    jw_open(&m->w, "x-wharf", '{');
    for (const struct wharf_json *s = x->child; s; s = s->next) {
        if (!str_eqz(s->key, "shown_by"))
            jw_value(&m->w, s->key.p, s);
    }
    jw_z(&m->w, "expression", sql ? sql : "'[]'::jsonb");
    jw_close(&m->w, '}');
    jw_close(&m->w, '}');
}

static bool is_contributed(const struct wharf_json *property)
{
    return json_get(json_get(property, "x-wharf"), "contributed") != NULL;
}

static bool is_shown_by(const struct wharf_json *property)
{
    return json_is(json_get(json_get(property, "x-wharf"), "shown_by"), JSON_STRING);
}

static void write_definition(struct merge *m, const struct wharf_json *root)
{
    jw_open(&m->w, NULL, '{');
    for (const struct wharf_json *member = root->child; member; member = member->next) {
        if (!str_eqz(member->key, "properties")) {
            jw_value(&m->w, member->key.p, member);
            continue;
        }
        jw_open(&m->w, "properties", '{');
        for (const struct wharf_json *p = member->child; p; p = p->next) {
            if (is_contributed(p))
                write_property(m, p);
            else if (is_shown_by(p))
                write_shown(m, p, json_text_or(root, "$id", ""));
            else
                jw_value(&m->w, p->key.p, p);
        }
        jw_close(&m->w, '}');
    }
    jw_close(&m->w, '}');
}

wharf_str contribute(struct wharf_decl *d, wharf_str definition)
{
    struct json_error e;
    const struct wharf_json *root = json_parse(d->arena, definition, &e);
    struct merge m = {.d = d};
    bool any = false;
    struct buf out;
    wharf_str text;

    for (const struct wharf_json *p = root ? json_get(root, "properties") : NULL; p; p = NULL) {
        for (const struct wharf_json *one = p->child; one; one = one->next)
            any = any || is_contributed(one) || is_shown_by(one);
    }
    if (!any)
        return definition;
    buf_init(&out, TEXT_MAX);
    jw_init(&m.w, &out);
    write_definition(&m, root);
    text = arena_dup_str(d->arena, buf_str(&out));
    buf_done(&out);
    return text;
}
