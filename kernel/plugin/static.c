/* static.c - see static.h. */
#include "plugin/static.h"

#include <string.h>

const struct static_module *static_module_find(const char *name)
{
    const struct static_module *m = static_modules;

    while (m && m->name && strcmp(m->name, name) != 0)
        m++;
    return m && m->name ? m : NULL;
}
