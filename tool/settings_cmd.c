/* settings_cmd.c - `wharf help settings` and `wharf config show`: which settings there are, of the
 * server and of the configured modules, and which values they have.
 *
 * Those of the server stand in a table (config/settings.h), those of modules in their manifests: a
 * JSON Schema whose defaults and descriptions are read here. Secrets are not shown: those that the
 * table says, those that a manifest says are writeOnly, and passwords in connection strings. */
#include <stdio.h>
#include <string.h>

#include "config/settings.h"
#include "plugin/resolve.h"
#include "tool/cli/cli.h"
#include "util/str.h"

enum { OUTPUT_MAX = 4 * 1024 * 1024, TYPE_TEXT = 512 };

/* One setting, of the server or of a module. */
struct shown {
    const char *key;
    char type[TYPE_TEXT]; /* "number, 1 to 64" */
    wharf_str fallback, meaning;
    bool has_fallback, secret;
    /* of the one that is in force */
    wharf_str value;
    const char *from; /* "default", "wharf.lua:3", "WHARF_LISTEN", "--set listen" */
};

/* Where settings go: a table for people, or JSON. */
struct listing {
    struct arena *a;
    struct buf out;
    struct jw w;
    bool json, values;
};

static void write_json(struct listing *l, const struct shown *s)
{
    jw_open(&l->w, NULL, '{');
    jw_z(&l->w, "key", s->key);
    jw_z(&l->w, "type", s->type);
    if (s->has_fallback)
        jw_str(&l->w, "default", s->fallback);
    jw_str(&l->w, "meaning", s->meaning);
    jw_bool(&l->w, "secret", s->secret);
    if (l->values) {
        jw_str(&l->w, "value", s->value);
        jw_z(&l->w, "from", s->from);
    }
    jw_close(&l->w, '}');
}

static void settings_show(struct listing *l, struct shown *s)
{
    if (s->secret && s->value.n)
        s->value = str_z("(hidden)");
    if (l->json)
        write_json(l, s);
    else if (l->values)
        buf_addf(&l->out, "%-38s %-32s %s\n", s->key, s->value.n ? s->value.p : "\"\"", s->from);
    else
        buf_addf(&l->out, "%-38s %-34s %-24s %.*s\n", s->key, s->type,
            !s->has_fallback ? "-"
            : s->fallback.n  ? arena_dup_str(l->a, s->fallback).p
                             : "\"\"",
            STR_ARG(s->meaning));
}

/* ---- of the server ---- */

/* Returns the connection string without its password. */
static wharf_str without_password(wharf_str conninfo, struct arena *a)
{
    PQconninfoOption *all = PQconninfoParse(conninfo.p, NULL);
    const char *comma = "";
    bool has = false;
    struct buf out;
    wharf_str text;

    buf_init(&out, OUTPUT_MAX);
    for (const PQconninfoOption *o = all; o && o->keyword; o++) {
        bool hidden = strstr(o->keyword, "password") != NULL;

        if (!o->val)
            continue;
        has = has || hidden;
        buf_addf(&out, "%s%s=%s", comma, o->keyword, hidden ? "(hidden)" : o->val);
        comma = " ";
    }
    text = has ? arena_dup_str(a, buf_str(&out)) : conninfo;
    buf_done(&out);
    PQconninfoFree(all);
    return text;
}

static void settings_type_of(const struct setting *s, char out[TYPE_TEXT])
{
    static const char *const types[] = {"text", "number", "true/false", "list", "", ""};

    if (s->choices)
        snprintf(out, TYPE_TEXT, "%s", s->choices);
    else if (s->type == SET_INT)
        snprintf(out, TYPE_TEXT, "number, %lld to %lld", (long long)s->min, (long long)s->max);
    else
        snprintf(out, TYPE_TEXT, "%s", types[s->type]);
    for (char *p = out; s->choices && *p; p++)
        *p = *p == ' ' ? '|' : *p;
}

static void show_server(struct listing *l, const struct config *config)
{
    size_t count;
    const struct setting *all = settings_all(&count);

    for (size_t i = 0; i < count; i++) {
        struct shown s = {.key = all[i].key,
            .fallback = str_z(all[i].fallback),
            .meaning = str_z(all[i].doc),
            .has_fallback = true,
            .secret = all[i].secret,
            .from = setting_from(config, &all[i])};
        struct buf value;

        buf_init(&value, OUTPUT_MAX);
        setting_text(config, &all[i], &value);
        s.value = arena_dup_str(l->a, buf_str(&value));
        buf_done(&value);
        if (strcmp(s.key, "database.url") == 0 || strcmp(s.key, "database.direct") == 0)
            s.value = without_password(s.value, l->a);
        settings_type_of(&all[i], s.type);
        settings_show(l, &s);
    }
}

/* ---- of modules ---- */

/* Returns a value as it would be written with --set. */
static wharf_str settings_value_text(struct listing *l, const struct wharf_json *v)
{
    struct buf out;
    wharf_str text;

    if (!v)
        return (wharf_str){"", 0};
    if (v->type == JSON_STRING)
        return v->text;
    if (v->type != JSON_ARRAY)
        return jw_text(l->a, v);
    buf_init(&out, OUTPUT_MAX);
    for (const struct wharf_json *one = v->child; one; one = one->next)
        buf_addf(&out, "%s%.*s", one == v->child ? "" : ",", STR_ARG(settings_value_text(l, one)));
    text = arena_dup_str(l->a, buf_str(&out));
    buf_done(&out);
    return text;
}

/* Writes "integer, 1 to 64", "string", "list of stream|fcm". */
static void schema_type(struct listing *l, const struct wharf_json *schema, char out[TYPE_TEXT])
{
    wharf_str type = json_text_or(schema, "type", "any");
    const struct wharf_json *words = json_get(schema, "enum"), *least = json_get(schema, "minimum"),
                            *most = json_get(schema, "maximum");
    bool list = str_eqz(type, "array");
    size_t n;

    if (list)
        words = json_get(json_get(schema, "items"), "enum");
    n = (size_t)snprintf(out, TYPE_TEXT, "%s", list ? "list" : "");
    if (words) {
        n += (size_t)snprintf(out + n, TYPE_TEXT - n, "%s", list ? " of " : "");
        for (const struct wharf_json *w = words->child; w && n < TYPE_TEXT; w = w->next)
            n += (size_t)snprintf(out + n, TYPE_TEXT - n, "%s%.*s", w == words->child ? "" : "|",
                STR_ARG(settings_value_text(l, w)));
    } else if (!list) {
        snprintf(out, TYPE_TEXT, least && most ? "%s, %.*s to %.*s" : "%s",
            str_eqz(type, "string")    ? "text"
            : str_eqz(type, "integer") ? "number"
            : str_eqz(type, "boolean") ? "true/false"
                                       : "any",
            STR_ARG(least ? least->text : type), STR_ARG(most ? most->text : type));
    }
}

/* Shows what the schema has, and calls itself for tables in tables; manifests are limited in
 * depth. about: what the table around it is for. value: of the table, or NULL. */
static void show_schema(struct listing *l, const struct config *config, const char *name,
    wharf_str about, const struct wharf_json *schema, const struct wharf_json *value)
{
    const struct wharf_json *properties = json_get(schema, "properties");

    for (const struct wharf_json *p = properties ? properties->child : NULL; p; p = p->next) {
        struct shown s = {.key = arena_printf(l->a, "%s.%.*s", name, STR_ARG(p->key)).p,
            .secret = json_bool_or(p, "writeOnly", false)};
        const struct wharf_json *own = json_get_n(value, p->key), *fallback;

        s.meaning = json_text_or(p, "description", "");
        if (json_get(p, "properties")) {
            show_schema(l, config, s.key, s.meaning, p, own);
            continue;
        }
        if (about.n)
            s.meaning = arena_printf(l->a, "%.*s: %.*s", STR_ARG(about), STR_ARG(s.meaning));
        fallback = json_get(p, "default");
        s.has_fallback = fallback != NULL;
        s.fallback = settings_value_text(l, fallback);
        s.value = settings_value_text(l, own ? own : fallback);
        s.from = own ? config_where(config, s.key, l->a).p : "default";
        schema_type(l, p, s.type);
        settings_show(l, &s);
    }
}

/* Shows the operator's own tables for hooks. */
static void show_hooks(struct listing *l, const struct config *config)
{
    static const char *const tables[] = {"hook_settings", "hook_secrets"};

    for (size_t i = 0; i < 2; i++) {
        const struct wharf_json *t = json_get(config->module_settings, tables[i]);

        for (const struct wharf_json *v = t ? t->child : NULL; v; v = v->next) {
            struct shown s = {.key = arena_printf(l->a, "%s.%.*s", tables[i], STR_ARG(v->key)).p,
                .type = "any",
                .meaning = str_z("of the operator's hooks"),
                .secret = i == 1,
                .value = settings_value_text(l, v)};

            s.from = config_where(config, s.key, l->a).p;
            settings_show(l, &s);
        }
    }
}

static void show_modules(
    struct listing *l, const struct config *config, const struct manifest *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i]->config)
            show_schema(l, config, list[i]->name, (wharf_str){"", 0}, list[i]->config,
                json_get(config->module_settings, list[i]->name));
}

/* ---- the commands ---- */

/* Writes all settings, with values or what they are for, to standard output. */
static void list_settings(
    struct listing *l, const struct config *config, const struct manifest *const *list, size_t n)
{
    buf_init(&l->out, OUTPUT_MAX);
    jw_init(&l->w, &l->out);
    if (l->json)
        jw_open(&l->w, NULL, '[');
    else if (l->values)
        buf_addf(&l->out, "%-38s %-32s %s\n", "key", "value", "from");
    else
        buf_addf(&l->out, "%-38s %-34s %-24s %s\n", "key", "type", "default", "meaning");
    show_server(l, config);
    show_modules(l, config, list, n);
    if (l->values)
        show_hooks(l, config);
    if (l->json) {
        jw_close(&l->w, ']');
        buf_addc(&l->out, '\n');
    }
    fwrite(l->out.p, 1, l->out.n, stdout);
    buf_done(&l->out);
}

/* Reads settings that may be wrong: who asks for help may need it for that. Then those of the
 * modules that are shipped. */
static const struct manifest *const *settings_for_help(
    struct cli *c, struct config **ret_config, size_t *ret_n)
{
    wharf_str ignored;
    const struct manifest *const *list = NULL;

    *ret_config = config_load(c->config_file, c->sets, c->n_sets, c->a, &ignored);
    if (*ret_config)
        list = registry_resolve(*ret_config, "", c->a, ret_n, &ignored);
    if (!list)
        *ret_config = config_load(NULL, NULL, 0, c->a, &ignored);
    if (!list && *ret_config)
        list = registry_resolve(*ret_config, "", c->a, ret_n, &ignored);
    return list;
}

int help_settings(int argc, char **argv)
{
    bool json = false;
    const struct cli_option opts[] = {{"--json", NULL, &json}};
    const struct manifest *const *list;
    struct config *config;
    struct cli c;
    size_t n;

    if (!cli_parse(&c, argc, argv, opts, 1))
        return EXIT_USAGE;
    list = settings_for_help(&c, &config, &n);
    if (!list)
        return cli_fail("the modules of the server are not where it looks for them");
    list_settings(&(struct listing){.a = c.a, .json = json}, config, list, n);
    if (!json)
        fputs("\nIn the file: net = { allow = {\"10.0.0.5\"} }. In the environment: "
              "WHARF_NET_ALLOW=10.0.0.5,10.0.0.6 (lists by comma).\n"
              "On the command line: --set net.allow=10.0.0.5. Later ones win: file, environment, "
              "--set. `wharf config show` tells those in force.\n",
            stdout);
    return EXIT_FINE;
}

int command_config(int argc, char **argv)
{
    bool json = false;
    const struct cli_option opts[] = {{"--json", NULL, &json}};
    const struct manifest *const *list;
    wharf_str problems;
    struct config *config;
    struct cli c;
    size_t n;

    if (!cli_parse(&c, argc, argv, opts, 1))
        return EXIT_USAGE;
    if (c.n_words != 1 || strcmp(c.words[0], "show") != 0) {
        cli_fail("wharf config show [--json]");
        return EXIT_USAGE;
    }
    config = cli_config(&c);
    if (!config)
        return EXIT_FAILED;
    list = registry_resolve(config, "", c.a, &n, &problems);
    if (!list)
        return cli_fail("the plugins have problems:\n%s", problems.p);
    list_settings(&(struct listing){.a = c.a, .json = json, .values = true}, config, list, n);
    return EXIT_FINE;
}
