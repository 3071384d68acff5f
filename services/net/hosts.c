/* hosts.c - how many transfers one host has at once; the others wait in order. See transfer.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/transfer.h"
#include "wharf/hash.h"

static struct host **hosts_bucket_of(struct net_client *c, const char *key)
{
    return &c->hosts[wharf_hash32(WHARF_HASH32_START, key, strlen(key)) % HOST_BUCKETS];
}

static struct host *hosts_find(struct net_client *c, const char *key)
{
    struct host **at = hosts_bucket_of(c, key), *h;

    for (h = *at; h; h = h->next) {
        if (strcmp(h->key, key) == 0)
            return h;
    }
    h = calloc(1, sizeof(*h));
    if (!h)
        abort();
    memcpy(h->key, key, strlen(key) + 1);
    h->last = &h->first;
    h->next = *at;
    *at = h;
    return h;
}

static void drop(struct net_client *c, struct host *h)
{
    struct host **at = hosts_bucket_of(c, h->key);

    if (h->active || h->first)
        return;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    free(h);
}

struct host *host_enter(struct net_client *c, struct net_transfer *t)
{
    char key[HOST_TEXT_MAX + 8];
    struct host *h;

    snprintf(key, sizeof(key), "%s:%u", t->url.host, t->url.port);
    h = hosts_find(c, key);
    t->host = h;
    if (h->active < (t->r.per_host ? t->r.per_host : c->per_host)) {
        h->active++;
        return h;
    }
    t->state = T_WAITING;
    t->next = NULL;
    *h->last = t;
    h->last = &t->next;
    return NULL;
}

void host_unwait(struct net_client *c, struct net_transfer *t)
{
    struct host *h = t->host;
    struct net_transfer **at = &h->first;

    while (*at && *at != t)
        at = &(*at)->next;
    if (*at)
        *at = t->next;
    if (h->last == &t->next)
        h->last = at;
    t->next = NULL;
    t->host = NULL;
    drop(c, h);
}

struct net_transfer *host_leave(struct net_client *c, struct net_transfer *t)
{
    struct host *h = t->host;
    struct net_transfer *waiting = h->first;

    t->host = NULL;
    h->active--;
    if (waiting)
        host_unwait(c, waiting);
    else
        drop(c, h);
    return waiting;
}
