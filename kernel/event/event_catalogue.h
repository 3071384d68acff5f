/* event_catalogue.h - the types of events that the loaded modules emit
 * (docs/spec/07-events-and-webhooks.md section 3, docs/internals/events.md).
 *
 * Made once at start: what definitions emit by themselves, what manifests declare under
 * "events", and the kernel's own. Leaves to others: writing events (history.h), showing the
 * catalogue (module events). */
#ifndef WHARF_EVENT_EVENT_CATALOGUE_H
#define WHARF_EVENT_EVENT_CATALOGUE_H

#include "resource/engine.h"

struct event_type {
    const char *type; /* "shipment.updated"; "custom.*" of those that nobody declares */
    const char *description, *resource_type, *module;
    bool system; /* no wildcard takes it */
    bool supersedable; /* a newer one says all that an older one said */
    bool deprecated;
    bool log; /* each has a row in the change log */
    const struct resource *resource; /* whose row its data is; NULL: none */
    const struct wharf_json *members; /* schemas of members beside those of the row; or NULL */
    const struct wharf_json *example; /* of data, or NULL */
    const char *schema_path; /* "/v1/schemas/events/shipment.updated" */
    wharf_str example_text; /* JSON of an example */
};

/* Fills e->event_types, sorted by name. Problems are told one per line. */
void event_catalogue_link(struct engine *e, struct buf *problems);
/* Finds a type of event. Types of workflows and operators' hooks ("custom.order.packed") are in no
 * catalogue: all of them are one, whose type is "custom.*". Returns NULL when there is no such
 * type. */
const struct event_type *event_type_find(const struct engine *e, wharf_str type);
/* Tells whether the type is "custom." and words of a-z, 0-9 and _ with single dots between,
 * EVENT_CUSTOM_MAX bytes at most. */
bool event_type_custom(wharf_str type);
enum { EVENT_CUSTOM_MAX = 100 }; /* bytes of a custom type */
/* Tells whether the pattern (a type, "shipment.*", "*") takes this type, whose name is given. The
 * last two take no system type. */
bool event_matches(const struct event_type *type, wharf_str name, wharf_str pattern);
/* Tells whether the pattern is a type, "*", "object.*" of at least one type, or a pattern of types
 * of workflows. */
bool event_pattern_known(const struct engine *e, wharf_str pattern);

/* Tells as scope_access which read scopes the principal lacks for the data of what a
 * subscription takes: of a type its resource's, of a wildcard all that it covers
 * (docs/spec/07-events-and-webhooks.md section 1.1). WHARF_OK: none. */
wharf_status event_need_pattern(struct wharf_req *req, wharf_str pattern);

/* Returns the JSON Schema 2020-12 of the type's data, as text in a. */
wharf_str event_schema(const struct engine *e, struct arena *a, const struct event_type *t);

#endif
