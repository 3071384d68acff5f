/* openapi.h - the served description, OpenAPI 3.1, built once at start from the declarations the
 * validators use. */
#ifndef WHARF_HTTP_OPENAPI_H
#define WHARF_HTTP_OPENAPI_H

#include "resource/engine.h"

/* Returns the document, and gives routes the names of members that it knows of their bodies
 * (body_names). Both in e->arena. */
wharf_str openapi_build(const struct engine *e);

/* Returns the document with the paths of another engine's routes added, in that one's arena. */
wharf_str openapi_with(const struct engine *more, wharf_str document);

#endif
