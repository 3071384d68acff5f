/* copy.h - rows for COPY ... FROM STDIN, in PostgreSQL's text form: the cheapest way to write many rows that no rule can refuse.
 *
 * Leaves to others: running it (conn.h).
 */
#ifndef WHARF_DB_COPY_H
#define WHARF_DB_COPY_H

#include "util/buf.h"

/* The next cell of the row; NULL text: null. */
void copy_cell(struct buf *b, wharf_str text);
void copy_int(struct buf *b, int64_t n);
/* A bytea, given in hexadecimal digits. */
void copy_hex(struct buf *b, wharf_str digits);
void copy_row_end(struct buf *b);

#endif
