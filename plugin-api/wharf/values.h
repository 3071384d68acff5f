/* wharf/values.h - small helpers for plugins around wharf_str and wharf_val. Nothing here calls
 * the server; all functions are [any]. */
#ifndef WHARF_VALUES_H
#define WHARF_VALUES_H

#include <string.h>

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline wharf_str wharf_z(const char *text) /* text lives as long as the result */
{
    wharf_str s = {text, strlen(text)};

    return s;
}
static inline bool wharf_same(wharf_str a, wharf_str b)
{
    return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

/* Orders two wharf_str by their bytes, for qsort() and bsearch(). */
static inline int wharf_str_order(const void *x, const void *y)
{
    const wharf_str *a = (const wharf_str *)x, *b = (const wharf_str *)y;
    int order = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);

    return order ? order : (a->n > b->n) - (a->n < b->n);
}

static inline wharf_val wharf_val_of(uint32_t type)
{
    wharf_val v;

    memset(&v, 0, sizeof(v));
    v.type = type;
    return v;
}
static inline wharf_val wharf_null(void)
{
    return wharf_val_of(WHARF_V_NULL);
}
static inline wharf_val wharf_text(wharf_str s)
{
    wharf_val v = wharf_val_of(WHARF_V_TEXT);

    v.u.s = s;
    return v;
}
static inline wharf_val wharf_text_or_null(wharf_str s) /* null for the empty text */
{
    return s.n ? wharf_text(s) : wharf_null();
}
static inline wharf_val wharf_integer(int64_t i)
{
    wharf_val v = wharf_val_of(WHARF_V_INT);

    v.u.i = i;
    return v;
}
static inline wharf_val wharf_truth(bool t)
{
    wharf_val v = wharf_val_of(WHARF_V_BOOL);

    v.u.i = t;
    return v;
}
static inline wharf_val wharf_value(const wharf_json *j)
{
    wharf_val v = wharf_val_of(WHARF_V_JSON);

    v.u.j = j;
    return v;
}

/* Texts as a PostgreSQL array literal, for "$n::text[]". */
static inline size_t wharf_array_room(
    const wharf_str *values, size_t n) /* bytes that are enough for it */
{
    size_t most = 3;

    for (size_t i = 0; i < n; i++)
        most += 2 * values[i].n + 3;
    return most;
}
static inline wharf_str wharf_array(
    const wharf_str *values, size_t n, char *out) /* out has that room */
{
    wharf_str s = {out, 0};
    size_t k = 0;

    out[k++] = '{';
    for (size_t i = 0; i < n; i++) {
        if (i)
            out[k++] = ',';
        out[k++] = '"';
        for (size_t j = 0; j < values[i].n; j++) {
            if (values[i].p[j] == '"' || values[i].p[j] == '\\')
                out[k++] = '\\';
            out[k++] = values[i].p[j];
        }
        out[k++] = '"';
    }
    out[k++] = '}';
    out[k] = 0;
    s.n = k;
    return s;
}

#ifdef __cplusplus
}
#endif
#endif
