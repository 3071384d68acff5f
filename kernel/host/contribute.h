/* contribute.h - a property of a definition to which every plugin may add: the settings of
 * organizations (docs/reference/definitions.md 'contributed'). */
#ifndef WHARF_HOST_CONTRIBUTE_H
#define WHARF_HOST_CONTRIBUTE_H

#include "host/declare.h"

/* Returns the definition's text; a property with "contributed": "settings" gets the properties
 * that the manifests of all plugins have under "settings", and takes no others at any depth.
 * Problems (two plugins claim one name) are told through d. */
wharf_str contribute(struct wharf_decl *d, wharf_str definition);

#endif
