/* str.c - see str.h. Leaves to others: case folding beyond ASCII (PostgreSQL does it) and
 * escaping. */
#include "util/str.h"

#include "util/arena.h"
#include "util/buf.h"

enum { WORD_MAX = 64 };

/* Measures the plain run eight bytes at a time. Those of 0x80 and more are never looked for, so
 * each test masks them out. */
size_t str_plain_run(const char *p, size_t n, char other)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t w, found, slash, marks;

        memcpy(&w, p + i, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        w = __builtin_bswap64(w);
#endif
        found = w ^ (ones * (unsigned char)other);
        slash = w ^ (ones * '\\');
        marks = ((w - ones * 0x20) | (found - ones) | (slash - ones)) & ~w & high;
        if (marks)
            return i + (size_t)__builtin_ctzll(marks) / 8;
    }
    for (; i < n; i++) {
        unsigned char c = (unsigned char)p[i];

        if (c < 0x20 || c == (unsigned char)other || c == '\\')
            break;
    }
    return i;
}

/* Reads one code point. Bounds of the second byte decide overlong forms, surrogates and the end at
 * U+10FFFF (Unicode 15, table 3-7). */
size_t utf8_step(const char *text, size_t n, uint32_t *ret_cp)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned char low = 0x80, high = 0xBF;
    uint32_t cp;
    size_t need;

    if (n == 0)
        return 0;
    if (p[0] < 0x80) {
        *ret_cp = p[0];
        return 1;
    }
    if (p[0] < 0xC2 || p[0] > 0xF4)
        return 0;
    need = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (n < need)
        return 0;
    if (p[0] == 0xE0)
        low = 0xA0;
    else if (p[0] == 0xED)
        high = 0x9F;
    else if (p[0] == 0xF0)
        low = 0x90;
    else if (p[0] == 0xF4)
        high = 0x8F;
    if (p[1] < low || p[1] > high)
        return 0;
    cp = p[0] & (0x7Fu >> need);
    cp = cp << 6 | (p[1] & 0x3Fu);
    for (size_t i = 2; i < need; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        cp = cp << 6 | (p[i] & 0x3Fu);
    }
    *ret_cp = cp;
    return need;
}

size_t utf8_put(uint32_t cp, char out[4])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

/* Returns the length of the ASCII prefix, rounded down to words of eight. */
static size_t ascii_words(const char *p, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t w;

        memcpy(&w, p + i, 8);
        if (w & 0x8080808080808080u)
            break;
    }
    return i;
}

bool utf8_valid(const char *p, size_t n)
{
    size_t i = 0;

    while (i < n) {
        uint32_t cp;
        size_t step;

        i += ascii_words(p + i, n - i);
        if (i == n)
            break;
        step = utf8_step(p + i, n - i, &cp);
        if (!step)
            return false;
        i += step;
    }
    return true;
}

size_t utf8_length(const char *p, size_t n)
{
    size_t count = 0, i = 0;

    /* Every byte that is not 10xxxxxx begins a code point. */
    for (; i + 8 <= n; i += 8) {
        uint64_t w, follow;

        memcpy(&w, p + i, 8);
        follow = w & ~(w << 1) & 0x8080808080808080u;
        count += 8 - (size_t)__builtin_popcountll(follow);
    }
    for (; i < n; i++)
        count += ((unsigned char)p[i] & 0xC0) != 0x80;
    return count;
}

static bool str_is_space(uint32_t cp)
{
    if (cp < 0x80)
        return cp == ' ' || (cp >= 9 && cp <= 13);
    if (cp >= 0x2000 && cp <= 0x200A)
        return true;
    switch (cp) {
    case 0x85:
    case 0xA0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202F:
    case 0x205F:
    case 0x3000:
        return true;
    default:
        return false;
    }
}

wharf_str utf8_trim(wharf_str s)
{
    uint32_t cp;

    while (s.n) {
        size_t step = utf8_step(s.p, s.n, &cp);

        if (!step || !str_is_space(cp))
            break;
        s.p += step;
        s.n -= step;
    }
    while (s.n) {
        size_t at = s.n - 1;

        while (at && ((unsigned char)s.p[at] & 0xC0) == 0x80)
            at--;
        if (!utf8_step(s.p + at, s.n - at, &cp) || !str_is_space(cp))
            break;
        s.n = at;
    }
    return s;
}

unsigned str_distance(const char *a, const char *b)
{
    unsigned row[WORD_MAX + 1];
    size_t na = strnlen(a, WORD_MAX), nb = strnlen(b, WORD_MAX);

    for (size_t j = 0; j <= nb; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned corner = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = corner + (a[i - 1] != b[j - 1]);

            corner = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

struct str_near str_near(const char *word)
{
    size_t most = strlen(word) / 3 + 2;

    return (struct str_near){word, NULL, most > 4 ? 4 : (unsigned)most};
}

void str_near_try(struct str_near *n, const char *known)
{
    unsigned d = str_distance(n->word, known);

    if (d >= n->least)
        return;
    n->best = known;
    n->least = d;
}

wharf_str str_replaced(struct arena *a, wharf_str s, wharf_str what, wharf_str by)
{
    const char *at;
    struct buf b;
    wharf_str text;

    if (!what.n || !memmem(s.p, s.n, what.p, what.n))
        return s;
    buf_init(&b, SIZE_MAX / 2);
    while ((at = memmem(s.p, s.n, what.p, what.n))) {
        size_t before = (size_t)(at - s.p);

        buf_add(&b, s.p, before);
        buf_adds(&b, by);
        s = (wharf_str){at + what.n, s.n - before - what.n};
    }
    buf_adds(&b, s);
    text = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return text;
}

size_t str_begun(wharf_str s, wharf_str what)
{
    for (size_t n = what.n && what.n - 1 < s.n ? what.n - 1 : what.n ? s.n : 0; n; n--) {
        if (!memcmp(s.p + s.n - n, what.p, n))
            return n;
    }
    return 0;
}
