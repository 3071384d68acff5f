/* look.h - looks at what stands beside the rows of a database: the role of plugins' SQL, the master
 * key, the objects of files. For the start and `wharf check`. */
#ifndef WHARF_TOOL_LOOK_H
#define WHARF_TOOL_LOOK_H

#include <libpq-fe.h>

#include "blob/blob_mark.h"
#include "config/config.h"
#include "resource/engine.h"

/* Looks for the role of plugins' SQL and its rights. Returns false after it has printed what is
 * missing and what to do, as each of these. */
bool look_at_rights(PGconn *conn, const struct engine *e);
/* Looks whether this machine has the master key of the database; keys were loaded before. */
bool look_at_key(PGconn *conn, const struct config *config, struct arena *a);
/* Looks whether the folder of files is the one of the database (blob/blob_mark.h). */
bool look_at_mark(
    PGconn *conn, const struct config *config, enum blob_mark_how how, struct arena *a);
/* Looks for some of the objects. note: those that are lost are marked, as the scrub does. A store
 * that does not answer is told, and nothing is wrong; one that can't be opened is wrong. */
bool look_at_objects(PGconn *conn, const struct config *config, bool note, struct arena *a);

#endif
