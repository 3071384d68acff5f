/* fuzz_drawexpr.c - texts with variables, from anybody: they end, say why they are wrong, and
 * what they make is JSON and no longer than it may be. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "draw_expr.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t no_zone(const char *name, char *bytes)
{
    return 0;
}

static void judge(struct draw_eval *e, const struct wharf_json *v)
{
    struct json_error bad;
    wharf_str text;

    if (!v) {
        if (!e->wrong[0] || !utf8_valid(e->wrong, strlen(e->wrong)))
            abort();
        return;
    }
    if (e->wrong[0] || e->operations > EXPR_OPERATIONS_MAX + 1 || e->depth)
        abort();
    text = jw_text(e->arena, v);
    if (v->type == JSON_STRING && v->text.n > 2 * EXPR_TEXT_MAX)
        abort();
    if (!json_parse(e->arena, text, &bad))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char known[] =
        "{\"a\":1,\"b\":-2.5,\"c\":\"text\",\"d\":[1,\"2\",null,{\"k\":3}],\"e\":{\"f\":{\"g\":"
        "\"2026-01-01T00:00:00Z\"}},\"t\":true,\"n\":null,\"w\":{\"value\":1,\"unit\":\"kg\"}}";
    struct arena *a = arena_new(0);
    struct json_error bad;
    struct draw_vars vars = {.value = json_parse(a, str_z(known), &bad)};
    struct draw_zones zones = {.read = no_zone};
    struct draw_eval e = {.arena = a, .vars = &vars, .zones = &zones};
    wharf_str text = arena_dup(a, (const char *)data, size);

    if (size < 4096 && utf8_valid(text.p, text.n) && !memchr(text.p, 0, text.n)) {
        judge(&e, expr_text(&e, text));
        judge(&e, expr_value(&e, text));
    }
    arena_free(a);
    return 0;
}
