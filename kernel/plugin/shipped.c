/* shipped.c - see shipped.h. */
#include "plugin/shipped.h"

#include <stddef.h>
#include <string.h>

bool module_is_shipped(const char *name)
{
    static const char *const names[] = {
        "org",
        "locations",
        "contacts",
        "reasons",
        "items",
        "assets",
        "carriers",
        "shipments",
        "trackers",
        "parcels",
        "containers",
        "manifests",
        "fulfillments",
        "documents",
        "templates",
        "stations",
        "batches",
        "exports",
        "events",
        "webhooks",
        "integrations",
        "inference",
        "workflows",
        "support",
        "logs",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}
