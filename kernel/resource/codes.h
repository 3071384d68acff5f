/* codes.h - reading error codes: the server's own and those of modules. */
#ifndef WHARF_RESOURCE_CODES_H
#define WHARF_RESOURCE_CODES_H

#include "resource/engine.h"

struct vector;

/* Adds the codes (struct error_code) of a text like errors.json. Returns false when it is no list
 * of codes. A code without status or text is added as it is. */
bool codes_read(struct arena *a, wharf_str json, const char *plugin, struct vector *codes);
/* Adds the server's own; wharf-gen has judged them. */
bool codes_read_own(struct arena *a, struct vector *codes);

#endif
