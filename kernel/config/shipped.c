/* shipped.c - see shipped.h. The names come from the build: they are the folders of modules/. */
#include "config/shipped.h"

#include <stddef.h>
#include <string.h>

#include "config/shipped_modules.h"

bool module_is_shipped(const char *name)
{
    static const char *const names[] = {SHIPPED_MODULES};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}
