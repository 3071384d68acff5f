/* openapi_inside.h - what the files that write the description share; for them only. */
#ifndef WHARF_HTTP_OPENAPI_INSIDE_H
#define WHARF_HTTP_OPENAPI_INSIDE_H

#include "resource/openapi_schema.h"

/* The document while it is written. */
struct openapi {
    const struct engine *e;
    struct arena *a; /* for what is made on the way; ends with the document */
    struct jw w;
    struct schema_writer s; /* writes through w */
    const struct wharf_json *fixed; /* openapi.json: what is the same on each server */
    size_t schemas_from, schemas_to; /* where components.schemas stands in the text, an object */
    const struct wharf_json **examples; /* of each plugin; of the kernel at n_plugins; or NULL */
};

/* Returns the operation's name: what the route says, else made of verb and resource, else of
 * method and path. In o->a. */
wharf_str openapi_name(const struct openapi *o, const struct route *r);
/* Tells whether kinds of operations answer with the code, and not single ones, or none. */
bool openapi_of_kind(const struct error_code *c);
/* Tells whether the operation takes an Idempotency-Key: it writes, in one transaction. */
bool openapi_takes_idempotency_key(const struct route *r);
/* Tells whether any operation may answer with it ("@any"). */
bool openapi_any_answers(const struct error_code *c);
/* Writes parameters. */
void openapi_parameters(struct openapi *o, const struct route *r);
/* Writes tags, summary and description. */
void openapi_words(struct openapi *o, const struct route *r);
/* Writes requestBody, where the operation takes one. */
void openapi_request(struct openapi *o, const struct route *r);
/* Writes responses. */
void openapi_responses(struct openapi *o, const struct route *r);
/* Writes the list of headings: of the kernel and of all plugins, by their order. */
void openapi_tags(struct openapi *o);
/* Writes webhooks: one for each type of event. */
void openapi_webhooks(struct openapi *o);
void openapi_components(struct openapi *o);

#endif
