/* lua_triggers.h - what may stand in triggers of workflows, where it can be told without a
 * server: servers and `wharf lua check` have the same rules and words. */
#ifndef WHARF_LUA_LUA_TRIGGERS_H
#define WHARF_LUA_LUA_TRIGGERS_H

#include "util/arena.h"
#include "util/json.h"

struct trigger_fault {
    const char *message;
    wharf_str value; /* the text that is wrong; empty: it is none, or is not there */
};

/* Judges t, one of triggers. Of types other than http and schedule nothing but members that they
 * do not have is told, and of http nothing about secrets. */
bool trigger_good(struct arena *a, const struct wharf_json *triggers, const struct wharf_json *t,
    struct trigger_fault *ret_fault);

#endif
