/* openapi_schema.h - schemas of the description of the API: resources as read and as sent, and the
 * shapes that modules name (docs/reference/definitions.md 'What the description says'). */
#ifndef WHARF_RESOURCE_OPENAPI_SCHEMA_H
#define WHARF_RESOURCE_OPENAPI_SCHEMA_H

#include "resource/engine.h"

/* The writer of schemas. With `whole` a $ref is replaced by what it stands for, for schemas that
 * are served alone; else it stays, and one that stands for what no loaded module has becomes any
 * object. depth: how many were replaced above the place that is written. */
struct schema_writer {
    const struct engine *e;
    struct arena *a; /* for what is made on the way */
    struct jw *w;
    const struct wharf_json *own; /* schemas of the description itself, by name; or NULL */
    bool whole;
    unsigned depth;
};

/* Tells whether a create needs the field, and no rule makes it of others. */
bool schema_field_needed(const struct definition *d, const struct field *f);
/* Collects the names inside of what rules of the resource judge by themselves: fields whose form is
 * described apart (x-wharf.describe.sent), and inputs beside the fields. schemas: of the document's
 * components. The result is in a; NULL when there is none. */
const struct names *schema_judged_inside(
    struct arena *a, const struct definition *d, const struct wharf_json *schemas);
/* Tells whether the schema is {"$ref": ...} of what a create of the resource takes. */
bool schema_names_create(const struct wharf_json *schema, const struct definition *d);
/* Makes "PrintStation" of "print_station". */
wharf_str schema_name(struct arena *a, const struct definition *d);
/* Writes a JSON Schema without the x-wharf annotations. */
void schema_copy(struct schema_writer *s, const char *key, const struct wharf_json *schema);
/* Writes {"$ref": ...} for the schema of that name among the components; suffix: "", "Create". */
void schema_reference(struct schema_writer *s, const char *key, wharf_str name, const char *suffix);
/* Returns what a $ref to a shape of a module stands for; other schemas as they are, and NULL. */
const struct wharf_json *schema_meant(const struct engine *e, const struct wharf_json *schema);
const char *filter_type_name(enum filter_type t);
/* Returns what the description says of a filter of this type, and which operators it knows. */
const char *filter_help(enum filter_type t);
/* Writes x-filters: name, type, operators and members of each filter, and whose ids it takes. */
void schema_filters(struct jw *w, const struct definition_list *list);
/* Tells whether the field is in the data of the resource's events. */
bool schema_in_events(const struct definition_events *events, const struct field *f);
/* Writes what the data of the resource's events holds: schemas of the members, and the members of
 * a row that could be. */
void schema_event_properties(struct schema_writer *s, const struct resource *res);
/* Writes members of an example of the resource's events, which that schema accepts. */
void schema_event_example(
    const struct engine *e, struct jw *w, struct arena *a, const struct resource *res);
/* Writes the components of all resources: as read, and as sent where a route takes them; the
 * shapes that definitions and modules name. */
void schema_components(struct schema_writer *s);
/* Writes the schema of a value that this field shows or takes, as a list of one resource shows it
 * (`fields` of another's row). */
void schema_field_as_read(
    struct schema_writer *s, const char *key, const struct resource *res, const struct field *f);

#endif
