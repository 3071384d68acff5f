/* body_value.h - shared by the body_*.c files: the state of one check. */
#ifndef WHARF_RESOURCE_BODY_VALUE_H
#define WHARF_RESOURCE_BODY_VALUE_H

#include "resource/body.h"

struct checker {
    struct arena *arena;
    uint32_t op, flags;
    schema_problem_fn *fn;
    void *arg;
    size_t problems;
    const struct field *parent; /* filled from the path: not taken from the body */
};

wharf_str body_path(struct arena *a, wharf_str base, wharf_str key);
wharf_str body_path_index(struct arena *a, wharf_str base, size_t index);
/* Tells whether the next problem is to be described; counts it and returns false when
 * SCHEMA_DESCRIBED problems were. Callers in loops ask before they build a path. */
bool body_describes(struct checker *c, const char *rule);
/* Tells a problem at path. fmt begins with "%s" for the path: every sentence names its place. */
void body_tell(struct checker *c, wharf_str path, const char *rule, const char *fmt, ...)
    WHARF_PRINTF(4, 5);
void body_fields(struct checker *c, const struct field *fields, size_t n,
    const struct wharf_json *body, wharf_str base, struct value *values);
void body_unknown(struct checker *c, const struct field *fields, size_t n,
    const struct wharf_json *body, wharf_str base);

/* Tells whether the schema has nothing against v. more: further SCHEMA_* flags. */
bool body_by_schema(struct checker *c, const struct schema *s, const struct wharf_json *v,
    wharf_str path, uint32_t more);
/* Checks that v has no U+0000 and no control characters but TAB, LF, CR, anywhere, keys included,
 * and that numbers have a size that can be stored. */
bool body_clean(struct checker *c, const struct wharf_json *v, wharf_str path);
/* Checks the same for a member of an object, its key included; base: the object's path. */
bool body_clean_member(struct checker *c, const struct wharf_json *member, wharf_str base);
/* Checks the same for one text; `nul`: it holds U+0000. */
bool body_clean_text(struct checker *c, wharf_str text, bool nul, wharf_str path);
/* Returns a JSON value as compact text; numbers without exponent (docs/spec/01-platform.md section
 * 1). */
wharf_str body_compact(struct arena *a, const struct wharf_json *v);

/* Reads the value v of a field; v is neither null nor a blank text. */
void body_value(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret);
void body_array(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret);
void body_metadata(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret);
void body_children(struct checker *c, const struct field *f, const struct wharf_json *v,
    wharf_str path, struct value *ret);

#endif
