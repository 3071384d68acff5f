/* lower.c - lower case of UTF-8 text, see str.h. Leaves to others: texts compared in SQL (there
 * PostgreSQL's lower decides). */
#include <locale.h>
#include <pthread.h>
#include <wctype.h>

#include "util/arena.h"
#include "util/str.h"

/* The C library's table of Unicode; per process, because a locale is costly to make. NULL: ASCII
 * only. */
static locale_t unicode;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void lower_prepare(void)
{
    unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static uint32_t lower_lower(uint32_t cp)
{
    if (cp < 128)
        return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
    return unicode ? (uint32_t)towlower_l((wint_t)cp, unicode) : cp;
}

wharf_str utf8_lower(struct arena *a, wharf_str s)
{
    /* No mapping needs more than one byte above its capital: at most 3 bytes from 2. */
    char *out = arena_alloc(a, s.n + s.n / 2 + 5);
    size_t n = 0;

    pthread_once(&once, lower_prepare);
    for (size_t i = 0; i < s.n;) {
        uint32_t cp;
        size_t step = utf8_step(s.p + i, s.n - i, &cp);

        if (!step)
            break;
        n += utf8_put(lower_lower(cp), out + n);
        i += step;
    }
    out[n] = 0;
    return (wharf_str){out, n};
}
