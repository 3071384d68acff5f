/* image_part.c - pictures of labels read, as a part of the server (resource/part.h). */
#include "parts.h"

#include "image/host_image.h"

static const struct offered_service services[] = {{{"wharf.image", 1, 1}, &host_image}};

const struct part image_part = {
    .name = "image", .services = services, .n_services = sizeof(services) / sizeof(*services)};
