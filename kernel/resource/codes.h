/* codes.h - the platform's error codes, sorted by code. */
#ifndef WHARF_RESOURCE_CODES_H
#define WHARF_RESOURCE_CODES_H

#include "resource/engine.h"

extern const struct error_code platform_codes[];
extern const size_t platform_codes_count;

#endif
