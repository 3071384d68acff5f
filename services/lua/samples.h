/* samples.h - what tests of Lua take for real: an example of each event and each row, and what
 * hooks are not shown of one, as the loaded modules declare them (event/event_catalogue.h). */
#ifndef WHARF_LUA_SAMPLES_H
#define WHARF_LUA_SAMPLES_H

#include "resource/engine.h"

/* Returns {"events", "resources", "left_out"}, as testing.h wants it; in a. */
wharf_str lua_samples(struct arena *a, const struct engine *e);

#endif
