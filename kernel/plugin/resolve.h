/* resolve.h - which plugins, in what order: from manifests only, without running code of plugins
 * (docs/reference/plugin-abi.md sections 2 to 4).
 *
 * Leaves to others: reading one manifest (manifest.h), loading (host/registry.h). */
#ifndef WHARF_PLUGIN_RESOLVE_H
#define WHARF_PLUGIN_RESOLVE_H

#include "config/config.h"
#include "plugin/manifest.h"

/* Reads the notes of the configured modules and orders them by their needs. NULL and all
 * problems (one per line) in *ret_problems, allocated in a. Runs no plugin code. quarantined:
 * names left out (and those that need them). */
const struct manifest *const *registry_resolve(const struct config *config, const char *quarantined,
    struct arena *a, size_t *ret_count, wharf_str *ret_problems);

/* Returns the configured modules that `quarantined` leaves out: those named, and those that need
 * them. Runs no plugin code. */
const struct manifest *const *registry_left_out(
    const struct config *config, const char *quarantined, struct arena *a, size_t *ret_count);
bool names_have(const char *list, const char *name); /* of a comma list */

#endif
