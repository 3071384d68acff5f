/* host_draw.h - the table wharf.draw (plugin-api/wharf/service/draw.h). */
#ifndef WHARF_RENDER_HOST_DRAW_H
#define WHARF_RENDER_HOST_DRAW_H

#include "wharf/service/draw.h"

extern const struct wharf_draw_api host_draw;

#endif
