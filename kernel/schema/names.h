/* names.h - the names of members that a schema knows, for bodies that a handler judges by itself:
 * "Prefer: handling=strict" refuses the others (docs/spec/01-platform.md section 1). Types and
 * bounds are left to the handler. Read-only once made, and [any]. */
#ifndef WHARF_SCHEMA_NAMES_H
#define WHARF_SCHEMA_NAMES_H

#include "schema/schema.h"

struct names;

/* Collects the names that a schema knows, at every depth. schemas: by name, what
 * "#/components/schemas/NAME" stands for. The result is in a and has no pointers into schemas. */
const struct names *names_collect(
    struct arena *a, const struct wharf_json *schemas, const struct wharf_json *schema);

/* A member of an object, and the schema whose names it takes. */
struct names_member {
    wharf_str key;
    const struct wharf_json *schema;
};

/* Collects the names inside of some members of an object, which may have others as well. As
 * names_collect. */
const struct names *names_collect_inside(struct arena *a, const struct wharf_json *schemas,
    const struct names_member *members, size_t n);

/* Tells whether n knows all names in v; each other one is told through fn by the rule "unknown".
 * a: for the texts of paths. */
bool names_known(const struct names *n, const struct wharf_json *v, struct arena *a,
    schema_problem_fn *fn, void *arg);

#endif
