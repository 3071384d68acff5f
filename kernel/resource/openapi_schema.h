/* openapi_schema.h - schemas of the description: resources as read and as sent, envelope,
 * errors. */
#ifndef WHARF_RESOURCE_OPENAPI_SCHEMA_H
#define WHARF_RESOURCE_OPENAPI_SCHEMA_H

#include "resource/engine.h"

/* Makes "PrintStation" of "print_station". */
wharf_str schema_name(struct arena *a, const struct definition *d);
/* Writes a JSON Schema without the x-wharf annotations. */
void schema_copy(struct jw *w, const char *key, const struct wharf_json *schema);
const char *filter_type_name(enum filter_type t);
const char *filter_help(enum filter_type t);
/* Writes x-filters: name, type and members of each filter of the list, and whose ids it takes. */
void schema_filters(struct jw *w, const struct definition_list *list);
/* Writes what the data of the resource's events holds: schemas of the members, and the members of
 * a row that could be. */
void schema_event_properties(struct jw *w, const struct resource *res);
void schema_event_example(struct jw *w, struct arena *a, const struct resource *res);
void openapi_components(struct jw *w, const struct engine *e);

#endif
