/* tenant.h - schemas that tenants write: compiled only when they are small, applied within
 * bounds. [any] */
#ifndef WHARF_SCHEMA_TENANT_H
#define WHARF_SCHEMA_TENANT_H

#include "schema/schema.h"

enum {
    TENANT_SCHEMA_MAX = 16 << 10, /* bytes as JSON */
    TENANT_PATTERNS_MAX = 20, /* each is compiled to 100 KiB at most */
    TENANT_SCHEMA_STEPS = 2000000, /* for schema_validate_within() */
};
#define TENANT_SCHEMA_WORK                                                                         \
    "this takes too long to be compared with the schema: send less, or make the schema simpler"

/* Compiles a schema of a tenant, as schema_compile() does. */
const struct schema *tenant_schema(
    struct arena *a, const struct wharf_json *json, schema_problem_fn *fn, void *arg);

#endif
