/* static_table.c - the modules that are in the program of the static build; STATIC_MODULES comes
 * from meson. */
#include "plugin/static.h"

#include "static_modules.h"

#define DECLARE(name)                                                                              \
    wharf_plugin_entry_fn name##_plugin_entry_v1;                                                  \
    extern const wharf_str name##_manifest;
#define ROW(name) {#name, name##_plugin_entry_v1, &name##_manifest},

STATIC_MODULES(DECLARE)

const struct static_module static_modules[] = {STATIC_MODULES(ROW){NULL, NULL, NULL}};
