/* deprecation.c - see deprecation.h. */
#include "http/deprecation.h"

#include <microhttpd.h>

#include "util/json.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/errors.h"

enum { SECOND = 1000000 };

/* Reads "2026-07-01", or a moment. */
static bool read_date(struct arena *a, wharf_str text, int64_t *ret_us)
{
    wharf_str moment = text.n == 10 ? arena_printf(a, "%.*sT00:00:00Z", STR_ARG(text)) : text;

    return time_parse(moment, false, ret_us) && *ret_us >= 0;
}

static const struct deprecation *deprecation_read_one(struct arena *a, const struct wharf_json *v,
    const char *whose, wharf_str field, struct buf *problems)
{
    struct deprecation *d = ARENA_NEW(a, struct deprecation);
    wharf_str sunset = json_text_or(v, "sunset", ""), link = json_text_or(v, "link", "");

    if (!v)
        return NULL;
    *d = (struct deprecation){.field = field};
    if (!read_date(a, json_text_or(v, "since", ""), &d->since_us) ||
        (sunset.n && (!read_date(a, sunset, &d->sunset_us) || d->sunset_us <= d->since_us))) {
        buf_addf(problems,
            "%s: \"deprecated\" is {\"since\": \"2026-01-31\", \"sunset\": \"2027-01-31\", "
            "\"link\": \"https://...\"}; the sunset comes after it, and may be missing like the "
            "link\n",
            whose);
        return NULL;
    }
    d->since = arena_printf(a, "@%lld", (long long)(d->since_us / SECOND)).p;
    if (sunset.n) {
        char *text = arena_alloc(a, HTTP_DATE_LEN + 1);

        time_format_http(d->sunset_us, text);
        d->sunset = text;
    }
    if (link.n)
        d->link = arena_printf(a, "<%.*s>; rel=\"deprecation\"", STR_ARG(link)).p;
    return d;
}

static const struct deprecation *deprecation_read_fields(
    struct engine *e, const struct definition *def, struct buf *problems)
{
    const struct deprecation *first = NULL;

    for (size_t i = def->n_fields; i-- > 0;) {
        const struct field *f = &def->fields[i];
        const struct wharf_json *v = json_get(json_get(f->json, "x-wharf"), "deprecated");
        const char *whose = arena_printf(e->arena, "%s.%s", def->name, f->name).p;
        struct deprecation *d = (struct deprecation *)deprecation_read_one(
            e->arena, v, whose, str_z(f->name), problems);

        if (d) {
            d->next = first;
            first = d;
        }
    }
    return first;
}

void deprecation_link(struct engine *e, struct buf *problems)
{
    for (size_t i = 0; i < e->n_routes; i++) {
        struct route *r = &e->routes[i];
        const struct wharf_json *x = r->resource ? json_get(r->resource->def->json, "x-wharf")
                                                 : r->definition;

        r->deprecated = deprecation_read_one(
            e->arena, json_get(x, "deprecated"), r->pattern, str_z(""), problems);
        if (r->resource && (r->kind == ROUTE_CREATE || r->kind == ROUTE_UPDATE))
            r->deprecated_fields = deprecation_read_fields(e, r->resource->def, problems);
    }
}

bool deprecation_gone(struct wharf_req *req)
{
    const struct deprecation *d = req->route->deprecated;

    if (!d || !d->sunset_us || req->now_us < d->sunset_us)
        return false;
    req_fail(req, ERR_ROUTE_GONE, NULL, NULL);
    return true;
}

const struct deprecation *deprecation_used(const struct wharf_req *req)
{
    if (!req->route || req->route->deprecated)
        return req->route ? req->route->deprecated : NULL;
    for (const struct deprecation *d = req->route->deprecated_fields; d && req->body; d = d->next)
        if (json_get_n(req->body, d->field))
            return d;
    return NULL;
}

void deprecation_headers(const struct deprecation *d, struct MHD_Response *r)
{
    MHD_add_response_header(r, "Deprecation", d->since);
    if (d->sunset)
        MHD_add_response_header(r, "Sunset", d->sunset);
    if (d->link)
        MHD_add_response_header(r, "Link", d->link);
}
