/* host_channel.c - the service wharf.channel (plugin-api/wharf/service/channel.h) on top of
 * event/channel.h and http/stream.h. */
#include <stdlib.h>

#include "event/channel.h"
#include "http/stream.h"
#include "host/host.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/service/channel.h"

static wharf_status c_send(
    wharf_req *req, wharf_str channel, const char *type, const wharf_json *data, int64_t *ret_seq)
{
    return channel_send(req, channel, type, data, str_z(""), ret_seq);
}

static wharf_status c_end(wharf_req *req, wharf_str channel, const char *type, wharf_str tag)
{
    return tag.n ? channel_send(req, channel, type, NULL, tag, NULL) : WHARF_OK;
}

static wharf_status c_stream(wharf_req *req, const wharf_channel_stream *s)
{
    return channel_stream_open(req, s->channel, s->tag, s->after, s->hello);
}

static bool c_park(wharf_req *req, wharf_str channel, int64_t after, int64_t wait_ms)
{
    int64_t now = clock_monotonic_us();
    struct parked *p;

    if (!req->parked_until_us)
        req->parked_until_us = now + wait_ms * 1000;
    if (now >= req->parked_until_us || req->tx.depth || req->job || req->head.idempotency_key.n ||
        !req->engine->hub || stream_hub_draining(req->engine->hub))
        return false;
    p = calloc(1, sizeof(*p) + channel.n + 1);
    if (!p)
        return false;
    memcpy(p->name, channel.p, channel.n);
    p->organization = req->access.who->organization;
    p->channel = (wharf_str){p->name, channel.n};
    p->after = after;
    p->until_us = req->parked_until_us;
    p->reported = true;
    free(req->parked);
    req->parked = p;
    return true;
}

const wharf_channel_api host_channel = {
    WHARF_HEAD(wharf_channel_api), c_send, c_end, channel_last, c_stream, c_park};
