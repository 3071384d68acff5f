/* host_render.h - the table wharf.render (plugin-api/wharf/service/render.h). */
#ifndef WHARF_RENDER_HOST_RENDER_H
#define WHARF_RENDER_HOST_RENDER_H

#include "wharf/service/render.h"

extern const struct wharf_render_api host_render;

struct cell_pool;
/* Returns the pool of `render` cells, NULL when the program is missing. */
struct cell_pool *render_pool(struct wharf_req *req);
/* Returns the number that they know a media type by (enum render_type), 0: none. */
uint32_t render_type_of(wharf_str type);

#endif
