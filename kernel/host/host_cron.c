/* host_cron.c - the service wharf.cron (plugin-api/wharf/service/cron.h) on top of util/cron.h. */
#include <stdlib.h>

#include "host/host.h"
#include "util/cron.h"
#include "util/zone.h"
#include "wharf/service/cron.h"

enum { SECOND = 1000000 };

struct place {
    char *bytes;
    size_t n; /* 0: UTC */
};

/* Reads a zone. Returns false when there is no such zone. The caller ends it by free(bytes). */
static bool place_read(wharf_str zone, struct place *p)
{
    *p = (struct place){0};
    if (!zone.n || str_eqz(zone, "UTC"))
        return true;
    p->bytes = malloc(ZONE_BYTES_MAX);
    if (p->bytes && zone_name_good(zone.p))
        p->n = zone_read(zone.p, p->bytes, ZONE_BYTES_MAX);
    return p->n > 0;
}

static int64_t floor_s(int64_t us)
{
    return us / SECOND - (us % SECOND < 0);
}

static bool when(wharf_str schedule, wharf_str zone, int64_t us, bool next, int64_t *ret_us)
{
    const char *problem;
    struct cron c;
    struct place p = {0};
    int64_t s;

    if (!cron_parse(schedule, &c, &problem))
        return false;
    if (!place_read(zone, &p)) {
        free(p.bytes);
        return false;
    }
    s = next ? cron_next(&c, p.bytes, p.n, floor_s(us)) : cron_last(&c, p.bytes, p.n, floor_s(us));
    free(p.bytes);
    if (s == INT64_MAX || s == INT64_MIN)
        return false;
    *ret_us = s * SECOND;
    return true;
}

static bool c_next(wharf_str schedule, wharf_str zone, int64_t after_us, int64_t *ret_us)
{
    return when(schedule, zone, after_us, true, ret_us);
}

static bool c_last(wharf_str schedule, wharf_str zone, int64_t at_us, int64_t *ret_us)
{
    return when(schedule, zone, at_us, false, ret_us);
}

static wharf_str c_local(wharf_req *req, wharf_str zone, int64_t at_us)
{
    struct zone_offset o = {0};
    struct civil d;
    struct place p;
    int32_t minutes;

    if (place_read(zone, &p) && p.n && !zone_at(p.bytes, p.n, floor_s(at_us), &o))
        o = (struct zone_offset){0};
    free(p.bytes);
    d = civil_of(floor_s(at_us) + o.east);
    minutes = (o.east < 0 ? -o.east : o.east) / 60;
    return arena_printf(req->arena, "%04lld-%02d-%02dT%02d:%02d:%02d%c%02d:%02d", (long long)d.year,
        d.month, d.day, d.hour, d.minute, d.second, o.east < 0 ? '-' : '+', minutes / 60,
        minutes % 60);
}

const wharf_cron_api host_cron = {
    WHARF_HEAD(wharf_cron_api), cron_problem, c_next, c_last, c_local};
