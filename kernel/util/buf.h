/* buf.h - a growing byte buffer with a maximum from birth.
 *
 * Appending never fails visibly: past the maximum the buffer is marked `failed`, its content is
 * dropped and further appends do nothing; the owner looks at `failed` once, at the end. Always
 * NUL-terminated when p is not NULL. */
#ifndef WHARF_UTIL_BUF_H
#define WHARF_UTIL_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wharf/plugin.h"

struct buf {
    char *p;
    size_t n, cap, max;
    bool failed;
};

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b); /* frees; the struct may be initialised again */
/* Hands the memory over (free with free()); the buffer is empty afterwards. NULL when failed or
 * nothing was written. */
char *buf_take(struct buf *b, size_t *ret_n);
/* Makes room for n more bytes (plus NUL) and returns where they go, or NULL when the maximum is
 * passed. */
char *buf_grow(struct buf *b, size_t n); /* of buf_room: when there is none yet */
static inline char *buf_room(struct buf *b, size_t n)
{
    return b->cap - b->n > n ? b->p + b->n : buf_grow(b, n);
}
void buf_add(struct buf *b, const void *p, size_t n);
void buf_addz(struct buf *b, const char *z);
static inline void buf_addc(struct buf *b, char c)
{
    char *to = buf_room(b, 1);

    if (!to)
        return;
    to[0] = c;
    to[1] = 0;
    b->n++;
}
void buf_addi(struct buf *b, int64_t v);
void buf_addf(struct buf *b, const char *fmt, ...) WHARF_PRINTF(2, 3);
/* Appends s as text of an HTML page: nothing of it becomes markup, also not between quotes. */
void buf_add_html(struct buf *b, wharf_str s);
void buf_clear(struct buf *b);

static inline void buf_adds(struct buf *b, wharf_str s)
{
    buf_add(b, s.p, s.n);
}
#define BUF_LIT(b, lit) buf_add((b), "" lit, sizeof(lit) - 1)

static inline wharf_str buf_str(const struct buf *b)
{
    return (wharf_str){b->p ? b->p : "", b->n};
}

#endif
