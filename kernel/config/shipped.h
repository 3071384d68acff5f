/* shipped.h - names of the modules that come with the server (docs/reference/plugin-abi.md section
 * 13). Everything else is third party. */
#ifndef WHARF_CONFIG_SHIPPED_H
#define WHARF_CONFIG_SHIPPED_H

#include <stdbool.h>

bool module_is_shipped(const char *name);

#endif
