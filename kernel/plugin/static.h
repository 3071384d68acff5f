/* static.h - modules linked into the program instead of loaded from a file (meson
 * -Dstatic_plugins=true).
 *
 * docs/reference/plugin-abi.md section 12 'Static build'. The table is made by static_table.c; a
 * program without it has none. */
#ifndef WHARF_PLUGIN_STATIC_H
#define WHARF_PLUGIN_STATIC_H

#include "wharf/plugin.h"

struct static_module {
    const char *name;
    wharf_plugin_entry_fn *entry;
    const wharf_str *manifest; /* the bytes that the note of a .so holds */
};

/* Ended by a row without a name. */
extern const struct static_module static_modules[] __attribute__((weak));

/* Finds a module in the program by its name. Returns NULL when there is none. */
const struct static_module *static_module_find(const char *name);

#endif
