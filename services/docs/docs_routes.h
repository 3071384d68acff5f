/* docs_routes.h - the pages for people who write clients of the API: GET /docs and what is below
 * it (docs/spec/01-platform.md section 17).
 *
 * The pages are files of page/ and docs/guide/api/, made into HTML by pages.py at build; the
 * program carries them. Only the error codes are written here, as the loaded modules have them. */
#ifndef WHARF_DOCS_DOCS_ROUTES_H
#define WHARF_DOCS_DOCS_ROUTES_H

#include "resource/decl.h"

/* Adds the routes, unless the setting docs.enabled is off. */
void docs_routes_add(struct wharf_decl *d);
/* Writes the rows of the table of error codes. modules: those of modules too. */
void docs_error_rows(struct buf *b, const struct engine *e, bool modules);
/* Writes the same as JSON. */
void docs_error_json(struct buf *b, const struct engine *e);

#endif
