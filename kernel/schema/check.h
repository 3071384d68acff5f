/* check.h - a value being checked, and the sentences about it; for check.c and say.c only.
 *
 * Every say function tells one problem and returns false. %s of the formats is the place: its
 * path, or "the value". */
#ifndef WHARF_SCHEMA_CHECK_H
#define WHARF_SCHEMA_CHECK_H

#include "schema/node.h"

struct check {
    struct arena *arena;
    schema_problem_fn *fn; /* NULL: only the verdict is wanted */
    void *arg;
    wharf_str base;
    uint32_t flags;
    size_t *reported; /* how many problems of the value were told */
    int64_t *left; /* steps that may still be done, or NULL: any number */
    /* alternatives are being compared: no comparing inside, it would double with each level */
    bool measuring;
};

bool say(struct check *c, const struct place *at, const char *rule, const char *format);
/* Tells a broken limit. The second %s of format is limit. */
bool say_limit(
    struct check *c, const struct place *at, const char *rule, const char *format, wharf_str limit);
/* Tells a broken count: "name must have at most 191 characters". */
bool say_count(struct check *c, const struct place *at, const char *rule, const char *which,
    int64_t n, const char *what);
bool say_type(struct check *c, const struct place *at, const struct schema *s);
bool say_members(struct check *c, const struct place *at, const struct wharf_json *members);
bool say_constant(struct check *c, const struct place *at, const struct wharf_json *constant);
bool say_repeats(struct check *c, const struct place *at, const struct place *first);
/* Tells that none of several forms fits. */
bool say_kinds(struct check *c, const struct place *at, const struct schema_list *forms);

#endif
