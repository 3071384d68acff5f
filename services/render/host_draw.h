/* host_draw.h - the table wharf.draw (plugin-api/wharf/service/draw.h), and its kind of cell. */
#ifndef WHARF_RENDER_HOST_DRAW_H
#define WHARF_RENDER_HOST_DRAW_H

#include "cell/cell.h"
#include "wharf/service/draw.h"

extern const struct wharf_draw_api host_draw;
/* The kind of cell that draws; tests make a pool of it. */
extern const struct cell_kind host_draw_kind;

#endif
