/* body_value.h - shared by body.c and body_value.c: the state of one check. */
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
/* A JSON value as compact text. */
wharf_str body_compact(struct arena *a, const struct wharf_json *v);
void body_tell(struct checker *c, wharf_str path, const char *rule, const char *fmt, ...) WHARF_PRINTF(4, 5);
void body_fields(struct checker *c, const struct field *fields, size_t n, const struct wharf_json *body, wharf_str base,
    struct value *values);
void body_unknown(
    struct checker *c, const struct field *fields, size_t n, const struct wharf_json *body, wharf_str base);
/* v is neither null nor a blank text. */
void body_value(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret);
void body_children(
    struct checker *c, const struct field *f, const struct wharf_json *v, wharf_str path, struct value *ret);

#endif
