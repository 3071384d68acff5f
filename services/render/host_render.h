/* host_render.h - the table wharf.render (plugin-api/wharf/service/render.h). */
#ifndef WHARF_RENDER_HOST_RENDER_H
#define WHARF_RENDER_HOST_RENDER_H

#include "wharf/service/render.h"

extern const struct wharf_render_api host_render;

#endif
