/* copy.c - see copy.h. */
#include "db/copy.h"

static void put_escaped(struct buf *b, wharf_str s)
{
    size_t from = 0;

    for (size_t i = 0; i < s.n; i++) {
        const char *as = s.p[i] == '\\'   ? "\\\\"
                         : s.p[i] == '\n' ? "\\n"
                         : s.p[i] == '\r' ? "\\r"
                         : s.p[i] == '\t' ? "\\t"
                                          : NULL;

        if (!as)
            continue;
        buf_add(b, s.p + from, i - from);
        buf_addz(b, as);
        from = i + 1;
    }
    buf_add(b, s.p + from, s.n - from);
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
