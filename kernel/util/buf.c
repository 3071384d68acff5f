/* buf.c - see buf.h. */
#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/memory.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

/* Counts a buffer whose size changes; small ones are not worth it. */
static void buf_count(size_t before, size_t after)
{
    int64_t n = (int64_t)(after >= MEMORY_LARGE ? after : 0) -
                (int64_t)(before >= MEMORY_LARGE ? before : 0);

    if (n)
        memory_add(MEMORY_BUFFERS, n);
}

void buf_done(struct buf *b)
{
    buf_count(b->cap, 0);
    free(b->p);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->failed = false;
    if (b->p)
        b->p[0] = 0;
}

char *buf_take(struct buf *b, size_t *ret_n)
{
    char *p = b->failed ? NULL : b->p;

    *ret_n = p ? b->n : 0;
    if (p)
        b->p = NULL;
    buf_done(b);
    return p;
}

static void buf_fail(struct buf *b)
{
    buf_count(b->cap, 0);
    free(b->p);
    b->p = NULL;
    b->n = b->cap = 0;
    b->failed = true;
}

char *buf_grow(struct buf *b, size_t n)
{
    size_t cap = b->cap ? b->cap : 256;
    char *p;

    if (b->failed)
        return NULL;
    if (n > b->max || b->n > b->max - n) {
        buf_fail(b);
        return NULL;
    }
    while (cap - b->n <= n)
        cap *= 2;
    if (cap > b->max) /* so that what fits the capacity fits the maximum */
        cap = b->max + 1;
    p = realloc(b->p, cap);
    if (!p) {
        buf_fail(b);
        return NULL;
    }
    buf_count(b->cap, cap);
    b->p = p;
    b->cap = cap;
    return b->p + b->n;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    char *to = buf_room(b, n);

    if (!to)
        return;
    if (n)
        memcpy(to, p, n);
    b->n += n;
    b->p[b->n] = 0;
}

void buf_addz(struct buf *b, const char *z)
{
    buf_add(b, z, strlen(z));
}

void buf_addi(struct buf *b, int64_t v)
{
    char text[24];
    size_t at = sizeof(text);
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do {
        text[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0)
        text[--at] = '-';
    buf_add(b, text + at, sizeof(text) - at);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    char *to;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    to = n < 0 ? NULL : buf_room(b, (size_t)n);
    if (to) {
        vsnprintf(to, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

void buf_add_html(struct buf *b, wharf_str s)
{
    static const struct {
        char c;
        const char *text;
    } special[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

    for (size_t i = 0; i < s.n; i++) {
        const char *text = NULL;

        for (size_t k = 0; k < sizeof(special) / sizeof(special[0]); k++)
            text = special[k].c == s.p[i] ? special[k].text : text;
        if (text)
            buf_addz(b, text);
        else
            buf_addc(b, s.p[i]);
    }
}
