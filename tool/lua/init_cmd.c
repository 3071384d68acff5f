/* init_cmd.c - `wharf lua init`: a new folder of a workflow, from templates.txt, with what an
 * editor reads of the functions there are (`wharf lua doc --annotations`; LuaLS). */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/lua/author.h"
#include "util/file.h"
#include "util/str.h"

enum { TEXT_MAX = 1 << 20 };

/* ---- annotations ---- */

/* Returns the annotation's word for what the reference says of a value. */
static const char *init_type_of(struct arena *a, wharf_str said)
{
    static const char *const words[] = {
        "string", "integer", "number", "boolean", "table", "function", NULL};
    static const struct {
        const char *said, *type;
    } others[] = {{"bytes", "string"}, {"id", "string"}, {"err", "wharf.error?"}, {"error", "any"},
        {"event", "wharf.event"}, {"request", "wharf.request"}, {"change", "wharf.change"},
        {"iterator", "fun(): any"}, {"array", "any[]"}, {"rows", "table[]"}};
    bool nil = str_ends(said, " or nil");
    wharf_str word = nil ? (wharf_str){said.p, said.n - 7} : said;

    for (size_t i = 0; words[i]; i++) {
        if (str_eqz(word, words[i]))
            return arena_printf(a, "%s%s", words[i], nil ? "?" : "").p;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (str_eqz(word, others[i].said))
            return arena_printf(a, "%s%s", others[i].type, nil ? "?" : "").p;
    }
    return "any";
}

static bool returns_nothing(wharf_str said)
{
    return str_eqz(said, "nothing") || str_eqz(said, "does not return");
}

/* Writes what comes back: "value or nil, err" is two. */
static void put_returns(struct arena *a, struct buf *out, wharf_str said)
{
    if (returns_nothing(said))
        return;
    if (strchr(said.p, '{')) {
        buf_addz(out, "---@return any\n");
        return;
    }
    for (const char *p = said.p; *p;) {
        size_t n = strcspn(p, ",");

        while (n && p[n - 1] == '?')
            n--;
        buf_addf(out, "---@return %s\n", init_type_of(a, arena_dup(a, p, n)));
        p += strcspn(p, ",");
        p += strspn(p, ", ");
    }
}

/* Writes the parameters of "wharf.kv.set(key, value, opts?)", and the function without a body. */
static void put_function(struct buf *out, const struct lua_entry *e)
{
    const char *open = strchr(e->call.p, '('), *comma = "";
    struct buf names;

    buf_init(&names, TEXT_MAX);
    for (const char *p = open + 1; *p && *p != ')';) {
        size_t n = strcspn(p, ",)?");
        bool more = p[0] != '.' && p[n] == '?', rest = !strncmp(p, "…", strlen("…"));

        if (rest)
            buf_addz(out, "---@param ... any\n");
        else
            buf_addf(out, "---@param %.*s%s any\n", (int)n, p, more ? "?" : "");
        if (rest)
            buf_addf(&names, "%s...", comma);
        else
            buf_addf(&names, "%s%.*s", comma, (int)n, p);
        comma = ", ";
        p += strcspn(p, ",)");
        p += strspn(p, ", ");
    }
    buf_addf(out, "function %s(%.*s) end\n\n", e->name.p, (int)names.n, names.n ? names.p : "");
    buf_done(&names);
}

/* Writes the tables that the name stands in, once each. */
static void put_tables(struct arena *a, struct buf *out, const struct lua_entry *e)
{
    for (const char *dot = strchr(e->name.p, '.'); dot; dot = strchr(dot + 1, '.')) {
        const char *line = arena_printf(a, "\n%.*s = {}\n", (int)(dot - e->name.p), e->name.p).p;

        if (!memmem(out->p, out->n, line, strlen(line)))
            buf_addf(out, "%s\n", line);
    }
}

wharf_str lua_annotations(struct arena *a)
{
    size_t n;
    const struct lua_entry *list = reference_entries(a, &n);
    struct buf out;
    wharf_str text;

    buf_init(&out, TEXT_MAX);
    buf_addz(&out, lua_text("types.lua"));
    for (size_t i = 0; i < n; i++) {
        const struct lua_entry *e = &list[i];

        if (!str_starts(e->name, "wharf.") && !str_starts(e->name, "test."))
            continue; /* the editor knows Lua itself */
        put_tables(a, &out, e);
        buf_addf(&out, "--- %s\n", e->text.p);
        if (strchr(e->call.p, '(')) {
            put_returns(a, &out, e->returns);
            put_function(&out, e);
        } else {
            buf_addf(&out, "---@type any\n%s = nil\n\n", e->name.p);
        }
    }
    text = arena_dup_str(a, buf_str(&out));
    buf_done(&out);
    return text;
}

/* ---- a new folder ---- */

static bool init_put(struct cli *c, const char *dir, const char *name, wharf_str text)
{
    const char *path = arena_printf(c->a, "%s/%s", dir, name).p;
    wharf_str error;

    if (access(path, F_OK) == 0) {
        cli_fail("%s: is there already; nothing is written over it", path);
        return false;
    }
    if (file_replace(path, text, 0644, c->a, &error)) {
        puts(path);
        return true;
    }
    cli_fail("%s", error.p);
    return false;
}

/* Returns the name of a workflow in that folder: the folder's. */
static const char *init_name_of(struct arena *a, const char *dir)
{
    size_t n = strlen(dir);
    const char *slash;

    while (n > 1 && dir[n - 1] == '/')
        n--;
    dir = arena_dup(a, dir, n).p;
    slash = strrchr(dir, '/');
    dir = slash && slash[1] ? slash + 1 : dir;
    return strcmp(dir, ".") ? dir : "New workflow";
}

/* Writes the files of a template. Returns how many; -1 after a message. */
static int init_put_template(struct cli *c, const char *dir, const char *template_name)
{
    const char *mark = arena_printf(c->a, "=== %s ", template_name).p;
    int n = 0;

    for (const char *p = lua_text("templates.txt"); *p;) {
        const char *line = p + strcspn(p, "\n"), *end = strstr(line, "\n=== ");
        wharf_str text = {line + 1, end ? (size_t)(end - line) : strlen(line + 1)};

        if (!strncmp(p, mark, strlen(mark))) {
            const char *name =
                arena_dup(c->a, p + strlen(mark), (size_t)(line - p) - strlen(mark)).p;

            text = str_replaced(c->a, text, str_z("\"NAME\""),
                arena_printf(c->a, "\"%s\"", init_name_of(c->a, dir)));
            if (!init_put(c, dir, name, text))
                return -1;
            n++;
        }
        p = end ? end + 1 : line + strlen(line);
    }
    return n;
}

/* Lists the templates there are, for a message. */
static const char *template_names(struct arena *a)
{
    struct buf out;
    const char *text;

    buf_init(&out, 1024);
    for (const char *p = lua_text("templates.txt"); p; p = strstr(p + 1, "\n=== ")) {
        const char *name = p + (*p == '\n') + 4;
        const char *one = arena_dup(a, name, strcspn(name, " ")).p;

        if (!out.n || !memmem(out.p, out.n, one, strlen(one)))
            buf_addf(&out, "%s%s", out.n ? ", " : "", one);
    }
    text = arena_dup_str(a, buf_str(&out)).p;
    buf_done(&out);
    return text;
}

static bool known_template(struct arena *a, const char *name)
{
    const char *mark = arena_printf(a, "=== %s ", name).p;

    return strstr(lua_text("templates.txt"), mark) != NULL && !strchr(name, '\n');
}

int lua_init_command(struct cli *c, const char *template_name)
{
    const char *dir = c->n_words > 1 ? c->words[1] : NULL;

    template_name = template_name ? template_name : "event";
    if (!dir || c->n_words > 2 || strchr(dir, '"') || strchr(dir, '\\'))
        return lua_usage("wharf lua init DIR [--template NAME]: %s", template_names(c->a));
    if (!known_template(c->a, template_name))
        return lua_usage("there is no template %s: %s", template_name, template_names(c->a));
    mkdir(dir, 0777);
    if (init_put_template(c, dir, template_name) < 1)
        return LUA_FAILED;
    mkdir(arena_printf(c->a, "%s/.wharf", dir).p, 0777);
    return init_put(c, dir, ".wharf/wharf.lua", lua_annotations(c->a)) &&
                   init_put(c, dir, ".luarc.json",
                       str_z(
                           "{\n  \"runtime.version\": \"Lua 5.4\",\n  \"workspace.library\": "
                           "[\".wharf\"],\n  \"diagnostics.globals\": [\"wharf\", \"test\"]\n}\n"))
               ? LUA_FINE
               : LUA_FAILED;
}
