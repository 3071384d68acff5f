/* lua_reference.c - the reference of `wharf lua doc` and the sandbox tell of the same functions:
 * each that is there has a line, each line is there. */
#include "lua_box.h"

#include "tool/lua/author.h"
#include "util/json.h"
#include "util/str.h"

/* Every name that authors can reach, as JSON: an array of "wharf.kv.get" and its like. */
static const char walk[] =
    "local out = wharf.json.array {} local function add(path, v, depth) "
    "if type(v) == 'table' and depth < 3 then for k, e in pairs(v) do add(path .. '.' .. k, e, "
    "depth + 1) end else out[#out + 1] = path end end for k, v in pairs(_G) do if k ~= '_G' and k "
    "~= '_VERSION' and k ~= 'wharf' then add(k, v, 1) end end for _, k in ipairs(names) do "
    "add('wharf.' .. k, wharf[k], 1) end return out";

static void add_names(struct buf *out)
{
    buf_addz(out, "local names = {");
    for (size_t i = 0; sandbox_name(i); i++)
        buf_addf(out, "'%s',", sandbox_name(i));
    buf_addz(out, "} ");
}

static bool listed(const struct wharf_json *list, wharf_str name)
{
    for (const struct wharf_json *v = list->child; v; v = v->next) {
        if (str_eq(v->text, name))
            return true;
    }
    return false;
}

static bool documented(const struct lua_entry *list, size_t n, wharf_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i].name, name))
            return true;
    }
    return false;
}

static void same_names(struct box *b, char who)
{
    struct arena *a = arena_new(0);
    struct json_error bad;
    const struct wharf_json *found = json_parse(a, str_z(b->result), &bad);
    size_t n;
    const struct lua_entry *list = reference_entries(a, &n);

    assert_true(json_is(found, JSON_ARRAY) && found->count > 20);
    for (const struct wharf_json *v = found->child; v; v = v->next) {
        if (!documented(list, n, v->text))
            fail_msg("%s is not in reference.txt", v->text.p);
    }
    for (size_t i = 0; i < n; i++) {
        if (list[i].who == who && !listed(found, list[i].name))
            fail_msg("%s stands in reference.txt, and is not there", list[i].name.p);
    }
    arena_free(a);
}

static void test_everybody(void **state)
{
    struct box *b = *state;
    struct buf text;

    buf_init(&text, 1 << 16);
    add_names(&text);
    buf_addz(&text, walk);
    if (!box_try(b, buf_str(&text).p))
        fail_msg("%s", b->error.message);
    same_names(b, 'a');
    buf_done(&text);
}

/* Adds the names of the functions that a file of the sandbox defines as "function " + before. */
static void add_functions(struct buf *names, struct arena *a, const char *file, const char *before)
{
    const char *path =
        arena_printf(a, "%s/services/lua/sandbox/lib/%s", getenv("WHARF_SOURCE"), file).p;
    const char *begin = arena_printf(a, "\nfunction %s", before).p;
    wharf_str source = file_read(path, 1 << 20, a);

    assert_non_null(source.p);
    for (const char *p = source.p; (p = strstr(p, begin));) {
        p += strlen(begin);
        buf_addf(names, "%s\"test.%.*s\"", names->n > 1 ? "," : "", (int)strcspn(p, "("), p);
    }
}

/* The table of tests needs its engine (services/lua/testing/testing.c): its names are read from
 * its texts. */
static void test_of_tests(void **state)
{
    struct box *b = *state;
    struct arena *a = arena_new(0);
    struct buf names;

    buf_init(&names, 1 << 16);
    buf_addz(&names, "[");
    add_functions(&names, a, "test.lua", "M.");
    add_functions(&names, a, "test_values.lua", "M.calls.");
    buf_addz(&names, "]");
    snprintf(b->result, sizeof(b->result), "%s", buf_str(&names).p);
    same_names(b, 't');
    buf_done(&names);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {BOX(test_everybody), BOX(test_of_tests)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
