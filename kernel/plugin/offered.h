/* offered.h - the services that the server itself offers to plugins: tables of functions, found
 * by name and version.
 *
 * Found by plugins through wharf_host.service like those of other plugins
 * (docs/reference/plugin-abi.md section 7); a manifest may need them. Their headers are
 * plugin-api/wharf/plugin.h (the tables of wharf_host) and plugin-api/wharf/service/. Leaves to
 * others: who offers what (resource/part.h). */
#ifndef WHARF_PLUGIN_OFFERED_H
#define WHARF_PLUGIN_OFFERED_H

#include "plugin/manifest.h"

struct offered_service {
    struct manifest_service offer;
    const void *table;
};

/* Adds a list that lives as long as the process. At start, before anything is looked for. */
void offered_add(const struct offered_service *list, size_t n);
/* Returns the offer of that name, or NULL. */
const struct offered_service *offered_find(const char *name);

#endif
