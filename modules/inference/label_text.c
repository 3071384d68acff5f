/* label_text.c - texts and facts of the reader of labels (docs/spec/06-inference.md section 8):
 * what all of its parts need and no header of plugin-api/ has. See label_inside.h. */
#include "address_parse.h"
#include "label_inside.h"

enum { LABEL_CERTAIN = 1000 };

wharf_str label_copy(const struct label_env *env, wharf_str s)
{
    char *p = label_new(env, char, s.n + 1);

    memcpy(p, s.p, s.n);
    return (wharf_str){p, s.n};
}

wharf_str label_written(const struct label_env *env, const char *room, int n)
{
    size_t most = LABEL_FORMAT_MAX - 1, bytes = n < 0 ? 0 : (size_t)n;

    return label_copy(env, (wharf_str){room, bytes < most ? bytes : most});
}

wharf_str label_upper(const struct label_env *env, wharf_str s)
{
    char *p = label_new(env, char, s.n + 1);

    for (size_t i = 0; i < s.n; i++)
        p[i] = (char)(s.p[i] >= 'a' && s.p[i] <= 'z' ? s.p[i] - ('a' - 'A') : s.p[i]);
    return (wharf_str){p, s.n};
}

static bool label_is_outer(char c)
{
    return strchr(" \t\r\n,;:|*=_\"'`~<>[]{}!^", c) != NULL;
}

/* Tells whether a bracket of the other end is within. */
static bool label_has_pair(wharf_str s, char other)
{
    return memchr(s.p, other, s.n) != NULL;
}

/* Counts the bytes of a quotation mark other than those of ASCII at the begin of a text. */
static size_t label_quote_length(wharf_str s)
{
    const uint8_t *p = (const uint8_t *)s.p;

    if (s.n >= 3 && p[0] == 0xe2 && p[1] == 0x80 && p[2] >= 0x98 && p[2] <= 0x9f)
        return 3;
    return s.n >= 2 && p[0] == 0xc2 && (p[1] == 0xab || p[1] == 0xbb) ? 2 : 0;
}

/* Takes such marks off both ends. */
static wharf_str label_unquoted(wharf_str s)
{
    size_t n;

    while ((n = label_quote_length(s)))
        s = (wharf_str){s.p + n, s.n - n};
    while (s.n >= 2 && (n = label_quote_length((wharf_str){s.p + s.n - 2, 2})))
        s.n -= n;
    while (s.n >= 3 && (n = label_quote_length((wharf_str){s.p + s.n - 3, 3})) == 3)
        s.n -= n;
    return s;
}

wharf_str label_trim(wharf_str s)
{
    s = label_unquoted(s);
    while (s.n && (label_is_outer(*s.p) || *s.p == '.' || *s.p == '-' || *s.p == ')' ||
                      (*s.p == '(' && !label_has_pair(s, ')')))) {
        s.p++;
        s.n--;
    }
    while (s.n && (label_is_outer(s.p[s.n - 1]) || s.p[s.n - 1] == '-' || s.p[s.n - 1] == '(' ||
                      (s.p[s.n - 1] == ')' && !label_has_pair(s, '('))))
        s.n--;
    return s;
}

size_t label_digits(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] >= '0' && s.p[i] <= '9';
    return n;
}

size_t label_letters(wharf_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] >= 'A' && s.p[i] <= 'Z') || (s.p[i] >= 'a' && s.p[i] <= 'z');
    return n;
}

bool label_all_digits(wharf_str s)
{
    return s.n && label_digits(s) == s.n;
}

/* Reads one character of UTF-8. Returns its bytes, 0: none begins there. */
static size_t label_character(const char *p, size_t n, uint32_t *ret)
{
    const uint8_t *s = (const uint8_t *)p;
    size_t k = s[0] < 0x80   ? 1
               : s[0] < 0xc2 ? 0
               : s[0] < 0xe0 ? 2
               : s[0] < 0xf0 ? 3
               : s[0] < 0xf5 ? 4
                             : 0;

    if (!k || k > n)
        return 0;
    *ret = k == 1 ? s[0] : s[0] & (0x7fu >> k);
    for (size_t i = 1; i < k; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *ret = *ret << 6 | (s[i] & 0x3f);
    }
    if ((k == 3 && *ret < 0x800) || (k == 4 && *ret < 0x10000) ||
        (*ret >= 0xd800 && *ret <= 0xdfff) || *ret > 0x10ffff)
        return 0;
    return k;
}

wharf_str label_utf8(const struct label_env *env, wharf_str s)
{
    char *p = label_new(env, char, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n;) {
        uint32_t c;
        size_t k = label_character(s.p + i, s.n - i, &c);

        if (k && (c >= ' ' || c == '\n') && c != 0x7f) {
            memcpy(p + n, s.p + i, k);
            n += k;
        }
        i += k ? k : 1;
    }
    return (wharf_str){p, n};
}

wharf_str label_sharp_s(const struct label_env *env, wharf_str s)
{
    static const wharf_str wrong = WHARF_S("raBe"), right = WHARF_S("raße");
    char *p = label_new(env, char, s.n + s.n / wrong.n + 1);
    size_t used = 0;

    for (size_t i = 0; i < s.n;) {
        if (i + wrong.n <= s.n && !memcmp(s.p + i, wrong.p, wrong.n)) {
            for (size_t k = 0; k < right.n; k++)
                p[used++] = right.p[k];
            i += wrong.n;
        } else {
            p[used++] = s.p[i++];
        }
    }
    return (wharf_str){p, used};
}

/* Tells whether the character is a quotation mark, which OCR makes of dirt. */
static bool label_is_quote(uint32_t c)
{
    return (c >= 0x2018 && c <= 0x201f) || c == 0xab || c == 0xbb || c == 0xb4;
}

wharf_str label_key(const struct label_env *env, wharf_str s)
{
    char *p = label_new(env, char, s.n + 1);
    size_t n = 0;

    for (size_t i = 0, k; i < s.n; i += k) {
        uint32_t c = 0;

        k = label_character(s.p + i, s.n - i, &c);
        if (!k) {
            k = 1;
        } else if (c < 0x80) {
            if (c != '.' && c != '\'' && c != '`')
                p[n++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        } else if (c == 0xba || c == 0xb0 || c == 0xaa) {
            p[n++] = c == 0xaa ? 'a' : 'o';
        } else if (c >= 0xc0 && c < 0x180) { /* at most as many bytes as it had */
            for (const char *l = address_latin[c - 0xc0]; *l; l++)
                p[n++] = *l;
        } else if (c == 0x2116) {
            p[n++] = 'n';
            p[n++] = 'o';
        } else if (!label_is_quote(c)) {
            memcpy(p + n, s.p + i, k);
            n += k;
        }
    }
    return (wharf_str){p, n};
}

bool label_same_key(const struct label_env *env, wharf_str a, wharf_str b)
{
    return same(label_key(env, a), label_key(env, b));
}

/* ---- facts ---- */

void label_set(struct label_fact *f, wharf_str value, uint32_t confidence, uint32_t source)
{
    if (!value.n || !confidence)
        return;
    *f = (struct label_fact){.value = value,
        .confidence = confidence < LABEL_CERTAIN ? confidence : LABEL_CERTAIN,
        .source = source,
        .raw = value};
}

uint32_t label_both(uint32_t a, uint32_t b)
{
    uint64_t doubt = (uint64_t)(LABEL_CERTAIN - (a < LABEL_CERTAIN ? a : LABEL_CERTAIN)) *
                     (LABEL_CERTAIN - (b < LABEL_CERTAIN ? b : LABEL_CERTAIN));

    return (uint32_t)(LABEL_CERTAIN - doubt / LABEL_CERTAIN);
}

void label_offer(struct label_fact *f, const struct label_fact *other)
{
    if (!other->confidence)
        return;
    if (f->confidence && same(f->value, other->value)) {
        if (f->source != other->source)
            f->confidence = label_both(f->confidence, other->confidence);
        return;
    }
    if (other->confidence > f->confidence)
        *f = *other;
}
