/* author_reference.c - the reference of Lua's functions (reference.txt, a line for each), and
 * `wharf lua doc`. */
#include <stdio.h>

#include "tool/lua/author.h"
#include "lua_texts.h" /* generated: lua_texts */
#include "util/str.h"

enum { ENTRIES_MAX = 400 };

static wharf_str author_reference_text_of(const char *name)
{
    for (size_t i = 0; i < lua_texts_count; i++) {
        if (!strcmp(lua_texts[i].name, name))
            return (wharf_str){lua_texts[i].text, lua_texts[i].size};
    }
    return (wharf_str){"", 0};
}

const char *lua_text(const char *name)
{
    return author_reference_text_of(name).p;
}

/* Reads "a wharf.kv.get(key) -> value or nil : of the store". */
static struct lua_entry author_reference_entry_of(struct arena *a, const char *line, size_t n)
{
    wharf_str whole = arena_dup(a, line + 2, n - 2);
    const char *returns = strstr(whole.p, " -> "), *text = strstr(returns, " : ");

    return (struct lua_entry){.who = line[0],
        .name = arena_dup(a, whole.p, strcspn(whole.p, "( ")),
        .call = arena_dup(a, whole.p, (size_t)(returns - whole.p)),
        .returns = arena_dup(a, returns + 4, (size_t)(text - returns - 4)),
        .text = arena_dupz(a, text + 3)};
}

const struct lua_entry *reference_entries(struct arena *a, size_t *ret_n)
{
    struct lua_entry *list = ARENA_ARRAY(a, struct lua_entry, ENTRIES_MAX);
    const char *p = lua_text("reference.txt");
    size_t n = 0;

    for (; *p && n < ENTRIES_MAX; p += strcspn(p, "\n"), p += *p == '\n')
        list[n++] = author_reference_entry_of(a, p, strcspn(p, "\n"));
    *ret_n = n;
    return list;
}

static const char *author_reference_place_of(char who)
{
    return who == 'h' ? " [operators' hooks]" : who == 't' ? " [tests]" : "";
}

/* Tells whether the entry is wanted: "kv" finds wharf.kv.get as "wharf.kv" and "get" do. */
static bool author_reference_wanted(const struct lua_entry *e, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = e->name.p; p; p = strchr(p, '.'), p = p ? p + 1 : NULL) {
        if (!strncmp(p, name, n) && (!p[n] || p[n] == '.'))
            return true;
    }
    return false;
}

int lua_doc_command(struct cli *c, bool annotations)
{
    size_t n, found = 0;
    const struct lua_entry *list = reference_entries(c->a, &n);
    const char *name = c->n_words > 1 ? c->words[1] : NULL;

    if (annotations) {
        fputs(lua_annotations(c->a).p, stdout);
        return LUA_FINE;
    }

    for (size_t i = 0; i < n; i++) {
        const struct lua_entry *e = &list[i];

        if (name && !author_reference_wanted(e, name))
            continue;
        printf("%s -> %s%s\n    %s\n", e->call.p, e->returns.p, author_reference_place_of(e->who),
            e->text.p);
        found++;
    }
    if (found)
        return LUA_FINE;
    cli_fail("there is no function %s; `wharf lua doc` lists all", name);
    return LUA_FAILED;
}
