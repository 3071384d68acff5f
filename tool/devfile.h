/* devfile.h - dev.json in the data folder: the organization and key of `wharf dev`, so that a
 * second start shows the same ones. */
#ifndef WHARF_TOOL_DEVFILE_H
#define WHARF_TOOL_DEVFILE_H

#include "util/arena.h"
#include "util/id.h"

struct devfile {
    const char *api_key; /* "" none */
    char organization_id[ID_MAX];
    bool system; /* the key holds the scope system */
};

/* Reads the file. Leaves *ret as it is when the file is missing or unreadable. */
void devfile_read(const char *data, struct devfile *ret, struct arena *a);
/* Writes the file with mode 0600, beside it and renamed. */
bool devfile_write(
    const char *data, const struct devfile *dev, struct arena *a, wharf_str *ret_error);

#endif
