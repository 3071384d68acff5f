/* deprecation.h - routes and fields that are going away (docs/spec/01-platform.md section 17
 * 'Deprecated use').
 *
 * {"since": date, "sunset": date, "link": url} as "deprecated" of a route's definition, of
 * x-wharf (all routes of the resource) or of a property's x-wharf: a field is used when a body
 * sends it. After the sunset a route answers 410; a field goes on being taken. */
#ifndef WHARF_HTTP_DEPRECATION_H
#define WHARF_HTTP_DEPRECATION_H

#include "resource/engine.h"

struct exchange;
struct MHD_Response;

struct deprecation {
    wharf_str field; /* "" of a whole route */
    int64_t since_us, sunset_us; /* sunset 0: none announced */
    const char *since, *sunset, *link; /* values of the headers; NULL: none */
    const struct deprecation *next; /* another field of the same resource */
};

/* Reads the deprecations of every route, at load. Problems name the route or field, one per
 * line. */
void deprecation_link(struct engine *e, struct buf *problems);
/* Tells whether the route's sunset is over; then the problem is on the request. */
bool deprecation_gone(struct wharf_req *req);
/* Returns the deprecation of what the request used, or NULL. */
const struct deprecation *deprecation_used(const struct wharf_req *req);
void deprecation_headers(const struct deprecation *d, struct MHD_Response *r);

#endif
