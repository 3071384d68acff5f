/* row.h - the row of a write in its table: read with its lock, written, read again; its cells,
 * and the unique rules that refuse it.
 *
 * Leaves to others: what is to be written (write.h), reading for answers (read.c). */
#ifndef WHARF_RESOURCE_ROW_H
#define WHARF_RESOURCE_ROW_H

#include "resource/write.h"

/* Reads and locks the row of an update or a delete. Returns NULL after a problem was added. */
struct wharf_rec *row_lock(struct wharf_req *req, struct write *w);
/* Runs the statement that makes, changes or removes the row; with a speculation (speculation.h)
 * observers judge meanwhile. *ret_rows, or NULL: what it tells, of the request's arena. */
wharf_status row_write(
    struct wharf_req *req, struct write *w, struct sql *sql, PGresult **ret_rows);
/* Runs the statement that makes or changes the row, whose table has the alias t, and keeps in
 * w->stored what it tells of the row. Where that is not all that is shown (told_by_write), the
 * row is read again next: the statement may go with that read, which then says what refused it. */
wharf_status row_store(struct wharf_req *req, struct write *w, struct sql *sql);
/* Reads the row as it stands after the write, with what SQL computes of it, whoever may see it.
 * Returns NULL after a problem was added. */
struct wharf_rec *row_read_again(struct wharf_req *req, struct write *w);
/* Begins the statement that removes rows of the table, as t, up to its WHERE: it marks them deleted
 * or archived, or takes them away. */
void row_remove_sql(struct wharf_req *req, struct sql *s, const struct definition *d);
/* Adds what a row t must be for the operation, where that is not for all rows that are seen: one
 * that is archived is not archived again. */
void row_removable_sql(struct sql *s, const struct definition *d, uint32_t op);
/* Binds what the write puts into the field's column. False: it could not be sealed. */
bool row_bind(struct wharf_req *req, struct sql *s, const struct write *w, const struct field *f);

#endif
