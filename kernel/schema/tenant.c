/* tenant.c - see tenant.h. */
#include "schema/tenant.h"

#include "util/str.h"

/* Counts members that are called pattern, and what is in patternProperties: never less than there
 * are patterns. */
static size_t patterns(const struct wharf_json *v)
{
    size_t n = 0;

    for (const struct wharf_json *m = json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY) ? v->child
                                                                                        : NULL;
         m; m = m->next) {
        if (v->type == JSON_OBJECT && str_eqz(m->key, "patternProperties"))
            n += m->count;
        n += v->type == JSON_OBJECT && str_eqz(m->key, "pattern");
        n += patterns(m);
    }
    return n;
}

static bool is_small(const struct wharf_json *json)
{
    struct buf text;
    struct jw w;
    bool small;

    buf_init(&text, TENANT_SCHEMA_MAX);
    jw_init(&w, &text);
    jw_value(&w, NULL, json);
    small = !text.failed;
    buf_done(&text);
    return small;
}

const struct schema *tenant_schema(
    struct arena *a, const struct wharf_json *json, schema_problem_fn *fn, void *arg)
{
    const char *why = NULL;

    if (!json_is(json, JSON_OBJECT))
        why = "a schema is an object";
    else if (!is_small(json))
        why = "a schema has at most 16 KiB";
    else if (patterns(json) > TENANT_PATTERNS_MAX)
        why = "a schema has at most 20 patterns";
    if (!why)
        return schema_compile(a, json, fn, arg);
    fn(arg, str_z(""), "format", str_z(why));
    return NULL;
}
