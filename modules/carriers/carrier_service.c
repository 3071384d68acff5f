/* carrier_service.c - the service carriers.detect, the organization's own providers, and
 * random internal numbers (spec 03 section 9). */
#include <sys/random.h>

#include "carriers.h"
#include "carriers.gen.h"

/* ---- the organization's own providers ---- */

wharf_status table_of(wharf_req *req, const struct table **ret)
{
    struct memory m = {.req = req};
    const char *path, *problem;
    const wharf_json *custom = NULL;
    struct table *own;
    wharf_status s;

    *ret = &carriers_table;
    if (!carriers_org || !WHARF_HAS(wharf_org_directory_api, carriers_org, setting_json))
        return WHARF_OK;
    s = carriers_org->setting_json(req, "providers.custom", &custom);
    if (s != WHARF_OK || !custom || W->json->type(custom) != WHARF_J_ARRAY ||
        !W->json->count(custom))
        return s;
    own = W->mem->alloc(req, sizeof(*own));
    if (!table_read_custom(&m, custom, &carriers_table, own, &path, &problem))
        return W->err->fail(req, ERR_PROVIDER_SETTINGS_INVALID, NULL,
            "settings.providers.custom.%s %s", path, problem);
    *ret = own;
    return WHARF_OK;
}

/* ---- the service ---- */

static const struct table *carrier_inside(const wharf_carriers_table *table)
{
    return (const struct table *)table;
}

static wharf_status carrier_open_table(wharf_req *req, const wharf_carriers_table **ret)
{
    const struct table *t;
    wharf_status s = table_of(req, &t);

    *ret = (const wharf_carriers_table *)t;
    return s;
}

static wharf_status detect_in(
    wharf_req *req, const wharf_carriers_table *table, wharf_str number, wharf_detection *ret)
{
    struct detected room, *d = &room;
    const struct table *t = carrier_inside(table);
    wharf_out *out = W->json->builder(req);

    detect_number(t, number, NULL, 0, d);
    answer_candidates(req, out, NULL, t, d);
    ret->normalized = W->mem->dup(req, d->normalized, d->n);
    ret->provider_id = d->n_candidates ? d->candidates[0].provider->id : WHARF_S("unknown");
    ret->ambiguous = false;
    for (size_t i = 1; i < d->n_candidates; i++)
        ret->ambiguous = ret->ambiguous || d->candidates[i].provider != d->candidates[0].provider;
    return W->json->result(req, out, &ret->candidates);
}

static wharf_status carrier_service_detect(wharf_req *req, wharf_str number, wharf_detection *ret)
{
    const wharf_carriers_table *t;
    wharf_status s = carrier_open_table(req, &t);

    return s == WHARF_OK ? detect_in(req, t, number, ret) : s;
}

static bool unknown_provider(wharf_str id)
{
    return same(id, WHARF_S("unknown"));
}

static wharf_status provider_in(
    wharf_req *req, const wharf_carriers_table *table, wharf_str id, const wharf_json **ret)
{
    struct provider nobody = {.id = WHARF_S("unknown"),
        .name = WHARF_S(""),
        .support_url = WHARF_S(""),
        .support_phone = WHARF_S(""),
        .support_email = WHARF_S(""),
        .logo_url = WHARF_S("")};
    const struct provider *p = &nobody;
    wharf_out *out;

    *ret = NULL;
    if (!unknown_provider(id))
        p = table_provider(carrier_inside(table), id);
    if (!p)
        return WHARF_OK;
    out = W->json->builder(req);
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(p->id));
    W->json->put(out, "name", val_text_or_null(p->name));
    W->json->put(out, "support_url", val_text_or_null(p->support_url));
    W->json->put(out, "support_phone", val_text_or_null(p->support_phone));
    W->json->put(out, "support_email", val_text_or_null(p->support_email));
    W->json->put(out, "logo_url", val_text_or_null(p->logo_url));
    W->json->put(out, "marketplace", val_bool(p->marketplace));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

static wharf_status carrier_provider(wharf_req *req, wharf_str id, const wharf_json **ret)
{
    const wharf_carriers_table *t;
    wharf_status s = carrier_open_table(req, &t);

    *ret = NULL;
    return s == WHARF_OK ? provider_in(req, t, id, ret) : s;
}

/* Makes the URL of tracking. Formats that carry another number inside are followed by that one. */
static wharf_str tracking_url_in(
    wharf_req *req, const wharf_carriers_table *table, wharf_str provider_id, wharf_str number)
{
    struct detected room, *d = &room;
    const struct table *t = carrier_inside(table);
    const struct provider *p;
    wharf_str code;

    if (!number.n || unknown_provider(provider_id) || detect_is_internal(number.p, number.n, &code))
        return WHARF_S("");
    p = table_provider(t, provider_id);
    if (!p)
        return WHARF_S("");
    detect_number(t, number, &provider_id, 1, d);
    if (d->n_candidates) {
        const struct candidate *c = d->candidates;
        wharf_str core = {d->text + c->core, c->core_n};

        if (c->format->has_number && c->format->number.from >= 0 &&
            c->format->number.to <= (int)core.n)
            core = (wharf_str){core.p + c->format->number.from,
                (size_t)(c->format->number.to - c->format->number.from)};
        number = W->mem->dup(req, core.p, core.n);
    }
    return answer_url(req, t, p, number);
}

static wharf_status tracking_url(
    wharf_req *req, wharf_str provider_id, wharf_str number, wharf_str *ret)
{
    const wharf_carriers_table *t;
    wharf_status s = carrier_open_table(req, &t);

    *ret = s == WHARF_OK ? tracking_url_in(req, t, provider_id, number) : WHARF_S("");
    return s;
}

static wharf_str internal_number(wharf_req *req)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    enum { LETTERS = 36, FAIR = 252 }; /* bytes from FAIR on would prefer the first letters */
    char out[14];
    size_t k = 0;

    while (k < sizeof(out)) {
        unsigned char bytes[32];
        ssize_t n = getrandom(bytes, sizeof(bytes), 0);

        for (ssize_t i = 0; i < n && k < sizeof(out); i++) {
            if (bytes[i] < FAIR)
                out[k++] = letters[bytes[i] % LETTERS];
        }
    }
    return W->mem->format(req, "%s-%.7s-%.7s", carriers_prefix.p, out, out + 7);
}

static bool is_internal(wharf_str normalized, wharf_str *ret_code)
{
    return detect_is_internal(normalized.p, normalized.n, ret_code);
}

/* Returns the form in which a number is stored and compared. Dashes, dots and the like leave a
 * number that a carrier is known by without them; of other numbers they may be a part. */
static wharf_str carrier_normalize(wharf_req *req, wharf_str number)
{
    const struct table *t = &carriers_table;
    struct detected room, *d = &room;

    detect_number(t, number, NULL, 0, d);
    if (d->reason == REASON_TOO_LONG)
        return number;
    return d->n_candidates && d->bare ? W->mem->dup(req, d->text, d->text_n)
                                      : W->mem->dup(req, d->normalized, d->n);
}

const wharf_carriers_detect_api detect_service = {WHARF_HEAD(wharf_carriers_detect_api),
    carrier_service_detect, carrier_provider, tracking_url, internal_number, is_internal,
    carrier_normalize, carrier_open_table, detect_in, provider_in, tracking_url_in};
