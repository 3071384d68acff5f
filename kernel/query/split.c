/* split.c - the raw query string as decoded pairs. Leaves their meaning to parse.c. */
#include "query/filter.h"
#include "util/str.h"

static int split_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decodes into the arena. What can't be decoded ends the text and sets *broken. */
static wharf_str split_decode(struct arena *a, const char *p, size_t n, bool *broken)
{
    char *out = arena_alloc(a, n + 1);
    size_t k = 0;

    for (size_t i = 0; i < n; i++) {
        int high, low;

        if (p[i] != '%') {
            out[k++] = p[i] == '+' ? ' ' : p[i];
            continue;
        }
        high = n - i > 2 ? split_hex(p[i + 1]) : -1;
        low = n - i > 2 ? split_hex(p[i + 2]) : -1;
        if (high < 0 || low < 0 || (high == 0 && low == 0)) {
            *broken = true;
            break;
        }
        out[k++] = (char)(high * 16 + low);
        i += 2;
    }
    if (!utf8_valid(out, k) || memchr(out, 0, k)) {
        *broken = true;
        for (k = 0; out[k] > 0 && out[k] < 0x7f; k++)
            ;
    }
    out[k] = 0;
    return (wharf_str){out, k};
}

/* Tells whether brackets stand where they mean nothing: created_at]=1, [created_at]=1,
 * created_at[gte]x=1. Behind a dot is a key of metadata, which may have any. */
static bool name_broken(wharf_str key)
{
    size_t n = 0;

    while (n < key.n && key.p[n] != '[' && key.p[n] != ']' && key.p[n] != '.')
        n++;
    if (n == key.n || key.p[n] == '.')
        return false;
    return n == 0 || key.p[n] == ']' || key.p[key.n - 1] != ']';
}

static void split_pair(struct arena *a, const char *p, size_t n, struct query_pair *pair)
{
    const char *eq = memchr(p, '=', n);
    size_t key = eq ? (size_t)(eq - p) : n;

    pair->key = split_decode(a, p, key, &pair->broken);
    pair->misnamed = name_broken(pair->key);
    pair->value = eq ? split_decode(a, eq + 1, n - key - 1, &pair->broken) : (wharf_str){"", 0};
}

bool query_split(struct arena *a, wharf_str raw, const struct query_pair **ret_pairs,
    size_t *ret_count, wharf_str *ret_bad)
{
    struct query_pair *pairs;
    size_t n = 0, most = 1;
    bool good = true;

    for (size_t i = 0; i < raw.n; i++)
        most += raw.p[i] == '&';
    pairs = ARENA_ARRAY(a, struct query_pair, most);
    for (size_t at = 0; at <= raw.n;) {
        const char *amp = memchr(raw.p + at, '&', raw.n - at);
        size_t end = amp ? (size_t)(amp - raw.p) : raw.n;

        if (end > at) {
            split_pair(a, raw.p + at, end - at, &pairs[n]);
            if ((pairs[n].broken || pairs[n].misnamed) && good) {
                good = false;
                *ret_bad = query_base(pairs[n].key);
            }
            n++;
        }
        at = end + 1;
    }
    *ret_pairs = pairs;
    *ret_count = n;
    return good;
}

wharf_str query_base(wharf_str key)
{
    size_t n = 0;

    while (n < key.n && key.p[n] != '[' && key.p[n] != ']' && key.p[n] != '.')
        n++;
    return (wharf_str){key.p, n};
}

enum key_form filter_key(wharf_str key, wharf_str *ret_inner)
{
    size_t base = query_base(key).n;

    *ret_inner = (wharf_str){"", 0};
    if (base == key.n)
        return KEY_PLAIN;
    if (key.p[base] == '.') {
        *ret_inner = (wharf_str){key.p + base + 1, key.n - base - 1};
        return KEY_DOT;
    }
    if (key.p[key.n - 1] != ']')
        return KEY_BROKEN;
    *ret_inner = (wharf_str){key.p + base + 1, key.n - base - 2};
    return ret_inner->n ? KEY_BRACKET : KEY_LIST;
}
