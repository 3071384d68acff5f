/* media.c - look-ups in the table of paper sizes, which is schemas/paper-sizes.json. */
#include "station.h"

#include "paper_sizes.h"

const struct medium *medium_named(const char *name)
{
    if (!strncmp(name, "page_size_", 10))
        name += 10;
    for (size_t i = 0; i < n_media; i++) {
        if (!strcmp(media[i].name, name))
            return &media[i];
    }
    return NULL;
}
