/* copy.h - rows for COPY ... FROM STDIN: the cheapest way to write many rows that no rule can
 * refuse.
 *
 * In PostgreSQL's text form for columns of any type; in its binary form, which costs both sides
 * half, where the types are known. Leaves to others: running it (conn.h). */
#ifndef WHARF_DB_COPY_H
#define WHARF_DB_COPY_H

#include "util/buf.h"

/* ---- text ---- */

/* Writes the next cell of the row; NULL text: null. */
void copy_cell(struct buf *b, wharf_str text);
void copy_int(struct buf *b, int64_t n);
void copy_row_end(struct buf *b);

/* ---- binary: COPY ... FROM STDIN (FORMAT binary) ---- */

/* Types of columns in COPY's binary form; other types have a text form only. json is sent as
 * text. */
enum binary_type { BINARY_TEXT, BINARY_JSONB, BINARY_MOMENT, BINARY_INT4, BINARY_BOOL };

void binary_begin(struct buf *b);
/* Begins a row of `cells` cells, which follow. */
void binary_row(struct buf *b, size_t cells);
/* Writes the next cell, from its text; NULL text: null. A text that is not of the type marks the
 * buffer as failed. Moments: ISO 8601. */
void binary_value(struct buf *b, enum binary_type type, wharf_str text);
void binary_text(struct buf *b, wharf_str text);
void binary_moment(struct buf *b, int64_t us); /* since 1970 */
void binary_int8(struct buf *b, int64_t n);
/* Writes a bytea cell, given in hexadecimal digits. */
void binary_hex(struct buf *b, wharf_str digits);
void binary_end(struct buf *b);

#endif
