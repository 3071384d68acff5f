/* draw_call.h - a whole call, without the socket; see draw.h. */
#ifndef WHARF_CELL_DRAW_CALL_H
#define WHARF_CELL_DRAW_CALL_H

#include "render/draw_wire.h"
#include "util/buf.h"

struct draw_result { /* zeroed */
    struct draw_told told;
    struct buf bytes, report;
};

/* Draws what the bytes of a call say. zone: as read() of struct draw_zones. Returns false when they
 * are no call. */
bool draw_call_run(struct draw_result *ret, const unsigned char *p, size_t n,
    const struct draw_call *call, unsigned limit_ms, size_t (*zone)(const char *name, char *bytes));
void draw_result_done(struct draw_result *r);

#endif
