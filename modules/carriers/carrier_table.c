/* carrier_table.c - reads carriers as data: schemas/carriers.json, an operator's file,
 * settings.providers.custom of an organization (spec 03 section 9.3).
 *
 * Every wrong member is told with its place; nothing of a table with a problem is used. */
#include "carriers.h"

struct table carriers_table;
wharf_str carriers_prefix;

struct reading {
    struct memory *m;
    struct table *t;
    const char *path, *problem;
};

void *memory_alloc(void *memory, size_t bytes)
{
    struct memory *m = memory;

    return m->self ? W->mem->plugin_alloc(m->self, bytes ? bytes : 1)
                   : W->mem->alloc(m->req, bytes ? bytes : 1);
}

/* ---- members ---- */

static bool carrier_table_wrong(struct reading *r, const char *path, const char *problem)
{
    if (!r->problem) {
        r->path = path;
        r->problem = problem;
    }
    return false;
}

static const char *member_path(struct reading *r, const char *base, const char *key)
{
    return W->mem->format(r->m->req, "%s%s%s", base, *base ? "." : "", key).p;
}

static wharf_str carrier_table_keep(struct reading *r, wharf_str s)
{
    char *copy;

    if (!r->m->self)
        return s;
    copy = memory_alloc(r->m, s.n + 1);
    memcpy(copy, s.p, s.n);
    return (wharf_str){copy, s.n};
}

/* Reads a text; absent or null: empty. */
static bool carrier_table_read_text(
    struct reading *r, const wharf_json *object, const char *base, const char *key, wharf_str *ret)
{
    const wharf_json *v = W->json->get(object, key);
    wharf_str s;

    *ret = WHARF_S("");
    if (!v || W->json->type(v) == WHARF_J_NULL)
        return true;
    if (!W->json->text(v, &s))
        return carrier_table_wrong(r, member_path(r, base, key), "must be text");
    *ret = carrier_table_keep(r, s);
    return true;
}

static bool need_text(
    struct reading *r, const wharf_json *object, const char *base, const char *key, wharf_str *ret)
{
    return carrier_table_read_text(r, object, base, key, ret) &&
           (ret->n || carrier_table_wrong(r, member_path(r, base, key), "must be given"));
}

static bool carrier_table_read_int(
    struct reading *r, const wharf_json *v, const char *path, int *ret)
{
    int64_t i;

    if (!v || !W->json->integer(v, &i) || i < -NUMBER_MAX || i > NUMBER_MAX)
        return carrier_table_wrong(r, path, "must be a whole number from -64 to 64");
    *ret = (int)i;
    return true;
}

static bool read_slice(
    struct reading *r, const wharf_json *object, const char *base, struct slice *ret)
{
    return carrier_table_read_int(
               r, W->json->get(object, "from"), member_path(r, base, "from"), &ret->from) &&
           carrier_table_read_int(
               r, W->json->get(object, "to"), member_path(r, base, "to"), &ret->to);
}

/* Reads [from, to]; absent: *ret_there is false. */
static bool carrier_table_read_pair(struct reading *r, const wharf_json *object, const char *base,
    const char *key, bool *ret_there, struct slice *ret)
{
    const wharf_json *v = W->json->get(object, key);
    const char *path = member_path(r, base, key);

    *ret_there = v != NULL;
    if (!v)
        return true;
    if (W->json->type(v) != WHARF_J_ARRAY || W->json->count(v) != 2)
        return carrier_table_wrong(r, path, "must be a pair: [from, to]");
    return carrier_table_read_int(r, W->json->at(v, 0), path, &ret->from) &&
           carrier_table_read_int(r, W->json->at(v, 1), path, &ret->to);
}

/* ---- names ---- */

static const struct names *find_names(const struct table *t, wharf_str id)
{
    for (; t; t = t->below) {
        for (size_t i = 0; i < t->n_names; i++) {
            if (same(t->names[i].id, id))
                return &t->names[i];
        }
    }
    return NULL;
}

static bool need_names(struct reading *r, const wharf_json *object, const char *base, bool needed,
    const struct names **ret)
{
    wharf_str id;

    *ret = NULL;
    if (!carrier_table_read_text(r, object, base, "names", &id))
        return false;
    if (!id.n)
        return !needed || carrier_table_wrong(r, member_path(r, base, "names"), "must be given");
    *ret = find_names(r->t, id);
    return *ret || carrier_table_wrong(
                       r, member_path(r, base, "names"), "must be one of the tables under names");
}

static bool carrier_table_read_names(struct reading *r, const wharf_json *all)
{
    size_t n = all ? W->json->count(all) : 0;

    r->t->names = memory_alloc(r->m, n * sizeof(*r->t->names));
    for (const wharf_json *m = n ? W->json->at(all, 0) : NULL; m; m = W->json->next(m)) {
        struct names *one = &r->t->names[r->t->n_names++];
        size_t k = W->json->count(m);

        one->id = carrier_table_keep(r, W->json->key(m));
        one->codes = memory_alloc(r->m, k * sizeof(wharf_str));
        one->texts = memory_alloc(r->m, k * sizeof(wharf_str));
        for (const wharf_json *e = k ? W->json->at(m, 0) : NULL; e;
             e = W->json->next(e), one->n++) {
            wharf_str s;

            if (!W->json->text(e, &s))
                return carrier_table_wrong(
                    r, member_path(r, "names", one->id.p), "must hold texts");
            one->codes[one->n] = carrier_table_keep(r, W->json->key(e));
            one->texts[one->n] = carrier_table_keep(r, s);
        }
    }
    return true;
}

/* ---- formats ---- */

static bool read_check(
    struct reading *r, const wharf_json *format, const char *base, struct format *f)
{
    const wharf_json *check = W->json->get(format, "check"), *params;
    const char *path = member_path(r, base, "check");
    wharf_str name;

    if (!check)
        return true;
    if (W->json->type(check) != WHARF_J_OBJECT)
        return carrier_table_wrong(r, path, "must be an object");
    params = W->json->get(check, "params");
    if (!need_text(r, check, path, "name", &name) || !read_slice(r, check, path, &f->serial) ||
        !carrier_table_read_int(
            r, W->json->get(check, "pos"), member_path(r, path, "pos"), &f->position) ||
        !carrier_table_read_text(r, check, path, "prepend", &f->prepend) ||
        !carrier_table_read_text(r, check, path, "unless", &f->unless))
        return false;
    f->check.name = check_find(name.p, name.n);
    if (f->check.name == CHECK_NONE)
        return carrier_table_wrong(
            r, member_path(r, path, "name"), "must be mod10, luhn, mod7, w11, s10 or mod37_36");
    if (params && (W->json->type(params) != WHARF_J_ARRAY || W->json->count(params) > CHECK_PARAMS))
        return carrier_table_wrong(
            r, member_path(r, path, "params"), "must be an array of at most 16 numbers");
    for (const wharf_json *p = params ? W->json->at(params, 0) : NULL; p; p = W->json->next(p)) {
        if (!carrier_table_read_int(
                r, p, member_path(r, path, "params"), &f->check.params[f->check.n_params++]))
            return false;
    }
    if (f->serial.to > 0 &&
        (f->serial.to <= f->serial.from ||
            !check_fits(&f->check, (size_t)(f->serial.to - f->serial.from) + f->prepend.n)))
        return carrier_table_wrong(
            r, path, "must have the params that the check needs for its serial");
    return f->prepend.n <= NUMBER_MAX / 4 ||
           carrier_table_wrong(r, path, "must not prepend more than 16 characters");
}

static bool carrier_table_read_part(
    struct reading *r, const wharf_json *json, const char *base, struct part *p)
{
    wharf_str is, is_not;

    *p = (struct part){.look = -1};
    if (W->json->type(json) != WHARF_J_OBJECT)
        return carrier_table_wrong(r, base, "must be an object");
    if (!need_text(r, json, base, "name", &p->name) || !read_slice(r, json, base, &p->at) ||
        !need_names(r, json, base, false, &p->names) ||
        !carrier_table_read_text(r, json, base, "is", &is) ||
        !carrier_table_read_text(r, json, base, "is_not", &is_not))
        return false;
    if (!is.n && !is_not.n)
        return true;
    p->not_there = !is.n;
    p->is = is.n ? is.p[0] : is_not.p[0];
    return carrier_table_read_int(
        r, W->json->get(json, "at"), member_path(r, base, "at"), &p->look);
}

static bool carrier_table_read_parts(
    struct reading *r, const wharf_json *format, const char *base, struct format *f)
{
    const wharf_json *list = W->json->get(format, "parts");

    if (!list)
        return true;
    if (W->json->type(list) != WHARF_J_ARRAY || W->json->count(list) > PARTS_MAX)
        return carrier_table_wrong(
            r, member_path(r, base, "parts"), "must be an array of at most 12 parts");
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        if (!carrier_table_read_part(r, e,
                W->mem->format(r->m->req, "%s.parts.%zu", base, f->n_parts).p,
                &f->parts[f->n_parts]))
            return false;
        f->n_parts++;
    }
    return true;
}

static bool read_routing(
    struct reading *r, const wharf_json *json, const char *path, struct routing *ret)
{
    const wharf_json *lengths = W->json->get(json, "lengths");
    int i = 0;

    if (!carrier_table_read_int(r, W->json->get(json, "digits"), path, &i) || i < 1)
        return carrier_table_wrong(r, path, "must have digits above 0");
    ret->digits = (size_t)i;
    if (lengths && W->json->count(lengths) > LENGTHS_MAX)
        return carrier_table_wrong(r, path, "must have at most 8 lengths");
    for (const wharf_json *e = lengths ? W->json->at(lengths, 0) : NULL; e; e = W->json->next(e)) {
        if (!carrier_table_read_int(r, e, path, &i) || i < 1)
            return carrier_table_wrong(r, path, "must have lengths above 0");
        ret->lengths[ret->n_lengths++] = (size_t)i;
    }
    return true;
}

static bool read_lists(
    struct reading *r, const wharf_json *format, const char *base, struct format *f)
{
    const wharf_json *routing = W->json->get(format, "routing"),
                     *by = W->json->get(format, "suppressed_by");

    if ((routing && W->json->count(routing) > ROUTINGS_MAX) ||
        (by && W->json->count(by) > SUPPRESSORS_MAX))
        return carrier_table_wrong(r, base, "has too many members in routing or suppressed_by");
    for (const wharf_json *e = routing ? W->json->at(routing, 0) : NULL; e; e = W->json->next(e)) {
        if (!read_routing(r, e, member_path(r, base, "routing"), &f->routings[f->n_routings++]))
            return false;
    }
    for (const wharf_json *e = by ? W->json->at(by, 0) : NULL; e; e = W->json->next(e)) {
        wharf_str s;

        if (!W->json->text(e, &s))
            return carrier_table_wrong(r, member_path(r, base, "suppressed_by"), "must hold texts");
        f->suppressed_by[f->n_suppressed_by++] = carrier_table_keep(r, s);
    }
    return true;
}

static bool read_confidence(
    struct reading *r, const wharf_json *json, const char *base, struct format *f)
{
    static const char *const words[] = {"high", "medium", "low"};
    wharf_str s;

    f->confidence = CONFIDENCE_MEDIUM;
    if (!carrier_table_read_text(r, json, base, "confidence", &s))
        return false;
    for (size_t i = 0; i < 3; i++) {
        if (same(s, z(words[i]))) {
            f->confidence = (enum confidence)i;
            return true;
        }
    }
    return s.n == 0 || carrier_table_wrong(
                           r, member_path(r, base, "confidence"), "must be high, medium or low");
}

static bool read_service(
    struct reading *r, const wharf_json *json, const char *base, struct format *f)
{
    const wharf_json *service = W->json->get(json, "service");
    const char *path = member_path(r, base, "service");

    f->has_service = service != NULL;
    return !service || (read_slice(r, service, path, &f->service) &&
                           need_names(r, service, path, true, &f->service_names));
}

static bool carrier_table_read_format(struct reading *r, const wharf_json *json, const char *base,
    wharf_str provider, struct format *f)
{
    const char *why;

    *f = (struct format){.provider = provider};
    if (W->json->type(json) != WHARF_J_OBJECT)
        return carrier_table_wrong(r, base, "must be an object");
    if (!need_text(r, json, base, "id", &f->id) ||
        !need_text(r, json, base, "pattern", &f->pattern))
        return false;
    if (!provider.n && !carrier_table_read_text(r, json, base, "provider", &f->provider))
        return false;
    if (!shape_compile(f->pattern.p, f->pattern.n, memory_alloc, r->m, &f->shape, &why))
        return carrier_table_wrong(r, member_path(r, base, "pattern"), why);
    if (f->shape.nothing)
        return carrier_table_wrong(
            r, member_path(r, base, "pattern"), "must not match the empty text");
    if (!read_check(r, json, base, f) || !read_confidence(r, json, base, f) ||
        !carrier_table_read_parts(r, json, base, f) || !read_lists(r, json, base, f) ||
        !read_service(r, json, base, f))
        return false;
    if (!carrier_table_read_pair(r, json, base, "number", &f->has_number, &f->number) ||
        !carrier_table_read_pair(r, json, base, "country", &f->has_country, &f->country))
        return false;
    if (!f->provider.n && !f->has_country)
        return carrier_table_wrong(
            r, member_path(r, base, "provider"), "must be given, or country");
    return !f->provider.n || table_provider(r->t, f->provider) ||
           carrier_table_wrong(r, member_path(r, base, "provider"), "must be the id of a provider");
}

/* ---- providers, countries ---- */

static bool carrier_table_read_provider(
    struct reading *r, const wharf_json *json, const char *base, struct provider *p)
{
    const wharf_json *marketplace;

    if (W->json->type(json) != WHARF_J_OBJECT)
        return carrier_table_wrong(r, base, "must be an object");
    marketplace = W->json->get(json, "marketplace");
    if (marketplace && !W->json->truth(marketplace, &p->marketplace))
        return carrier_table_wrong(r, member_path(r, base, "marketplace"), "must be true or false");
    return need_text(r, json, base, "id", &p->id) && need_text(r, json, base, "name", &p->name) &&
           carrier_table_read_text(r, json, base, "country_code", &p->country_code) &&
           carrier_table_read_text(r, json, base, "url", &p->url) &&
           carrier_table_read_text(r, json, base, "support_url", &p->support_url) &&
           carrier_table_read_text(r, json, base, "support_phone", &p->support_phone) &&
           carrier_table_read_text(r, json, base, "support_email", &p->support_email) &&
           carrier_table_read_text(r, json, base, "logo_url", &p->logo_url);
}

static bool carrier_table_read_list(
    struct reading *r, const wharf_json *list, const char *path, size_t *ret_n)
{
    *ret_n = list ? W->json->count(list) : 0;
    return !list || W->json->type(list) == WHARF_J_ARRAY ||
           carrier_table_wrong(r, path, "must be an array");
}

static bool read_countries(struct reading *r, const wharf_json *all)
{
    r->t->countries = memory_alloc(
        r->m, (all ? W->json->count(all) : 0) * sizeof(*r->t->countries));
    for (const wharf_json *m = all ? W->json->at(all, 0) : NULL; m; m = W->json->next(m)) {
        struct country *c = &r->t->countries[r->t->n_countries++];
        wharf_str id;

        if (W->json->key(m).n != 2 || !W->json->text(m, &id) || !table_provider(r->t, id))
            return carrier_table_wrong(r, member_path(r, "countries", W->json->key(m).p),
                "must be two letters and the id of a provider");
        memcpy(c->code, W->json->key(m).p, 2);
        c->provider = carrier_table_keep(r, id);
    }
    return true;
}

static bool carrier_table_finish(
    struct reading *r, bool ok, const char **ret_path, const char **ret_problem)
{
    *ret_path = r->path;
    *ret_problem = r->problem;
    return ok;
}

static bool carrier_table_read_all(struct reading *r, const wharf_json *json)
{
    const wharf_json *providers = W->json->get(json, "providers"),
                     *formats = W->json->get(json, "formats");
    size_t n_providers, n_formats;

    if (W->json->type(json) != WHARF_J_OBJECT)
        return carrier_table_wrong(r, "", "must be an object");
    if (!carrier_table_read_text(r, json, "", "fallback_url", &r->t->fallback_url) ||
        !carrier_table_read_list(r, providers, "providers", &n_providers) ||
        !carrier_table_read_list(r, formats, "formats", &n_formats) ||
        !carrier_table_read_names(r, W->json->get(json, "names")))
        return false;
    r->t->providers = memory_alloc(r->m, n_providers * sizeof(*r->t->providers));
    for (const wharf_json *e = n_providers ? W->json->at(providers, 0) : NULL; e;
         e = W->json->next(e)) {
        size_t i = r->t->n_providers++;

        if (!carrier_table_read_provider(
                r, e, W->mem->format(r->m->req, "providers.%zu", i).p, &r->t->providers[i]))
            return false;
    }
    r->t->formats = memory_alloc(r->m, n_formats * sizeof(*r->t->formats));
    for (const wharf_json *e = n_formats ? W->json->at(formats, 0) : NULL; e;
         e = W->json->next(e)) {
        size_t i = r->t->n_formats;

        if (!carrier_table_read_format(r, e, W->mem->format(r->m->req, "formats.%zu", i).p,
                WHARF_S(""), &r->t->formats[i]))
            return false;
        r->t->n_formats++;
    }
    return read_countries(r, W->json->get(json, "countries"));
}

bool table_read(struct memory *m, const wharf_json *json, const struct table *below,
    struct table *ret, const char **ret_path, const char **ret_problem)
{
    struct reading r = {.m = m, .t = ret};

    *ret = (struct table){.below = below};
    return carrier_table_finish(&r, carrier_table_read_all(&r, json), ret_path, ret_problem);
}

static bool read_custom(struct reading *r, const wharf_json *json, size_t i)
{
    const char *base = W->mem->format(r->m->req, "%zu", i).p;
    const wharf_json *formats = W->json->get(json, "formats");
    struct provider *p = &r->t->providers[r->t->n_providers++];

    if (!carrier_table_read_provider(r, json, base, p))
        return false;
    for (const wharf_json *e = formats ? W->json->at(formats, 0) : NULL; e; e = W->json->next(e)) {
        size_t k = r->t->n_formats;

        if (!carrier_table_read_format(
                r, e, W->mem->format(r->m->req, "%s.formats", base).p, p->id, &r->t->formats[k]))
            return false;
        r->t->n_formats++;
    }
    return true;
}

bool table_read_custom(struct memory *m, const wharf_json *custom, const struct table *below,
    struct table *ret, const char **ret_path, const char **ret_problem)
{
    struct reading r = {.m = m, .t = ret};
    size_t n = W->json->count(custom), n_formats = 0, i = 0;
    bool ok = true;

    *ret = (struct table){.below = below};
    for (const wharf_json *e = n ? W->json->at(custom, 0) : NULL; e; e = W->json->next(e))
        n_formats += W->json->get(e, "formats") ? W->json->count(W->json->get(e, "formats")) : 0;
    ret->providers = memory_alloc(m, n * sizeof(*ret->providers));
    ret->formats = memory_alloc(m, n_formats * sizeof(*ret->formats));
    for (const wharf_json *e = n ? W->json->at(custom, 0) : NULL; e && ok;
         e = W->json->next(e), i++)
        ok = read_custom(&r, e, i);
    return carrier_table_finish(&r, ok, ret_path, ret_problem);
}

/* ---- looking up ---- */

const struct provider *table_provider(const struct table *t, wharf_str id)
{
    for (; t; t = t->below) {
        for (size_t i = 0; i < t->n_providers; i++) {
            if (same(t->providers[i].id, id))
                return &t->providers[i];
        }
    }
    return NULL;
}

const struct country *table_country(const struct table *t, const char code[2])
{
    for (; t; t = t->below) {
        for (size_t i = 0; i < t->n_countries; i++) {
            if (!memcmp(t->countries[i].code, code, 2))
                return &t->countries[i];
        }
    }
    return NULL;
}

wharf_str table_fallback(const struct table *t)
{
    while (!t->fallback_url.n && t->below)
        t = t->below;
    return t->fallback_url;
}
