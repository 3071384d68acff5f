/* label_cases.h - one way to try the reader of labels (modules/inference/label.h): pictures written
 * as text (tests/labels/label_picture.h) and the fields that must come out. */
#ifndef LABEL_CASES_H
#define LABEL_CASES_H

#include <string.h>

#include "unit.h"

#include "label_picture.h"
#include "label_world.h"
#include "wharf/civil.h"

struct label_case {
    const char *what, *country, *drawn;
    const char *fields; /* "name=value" lines; "-": there is none */
};

static int64_t today(void)
{
    return wharf_days_of(2026, 3, 12);
}

static inline size_t check(struct arena *a, struct label_world *world, const struct label_case *c)
{
    wharf_image_read image;
    struct label_given given;
    struct label_env env = label_world_env(world, a, c->country, today());
    struct label l;
    size_t wrong = 0;
    char *fields = strdup(c->fields), *rest = fields;

    label_picture_make(a, str_z(c->drawn), &image, &given);
    label_read(&env, &image, &given, &l);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        char *is = strchr(line, '=');
        wharf_str got;

        if (!is)
            continue;
        *is = 0;
        got = label_picture_field(a, &l, line);
        if (str_eq(got, str_z(is + 1)))
            continue;
        print_error("%s: %s is \"%.*s\", not \"%s\"\n", c->what, line, (int)got.n, got.p, is + 1);
        wrong++;
    }
    free(fields);
    return wrong;
}

static inline void check_all(struct arena *a, const struct label_case *cases, size_t n)
{
    struct label_world *world = label_world_new();
    size_t wrong = 0;

    for (size_t i = 0; i < n; i++)
        wrong += check(a, world, &cases[i]);
    label_world_free(world);
    assert_int_equal(wrong, 0);
}

#define CHECK(cases) check_all(*state, cases, sizeof(cases) / sizeof((cases)[0]))

/* Two parties. */
#define SENDER_BLOCK                                                                               \
    "20 20 16|ACME SUPPLY COMPANY\n20 44 16|100 INDUSTRIAL WAY\n20 68 16|SPRINGFIELD IL 62701\n"
#define RECIPIENT_BLOCK                                                                            \
    "70 300 24|JANE Q SAMPLE\n70 334 24|NORTHERN PARTS LLC\n70 368 24|4200 HARBOR AVENUE SUITE "   \
    "12\n70 402 24|KENMORE WA 98028\n"

#endif
