/* declare.h - the registration being built while plugins declare. See declare.c. */
#ifndef WHARF_HOST_DECLARE_H
#define WHARF_HOST_DECLARE_H

#include "host/host.h"
#include "resource/decl.h"

void declare_init(struct wharf_decl *d, struct engine *e, struct buf *problems);
extern const wharf_decl_api declare_api;
/* Adds a problem of d->plugin (NULL: the server): loading fails, and all problems are told
 * together. */
void declare_problem(struct wharf_decl *d, const char *fmt, ...) WHARF_PRINTF(2, 3);
/* Adds a problem when the scope area is neither in the catalogue nor in the plugin's manifest. */
void declare_area(struct wharf_decl *d, const char *area);
/* Hands what was collected to the engine: hooks to their resources, in order. */
void declare_finish(struct wharf_decl *d);

#endif
