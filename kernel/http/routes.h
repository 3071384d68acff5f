/* routes.h - the kernel's own routes: description, probes, metrics. */
#ifndef WHARF_HTTP_ROUTES_H
#define WHARF_HTTP_ROUTES_H

#include "plugin/declare.h"

void kernel_routes_add(struct wharf_decl *d);

#endif
