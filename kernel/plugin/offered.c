/* offered.c - see offered.h. */
#include "plugin/offered.h"

#include <stdlib.h>
#include <string.h>

enum { LISTS_MAX = 16 };

static struct {
    const struct offered_service *services;
    size_t n;
} lists[LISTS_MAX];
static size_t n_lists;

void offered_add(const struct offered_service *list, size_t n)
{
    if (n_lists == LISTS_MAX)
        abort(); /* of the server's own making: there is a part too many */
    lists[n_lists].services = list;
    lists[n_lists++].n = n;
}

const struct offered_service *offered_find(const char *name)
{
    for (size_t i = 0; i < n_lists; i++) {
        for (size_t k = 0; k < lists[i].n; k++) {
            if (!strcmp(lists[i].services[k].offer.name, name))
                return &lists[i].services[k];
        }
    }
    return NULL;
}
