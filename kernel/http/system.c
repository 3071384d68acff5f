/* system.c - the test clock: GET and POST /v1/system/clock, only with --test-clock
 * (docs/spec/01-platform.md section 17 'Clock'). */
#include "http/http_routes.h"

#include "config/config.h"
#include "http/routes.gen.h"
#include "util/str.h"
#include "util/time.h"

static wharf_status answer(struct req_reply *reply, int64_t offset_s, const char *message)
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

static wharf_status read_clock(struct wharf_req *req, void *arg)
{
    return answer(&req->reply, clock_offset_s(), "Clock retrieved");
}

/* Sets the offset of the clock: the workers of this machine share it; others hear of it. */
static void shift(struct wharf_req *req, void *arg)
{
    clock_set_offset(*(const int64_t *)arg);
}

static wharf_status set_clock(struct wharf_req *req, void *arg)
{
    int64_t *offset = ARENA_NEW(req->arena, int64_t);
    wharf_str text;

    json_int(json_get(req->body, "offset_seconds"), offset);
    text = arena_printf(req->arena, "%lld", (long long)*offset);
    if (!req_query(req,
            "INSERT INTO wharf.setting (key, value) VALUES ('clock.offset_seconds', $1::text)"
            " ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, updated_at = now()",
            &(struct sql_arg){text.p, text.n}, 1) ||
        !req_query(req, "SELECT pg_notify('wharf_clock', '')", NULL, 0))
        return WHARF_UNAVAILABLE;
    req_after_commit(&req->tx, shift, offset);
    return answer(&req->reply, *offset, "Clock shifted");
}

void system_routes_add(struct wharf_decl *d)
{
    const wharf_route get = {ROUTE_CLOCK_GET, .handler = read_clock};
    const wharf_route set = {ROUTE_CLOCK_SET, .handler = set_clock};

    if (!d->engine->config->test_clock)
        return;
    decl_own_route(d, &get);
    decl_own_route(d, &set);
}
