/* module_settings.h - is what the operator set for a module what its manifest says it may hold? */
#ifndef WHARF_PLUGIN_MODULE_SETTINGS_H
#define WHARF_PLUGIN_MODULE_SETTINGS_H

#include "config/config.h"
#include "plugin/manifest.h"
#include "util/buf.h"

/* Checks the settings of a module and writes one line per problem: where the setting was written,
 * its name, the rule. A module without `config` in its manifest has no settings. */
void module_settings_check(
    const struct config *config, const struct manifest *m, struct arena *a, struct buf *problems);

/* Returns the setting of a module with that name ("push.fcm.endpoint") as the operator wrote it,
 * else the default of the module's manifest; NULL: there is neither. */
const struct wharf_json *module_setting(
    const struct config *config, const struct manifest *m, const char *name);

#endif
