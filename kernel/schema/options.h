/* options.h - reading the members of x-wharf objects while a definition is compiled; for the
 * files of this folder only.
 *
 * Every function tells its problem with the JSON pointer of the member and goes on with a
 * harmless value, so that one run finds all problems. Texts returned live as long as the
 * definition. */
#ifndef WHARF_SCHEMA_OPTIONS_H
#define WHARF_SCHEMA_OPTIONS_H

#include "schema/definition.h"
#include "schema/node.h"

struct compile {
    struct arena *arena;
    const struct wharf_json *document;
    const char *plugin;
    struct definition *d;
    struct field *hidden[COL_SYSTEM_COUNT]; /* fields of system columns that no property shows */
    schema_problem_fn *fn;
    void *arg;
    bool failed;
    struct arena *scratch; /* ends with the compilation */
    struct opt_program *programs; /* patterns of names that were asked for, in scratch */
};

void opt_problem(struct compile *c, const struct place *at, const char *fmt, ...)
    WHARF_PRINTF(3, 4);
/* Tells the same about the member `key` of the object at up. */
void opt_member_problem(struct compile *c, const struct place *up, const char *key, const char *fmt,
    ...) WHARF_PRINTF(4, 5);
/* Tells whether v is an object of these members only (names ends with NULL). Each other member is
 * a problem. For NULL it returns false and tells nothing. */
bool opt_object(struct compile *c, const struct wharf_json *v, const struct place *at,
    const char *const *names);
const char *opt_text(struct compile *c, const struct wharf_json *object, const struct place *at,
    const char *key, const char *fallback);
/* Reads a member that must be there; "" when it is not. */
const char *opt_need(
    struct compile *c, const struct wharf_json *object, const struct place *at, const char *key);
bool opt_bool(struct compile *c, const struct wharf_json *object, const struct place *at,
    const char *key, bool fallback);
int64_t opt_int(struct compile *c, const struct wharf_json *object, const struct place *at,
    const char *key, int64_t fallback, int64_t min, int64_t max);
/* Reads an array of different texts. Returns NULL and 0 when it is absent. */
const char *const *opt_texts(struct compile *c, const struct wharf_json *object,
    const struct place *at, const char *key, size_t *ret_n);
/* Reads the same of texts that match the pattern, as opt_shape() checks it. */
const char *const *opt_shapes(struct compile *c, const struct wharf_json *object,
    const struct place *at, const char *key, const char *pattern, const char *what, size_t *ret_n);
/* Reads one of a list of words (ends with NULL). Returns its index, or fallback. */
size_t opt_word(struct compile *c, const struct wharf_json *object, const struct place *at,
    const char *key, const char *const *words, size_t fallback);
/* Returns a name of a column, or a table with its schema, as SQL takes it: each part in double
 * quotes. name has passed opt_shape(). */
const char *opt_quoted(struct compile *c, const char *name);
/* Checks that the member matches the pattern, which `what` describes ("a name of lower-case
 * letters, digits and _"). "" is let through. */
void opt_shape(struct compile *c, const struct place *at, const char *key, const char *text,
    const char *pattern, const char *what);

#endif
