/* net_part.c - outgoing HTTP as a part of the server (resource/part.h). */
#include "parts.h"

#include "net/client.h"
#include "net/host_fetch.h"

static const struct offered_service services[] = {{{"wharf.fetch", 1, 3}, &host_fetch}};

static bool net_open(struct engine *e, const struct worker_boot *boot, wharf_str *ret_error)
{
    e->net = net_start(e->config, e->arena, ret_error);
    return e->net != NULL;
}

static void net_close(struct engine *e)
{
    net_stop(e->net);
}

const struct part net_part = {.name = "net",
    .services = services,
    .n_services = sizeof(services) / sizeof(*services),
    .open = net_open,
    .close = net_close};
