/* fuzz_pattern.c - "pattern NEWLINE text": compiling and matching never crashes and takes linear
 * time.
 *
 * Checked: a group around a pattern, a choice of it with itself, and a prefix of anything behind
 * ^ change nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "schema/schema.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool matches(struct arena *a, wharf_str source, wharf_str text, bool *ret_compiled)
{
    const char *error = NULL;
    const struct pattern *p = pattern_compile(a, source, &error);

    *ret_compiled = p != NULL;
    if (!p && (!error || !*error))
        abort();
    return p && pattern_match(p, text);
}

static void same(struct arena *a, const char *before, wharf_str source, const char *after,
    wharf_str text, bool want)
{
    wharf_str other = arena_printf(a, "%s%.*s%s", before, STR_ARG(source), after);
    bool compiled;
    bool got = matches(a, other, text, &compiled);

    if (compiled && got != want) {
        fprintf(stderr, "%s and %s differ on \"%s\"\n", source.p, other.p, text.p);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = memchr(data, '\n', size);
    struct arena *a;
    wharf_str source, text;
    bool compiled, match;

    if (!line || size > 2000)
        return 0;
    a = arena_new(0);
    source = arena_dup(a, (const char *)data, (size_t)(line - data));
    text = arena_dup(a, (const char *)line + 1, size - (size_t)(line - data) - 1);
    match = matches(a, source, text, &compiled);
    if (compiled && !memchr(source.p, 0, source.n) && utf8_valid(text.p, text.n)) {
        same(a, "(?:", source, ")", text, match);
        same(a, "(?:", source, "){1,1}", text, match);
        same(a, "^[^]*?(?:", source, ")", text, match);
        same(a, "(?:", source, ")[^]*$", text, match);
        same(a, "[]|", source, "", text, match);
    }
    arena_free(a);
    return 0;
}
