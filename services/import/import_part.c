/* import_part.c - rows of files as a part of the server (resource/part.h). */
#include "parts.h"

#include "import/host_import.h"

static const struct offered_service services[] = {{{"wharf.import", 1, 1}, &host_import}};

const struct part import_part = {
    .name = "import", .services = services, .n_services = sizeof(services) / sizeof(*services)};
