/* http_routes.h - the kernel's own routes: description, probes, metrics, clock, catalogues
 * (docs/spec/01-platform.md section 17). */
#ifndef WHARF_HTTP_HTTP_ROUTES_H
#define WHARF_HTTP_HTTP_ROUTES_H

#include "resource/decl.h"

void kernel_routes_add(struct wharf_decl *d);
/* Reads what routes.json says of a route that the kernel answers without a handler's form. */
const struct wharf_json *kernel_route_document(struct arena *a, const wharf_route *r);
/* Adds the routes of the test clock, where the server has one (system.c). */
void system_routes_add(struct wharf_decl *d);
/* Adds GET /v1/auth (whoami.c). */
void whoami_routes_add(struct wharf_decl *d);
/* Adds the routes of modules and of announced changes of the API (http_catalogue.c). */
void catalogue_routes_add(struct wharf_decl *d);
/* Answers a list that is never paged: all n rows are on its first page. */
void answer_whole_list(struct wharf_req *req, size_t n, const char *what);

#endif
