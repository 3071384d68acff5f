/* gen_routes.c - routes as constants: the route "merge" of routes.json is ROUTE_MERGE, members of
 * a wharf_route without its handler. docs/reference/plugin-abi.md section 6.
 *
 * It refuses what a server would refuse later, or would never look at: a flag, a method or a
 * member of the document that nobody knows. */
#include "gen.h"
#include "util/json.h"

enum { NAME_MAX_LEN = 60 };

static const struct {
    const char *name, *constant;
} flags[] = {{"readonly", "WHARF_R_READONLY"}, {"long", "WHARF_R_LONG"}, {"no_tx", "WHARF_R_NO_TX"},
    {"raw_body", "WHARF_R_RAW_BODY"}, {"public", "WHARF_R_PUBLIC"}};

static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", NULL};
static const char *const route_members[] = {"method", "path", "scope", "flags", NULL};
/* Members of the document that a server looks at (docs/reference/plugin-abi.md section 6); others
 * begin with "x-". */
static const char *const document_members[] = {"summary", "description", "tag", "location",
    "params", "query", "body", "response", "status", "statuses", "content_type", "large_body",
    "array_body", "max_body", "per_minute", "any_answer", "event_stream", "key", "nothing",
    "operation", "request_type", "headers", "answers", "parameters", "tenant_code", "other_types",
    "unstable", NULL};

static bool one_of(wharf_str s, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        if (str_eqz(s, names[i]))
            return true;
    return false;
}

static const char *flag_constant(const struct wharf_json *flag)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (json_is(flag, JSON_STRING) && str_eqz(flag->text, flags[i].name))
            return flags[i].constant;
    return NULL;
}

static bool name_ok(wharf_str name)
{
    return name.n && name.n <= NAME_MAX_LEN && name.p[0] >= 'a' && name.p[0] <= 'z' &&
           strspn(name.p, "abcdefghijklmnopqrstuvwxyz0123456789_") == name.n;
}

static bool scope_ok(wharf_str scope)
{
    return str_eqz(scope, "any") || str_eqz(scope, "public") || str_ends(scope, ":read") ||
           str_ends(scope, ":write");
}

/* Returns what is wrong with the route, or NULL. */
static const char *route_problem(struct arena *a, const struct wharf_json *route)
{
    const struct wharf_json *list = json_get(route, "flags");

    if (!name_ok(route->key))
        return "its name is not of a-z, 0-9 and '_'";
    if (route->type != JSON_OBJECT)
        return "it is not a JSON object";
    if (!one_of(json_text_or(route, "method", ""), methods))
        return "its method is none of GET, POST, PUT, PATCH and DELETE";
    if (!str_starts(json_text_or(route, "path", ""), "/"))
        return "its path does not begin with /";
    if (!scope_ok(json_text_or(route, "scope", "")))
        return "its scope is neither area:read nor area:write, any or public";
    if (list && list->type != JSON_ARRAY)
        return "its flags are not a list";
    for (const struct wharf_json *f = list ? list->child : NULL; f; f = f->next)
        if (!flag_constant(f))
            return arena_printf(a, "there is no flag \"%.*s\"", STR_ARG(f->text)).p;
    for (const struct wharf_json *m = route->child; m; m = m->next)
        if (!one_of(m->key, route_members) && !one_of(m->key, document_members) &&
            !str_starts(m->key, "x-"))
            return arena_printf(a, "nothing looks at its member \"%.*s\"", STR_ARG(m->key)).p;
    return NULL;
}

/* Returns the document: the route without what has a member of its own in wharf_route. */
static wharf_str document(struct arena *a, const struct wharf_json *route)
{
    struct buf b;
    struct jw w;
    wharf_str s;

    buf_init(&b, 16 << 20);
    jw_init(&w, &b);
    jw_open(&w, NULL, '{');
    for (const struct wharf_json *m = route->child; m; m = m->next)
        if (!one_of(m->key, route_members))
            jw_value(&w, m->key.p, m);
    jw_close(&w, '}');
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}

static void write_route(struct arena *a, FILE *out, const struct wharf_json *route)
{
    const struct wharf_json *list = json_get(route, "flags"), *first = list ? list->child : NULL;
    char constant[NAME_MAX_LEN + 8];
    struct buf text;

    upper(constant, sizeof(constant), "ROUTE", route->key.p);
    c_array(out, arena_printf(a, "%s_DOCUMENT", constant).p, document(a, route));
    buf_init(&text, 1 << 16);
    json_quote(&text, json_text_or(route, "path", ""));
    fprintf(out,
        "#define %s .head = WHARF_HEAD(wharf_route), .method = \"%s\", .path = %.*s, "
        ".scope = \"%s\", \\\n    .definition = %s_DOCUMENT",
        constant, json_text_or(route, "method", "").p, STR_ARG(buf_str(&text)),
        json_text_or(route, "scope", "").p, constant);
    for (const struct wharf_json *f = first; f; f = f->next)
        fprintf(out, "%s%s", f == first ? ", .flags = " : " | ", flag_constant(f));
    fputs("\n\n", out);
    buf_done(&text);
}

/* Writes ROUTES, which declares a table of them: one that the table lacks ends the build. */
static void write_routes_macro(FILE *out, uint32_t n)
{
    fprintf(out,
        "#define ROUTES(api, d, table) do { \\\n"
        "    _Static_assert(sizeof(table) == %u * sizeof(wharf_route), \\\n"
        "        \"routes.json has %u routes: the table names each once, with its handler\"); \\\n"
        "    for (unsigned i_ = 0; i_ < %u; i_++) \\\n"
        "        (api)->route((d), &(table)[i_]); \\\n"
        "} while (0)\n\n",
        n, n, n);
}

bool write_routes(struct arena *a, FILE *out, const char *path)
{
    const struct wharf_json *all = read_json(a, path);

    if (!all)
        return false;
    if (all->type != JSON_OBJECT || !all->count) {
        fprintf(stderr, "wharf-gen: %s: is not a JSON object of routes\n", path);
        return false;
    }
    for (const struct wharf_json *r = all->child; r; r = r->next) {
        const char *problem = route_problem(a, r);

        if (problem) {
            fprintf(stderr, "wharf-gen: %s: route %.*s: %s\n", path, STR_ARG(r->key), problem);
            return false;
        }
        if (out)
            write_route(a, out, r);
    }
    if (out)
        write_routes_macro(out, all->count);
    return true;
}
