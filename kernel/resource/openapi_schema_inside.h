/* openapi_schema_inside.h - what openapi_schema.c and openapi_sent.c share. */
#ifndef WHARF_RESOURCE_OPENAPI_SCHEMA_INSIDE_H
#define WHARF_RESOURCE_OPENAPI_SCHEMA_INSIDE_H

#include "resource/openapi_schema.h"

/* Finds the first property that is of the shape, at the top of a resource, or NULL. */
const struct wharf_json *schema_shape_of_field(const struct engine *e, wharf_str name);
/* Returns the x-wharf.shape of a property: what its object is called; "" for none. */
wharf_str schema_shape_name(const struct wharf_json *property);
/* Returns the name that a $ref of the description stands for; "" when the schema is another. */
wharf_str schema_ref_name(const struct wharf_json *schema);
/* Writes a $ref to the schema of that name, or what stands for it. */
void schema_ref(struct schema_writer *s, const char *key, wharf_str name);
/* Writes a $ref to the shape, or null. */
void schema_shape_or_null(struct schema_writer *s, const char *key, wharf_str shape);
/* Marks a field that is going away (http/deprecation.h). */
void schema_mark_deprecated(struct jw *w, const struct wharf_json *property);
/* Writes what nested objects hold after being written out complete: every member, null where
 * nothing is set. */
void schema_nested(
    struct schema_writer *s, const char *key, const struct wharf_json *schema, bool or_null);
/* Writes the resource as it is read. more: a schema that extends it, or NULL. */
void schema_resource(struct schema_writer *s, const char *key, const struct resource *res,
    const struct wharf_json *more);

#endif
