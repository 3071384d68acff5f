/* seal_check.h - the check logs.chain of `wharf verify`. See seal_check.c. */
#ifndef WHARF_EVENT_SEAL_CHECK_H
#define WHARF_EVENT_SEAL_CHECK_H

#include "wharf/plugin.h"

extern const wharf_check seal_check;

#endif
