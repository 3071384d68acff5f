/* secret_check.h - the check secrets.keys of `wharf verify`. See secret_check.c. */
#ifndef WHARF_HOST_SECRET_CHECK_H
#define WHARF_HOST_SECRET_CHECK_H

#include "wharf/plugin.h"

extern const wharf_check secret_check;

#endif
