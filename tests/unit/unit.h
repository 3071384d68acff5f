/* unit.h - what every cmocka test of the kernel starts with. */
#ifndef WHARF_TESTS_UNIT_H
#define WHARF_TESTS_UNIT_H

/* cmocka needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Gives the number of random cases of a test that has one thread. The thread sanitizer finds
 * nothing in such a test and makes it ten times slower: with it there are a tenth. */
#if defined(__SANITIZE_THREAD__)
#define UNIT_CASES(n) ((n) / 10)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNIT_CASES(n) ((n) / 10)
#endif
#endif
#ifndef UNIT_CASES
#define UNIT_CASES(n) (n)
#endif

/* A file of the source tree. */
static inline wharf_str unit_file(struct arena *a, const char *path)
{
    const char *root = getenv("WHARF_SOURCE");
    wharf_str name = arena_printf(a, "%s/%s", root ? root : ".", path);
    FILE *f = fopen(name.p, "r");
    struct buf text;
    wharf_str s;
    size_t n;

    if (!f)
        fail_msg("%s can't be read", name.p);
    buf_init(&text, 1 << 20);
    do {
        n = fread(buf_room(&text, 4096), 1, 4096, f);
        text.n += n;
    } while (n);
    fclose(f);
    s = arena_dup_str(a, buf_str(&text));
    buf_done(&text);
    return s;
}

#endif
