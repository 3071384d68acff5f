/* openapi.h - the served description, OpenAPI 3.1, built once at start from the declarations the
 * validators use. */
#ifndef WHARF_HTTP_OPENAPI_H
#define WHARF_HTTP_OPENAPI_H

#include "resource/engine.h"

wharf_str openapi_build(const struct engine *e); /* in e->arena */

/* Gives routes whose body names schemas of components, which their handlers judge, the names that
 * these schemas know (body_names). In e->arena. */
void openapi_collect_names(const struct engine *e);

/* Returns the document with the paths of another engine's routes added, in that one's arena. */
wharf_str openapi_with(const struct engine *more, wharf_str document);

#endif
