/* blob_mark.h - the mark by which a folder of files and a database know each other: a file
 * "store" among the objects, whose text the database has too.
 *
 * Servers of one database must see one folder: what one writes, the others serve. A folder that
 * another machine can't see has no mark, or the mark of another database (docs/decisions 641).
 * Nothing of it with S3, where the bucket is named. */
#ifndef WHARF_BLOB_BLOB_MARK_H
#define WHARF_BLOB_BLOB_MARK_H

#include <libpq-fe.h>

#include "blob/blob.h"

enum blob_mark_how {
    BLOB_MARK_LOOK, /* changes nothing */
    BLOB_MARK_MAKE, /* of a database that knows no folder yet: this one becomes its folder */
    BLOB_MARK_COPY, /* a new folder gets the mark that the database knows: after a restore */
    BLOB_MARK_ADOPT, /* whatever the database knew: this one is its folder from now on */
};

/* Compares the mark of the folder with that of the database. Returns false and what to do when
 * they differ, or can't be read or written. */
bool blob_mark(PGconn *conn, const struct blob_store *s, enum blob_mark_how how, struct arena *a,
    wharf_str *ret_error);

#endif
