/* copy.c - see copy.h. */
#include "db/copy.h"

#include <endian.h>
#include <sodium.h>
#include <stdlib.h>

#include "util/str.h"
#include "util/time.h"

static const int64_t epoch_us = 946684800000000; /* 2000-01-01, where PostgreSQL's moments begin */

/* ---- text ---- */

static void put_escaped(struct buf *b, wharf_str s)
{
    while (s.n) {
        size_t run = str_plain_run(s.p, s.n, '\\');
        char c = run < s.n ? s.p[run] : 0;

        buf_add(b, s.p, run);
        if (run == s.n)
            return;
        if (c == '\\' || c == '\n' || c == '\r' || c == '\t')
            buf_addc(b, '\\');
        buf_addc(b, (char)(c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't' : c));
        s.p += run + 1;
        s.n -= run + 1;
    }
}

/* Begins a cell. A line end inside a cell is written as two characters: one that stands there ends
 * a row. */
static void copy_begin_cell(struct buf *b)
{
    if (b->n && b->p[b->n - 1] != '\n')
        buf_addc(b, '\t');
}

void copy_cell(struct buf *b, wharf_str text)
{
    copy_begin_cell(b);
    if (text.p)
        put_escaped(b, text);
    else
        buf_addz(b, "\\N");
}

void copy_int(struct buf *b, int64_t n)
{
    copy_begin_cell(b);
    buf_addi(b, n);
}

void copy_row_end(struct buf *b)
{
    buf_addc(b, '\n');
}

/* ---- binary ---- */

static void put_length(struct buf *b, size_t n)
{
    uint32_t length = htobe32((uint32_t)n);

    if (n > INT32_MAX)
        b->failed = true;
    buf_add(b, &length, sizeof(length));
}

void binary_begin(struct buf *b)
{
    static const char signature[19] =
        "PGCOPY\n\377\r\n"; /* with flags and the length of an extension, which are zero */

    buf_add(b, signature, sizeof(signature));
}

void binary_row(struct buf *b, size_t cells)
{
    uint16_t n = htobe16((uint16_t)cells);

    buf_add(b, &n, sizeof(n));
}

void binary_text(struct buf *b, wharf_str text)
{
    static const unsigned char null[4] = {0xFF, 0xFF, 0xFF, 0xFF};

    if (!text.p) {
        buf_add(b, null, sizeof(null));
        return;
    }
    put_length(b, text.n);
    buf_add(b, text.p, text.n);
}

void binary_int8(struct buf *b, int64_t n)
{
    uint64_t value = htobe64((uint64_t)n);

    put_length(b, sizeof(value));
    buf_add(b, &value, sizeof(value));
}

void binary_moment(struct buf *b, int64_t us)
{
    binary_int8(b, us - epoch_us);
}

static void put_int4(struct buf *b, int64_t n)
{
    uint32_t value = htobe32((uint32_t)n);

    if (n < INT32_MIN || n > INT32_MAX)
        b->failed = true;
    put_length(b, sizeof(value));
    buf_add(b, &value, sizeof(value));
}

void binary_hex(struct buf *b, wharf_str digits)
{
    size_t n = digits.n / 2;
    char *to;

    put_length(b, n);
    to = buf_room(b, n);
    if (!to)
        return;
    if (sodium_hex2bin((unsigned char *)to, n, digits.p, digits.n, NULL, NULL, NULL) != 0)
        b->failed = true;
    to[n] = 0;
    b->n += n;
}

/* Reads a small number. The text need not end with NUL, which strtoll() wants. */
static bool small_number(wharf_str text, int64_t *ret)
{
    char room[16], *end;

    if (!text.n || text.n >= sizeof(room)) /* what is longer is none of 32 bits */
        return false;
    memcpy(room, text.p, text.n);
    room[text.n] = 0;
    *ret = strtoll(room, &end, 10);
    return !*end;
}

void binary_value(struct buf *b, enum binary_type type, wharf_str text)
{
    int64_t n = 0;

    if (!text.p || type == BINARY_TEXT) {
        binary_text(b, text);
        return;
    }
    switch (type) {
    case BINARY_TEXT:
        break;
    case BINARY_JSONB:
        put_length(b, text.n + 1);
        buf_addc(b, 1); /* the version of this form */
        buf_adds(b, text);
        break;
    case BINARY_MOMENT:
        b->failed |= !time_parse_iso(text, false, &n);
        binary_moment(b, n);
        break;
    case BINARY_INT4:
        b->failed |= !small_number(text, &n);
        put_int4(b, n);
        break;
    case BINARY_BOOL:
        b->failed |= !str_eqz(text, "true") && !str_eqz(text, "false");
        put_length(b, 1);
        buf_addc(b, str_eqz(text, "true"));
        break;
    }
}

void binary_end(struct buf *b)
{
    static const unsigned char end[2] = {0xFF, 0xFF};

    buf_add(b, end, sizeof(end));
}
