/* fuzz_schema.c - [schema, value, value...]: compiling and applying schemas never crashes, and
 * every problem can be told.
 *
 * Checked: the verdict is the same with and without telling, problems are told exactly for
 * refused values, strict handling only adds problems, a patch of a valid value is valid. */
#include <stdio.h>
#include <stdlib.h>

#include "schema/schema.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "not kept: %s\n", what);
        abort();
    }
}

static void tell(void *arg, wharf_str path, const char *rule, wharf_str message)
{
    must(message.n > 0 && utf8_valid(message.p, message.n) && utf8_valid(path.p, path.n) && *rule,
        "problems are sentences");
    ++*(size_t *)arg;
}

static void apply(struct arena *a, const struct schema *s, const struct wharf_json *v)
{
    size_t reported = 0, strict = 0;
    bool ok = schema_validate(s, v, WHARF_S("body"), 0, a, tell, &reported);

    must(ok == (reported == 0), "refused values have problems, others none");
    must(ok == schema_validate(s, v, WHARF_S(""), 0, a, NULL, NULL),
        "telling does not change the verdict");
    schema_validate(s, v, WHARF_S(""), SCHEMA_STRICT, a, tell, &strict);
    must(strict > 0 || ok, "strict handling accepts no more");
    schema_validate(s, v, WHARF_S(""), SCHEMA_PATCH, a, tell, &strict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a;
    struct json_error error;
    const struct wharf_json *all;
    const struct schema *s = NULL;
    size_t reported = 0;

    if (size > 4096) /* alternatives inside alternatives multiply: long inputs only cost time */
        return 0;
    a = arena_new(0);
    all = json_parse(a, arena_dup(a, (const char *)data, size), &error);
    if (json_is(all, JSON_ARRAY) && all->child) {
        s = schema_compile(a, all->child, tell, &reported);
        must((s == NULL) == (reported > 0), "refused schemas have problems, others none");
    }
    for (const struct wharf_json *v = s ? all->child->next : NULL; v; v = v->next)
        apply(a, s, v);
    arena_free(a);
    return 0;
}
