/* named.h - what hooks name: resources and their actions, and types of events; and the nearest
 * right name of a wrong one. */
#ifndef WHARF_LUA_NAMED_H
#define WHARF_LUA_NAMED_H

#include "resource/engine.h"

/* Finds the resource, when its module declares it hookable, or such writes of it
 * ("print_job:create"); else returns NULL. action: empty for any. */
const struct resource *named_hookable(const struct engine *e, wharf_str name, wharf_str action);
bool named_action(wharf_str action);
/* Returns a name near the wrong one, or NULL. */
const char *named_near_resource(const struct engine *e, const char *wrong); /* only hookable ones */
/* Returns a type of event, or all of an object ("parcel.*"), near the wrong name, or NULL. */
const char *named_near_event(struct arena *a, const struct engine *e, const char *wrong);

#endif
