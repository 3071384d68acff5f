/* copy.c - see copy.h. */
#include "db/copy.h"

#include "util/str.h"

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
