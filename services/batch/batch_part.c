/* batch_part.c - what batches need of the engine, as a part of the server (resource/part.h). */
#include "parts.h"

#include "batch/host_batch.h"

static const struct offered_service services[] = {{{"wharf.batch", 1, 2}, &host_batch}};

const struct part batch_part = {
    .name = "batch", .services = services, .n_services = sizeof(services) / sizeof(*services)};
