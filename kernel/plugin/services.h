/* services.h - the services that the kernel itself provides: one line each in services.c.
 *
 * Found by plugins through wharf_host.service like those of other plugins (docs/plugin-abi.md section 7); a manifest may need them.
 * Their headers are plugin-api/wharf/plugin.h (the tables of wharf_host) and plugin-api/wharf/service/.
 */
#ifndef WHARF_PLUGIN_SERVICES_H
#define WHARF_PLUGIN_SERVICES_H

#include "plugin/manifest.h"

struct kernel_service {
    struct manifest_service offer;
    const void *table;
};

extern const struct kernel_service kernel_services[];
extern const size_t kernel_services_count;

#endif
