/* str.h - small helpers on wharf_str (UTF-8, length known, NUL-terminated, p never NULL). */
#ifndef WHARF_UTIL_STR_H
#define WHARF_UTIL_STR_H

#include <stdbool.h>
#include <string.h>

#include "wharf/plugin.h"

static inline wharf_str str_z(const char *z)
{
    return (wharf_str){z ? z : "", z ? strlen(z) : 0};
}
static inline bool str_eq(wharf_str a, wharf_str b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}
static inline bool str_eqz(wharf_str a, const char *z)
{
    return strlen(z) == a.n && memcmp(a.p, z, a.n) == 0;
}
static inline bool str_starts(wharf_str a, const char *prefix)
{
    size_t n = strlen(prefix);

    return a.n >= n && memcmp(a.p, prefix, n) == 0;
}
static inline bool str_ends(wharf_str a, const char *suffix)
{
    size_t n = strlen(suffix);

    return a.n >= n && memcmp(a.p + a.n - n, suffix, n) == 0;
}
/* Compares by bytes. Returns less than, equal to or more than 0. */
static inline int str_order(wharf_str a, wharf_str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return order ? order : (a.n > b.n) - (a.n < b.n);
}
/* Orders two entries of an array by their bytes, for qsort() and bsearch(). */
static inline int str_order_entries(const void *x, const void *y)
{
    return str_order(*(const wharf_str *)x, *(const wharf_str *)y);
}
/* Counts the bytes before the first that is a control character (below 0x20), a backslash, or
 * the other one, an ASCII character. */
size_t str_plain_run(const char *p, size_t n, char other);
/* printf("%.*s", STR_ARG(s)) */
#define STR_ARG(s) (int)(s).n, (s).p

/* Decodes the code point at p; returns its bytes (1-4), or 0 when n is 0 or the text is
 * ill-formed there. */
size_t utf8_step(const char *p, size_t n, uint32_t *ret_cp);
/* Encodes cp (a scalar value) and returns its bytes. */
size_t utf8_put(uint32_t cp, char out[4]);
/* Tells whether [p, p+n) is well-formed UTF-8 (no surrogates, no overlong forms, at most
 * U+10FFFF). U+0000 is well-formed. */
bool utf8_valid(const char *p, size_t n);
/* Counts the code points of well-formed text. */
size_t utf8_length(const char *p, size_t n);
/* Returns the text without its outer white space (Unicode White_Space); a view, which need not be
 * NUL-terminated at its end. */
wharf_str utf8_trim(wharf_str s);
/* Lower-case copy, code point by code point (Unicode's simple mapping), in the arena. */
struct arena;
wharf_str utf8_lower(struct arena *a, wharf_str s);
/* Returns s with `by` wherever `what` stands, from the left; what stands in its place is not
 * looked at again. Returns s itself when `what` stands nowhere, or is empty. */
wharf_str str_replaced(struct arena *a, wharf_str s, wharf_str what, wharf_str by);
/* Tells with how many bytes of the beginning of `what` (never all of them) s ends: it may have
 * been cut inside of it. 0: with none. */
size_t str_begun(wharf_str s, wharf_str what);
/* Returns the Levenshtein distance, capped at 64-byte words; for "did you mean". */
unsigned str_distance(const char *a, const char *b);
/* The nearest of the words that are tried, when one is near: up to a third of its letters
 * differ, three at most. */
struct str_near {
    const char *word, *best; /* NULL: none is near */
    unsigned least; /* what is further is not near */
};
struct str_near str_near(const char *word);
void str_near_try(struct str_near *n, const char *known);

#endif
