/* events.h - inside of the module events. */
#ifndef EVENTS_H
#define EVENTS_H

#include <string.h>

#include "wharf/plugin.h"
#include "wharf/service/events.h"

extern const wharf_host *events_host; /* these are set once, before anything of this module runs */
extern const wharf_events_api *events_api;
extern wharf_plugin *events_self;

static inline wharf_val events_text(wharf_str s)
{
    return (wharf_val){.type = WHARF_V_TEXT, .u.s = s};
}
static inline wharf_val events_truth(bool truth)
{
    return (wharf_val){.type = WHARF_V_BOOL, .u.i = truth};
}
static inline bool events_same(wharf_str a, wharf_str b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

#endif
