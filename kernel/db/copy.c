/* copy.c - see copy.h. */
#include "db/copy.h"

/* Bytes before the first that may need an escape, eight at a time: a control character or a backslash. Those of 0x80 and more never do. */
static size_t plain_run(const char *p, size_t n)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t w, slash;

        memcpy(&w, p + i, 8);
        slash = w ^ (ones * '\\');
        if (((w - ones * 0x20) | (slash - ones)) & ~w & high)
            break; /* which of the eight it is, is found below */
    }
    while (i < n && p[i] != '\\' && (unsigned char)p[i] >= 0x20)
        i++;
    return i;
}

static void put_escaped(struct buf *b, wharf_str s)
{
    while (s.n) {
        size_t run = plain_run(s.p, s.n);
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

/* A line end inside a cell is written as two characters: one that stands there ends a row. */
static void begin_cell(struct buf *b)
{
    if (b->n && b->p[b->n - 1] != '\n')
        buf_addc(b, '\t');
}

void copy_cell(struct buf *b, wharf_str text)
{
    begin_cell(b);
    if (text.p)
        put_escaped(b, text);
    else
        buf_addz(b, "\\N");
}

void copy_int(struct buf *b, int64_t n)
{
    begin_cell(b);
    buf_addi(b, n);
}

void copy_hex(struct buf *b, wharf_str digits)
{
    begin_cell(b);
    buf_addz(b, "\\\\x");
    buf_adds(b, digits);
}

void copy_row_end(struct buf *b)
{
    buf_addc(b, '\n');
}
