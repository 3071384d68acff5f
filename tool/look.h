/* look.h - looks at what stands beside the rows of a database: the role of plugins' SQL, the master
 * key, the objects of files. For the start and `wharf check`. */
#ifndef WHARF_TOOL_LOOK_H
#define WHARF_TOOL_LOOK_H

#include <libpq-fe.h>

#include "config/config.h"
#include "resource/engine.h"

/* Each returns false after it has printed what is wrong and what to do. */
bool look_at_rights(PGconn *conn, const struct engine *e);
/* The keys were loaded (secret_load()). */
bool look_at_key(PGconn *conn, const struct config *config, struct arena *a);
/* note: objects that are lost are marked, as the scrub does. A store that can't be asked is told,
 * and nothing is wrong. */
bool look_at_objects(PGconn *conn, const struct config *config, bool note, struct arena *a);

#endif
