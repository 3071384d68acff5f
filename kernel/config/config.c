/* config.c - defaults, then the file, then the environment, then --set; later ones win.
 *
 * Every source ends in the same table (settings.c). What is not in the table belongs to a module
 * when a table of that name is written, and is handed on as JSON; the module's manifest says
 * what it may hold. Leaves to others: that check (plugin/module_settings.c). */
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <lauxlib.h>

#include "config/settings.h"
#include "config/shipped.h"
#include "util/str.h"

extern char **environ;

enum {
    ENV_NAME = 96,
    ERROR_TEXT_MAX = 64 * 1024,
    SETTINGS_JSON_MAX = 4 * 1024 * 1024, /* bytes of all settings */
    KEY_MAX = 160
};

/* Where the reading stands: the settings, the file's globals, and what went wrong so far. */
struct reading {
    struct config *c;
    lua_State *lua; /* the file's globals on top */
    wharf_str text; /* of the file */
    struct problems errs;
};

/* Makes WHARF_NET_ALLOW of net.allow. */
static void env_name(const char *key, char out[ENV_NAME])
{
    size_t n = 0;

    memcpy(out, "WHARF_", 6);
    for (n = 6; *key && n < ENV_NAME - 1; key++)
        out[n++] = *key == '.' ? '_' : (char)(*key >= 'a' && *key <= 'z' ? *key - 'a' + 'A' : *key);
    out[n] = 0;
}

static wharf_str where_in_file(const struct reading *r, const char *key)
{
    unsigned line = settings_file_line(r->text, key);

    if (line)
        return arena_printf(r->c->arena, "%s:%u", r->c->file, line);
    return arena_dupz(r->c->arena, r->c->file);
}

static void unknown_key(struct reading *r, const char *where, const char *key)
{
    const char *near = settings_suggest(key);

    if (near)
        problem(&r->errs, where, "there is no setting \"%s\"; did you mean %s?", key, near);
    else
        problem(&r->errs, where, "there is no setting \"%s\"; `wharf help settings` lists them all",
            key);
}

/* Makes "dock_doors" of "/opt/x/dock_doors.so". */
static wharf_str module_name(const char *module)
{
    const char *slash = strrchr(module, '/'), *name = slash ? slash + 1 : module;
    size_t n = strlen(name);

    if (n > 3 && strcmp(name + n - 3, ".so") == 0)
        n -= 3;
    return (wharf_str){name, n};
}

static bool is_module(const struct config *c, const char *name)
{
    /* tables of modules that ship with the server may stay in the file while the module is
     * switched off; two are the operator's hooks' */
    if (module_is_shipped(name) || !strcmp(name, "hook_settings") || !strcmp(name, "hook_secrets"))
        return true;
    for (size_t i = 0; i < c->modules.count; i++)
        if (str_eqz(module_name(c->modules.items[i]), name))
            return true;
    return false;
}

/* ---- the file ---- */

static void file_group(struct reading *r, const char *group)
{
    lua_State *lua = r->lua;

    lua_pushnil(lua);
    while (lua_next(lua, -2)) {
        char key[KEY_MAX];
        const struct setting *s = NULL;
        bool named = lua_type(lua, -2) == LUA_TSTRING;

        snprintf(key, sizeof(key), "%s.%s", group, named ? lua_tostring(lua, -2) : "?");
        if (named)
            s = settings_find(key);
        if (s)
            setting_from_lua(r->c, s, lua, where_in_file(r, key).p, &r->errs);
        else
            unknown_key(r, where_in_file(r, key).p, key);
        lua_pop(lua, 1);
    }
}

/* Reads the global on top of the stack. Tables of modules are left for module_settings(). */
static void file_global(struct reading *r, const char *name)
{
    const struct setting *s = settings_find(name);
    bool table = lua_istable(r->lua, -1);

    if (s && !(table && settings_is_group(name)))
        setting_from_lua(r->c, s, r->lua, where_in_file(r, name).p, &r->errs);
    else if (table && settings_is_group(name))
        file_group(r, name);
    else if (settings_is_group(name))
        problem(&r->errs, where_in_file(r, name).p,
            "%s must be a table of settings, like %s = { ... }", name, name);
    else if (!is_module(r->c, name))
        unknown_key(r, where_in_file(r, name).p, name);
    else if (!table)
        problem(&r->errs, where_in_file(r, name).p, "%s must be a table of the module's settings",
            name);
}

static void apply_file(struct reading *r)
{
    lua_State *lua = r->lua;

    /* modules first: the list decides which other tables are known */
    if (lua_getfield(lua, -1, "modules") != LUA_TNIL)
        file_global(r, "modules");
    lua_pop(lua, 1);
    lua_pushnil(lua);
    while (lua_next(lua, -2)) {
        if (lua_type(lua, -2) == LUA_TSTRING && strcmp(lua_tostring(lua, -2), "modules") != 0)
            file_global(r, lua_tostring(lua, -2));
        lua_pop(lua, 1);
    }
}

/* ---- environment and --set ---- */

static void apply_known_env(struct reading *r)
{
    size_t count;
    const struct setting *all = settings_all(&count);

    for (size_t i = 0; i < count; i++) {
        char name[ENV_NAME];
        const char *value;

        env_name(all[i].key, name);
        value = getenv(name);
        if (!value && all[i].alias) {
            env_name(all[i].alias, name);
            value = getenv(name);
        }
        if (value)
            setting_from_text(r->c, &all[i], value, name, &r->errs);
    }
}

/* Pushes the text of an override as the Lua value it looks like. */
static void push_value(lua_State *lua, const char *text)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        lua_pushboolean(lua, text[0] == 't');
    else if (!*text || lua_stringtonumber(lua, text) == 0)
        lua_pushstring(lua, text);
}

/* Replaces the table on top of the stack by its member of that name, made when absent. False:
 * the member is no table. */
static bool config_step_into(lua_State *lua, const char *name, size_t n)
{
    int type;

    lua_pushlstring(lua, name, n);
    lua_pushvalue(lua, -1);
    type = lua_gettable(lua, -3);
    if (type == LUA_TNIL) {
        lua_pop(lua, 1);
        lua_newtable(lua);
        lua_pushvalue(lua, -2);
        lua_pushvalue(lua, -2);
        lua_settable(lua, -5);
    }
    lua_replace(lua, -3);
    lua_pop(lua, 1);
    return lua_istable(lua, -1);
}

/* Puts overrides of a module's settings into the file's table, as if they had been written there:
 * stations.push.driver=x. */
static void override_module(
    struct reading *r, const char *key, const char *value, const char *where)
{
    lua_State *lua = r->lua;
    int top = lua_gettop(lua);
    const char *part = key;
    bool good = true;
    struct config_origin *origin = ARENA_NEW(r->c->arena, struct config_origin);

    *origin = (struct config_origin){
        arena_dupz(r->c->arena, key).p, arena_dupz(r->c->arena, where).p, r->c->origins};
    r->c->origins = origin;

    lua_pushvalue(lua, -1);
    for (size_t n = strcspn(part, "."); good && part[n]; n = strcspn(part, ".")) {
        good = config_step_into(lua, part, n);
        part += n + 1;
    }
    if (good) {
        lua_pushstring(lua, part);
        push_value(lua, value);
        lua_settable(lua, -3);
    } else {
        problem(&r->errs, where, "%s: what stands before a dot must be a table in the file", key);
    }
    lua_settop(lua, top);
}

static bool split_module_key(
    const struct config *c, const char *key, char separator, char module[KEY_MAX])
{
    for (const char *at = strchr(key, separator); at; at = strchr(at + 1, separator)) {
        snprintf(module, KEY_MAX, "%.*s", (int)(at - key), key);
        if (at[1] && is_module(c, module))
            return true;
    }
    return false;
}

/* Takes an environment variable for a module: WHARF_STATIONS_MAX_JOBS is stations.max_jobs. A name
 * that almost is a setting is a typing error; others are not ours. */
static void apply_other_env(struct reading *r, const char *entry)
{
    char name[ENV_NAME], key[KEY_MAX], module[KEY_MAX], known[ENV_NAME];
    size_t n = strcspn(entry, "="), count;
    const struct setting *all = settings_all(&count);

    if (strncmp(entry, "WHARF_", 6) != 0 || n >= sizeof(name) || !entry[n])
        return;
    snprintf(name, sizeof(name), "%.*s", (int)n, entry);
    for (size_t i = 0; i <= n - 6; i++)
        key[i] = (char)(name[6 + i] >= 'A' && name[6 + i] <= 'Z' ? name[6 + i] - 'A' + 'a'
                                                                 : name[6 + i]);
    for (size_t i = 0; i < count; i++) {
        env_name(all[i].key, known);
        if (strcmp(known, name) == 0 || (all[i].alias && strcmp(all[i].alias, key) == 0))
            return;
    }
    if (split_module_key(r->c, key, '_', module)) {
        key[strlen(module)] = '.';
        override_module(r, key, entry + n + 1, name);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        env_name(all[i].key, known);
        if (n > 10 && str_distance(name, known) <= 1)
            problem(&r->errs, name, "is no setting; did you mean %s?", known);
    }
}

static void apply_sets(
    struct reading *r, const struct config_override *sets, size_t n_sets, bool modules_only)
{
    for (size_t i = 0; i < n_sets; i++) {
        const struct setting *s = settings_find(sets[i].key);
        wharf_str where = arena_printf(r->c->arena, "--set %s", sets[i].key);
        char module[KEY_MAX];

        if (s && (strcmp(s->key, "modules") == 0) == modules_only)
            setting_from_text(r->c, s, sets[i].value, where.p, &r->errs);
        if (s || modules_only)
            continue;
        if (split_module_key(r->c, sets[i].key, '.', module))
            override_module(r, sets[i].key, sets[i].value, where.p);
        else
            unknown_key(r, where.p, sets[i].key);
    }
}

/* ---- what is left for the modules ---- */

static void module_settings(struct reading *r)
{
    lua_State *lua = r->lua;
    struct json_error error;
    struct buf all;
    const char *comma = "{";

    buf_init(&all, SETTINGS_JSON_MAX);
    lua_pushnil(lua);
    while (lua_next(lua, -2)) {
        const char *name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "";

        if (lua_istable(lua, -1) && !settings_find(name) && !settings_is_group(name) &&
            is_module(r->c, name)) {
            buf_addf(&all, "%s\"%s\":", comma, name);
            comma = ",";
            if (!settings_lua_to_json(lua, &all))
                problem(&r->errs, where_in_file(r, name).p,
                    "%s may hold texts, numbers, true, false and tables only", name);
        }
        lua_pop(lua, 1);
    }
    buf_addz(&all, *comma == '{' ? "{}" : "}");
    if (!r->errs.count)
        r->c->module_settings = json_parse(
            r->c->arena, arena_dup_str(r->c->arena, buf_str(&all)), &error);
    if (!r->errs.count && !r->c->module_settings)
        problem(&r->errs, r->c->file ? r->c->file : "configuration",
            "the modules' settings are refused: %s", error.message);
    buf_done(&all);
}

/* Fills values that follow from others or from where the program is. */
static void fill_derived(struct config *c)
{
    char exe[512];
    ssize_t n;

    if (!c->crash_dir[0])
        c->crash_dir = arena_printf(c->arena, "%s/crash", c->data).p;
    if (c->module_path[0])
        return;
    n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = 0;
    if (strrchr(exe, '/'))
        *strrchr(exe, '/') = 0;
    /* beside the program in a build folder (build/tool/wharf, build/modules), or where `ninja
     * install` puts them */
    c->module_path = arena_printf(c->arena, "%s/../modules:%s/../lib/wharf/1", exe, exe).p;
}

static void config_read_all(
    struct reading *r, const char *file, const struct config_override *sets, size_t n_sets)
{
    size_t count;
    const struct setting *all = settings_all(&count);

    r->c->from = ARENA_ARRAY(r->c->arena, const char *, count);
    for (size_t i = 0; i < count; i++)
        setting_from_text(r->c, &all[i], all[i].fallback, "default", &r->errs);
    r->lua = settings_file_run(r->c, file, &r->text, &r->errs);
    if (!r->lua)
        return;
    apply_file(r);
    apply_known_env(r);
    apply_sets(r, sets, n_sets, true);
    for (char **entry = environ; entry && *entry; entry++)
        apply_other_env(r, *entry);
    apply_sets(r, sets, n_sets, false);
    module_settings(r);
    r->c->file_text = arena_dup_str(r->c->arena, r->text);
    fill_derived(r->c);
    lua_close(r->lua);
}

struct config *config_load(const char *file, const struct config_override *sets, size_t n_sets,
    struct arena *err, wharf_str *ret_error)
{
    return config_load_kept(-1, file, sets, n_sets, err, ret_error);
}

/* Returns a descriptor of a copy of the text in memory, which no path leads to; -1 with errno. */
static int keep_text(const char *name, wharf_str text)
{
    int fd = memfd_create(name, MFD_CLOEXEC);

    if (fd >= 0 && write(fd, text.p, text.n) != (ssize_t)text.n) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int config_keep(const struct config *c)
{
    return c->file ? keep_text("wharf-settings", c->file_text) : -1;
}

int config_keep_sets(const struct config_override *sets, size_t n)
{
    struct buf all; /* key NUL value NUL, and so on */
    int fd = -1;

    buf_init(&all, SETTINGS_JSON_MAX);
    for (size_t i = 0; i < n; i++) {
        buf_add(&all, sets[i].key, strlen(sets[i].key) + 1);
        buf_add(&all, sets[i].value, strlen(sets[i].value) + 1);
    }
    if (all.failed)
        errno = E2BIG;
    else
        fd = keep_text("wharf-overrides", buf_str(&all));
    buf_done(&all);
    return fd;
}

bool config_kept_sets(
    int fd, struct config_override *sets, size_t max, size_t *ret_n, struct arena *a)
{
    struct stat st;
    size_t n, got = 0;
    char *text;

    *ret_n = 0;
    if (fstat(fd, &st) != 0 || st.st_size > SETTINGS_JSON_MAX)
        return false;
    n = (size_t)st.st_size;
    text = arena_alloc(a, n + 1);
    while (got < n) { /* not from the place where it is read: that is one for all who inherit it */
        ssize_t r = pread(fd, text + got, n - got, (off_t)got);

        if (r <= 0)
            return false;
        got += (size_t)r;
    }
    text[n] = 0;
    for (const char *p = text; p < text + n; (*ret_n)++) {
        const char *value = p + strlen(p) + 1;

        if (value >= text + n || *ret_n == max)
            return false;
        sets[*ret_n] = (struct config_override){p, value};
        p = value + strlen(value) + 1;
    }
    return true;
}

struct config *config_load_kept(int fd, const char *file, const struct config_override *sets,
    size_t n_sets, struct arena *err, wharf_str *ret_error)
{
    struct arena *arena = arena_new(0);
    struct config *c = ARENA_NEW(arena, struct config);
    struct reading r = {.c = c, .text = {"", 0}};

    c->arena = arena;
    c->file = file ? arena_dupz(arena, file).p : NULL;
    c->kept_fd = fd;
    buf_init(&r.errs.text, ERROR_TEXT_MAX);
    config_read_all(&r, file, sets, n_sets);
    if (r.errs.count) {
        *ret_error = arena_dup_str(err, buf_str(&r.errs.text));
        config_free(c);
        c = NULL;
    }
    buf_done(&r.errs.text);
    return c;
}

wharf_str config_where(const struct config *c, const char *key, struct arena *a)
{
    unsigned line;

    for (const struct config_origin *o = c->origins; o; o = o->next) {
        size_t n = strlen(o->key);

        if (strncmp(o->key, key, n) == 0 && (!key[n] || key[n] == '.'))
            return str_z(o->where);
    }
    line = c->file ? settings_file_line(c->file_text, key) : 0;
    if (line)
        return arena_printf(a, "%s:%u", c->file, line);
    return str_z(c->file ? c->file : "configuration");
}

/* Tells whether the word is in the file's text, before what is a comment. */
static bool file_says(wharf_str text, const char *word)
{
    for (size_t i = 0; i < text.n;) {
        const char *end = memchr(text.p + i, '\n', text.n - i);
        size_t n = end ? (size_t)(end - text.p) - i : text.n - i;
        const char *comment = memmem(text.p + i, n, "--", 2);
        const char *at = memmem(text.p + i, n, word, strlen(word));

        if (at && !(comment && comment < at))
            return true;
        i += n + 1;
    }
    return false;
}

const char *config_exposed(const struct config *c)
{
    static const char *const words[] = {
        "password", "secret", "pepper", "master_key =", "token", "api_key"};
    struct stat st;

    if (!c->file || stat(c->file, &st) || !(st.st_mode & S_IROTH))
        return NULL;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (file_says(c->file_text, words[i]))
            return words[i];
    }
    return NULL;
}

void config_free(struct config *c)
{
    if (c)
        arena_free(c->arena);
}
