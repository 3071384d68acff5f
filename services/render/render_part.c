/* render_part.c - drawing of PDF pages and labels as a part of the server (resource/part.h). */
#include "parts.h"

#include "render/host_draw.h"
#include "render/host_preview.h"
#include "render/host_render.h"

static const struct offered_service services[] = {{{"wharf.render", 1, 1}, &host_render},
    {{"wharf.preview", 1, 1}, &host_preview}, {{"wharf.draw", 1, 1}, &host_draw}};

const struct part render_part = {
    .name = "render", .services = services, .n_services = sizeof(services) / sizeof(*services)};
