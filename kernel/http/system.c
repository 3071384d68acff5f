/* system.c - the test clock: GET and POST /v1/system/clock, only with --test-clock
 * (docs/spec/01-platform.md section 17 'Clock'). */
#include <stdlib.h>

#include "http/http_routes.h"

#include "config/config.h"
#include "http/routes.gen.h"
#include "util/str.h"
#include "util/time.h"

static wharf_status system_answer(struct req_reply *reply, int64_t offset_s, const char *message)
{
    char iso[ISO_MS_LEN + 1];

    time_format_iso(clock_now_us() + (offset_s - clock_offset_s()) * 1000000, iso);
    req_respond(reply, 200, str_z(message));
    jw_open(&reply->w, NULL, '{');
    jw_z(&reply->w, "object", "clock");
    jw_int(&reply->w, "offset_seconds", offset_s);
    jw_str(&reply->w, "now", (wharf_str){iso, ISO_MS_LEN});
    jw_close(&reply->w, '}');
    return WHARF_OK;
}

static wharf_status system_read_clock(struct wharf_req *req, void *arg)
{
    return system_answer(&req->reply, clock_offset_s(), "Clock retrieved");
}

struct shift {
    int64_t offset_s, change;
};

/* Sets the offset of the clock: the workers of this machine share it; others hear of it. */
static void shift(struct wharf_req *req, void *arg)
{
    const struct shift *s = arg;

    clock_set_offset(s->offset_s, s->change);
}

static wharf_status system_set_clock(struct wharf_req *req, void *arg)
{
    struct shift *s = ARENA_NEW(req->arena, struct shift);
    wharf_str text;
    const PGresult *r;

    json_int(json_get(req->body, "offset_seconds"), &s->offset_s);
    text = arena_printf(req->arena, "%lld", (long long)s->offset_s);
    r = req_query(req, "SELECT wharf.clock_set($1::bigint), pg_notify('wharf_clock', '')",
        &(struct sql_arg){text.p, text.n}, 1);
    if (!r)
        return WHARF_UNAVAILABLE;
    s->change = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    req_after_commit(&req->tx, shift, s);
    return system_answer(&req->reply, s->offset_s, "Clock shifted");
}

void system_routes_add(struct wharf_decl *d)
{
    const wharf_route get = {ROUTE_CLOCK_GET, .handler = system_read_clock};
    const wharf_route set = {ROUTE_CLOCK_SET, .handler = system_set_clock};

    if (!d->engine->config->test_clock)
        return;
    decl_own_route(d, &get);
    decl_own_route(d, &set);
}
