/* whoami.c - GET /v1/auth: what the key of the request is and may (docs/spec/01-platform.md
 * section 5). */
#include <stdlib.h>

#include "http/http_routes.h"
#include "http/routes.gen.h"
#include "resource/record.h"
#include "util/str.h"

static void whoami_put_or_null(struct jw *w, const char *key, wharf_str s)
{
    if (s.n)
        jw_str(w, key, s);
    else
        jw_null(w, key);
}

static int whoami_by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_scopes(struct wharf_req *req)
{
    struct req_reply *reply = &req->reply;
    const struct areas *areas = &req->engine->areas;
    const char *sorted[AREAS_MAX];
    const uint8_t *levels = req->access.who->levels;

    memcpy(sorted, areas->names, areas->count * sizeof(*sorted));
    qsort(sorted, areas->count, sizeof(*sorted), whoami_by_name);
    jw_open(&reply->w, "scopes", '{');
    for (size_t i = 0; i < areas->count; i++) {
        int level = levels[area_find(areas, str_z(sorted[i]))];

        if (level)
            jw_int(&reply->w, sorted[i], level);
    }
    jw_close(&reply->w, '}');
    jw_open(&reply->w, "scope_list", '[');
    for (size_t i = 0; i < areas->count; i++) {
        int level = levels[area_find(areas, str_z(sorted[i]))];

        if (level)
            jw_str(&reply->w, NULL,
                arena_printf(
                    req->arena, "%s:%s", sorted[i], level == SCOPE_WRITE ? "write" : "read"));
    }
    jw_close(&reply->w, ']');
}

static wharf_status who_am_i(struct wharf_req *req, void *arg)
{
    struct req_reply *reply = &req->reply;
    const struct principal *p = req->access.who;

    (void)arg;
    req_respond(reply, 200, str_z("API key retrieved"));
    jw_open(&reply->w, NULL, '{');
    jw_z(&reply->w, "object", "auth");
    jw_str(&reply->w, "organization_id", p->organization);
    jw_z(&reply->w, "mode", p->test_mode ? "test" : "live");
    jw_open(&reply->w, "principal", '{');
    jw_str(&reply->w, "type", p->actor_type);
    jw_str(&reply->w, "id", p->actor_id);
    whoami_put_or_null(&reply->w, "name", p->actor_name);
    whoami_put_or_null(&reply->w, "role", p->role);
    jw_close(&reply->w, '}');
    jw_open(&reply->w, "key", '{');
    jw_str(&reply->w, "id", p->key_id);
    whoami_put_or_null(&reply->w, "name", p->key_name);
    jw_str(&reply->w, "last4", p->last4);
    if (p->expires_at_us == INT64_MAX)
        jw_null(&reply->w, "expires_at");
    else
        write_time(&reply->w, "expires_at", p->expires_at_us, req->head.datetime_format);
    jw_close(&reply->w, '}');
    write_scopes(req);
    jw_bool(&reply->w, "allow_all_locations", p->access.all_locations);
    jw_open(&reply->w, "location_ids", '[');
    for (size_t i = 0; i < p->access.n_locations; i++)
        jw_str(&reply->w, NULL, p->access.locations[i]);
    jw_close(&reply->w, ']');
    jw_close(&reply->w, '}');
    return WHARF_OK;
}

void whoami_routes_add(struct wharf_decl *d)
{
    const wharf_route route = {ROUTE_AUTH, .handler = who_am_i};

    decl_own_route(d, &route);
}
