/* demo.h - the demonstration data of `wharf dev`. */
#ifndef TOOL_DEMO_H
#define TOOL_DEMO_H

#include "util/arena.h"

/* Makes the rows of demo.json that are not there yet, through the public API. Says which request
 * was refused, and goes on; rows of modules that are not enabled are left out. */
void demo_make(struct arena *a, const char *base_url, const char *api_key);

#endif
