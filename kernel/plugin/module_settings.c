/* module_settings.c - the operator's table of a module against the schema `config` of its
 * manifest (docs/reference/plugin-abi.md section 2).
 *
 * Unknown settings are refused with the nearest known one. What --set and the environment can
 * only write in one way is taken in that way: a number where a text is wanted, texts by comma
 * where a list is, an empty table for an empty list. See module_settings.h. */
#include "plugin/module_settings.h"

#include <string.h>

#include "schema/schema.h"
#include "util/str.h"

struct check {
    const struct config *config;
    const struct manifest *m;
    struct arena *arena;
    struct buf *problems;
};

/* ---- as the schema wants it ---- */

static const struct wharf_json *module_settings_wanted(
    struct check *c, const struct wharf_json *v, const struct wharf_json *schema);

static struct wharf_json *module_settings_copy_of(
    struct check *c, const struct wharf_json *v, uint32_t type)
{
    struct wharf_json *copy = ARENA_NEW(c->arena, struct wharf_json);

    *copy = *v;
    copy->type = type;
    return copy;
}

/* Makes a list of "fcm, webhook". */
static const struct wharf_json *module_settings_list_of(struct check *c, const struct wharf_json *v)
{
    struct wharf_json *list = module_settings_copy_of(c, v, JSON_ARRAY), **end = &list->child;
    const char *p = v->text.p, *stop = v->text.p + v->text.n;

    list->count = 0;
    while (p < stop) {
        const char *comma = memchr(p, ',', (size_t)(stop - p)), *to = comma ? comma : stop;
        struct wharf_json *one = ARENA_NEW(c->arena, struct wharf_json);

        *one = (struct wharf_json){
            .type = JSON_STRING, .text = arena_dup(c->arena, p, (size_t)(to - p))};
        *end = one;
        end = &one->next;
        list->count++;
        p = to + 1;
    }
    return list;
}

static const struct wharf_json *module_settings_members_of(
    struct check *c, const struct wharf_json *v, const struct wharf_json *properties)
{
    struct wharf_json *object = module_settings_copy_of(c, v, JSON_OBJECT), **end = &object->child;

    for (const struct wharf_json *m = v->child; m; m = m->next) {
        const struct wharf_json *as = module_settings_wanted(c, m, json_get_n(properties, m->key));
        struct wharf_json *copy = module_settings_copy_of(c, as, as->type);

        copy->key = m->key;
        copy->next = NULL;
        *end = copy;
        end = &copy->next;
    }
    *end = NULL;
    return object;
}

/* Returns the value in the type that the schema wants. It calls itself for tables, which hold
 * tables; their depth is limited where the file is read. */
static const struct wharf_json *module_settings_wanted(
    struct check *c, const struct wharf_json *v, const struct wharf_json *schema)
{
    wharf_str type = json_text_or(schema, "type", "");

    if (str_eqz(type, "string") && json_is(v, JSON_NUMBER))
        return module_settings_copy_of(c, v, JSON_STRING);
    if (str_eqz(type, "string") && json_is(v, JSON_BOOL)) {
        struct wharf_json *text = module_settings_copy_of(c, v, JSON_STRING);

        text->text = str_z(v->truth ? "true" : "false");
        return text;
    }
    if (str_eqz(type, "array") && json_is(v, JSON_STRING))
        return module_settings_list_of(c, v);
    if (str_eqz(type, "array") && json_is(v, JSON_OBJECT) && !v->count)
        return module_settings_copy_of(c, v, JSON_ARRAY);
    if (str_eqz(type, "object") && json_is(v, JSON_OBJECT))
        return module_settings_members_of(c, v, json_get(schema, "properties"));
    return v;
}

/* ---- what is told ---- */

/* Finds the schema of the object that holds the setting at that path below the module's name. */
static const struct wharf_json *holder_of(struct check *c, wharf_str path, wharf_str *ret_name)
{
    const struct wharf_json *schema = c->m->config;
    const char *p = path.p + strlen(c->m->name) + 1, *dot;

    while ((dot = strchr(p, '.'))) {
        schema = json_get_n(json_get(schema, "properties"), (wharf_str){p, (size_t)(dot - p)});
        p = dot + 1;
    }
    *ret_name = str_z(p);
    return json_get(schema, "properties");
}

static const char *module_settings_nearest(struct check *c, wharf_str path)
{
    wharf_str name;
    const struct wharf_json *properties = holder_of(c, path, &name);
    const char *best = NULL;
    unsigned least = (unsigned)name.n / 3 + 1;

    for (const struct wharf_json *p = properties ? properties->child : NULL; p; p = p->next) {
        unsigned d = str_distance(name.p, p->key.p);

        if (d <= least && (!best || d < least)) {
            best = p->key.p;
            least = d;
        }
    }
    return best ? arena_printf(c->arena, "%.*s%s", (int)(path.n - name.n), path.p, best).p : NULL;
}

/* Returns what the manifest says of a setting; empty: nothing. A pattern alone tells no one what to
 * write. */
static wharf_str description_of(struct check *c, wharf_str path)
{
    wharf_str name;
    const struct wharf_json *properties = holder_of(c, path, &name),
                            *said = json_get(json_get_n(properties, name), "description");

    return json_is(said, JSON_STRING) ? said->text : (wharf_str){"", 0};
}

static void module_settings_tell(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct check *c = arg;
    wharf_str key = arena_dup(c->arena, path.p, path.n),
              where = config_where(c->config, key.p, c->arena);
    const char *near = strcmp(rule, "unknown") == 0 ? module_settings_nearest(c, key) : NULL;
    wharf_str help = strcmp(rule, "format") == 0 ? description_of(c, key) : (wharf_str){"", 0};

    if (!message.p) /* hundred are enough */
        return;
    if (strcmp(rule, "unknown") != 0)
        buf_addf(c->problems, "%.*s: %.*s%s%.*s\n", STR_ARG(where), STR_ARG(message),
            help.n ? "; it is: " : "", STR_ARG(help));
    else if (near)
        buf_addf(c->problems, "%.*s: there is no setting \"%.*s\"; did you mean %s?\n",
            STR_ARG(where), STR_ARG(key), near);
    else
        buf_addf(c->problems, "%.*s: there is no setting \"%.*s\"\n", STR_ARG(where), STR_ARG(key));
}

static void tell_schema(void *arg, wharf_str pointer, const char *rule, wharf_str message)
{
    struct check *c = arg;

    buf_addf(c->problems, "%s: plugin.json, config%.*s: %.*s\n", c->m->file, STR_ARG(pointer),
        STR_ARG(message));
}

void module_settings_check(
    const struct config *config, const struct manifest *m, struct arena *a, struct buf *problems)
{
    struct check c = {config, m, a, problems};
    const struct wharf_json *table = json_get(config->module_settings, m->name);
    const struct schema *schema = m->config ? schema_compile(a, m->config, tell_schema, &c) : NULL;

    if (!table || (m->config && !schema))
        return;
    if (schema)
        schema_validate(schema, module_settings_wanted(&c, table, m->config), str_z(m->name),
            SCHEMA_STRICT, a, module_settings_tell, &c);
    for (const struct wharf_json *one = schema ? NULL : table->child; one; one = one->next)
        buf_addf(problems, "%.*s: there is no setting \"%s.%.*s\"; the module %s has none\n",
            STR_ARG(
                config_where(config, arena_printf(a, "%s.%.*s", m->name, STR_ARG(one->key)).p, a)),
            m->name, STR_ARG(one->key), m->name);
}

/* Returns the member of an object at a path of names with dots between them, or NULL. Of a schema
 * the members of its properties are meant. */
static const struct wharf_json *module_settings_member_at(
    const struct wharf_json *v, const char *path, bool is_schema)
{
    for (size_t n; v; path += n + 1) {
        n = strcspn(path, ".");
        v = json_get_n(is_schema ? json_get(v, "properties") : v, (wharf_str){path, n});
        if (!path[n])
            break;
    }
    return v;
}

const struct wharf_json *module_setting(
    const struct config *config, const struct manifest *m, const char *name)
{
    const struct wharf_json *written = module_settings_member_at(
        json_get(config->module_settings, m->name), name, false);

    return written ? written
                   : json_get(module_settings_member_at(m->config, name, true), "default");
}
