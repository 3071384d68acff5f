/* check_cmd.c - `wharf lua check`: compiles, loads, looks for the handlers of triggers, and
 * reads the texts for what compilers do not tell (check.lua). */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/lua/author.h"
#include "event/event_catalogue.h"
#include "lua/named.h"
#include "lua/operator/operator.h"
#include "lua/testing/testing.h"
#include "lua/lua_triggers.h"
#include "resource/body.h"
#include "schema/tenant.h"
#include "util/file.h"
#include "util/str.h"
#include "util/time.h"
#include "util/zone.h"
#include "wharf/ext/webhooks.h"

enum { LOAD_INSTRUCTIONS = 100000, LOAD_MEMORY = 4 << 20, WORKFLOW_BYTES = 1 << 20 };

struct checking {
    struct cli *c;
    const struct lua_folder *folder;
    lua_State *lua; /* the functions of check.lua at 1 and 2, what is known at 3 */
    size_t findings;
    size_t trigger; /* number of the one that is looked at, from 0 */
    const struct engine *engine; /* or NULL: not needed so far */
    bool engineless; /* it was needed, and could not be had */
    bool broken; /* a text of the folder is no Lua: it can't be loaded */
    bool names_only; /* of what is read, only names that there are not */
};

static void finding(
    struct checking *k, const char *path, long line, long column, const char *message)
{
    printf("%s:%ld:%ld: %s\n", path, line, column, message);
    k->findings++;
}

/* ---- what the text says ---- */

/* Pushes {name = who}; tables of them are "table". */
static void push_known(struct cli *c, lua_State *lua)
{
    size_t n;
    const struct lua_entry *list = reference_entries(c->a, &n);
    const char who[] = {'a', 0};

    lua_newtable(lua);
    for (size_t i = 0; i < n; i++) {
        for (const char *dot = strchr(list[i].name.p, '.'); dot; dot = strchr(dot + 1, '.')) {
            lua_pushlstring(lua, list[i].name.p, (size_t)(dot - list[i].name.p));
            lua_pushliteral(lua, "table");
            lua_rawset(lua, -3);
        }
        lua_pushlstring(lua, list[i].name.p, list[i].name.n);
        lua_pushlstring(lua, &list[i].who, 1);
        lua_rawset(lua, -3);
    }
    for (size_t i = 0; i < 2; i++) {
        lua_pushstring(lua, i ? "_VERSION" : "_G");
        lua_pushstring(lua, who);
        lua_rawset(lua, -3);
    }
}

/* Finds the column at which the compiler stopped. */
static long column_of(struct checking *k, const struct lua_file *f, long line)
{
    lua_State *lua = k->lua;
    int top = lua_gettop(lua);
    long column = 1;

    lua_pushvalue(lua, 2);
    lua_pushlstring(lua, f->text.p, f->text.n);
    lua_pushinteger(lua, line);
    if (lua_pcall(lua, 2, 1, 0) == LUA_OK)
        column = (long)lua_tointeger(lua, -1);
    lua_settop(lua, top);
    return column;
}

/* Tells what the compiler says: "x:12: message". */
static void compiler_says(struct checking *k, const struct lua_file *f, const char *said)
{
    char *end;
    long line = said[0] == 'x' && said[1] == ':' ? strtol(said + 2, &end, 10) : 0;

    finding(k, f->path, line ? line : 1, line ? column_of(k, f, line) : 1, line ? end + 2 : said);
    k->broken = true;
}

static void check_read_text(struct checking *k, const struct lua_file *f)
{
    enum { KNOWN = 3, LIST, ONE, LINE, COLUMN, MESSAGE };
    lua_State *lua = k->lua;

    if (luaL_loadbufferx(lua, f->text.p, f->text.n, "=x", "t") != LUA_OK) {
        compiler_says(k, f, lua_tostring(lua, -1));
        lua_settop(lua, KNOWN);
        return;
    }
    lua_settop(lua, KNOWN);
    lua_pushvalue(lua, 1);
    lua_pushlstring(lua, f->text.p, f->text.n);
    lua_pushvalue(lua, KNOWN);
    lua_pushstring(lua, k->folder->hooks ? "h" : "w");
    lua_pushboolean(lua, testing_is_test(f->name));
    if (lua_pcall(lua, 4, 1, 0) != LUA_OK) {
        finding(k, f->path, 1, 1, lua_tostring(lua, -1));
        lua_settop(lua, KNOWN);
        return;
    }
    for (lua_Integer i = 1; lua_rawgeti(lua, LIST, i) == LUA_TTABLE; i++) {
        lua_rawgeti(lua, ONE, 1);
        lua_rawgeti(lua, ONE, 2);
        lua_rawgeti(lua, ONE, 3);
        if (!k->names_only || !strncmp(lua_tostring(lua, MESSAGE), "there is no ", 12))
            finding(k, f->path, (long)lua_tointeger(lua, LINE), (long)lua_tointeger(lua, COLUMN),
                lua_tostring(lua, MESSAGE));
        lua_settop(lua, LIST);
    }
    lua_settop(lua, KNOWN);
}

/* ---- what loading says ---- */

static enum sandbox_answer check_nothing(
    void *arg, const char *op, wharf_str args, wharf_str *ret_text)
{
    *ret_text = WHARF_S("{\"code\":\"op.unknown\",\"message\":\"this is not available while the "
                        "main file is loaded\"}");
    return strcmp(op, "log") ? SANDBOX_MISTAKE : SANDBOX_GIVEN;
}

static int64_t check_now_us(void *arg)
{
    return clock_now_us();
}

static void no_random(void *arg, void *p, size_t n)
{
    memset(p, 0, n);
}

static bool check_zone(void *arg, const char *name, wharf_str *ret_bytes)
{
    static char bytes[ZONE_BYTES_MAX]; /* the command has one thread */

    *ret_bytes = (wharf_str){bytes, zone_read(name, bytes, sizeof(bytes))};
    return ret_bytes->n > 0;
}

static const char *check_handler_of(wharf_str type)
{
    static const struct {
        const char *type, *handler;
    } all[] = {{"event", "on_event"}, {"http", "on_http"}, {"schedule", "on_schedule"},
        {"manual", "on_run"}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (str_eqz(type, all[i].type))
            return all[i].handler;
    }
    return NULL;
}

/* Tells a problem of a trigger's input_schema: "triggers.0.input_schema/type: …". */
static void check_wrong_schema(void *arg, wharf_str pointer, const char *rule, wharf_str message)
{
    struct checking *k = arg;
    const char *path = arena_printf(k->c->a, "%s/workflow.json", k->folder->dir).p;

    finding(k, path, 1, 1,
        arena_printf(
            k->c->a, "triggers.%zu.input_schema%s: %.*s", k->trigger, pointer.p, STR_ARG(message))
            .p);
}

/* Tells a wrong value in workflow.json, at the first place where the text stands as a value;
 * without one at its beginning. */
static void check_wrong_value(struct checking *k, wharf_str wrong, const char *message)
{
    const char *path = arena_printf(k->c->a, "%s/workflow.json", k->folder->dir).p;
    wharf_str text = file_read(path, WORKFLOW_BYTES, k->c->a);
    const char *begin = text.p ? text.p : "",
               *at = wrong.n ? strstr(begin, arena_printf(k->c->a, "\"%.*s\"", STR_ARG(wrong)).p)
                             : NULL;
    struct text_place place = text_place(begin, at ? at : begin);

    finding(k, path, place.line, place.column, message);
}

static void wrong_name(struct checking *k, const char *what, wharf_str wrong, const char *near)
{
    check_wrong_value(k, wrong,
        arena_printf(k->c->a, "there is no %s \"%.*s\"%s%s%s", what, STR_ARG(wrong),
            near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "")
            .p);
}

static void check_missing(struct checking *k, const char *message)
{
    finding(k, arena_printf(k->c->a, "%s/workflow.json", k->folder->dir).p, 1, 1, message);
}

/* Returns the server's plugins, once they are needed; NULL after a message. */
static const struct engine *engine_of(struct checking *k)
{
    if (!k->engine && !k->engineless)
        k->engine = lua_engine(k->c);
    if (!k->engine && !k->engineless) {
        k->engineless = true;
        k->findings++;
    }
    return k->engine;
}

/* Looks at the conditions as the module webhooks does, which has the rules of them; without it they
 * can't be looked at. */
static void check_filter(struct checking *k, const struct wharf_json *filter)
{
    const struct engine *engine = engine_of(k);
    const wharf_webhooks_rules_api *rules = NULL;
    struct wharf_req req = {.arena = arena_new(0), .engine = engine};

    for (size_t i = 0; engine && i < engine->n_services; i++) {
        if (!strcmp(engine->services[i].name, "webhooks.rules"))
            rules = engine->services[i].table;
    }
    if (rules && !json_is(filter, JSON_ARRAY))
        check_wrong_value(k, str_z("filter"), "filter is an array of {path, op, value}");
    else if (rules)
        rules->filter(&req, filter, "filter");
    for (size_t i = 0; i < req.problems.n; i++) {
        const struct problem *p = &req.problems.list[i];
        const char *number = p->path.p ? strrchr(p->path.p, '.') : NULL;
        const struct wharf_json *one = number ? json_at(filter, strtoul(number + 1, NULL, 10))
                                              : NULL;

        check_wrong_value(k, json_text_or(one, "op", "filter"),
            arena_printf(k->c->a, "%s: %.*s", p->path.p ? p->path.p : "filter", STR_ARG(p->text))
                .p);
    }
    arena_free(req.arena);
}

static void check_events(struct checking *k, const struct wharf_json *t)
{
    const struct wharf_json *list = json_get(t, "events");
    const struct engine *engine = engine_of(k);

    if (!json_is(list, JSON_ARRAY) || !list->child)
        check_missing(k, "a trigger of type event has events, an array of types");
    for (const struct wharf_json *e = engine && json_is(list, JSON_ARRAY) ? list->child : NULL; e;
         e = e->next) {
        if (json_is(e, JSON_STRING) && !event_pattern_known(engine, e->text))
            wrong_name(k, "event type", e->text, named_near_event(k->c->a, engine, e->text.p));
    }
    if (json_get(t, "filter") && json_get(t, "filter")->type != JSON_NULL)
        check_filter(k, json_get(t, "filter"));
}

/* Tells that there are no hooks on such writes, and on which there are. */
static void check_no_hooks(
    struct checking *k, const struct engine *engine, wharf_str resource, wharf_str action)
{
    static const char *const actions[] = {"create", "update", "delete"};
    const char *there = "";

    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (named_hookable(engine, resource, str_z(actions[i])))
            there = arena_printf(k->c->a, "%s%s%s", there, *there ? ", " : "", actions[i]).p;
    }
    check_wrong_value(k, action,
        arena_printf(
            k->c->a, "there are no hooks on %s:%s; there are on %s", resource.p, action.p, there)
            .p);
}

static void check_hook(struct checking *k, const struct wharf_json *t)
{
    wharf_str resource = json_text_or(t, "resource", ""), action = json_text_or(t, "action", ""),
              phase = json_text_or(t, "phase", "");
    const struct engine *engine = engine_of(k);
    struct str_near near = str_near(action.p);

    if (!resource.n || !action.n || !phase.n) {
        check_missing(k, "a trigger of type hook has resource, action and phase");
        return;
    }
    if (engine && !named_hookable(engine, resource, str_z("")))
        wrong_name(k, "hookable resource", resource, named_near_resource(engine, resource.p));
    else if (engine && named_action(action) && !named_hookable(engine, resource, action))
        check_no_hooks(k, engine, resource, action);
    if (!named_action(action)) {
        str_near_try(&near, "create");
        str_near_try(&near, "update");
        str_near_try(&near, "delete");
        wrong_name(k, "action", action, near.best);
    }
    if (!str_eqz(phase, "before") && !str_eqz(phase, "after"))
        wrong_name(k, "phase", phase, NULL);
}

static void check_check_triggers(struct checking *k, struct sandbox *sb)
{
    const struct wharf_json *list = json_get(k->folder->workflow, "triggers");
    const char *path = arena_printf(k->c->a, "%s/workflow.json", k->folder->dir).p;

    k->trigger = 0;
    for (const struct wharf_json *t = json_is(list, JSON_ARRAY) ? list->child : NULL; t;
         t = t->next, k->trigger++) {
        wharf_str type = json_text_or(t, "type", "");
        bool hook = str_eqz(type, "hook");
        const char *handler = hook ? json_text_or(t, "phase", "before").p : check_handler_of(type);
        const struct wharf_json *schema = json_get(t, "input_schema");
        struct trigger_fault fault;

        if (schema && schema->type != JSON_NULL)
            tenant_schema(k->c->a, schema, check_wrong_schema, k);
        if (!trigger_good(k->c->a, list, t, &fault))
            check_wrong_value(k, fault.value, fault.message);
        if (str_eqz(type, "event"))
            check_events(k, t);
        else if (hook)
            check_hook(k, t);
        if (!handler)
            finding(k, path, 1, 1,
                arena_printf(k->c->a, "there are no triggers of type \"%s\"", type.p).p);
        else if (!sandbox_has(sb, handler))
            finding(k, folder_path(k->c->a, k->folder, "main.lua"), 1, 1,
                arena_printf(k->c->a,
                    "a trigger needs the function %s in the table that main.lua returns", handler)
                    .p);
    }
}

/* ---- the other members of workflow.json ---- */

static const char *near_field(const struct definition *d, const char *wrong)
{
    struct str_near near = str_near(wrong);

    for (size_t i = 0; i < d->n_fields; i++) {
        if (d->fields[i].write)
            str_near_try(&near, d->fields[i].name);
    }
    return near.best;
}

/* Tells a problem of a member, at the first place where its name stands. */
static void wrong_member(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    struct checking *k = arg;
    const struct definition *d = engine_resource(k->engine, "workflow")->def;
    const char *dot = path.p ? strrchr(path.p, '.') : NULL, *last = dot ? dot + 1 : path.p, *near;

    if (!path.p || !strcmp(rule, "required")) /* the name of a new one: push asks for it */
        return;
    near = !strcmp(rule, "unknown") && !dot ? near_field(d, path.p) : NULL;
    if (near)
        wrong_name(k, "field", path, near);
    else
        check_wrong_value(k, str_z(*last >= '0' && *last <= '9' ? "" : last),
            arena_printf(k->c->a, "%s: %.*s", path.p, STR_ARG(message)).p);
}

static void check_check_scopes(struct checking *k)
{
    const struct wharf_json *list = json_get(k->folder->workflow, "scopes");
    const struct areas *areas = &k->engine->areas;

    for (const struct wharf_json *e = json_is(list, JSON_ARRAY) ? list->child : NULL; e;
         e = e->next) {
        const char *colon = json_is(e, JSON_STRING) ? strchr(e->text.p, ':') : NULL;
        wharf_str area = {colon ? e->text.p : "", colon ? (size_t)(colon - e->text.p) : 0};
        struct str_near near = str_near(arena_dup_str(k->c->a, area).p);

        if (!json_is(e, JSON_STRING))
            continue;
        if (!colon || (strcmp(colon, ":read") != 0 && strcmp(colon, ":write") != 0)) {
            check_wrong_value(k, e->text, "a scope is AREA:read or AREA:write");
            continue;
        }
        for (size_t i = 0; i < areas->count; i++)
            str_near_try(&near, areas->names[i]);
        if (area_find(areas, area) < 0)
            wrong_name(k, "scope", e->text,
                near.best ? arena_printf(k->c->a, "%s%s", near.best, colon).p : NULL);
    }
}

/* Looks at the members as the server does that gets them: what it does not know, and values that
 * it would refuse. Modules that are not enabled can't be asked. */
static void check_check_members(struct checking *k)
{
    const struct engine *engine = k->folder->workflow ? engine_of(k) : NULL;
    const struct resource *res = engine ? engine_resource(engine, "workflow") : NULL;
    struct json_error bad;
    struct value *values;

    if (!res)
        return;
    values = ARENA_ARRAY(k->c->a, struct value, res->def->n_fields);
    memset(values, 0, res->def->n_fields * sizeof(*values));
    body_check(k->c->a, res->def, OP_CREATE,
        json_parse(k->c->a, folder_body(k->c->a, k->folder, false, NULL), &bad), BODY_STRICT,
        values, wrong_member, k);
    check_check_scopes(k);
}

/* Loads the main file as publishing does it, with nothing outside. */
static void load_main(struct checking *k)
{
    struct sandbox_host host = {
        .call = check_nothing, .now_us = check_now_us, .random = no_random, .zone = check_zone};
    struct sandbox_config config = {.memory = LOAD_MEMORY,
        .limits = {.instructions = LOAD_INSTRUCTIONS},
        .seed = 1,
        .host = &host};
    struct sandbox *sb = sandbox_prepare() ? sandbox_new(&config) : NULL;
    struct sandbox_error e;

    if (!sb) {
        finding(k, folder_path(k->c->a, k->folder, "main.lua"), 1, 1,
            "there is not enough memory to load it");
        return;
    }
    sandbox_files(sb, folder_files(k->c->a, k->folder), k->folder->n);
    if (sandbox_load(sb, "main", &e))
        check_check_triggers(k, sb);
    else
        finding(k, folder_path(k->c->a, k->folder, e.file[0] ? e.file : "main.lua"),
            e.line ? e.line : 1, 1, e.message);
    sandbox_free(sb);
}

/* Loads the hooks as a server does; the problem begins with file and line. */
static void load_hooks(struct checking *k)
{
    const struct engine *engine;
    struct config *config;
    wharf_str problem;
    size_t hooks;

    cli_set(k->c, "lua_hooks.dir", k->folder->dir);
    config = cli_config(k->c);
    engine = config ? lua_engine(k->c) : NULL;
    if (!engine) {
        k->findings++;
    } else if (!operator_check(engine, config, &hooks, k->c->a, &problem)) {
        puts(problem.p);
        k->findings++;
    }
}

static void check_folder(struct checking *k, const char *only)
{
    k->broken = false;
    for (size_t i = 0; i < k->folder->n; i++) {
        if (!only || !strcmp(only, k->folder->files[i].name))
            check_read_text(k, &k->folder->files[i]);
    }
    if (only || k->broken)
        return;
    if (k->folder->hooks) {
        load_hooks(k);
        return;
    }
    load_main(k);
    check_check_members(k);
}

/* Makes the reader of texts. False after a message. */
static bool reader_new(struct checking *k)
{
    const char *source = lua_text("check.lua");

    k->lua = luaL_newstate();
    luaL_openlibs(k->lua);
    if (luaL_loadbufferx(k->lua, source, strlen(source), "=check.lua", "t") != LUA_OK ||
        lua_pcall(k->lua, 0, 2, 0) != LUA_OK) {
        cli_fail("%s", lua_tostring(k->lua, -1));
        return false;
    }
    push_known(k->c, k->lua);
    return true;
}

bool lua_hooks_names(struct cli *c, const char *dir)
{
    struct checking k = {.c = c, .names_only = true};
    struct lua_folder folder;

    if (!folder_one(c->a, dir, &folder) || !reader_new(&k))
        return false;
    folder.hooks = true;
    k.folder = &folder;
    for (size_t i = 0; i < folder.n; i++)
        check_read_text(&k, &folder.files[i]);
    lua_close(k.lua);
    return !k.findings;
}

int lua_check_command(struct cli *c)
{
    struct checking k = {.c = c};
    struct lua_folders folders;
    const char *only;

    if (c->n_words < 2)
        return lua_usage("wharf lua check PATH…: folders or files to look at");
    if (!reader_new(&k))
        return LUA_FAILED;
    for (size_t i = 1; i < c->n_words; i++) {
        if (!folders_read(c->a, c->words[i], &folders, &only))
            return LUA_USAGE;
        for (size_t f = 0; f < folders.n; f++) {
            k.folder = &folders.items[f];
            check_folder(&k, only);
        }
    }
    lua_close(k.lua);
    return k.findings ? LUA_FAILED : LUA_FINE;
}
