/* host_render.h - the table wharf.render (plugin-api/wharf/service/render.h). */
#ifndef WHARF_RENDER_HOST_RENDER_H
#define WHARF_RENDER_HOST_RENDER_H

#include "wharf/service/render.h"

extern const struct wharf_render_api host_render;

struct cell_pool;
/* Returns the pool of `render` cells, NULL when the program is missing. */
struct cell_pool *render_pool(struct wharf_req *req);
struct cell_result;
/* Says why a run of a cell that reads documents did not go well: WHARF_RENDER_DOCUMENT or
 * WHARF_RENDER_NO_PAGES and the reason in words, which is empty where nobody knows;
 * WHARF_RENDER_GOOD: no cell could be had, and a problem was added. */
uint32_t render_verdict(
    struct wharf_req *req, const struct cell_result *result, wharf_str *ret_reason);
/* Returns the number that they know a media type by (enum render_type), 0: none. */
uint32_t render_type_of(wharf_str type);

#endif
