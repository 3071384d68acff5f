/* carrier_detect.c - one tracking number against all formats
 * (docs/spec/03-shipments-and-trackers.md section 9.1). Pure; leaves the answer's JSON to
 * carrier_answer.c. A format costs a comparison of lengths unless its shape can fit. */
#include "carriers.h"

enum { ROUTING_PREFIX = 3, INTERNAL_GROUP = 7, UTF8_LONGEST = 4 };

/* ---- normalization ---- */

/* Returns the length of a character at p that nobody sees, 0: it is none. Unicode's White_Space,
 * and what directs, joins or breaks text without a shape of its own. */
static size_t unseen(const char *p, size_t n)
{
    static const char *const wide[] = {"\xc2\x85", "\xc2\xa0", "\xc2\xad", "\xcd\x8f", "\xd8\x9c",
        "\xe1\x9a\x80", "\xe1\xa0\x8e", "\xe3\x80\x80", "\xef\xbb\xbf"};

    if (*p == ' ' || (*p >= '\t' && *p <= '\r'))
        return 1;
    if ((*p & 0x80) == 0)
        return 0;
    /* U+2000 to 200F, 2028 to 202F, 205F to 206F */
    if (n > 2 && !memcmp(p, "\xe2\x80", 2) &&
        ((unsigned char)p[2] <= 0x8f ||
            ((unsigned char)p[2] >= 0xa8 && (unsigned char)p[2] <= 0xaf)))
        return 3;
    if (n > 2 && !memcmp(p, "\xe2\x81", 2) && (unsigned char)p[2] >= 0x9f &&
        (unsigned char)p[2] <= 0xaf)
        return 3;
    for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
        if (n >= strlen(wide[i]) && !memcmp(p, wide[i], strlen(wide[i])))
            return strlen(wide[i]);
    }
    return 0;
}

/* Returns the length of a dash at p that is not the one of keyboards (U+2010 to 2015, 2212, FE63,
 * FF0D), 0: it is none. */
static size_t dash_length(const char *p, size_t n)
{
    static const char *const others[] = {"\xe2\x88\x92", "\xef\xb9\xa3", "\xef\xbc\x8d"};

    if (n > 2 && !memcmp(p, "\xe2\x80", 2) && (unsigned char)p[2] >= 0x90 &&
        (unsigned char)p[2] <= 0x95)
        return 3;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (n > 2 && !memcmp(p, others[i], 3))
            return 3;
    }
    return 0;
}

static bool ordinary(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' ||
           c == '/';
}

static enum reason carrier_detect_normalize(wharf_str number, struct detected *d)
{
    size_t characters = 0;
    bool good = true;

    d->n = 0;
    for (size_t i = 0; i < number.n;) {
        size_t skip = unseen(number.p + i, number.n - i),
               dash = skip ? 0 : dash_length(number.p + i, number.n - i);
        char c = dash ? '-' : number.p[i];

        if (skip) {
            i += skip;
            continue;
        }
        characters += (c & 0xc0) != 0x80;
        if (characters > NUMBER_MAX)
            return REASON_TOO_LONG;
        c = c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
        good = good && ordinary(c);
        d->normalized[d->n++] = c;
        i += dash ? dash : 1;
    }
    d->normalized[d->n] = 0;
    return good ? REASON_NONE : REASON_INVALID;
}

static bool group(const char *p)
{
    for (size_t i = 0; i < INTERNAL_GROUP; i++) {
        if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'A' && p[i] <= 'Z')))
            return false;
    }
    return true;
}

bool detect_is_internal(const char *p, size_t n, wharf_str *ret_code)
{
    size_t prefix = carriers_prefix.n;

    if (n != prefix + 2 * (1 + INTERNAL_GROUP) || memcmp(p, carriers_prefix.p, prefix) != 0)
        return false;
    if (p[prefix] != '-' || !group(p + prefix + 1) || p[prefix + 1 + INTERNAL_GROUP] != '-' ||
        !group(p + prefix + 2 + INTERNAL_GROUP))
        return false;
    *ret_code = (wharf_str){p + prefix + 1, INTERNAL_GROUP};
    return true;
}

static bool begins_internal(const struct detected *d)
{
    size_t n = carriers_prefix.n;

    return d->n > n && !memcmp(d->normalized, carriers_prefix.p, n) && d->normalized[n] == '-';
}

static bool one_digit(const struct detected *d)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->normalized[i] != d->normalized[0] || d->normalized[i] < '0' ||
            d->normalized[i] > '9')
            return false;
    }
    return d->n > 1;
}

/* ---- one format ---- */

static bool carrier_detect_ends(struct slice s, size_t n, size_t *ret_from, size_t *ret_to)
{
    int from = s.from < 0 ? (int)n + s.from : s.from, to = s.to < 0 ? (int)n + s.to : s.to;

    if (from < 0 || to < from || (size_t)to > n)
        return false;
    *ret_from = (size_t)from;
    *ret_to = (size_t)to;
    return true;
}

static bool check_holds(const struct format *f, const char *p, size_t n)
{
    char serial[2 * NUMBER_MAX];
    size_t from, to, k = 0,
                     at = f->position < 0 ? (size_t)((int)n + f->position) : (size_t)f->position;

    if (f->check.name == CHECK_NONE)
        return true;
    if (!carrier_detect_ends(f->serial, n, &from, &to) || at >= n)
        return false;
    if (f->prepend.n &&
        !(f->unless.n && to - from >= f->unless.n && !memcmp(p + from, f->unless.p, f->unless.n))) {
        memcpy(serial, f->prepend.p, f->prepend.n);
        k = f->prepend.n;
    }
    memcpy(serial + k, p + from, to - from);
    return check_character(&f->check, serial, k + to - from) == p[at];
}

static bool carrier_detect_among(wharf_str id, const wharf_str *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (same(id, list[i]))
            return true;
    }
    return false;
}

struct search {
    const struct table *t;
    const wharf_str *allowed;
    size_t n_allowed;
    struct detected *d;
    bool shaped; /* a shape fitted, but its check did not */
};

static const struct provider *provider_of(
    const struct search *s, const struct format *f, const char *p, size_t n)
{
    const struct country *c;
    size_t from, to;

    if (f->provider.n)
        return table_provider(s->t, f->provider);
    if (!f->has_country || !carrier_detect_ends(f->country, n, &from, &to) || to - from != 2)
        return NULL;
    c = table_country(s->t, p + from);
    return c ? table_provider(s->t, c->provider) : NULL;
}

static bool try_core(
    struct search *s, const struct format *f, const struct routing *routing, size_t skip)
{
    struct detected *d = s->d;
    const char *p = d->text + skip;
    size_t n = d->text_n - skip;
    const struct provider *provider;

    if (!shape_match(&f->shape, p, n))
        return false;
    provider = provider_of(s, f, p, n);
    if (!provider || (s->allowed && !carrier_detect_among(provider->id, s->allowed, s->n_allowed)))
        return false;
    if (!check_holds(f, p, n)) {
        s->shaped = true;
        return false;
    }
    if (d->n_candidates < CANDIDATES_MAX)
        d->candidates[d->n_candidates++] = (struct candidate){f, provider, skip, n, routing};
    return true;
}

static bool routed(const struct detected *d, const struct routing *r)
{
    size_t skip = ROUTING_PREFIX + r->digits;

    if (d->text_n <= skip || memcmp(d->text, "420", ROUTING_PREFIX) != 0)
        return false;
    for (size_t i = ROUTING_PREFIX; i < skip; i++) {
        if (d->text[i] < '0' || d->text[i] > '9')
            return false;
    }
    for (size_t i = 0; i < r->n_lengths; i++) {
        if (r->lengths[i] == d->text_n - skip)
            return true;
    }
    return r->n_lengths == 0;
}

static void try_format(struct search *s, const struct format *f)
{
    if (try_core(s, f, NULL, 0))
        return;
    for (size_t i = 0; i < f->n_routings; i++) {
        const struct routing *r = &f->routings[i];

        if (routed(s->d, r) && try_core(s, f, r, ROUTING_PREFIX + r->digits))
            return;
    }
}

static void try_table(struct search *s, const struct table *t)
{
    if (t->below)
        try_table(s, t->below);
    for (size_t i = 0; i < t->n_formats; i++)
        try_format(s, &t->formats[i]);
}

/* ---- all of them ---- */

static bool carrier_detect_found(const struct detected *d, wharf_str format)
{
    for (size_t i = 0; i < d->n_candidates; i++) {
        if (same(d->candidates[i].format->id, format))
            return true;
    }
    return false;
}

static bool suppressed(const struct detected *all, const struct format *f)
{
    for (size_t i = 0; i < f->n_suppressed_by; i++) {
        if (carrier_detect_found(all, f->suppressed_by[i]))
            return true;
    }
    return false;
}

/* Orders the candidates without the suppressed ones, by confidence, then as in the table. */
static void carrier_detect_order(struct detected *d)
{
    struct candidate kept[CANDIDATES_MAX];
    size_t n = 0;

    for (int level = CONFIDENCE_HIGH; level <= CONFIDENCE_LOW; level++) {
        for (size_t i = 0; i < d->n_candidates; i++) {
            const struct format *f = d->candidates[i].format;

            if ((int)f->confidence == level && !suppressed(d, f))
                kept[n++] = d->candidates[i];
        }
    }
    memcpy(d->candidates, kept, n * sizeof(*kept));
    d->n_candidates = n;
}

static void without_marks(struct detected *d)
{
    size_t k = 0;

    for (size_t i = 0; i < d->text_n; i++) {
        if (!strchr("-._/", d->text[i]))
            d->text[k++] = d->text[i];
    }
    d->text[k] = 0;
    d->text_n = k;
}

void detect_number(const struct table *t, wharf_str number, const wharf_str *allowed,
    size_t n_allowed, struct detected *d)
{
    struct search s = {.t = t, .allowed = allowed, .n_allowed = n_allowed, .d = d};

    d->n_candidates = 0;
    d->text_n = 0;
    d->bare = false;
    d->reason = carrier_detect_normalize(number, d);
    if (d->reason == REASON_NONE && begins_internal(d))
        d->reason = REASON_INTERNAL;
    else if (d->reason == REASON_NONE && one_digit(d))
        d->reason = REASON_REPEATED;
    if (d->reason != REASON_NONE)
        return;
    memcpy(d->text, d->normalized, d->n + 1);
    d->text_n = d->n;
    try_table(&s, t);
    if (!d->n_candidates) {
        without_marks(d);
        d->bare = d->text_n != d->n;
        if (d->bare)
            try_table(&s, t);
    }
    carrier_detect_order(d);
    if (!d->n_candidates)
        d->reason = s.shaped ? REASON_CHECKSUM : REASON_NO_MATCH;
}
