/* devfile.h - dev.json in the data folder: the organization and key of `wharf dev`, so that a second start shows the same ones. */
#ifndef WHARF_TOOL_DEVFILE_H
#define WHARF_TOOL_DEVFILE_H

#include "util/arena.h"
#include "util/id.h"

struct devfile {
    const char *api_key; /* "" none */
    char organization_id[ID_MAX];
    bool system; /* the key holds the scope system */
};

/* Missing or unreadable: leaves *ret as it is. */
void devfile_read(const char *data, struct devfile *ret, struct arena *a);
/* Mode 0600, written beside and renamed. */
bool devfile_write(const char *data, const struct devfile *dev, struct arena *a, wharf_str *ret_error);

#endif
