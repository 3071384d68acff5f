/* carrier_answer.c - what was detected, as JSON; the routes of the module
 * (docs/spec/03-shipments-and-trackers.md sections 8 and 9.3). */
#include "carriers.h"
#include "carriers.gen.h"

enum { NUMBERS_MAX = 1000 }; /* numbers of one request */

/* ---- tracking URLs ---- */

static bool carrier_answer_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           strchr("-._~", c);
}

static wharf_str carrier_answer_encoded(wharf_req *req, wharf_str s)
{
    static const char hex[] = "0123456789ABCDEF";
    char *out = W->mem->alloc(req, 3 * s.n + 1);
    size_t k = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (carrier_answer_plain(s.p[i])) {
            out[k++] = s.p[i];
            continue;
        }
        out[k++] = '%';
        out[k++] = hex[(unsigned char)s.p[i] >> 4];
        out[k++] = hex[(unsigned char)s.p[i] & 15];
    }
    return (wharf_str){out, k};
}

wharf_str answer_url(
    wharf_req *req, const struct table *t, const struct provider *p, wharf_str number)
{
    wharf_str url = p->url.n ? p->url : table_fallback(t), n = carrier_answer_encoded(req, number);
    const char *hole = memmem(url.p, url.n, "{n}", 3);
    size_t before;

    if (!url.n || !hole)
        return url;
    before = (size_t)(hole - url.p);
    return W->mem->format(
        req, "%.*s%s%.*s", (int)before, url.p, n.p, (int)(url.n - before - 3), url.p + before + 3);
}

/* ---- candidates ---- */

static bool slice_of(struct slice s, wharf_str core, wharf_str *ret)
{
    int from = s.from < 0 ? (int)core.n + s.from : s.from,
        to = s.to < 0 ? (int)core.n + s.to : s.to;

    if (from < 0 || to <= from || (size_t)to > core.n)
        return false;
    *ret = (wharf_str){core.p + from, (size_t)(to - from)};
    return true;
}

/* Finds a name; '?' in its code stands for any character. */
static bool carrier_answer_name_of(const struct names *names, wharf_str code, wharf_str *ret)
{
    for (size_t i = 0; names && i < names->n; i++) {
        bool fits = names->codes[i].n == code.n;

        for (size_t k = 0; fits && k < code.n; k++)
            fits = names->codes[i].p[k] == '?' || names->codes[i].p[k] == code.p[k];
        if (fits) {
            *ret = names->texts[i];
            return true;
        }
    }
    return false;
}

static wharf_val piece(wharf_req *req, wharf_str s)
{
    return val_text(W->mem->dup(req, s.p, s.n));
}

static void put_service(wharf_req *req, wharf_out *out, const struct format *f, wharf_str core)
{
    wharf_str code, name;

    if (!f->has_service || !slice_of(f->service, core, &code) ||
        !carrier_answer_name_of(f->service_names, code, &name)) {
        W->json->put(out, "service", val_null());
        return;
    }
    W->json->open(out, "service", '{');
    W->json->put(out, "code", piece(req, code));
    W->json->put(out, "name", val_text(name));
    W->json->close(out);
}

static void carrier_answer_put_parts(
    wharf_req *req, wharf_out *out, const struct candidate *c, wharf_str whole, wharf_str core)
{
    const struct format *f = c->format;
    wharf_str s, name;

    W->json->open(out, "parts", '{');
    if (c->routing) {
        W->json->put(out, "zip", piece(req, (wharf_str){whole.p + 3, 5}));
        if (c->routing->digits > 5)
            W->json->put(out, "zip4", piece(req, (wharf_str){whole.p + 8, c->routing->digits - 5}));
    }
    for (size_t i = 0; i < f->n_parts; i++) {
        const struct part *p = &f->parts[i];

        if (p->look >= 0 &&
            ((size_t)p->look >= core.n || (core.p[p->look] == p->is) == p->not_there))
            continue;
        if (!slice_of(p->at, core, &s))
            continue;
        W->json->put(out, p->name.p, piece(req, s));
        if (p->names && carrier_answer_name_of(p->names, s, &name))
            W->json->put(out, W->mem->format(req, "%s_name", p->name.p).p, val_text(name));
    }
    W->json->close(out);
}

static wharf_str carrier_number(wharf_req *req, const struct format *f, wharf_str core)
{
    wharf_str s = core;

    if (f->has_number)
        slice_of(f->number, core, &s);
    return W->mem->dup(req, s.p, s.n);
}

static void carrier_answer_put_candidate(wharf_req *req, wharf_out *out, const struct table *t,
    const struct detected *d, const struct candidate *c)
{
    static const char *const levels[] = {"high", "medium", "low"};
    wharf_str whole = {d->text, d->text_n}, core = {d->text + c->core, c->core_n}, number;

    number = carrier_number(req, c->format, core);
    W->json->open(out, NULL, '{');
    W->json->open(out, "provider", '{');
    W->json->put(out, "id", val_text(c->provider->id));
    W->json->put(out, "name", val_text(c->provider->name));
    W->json->put(out, "country_code", val_text_or_null(c->provider->country_code));
    W->json->close(out);
    W->json->put(out, "format", val_text(c->format->id));
    W->json->put(out, "confidence", val_text(z(levels[c->format->confidence])));
    W->json->put(out, "checksum",
        val_text(c->format->check.name == CHECK_NONE ? WHARF_S("none") : WHARF_S("valid")));
    W->json->put(out, "tracking_number", val_text(number));
    W->json->put(out, "tracking_url", val_text_or_null(answer_url(req, t, c->provider, number)));
    put_service(req, out, c->format, core);
    carrier_answer_put_parts(req, out, c, whole, core);
    W->json->close(out);
}

void answer_candidates(wharf_req *req, wharf_out *out, const char *key, const struct table *t,
    const struct detected *d)
{
    W->json->open(out, key, '[');
    for (size_t i = 0; i < d->n_candidates; i++)
        carrier_answer_put_candidate(req, out, t, d, &d->candidates[i]);
    W->json->close(out);
}

static bool one_provider(const struct detected *d)
{
    for (size_t i = 1; i < d->n_candidates; i++) {
        if (d->candidates[i].provider != d->candidates[0].provider)
            return false;
    }
    return d->n_candidates > 0;
}

static wharf_str first_url(wharf_req *req, const struct table *t, const struct detected *d)
{
    const struct candidate *c = d->candidates;

    if (!d->n_candidates)
        return WHARF_S("");
    return answer_url(req, t, c->provider,
        carrier_number(req, c->format, (wharf_str){d->text + c->core, c->core_n}));
}

static void put_detected(wharf_req *req, wharf_out *out, const struct table *t, wharf_str number,
    const struct detected *d)
{
    static const char *const reasons[] = {NULL, "no_match", "checksum", "internal_prefix",
        "repeated_digit", "invalid_characters", "too_long"};
    bool one = one_provider(d);

    W->json->open(out, NULL, '{');
    W->json->put(out, "tracking_number", val_text(number));
    W->json->put(out, "normalized",
        d->reason == REASON_TOO_LONG ? val_null() : piece(req, (wharf_str){d->normalized, d->n}));
    W->json->put(out, "summary",
        val_text(z(one               ? "external"
                   : d->n_candidates ? "ambiguous"
                                     : "unknown")));
    W->json->put(out, "provider_id", one ? val_text(d->candidates[0].provider->id) : val_null());
    W->json->put(out, "reason", reasons[d->reason] ? val_text(z(reasons[d->reason])) : val_null());
    W->json->put(out, "tracking_url", val_text_or_null(first_url(req, t, d)));
    answer_candidates(req, out, "candidates", t, d);
    W->json->close(out);
}

/* ---- POST /v1/utils/providers/detect ---- */

struct numbers {
    wharf_str items[NUMBERS_MAX];
    size_t n;
};

static wharf_status carrier_answer_bad(wharf_req *req, const char *path, const char *message)
{
    return W->err->fail(req, ERR_VALIDATION_FAILED, path, "%s %s", path, message);
}

static bool carrier_answer_blank(wharf_str s)
{
    return strspn(s.p, " \t\r\n") >= s.n;
}

static wharf_status carrier_answer_split(wharf_req *req, wharf_str s, struct numbers *ret)
{
    size_t start = 0;

    for (size_t i = 0; i <= s.n; i++) {
        wharf_str one;

        if (i < s.n && s.p[i] != ',')
            continue;
        one = W->mem->dup(req, s.p + start, i - start);
        start = i + 1;
        if (carrier_answer_blank(one))
            continue;
        if (ret->n == NUMBERS_MAX)
            return carrier_answer_bad(req, "tracking_number", "must have at most 1,000 numbers");
        ret->items[ret->n++] = one;
    }
    return ret->n ? WHARF_OK
                  : carrier_answer_bad(req, "tracking_number", "must have at least one number");
}

static wharf_status read_array(wharf_req *req, const wharf_json *array, struct numbers *ret)
{
    if (!W->json->count(array) || W->json->count(array) > NUMBERS_MAX)
        return carrier_answer_bad(req, "tracking_number", "must have 1 to 1,000 numbers");
    for (const wharf_json *e = W->json->at(array, 0); e; e = W->json->next(e), ret->n++) {
        if (!W->json->text(e, &ret->items[ret->n])) {
            const char *path = W->mem->format(req, "tracking_number.%zu", ret->n).p;

            W->err->add(req, ERR_VALIDATION_FAILED, path, "%s must be text", path);
        }
    }
    return W->err->current(req);
}

static wharf_status carrier_answer_read_numbers(
    wharf_req *req, const wharf_json *body, struct numbers *ret)
{
    const wharf_json *v = W->json->get(body, "tracking_number");
    wharf_str s;

    if (v && W->json->text(v, &s))
        return carrier_answer_split(req, s, ret);
    if (v && W->json->type(v) == WHARF_J_ARRAY)
        return read_array(req, v, ret);
    return carrier_answer_bad(req, "tracking_number",
        "must be a tracking number, several with commas between, or an array of them");
}

static wharf_status read_providers(wharf_req *req, const struct table *t, const wharf_json *body,
    const wharf_str **ret, size_t *ret_n)
{
    const wharf_json *v = W->json->get(body, "provider_ids");
    wharf_str *ids;

    *ret = NULL;
    *ret_n = 0;
    if (!v || W->json->type(v) == WHARF_J_NULL)
        return WHARF_OK;
    if (W->json->type(v) != WHARF_J_ARRAY || !W->json->count(v) || W->json->count(v) > NUMBERS_MAX)
        return carrier_answer_bad(req, "provider_ids", "must be an array of providers' ids");
    *ret = ids = W->mem->alloc(req, W->json->count(v) * sizeof(*ids));
    for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e), (*ret_n)++) {
        const char *path = W->mem->format(req, "provider_ids.%zu", *ret_n).p;

        if (!W->json->text(e, &ids[*ret_n]) || !table_provider(t, ids[*ret_n]))
            W->err->add(req, ERR_PROVIDER_UNKNOWN, path, NULL);
    }
    return W->err->current(req);
}

wharf_status providers_detect(wharf_req *req, void *arg)
{
    struct numbers *numbers = W->mem->alloc(req, sizeof(*numbers));
    struct detected *d = W->mem->alloc(req, sizeof(*d));
    const wharf_str *allowed = NULL;
    const struct table *t;
    const wharf_json *body;
    size_t n_allowed = 0;
    wharf_out *out;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = carrier_answer_read_numbers(req, body, numbers);
    if (s == WHARF_OK)
        s = table_of(req, &t);
    if (s == WHARF_OK)
        s = read_providers(req, t, body, &allowed, &n_allowed);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200,
        W->mem->format(req, "%zu %s checked", numbers->n, numbers->n == 1 ? "number" : "numbers")
            .p);
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < numbers->n; i++) {
        detect_number(t, numbers->items[i], allowed, n_allowed, d);
        put_detected(req, out, t, numbers->items[i], d);
    }
    W->json->close(out);
    return WHARF_OK;
}

/* ---- GET /v1/providers ---- */

static void put_format(wharf_out *out, const struct format *f)
{
    static const char *const levels[] = {"high", "medium", "low"};

    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(f->id));
    W->json->put(out, "pattern", val_text(f->pattern));
    W->json->put(out, "confidence", val_text(z(levels[f->confidence])));
    W->json->close(out);
}

static void put_formats(wharf_out *out, const struct table *t, const struct provider *p)
{
    if (t->below)
        put_formats(out, t->below, p);
    for (size_t i = 0; i < t->n_formats; i++) {
        bool country = false;

        for (const struct table *c = t; !t->formats[i].provider.n && c; c = c->below) {
            for (size_t k = 0; k < c->n_countries; k++)
                country = country || same(c->countries[k].provider, p->id);
        }
        if (country || same(t->formats[i].provider, p->id))
            put_format(out, &t->formats[i]);
    }
}

static size_t put_providers(wharf_out *out, const struct table *t, const struct table *top)
{
    size_t n = t->below ? put_providers(out, t->below, top) : 0;

    for (size_t i = 0; i < t->n_providers; i++) {
        const struct provider *p = &t->providers[i];

        if (table_provider(top, p->id) != p)
            continue; /* another table took its place */
        W->json->open(out, NULL, '{');
        W->json->put(out, "id", val_text(p->id));
        W->json->put(out, "object", val_text(WHARF_S("provider")));
        W->json->put(out, "name", val_text(p->name));
        W->json->put(out, "country_code", val_text_or_null(p->country_code));
        W->json->put(out, "url", val_text_or_null(p->url.n ? p->url : table_fallback(top)));
        W->json->open(out, "formats", '[');
        put_formats(out, top, p);
        W->json->close(out);
        W->json->close(out);
        n++;
    }
    return n;
}

wharf_status providers_list(wharf_req *req, void *arg)
{
    const struct table *t;
    wharf_status s = table_of(req, &t);
    wharf_out *out;

    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Providers retrieved");
    W->json->open(out, NULL, '[');
    put_providers(out, t, t);
    W->json->close(out);
    return WHARF_OK;
}
