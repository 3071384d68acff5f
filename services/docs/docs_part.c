/* docs_part.c - the pages of /docs as a part of the server (resource/part.h). */
#include "parts.h"

#include "docs/docs_routes.h"

const struct part docs_part = {.name = "docs", .routes = docs_routes_add};
