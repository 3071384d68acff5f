/* declare_check.h - holding what plugins declare against each other, see declare_check.c. Used while plugins are loaded. */
#ifndef WHARF_HOST_DECLARE_CHECK_H
#define WHARF_HOST_DECLARE_CHECK_H

#include "host/declare.h"

/* After declare_finish(): resources, references, hooks, codes, services, scope areas. Problems are told one per line. */
void declare_check(struct wharf_decl *d);
/* After the catalogue of events is there: the types that plugins listen to. */
void declare_check_events(struct wharf_decl *d);

#endif
