/* declare_check.h - holding what plugins declare against each other, see declare_check.c. Used
 * while plugins are loaded. */
#ifndef WHARF_HOST_DECLARE_CHECK_H
#define WHARF_HOST_DECLARE_CHECK_H

#include "host/declare.h"

/* Checks resources, references, hooks, codes, services and scope areas, after declare_finish().
 * Problems are told one per line. */
void declare_check(struct wharf_decl *d);
/* Checks the types that plugins listen to, after the catalogue of events is there. */
void declare_check_events(struct wharf_decl *d);

#endif
