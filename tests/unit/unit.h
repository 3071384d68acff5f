/* unit.h - what every cmocka test of the kernel starts with. */
#ifndef WHARF_TESTS_UNIT_H
#define WHARF_TESTS_UNIT_H

/* cmocka needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/str.h"

static inline int unit_arena(void **state)
{
    *state = arena_new(0);
    return 0;
}
static inline int unit_arena_done(void **state)
{
    arena_free(*state);
    return 0;
}
#define UNIT(fn) cmocka_unit_test_setup_teardown(fn, unit_arena, unit_arena_done)

static inline const struct wharf_json *unit_json(struct arena *a, const char *text)
{
    struct json_error error = {0};
    const struct wharf_json *v = json_parse(a, str_z(text), &error);

    if (!v)
        fail_msg("%s: %s at %zu", text, error.message, error.offset);
    return v;
}

#endif
