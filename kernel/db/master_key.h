/* master_key.h - which master key sealed the secrets of a database, and whether this machine has
 * it. The id of a key is a hash of it (secret/secret.h). */
#ifndef WHARF_DB_MASTER_KEY_H
#define WHARF_DB_MASTER_KEY_H

#include <libpq-fe.h>

#include "secret/secret.h"

enum master_key_state {
    MASTER_KEY_FITS,
    MASTER_KEY_UNUSED, /* nothing was ever sealed */
    MASTER_KEY_MISSING, /* this machine has none */
    MASTER_KEY_DIFFERS,
    MASTER_KEY_UNKNOWN, /* the database does not answer */
};

/* Compares the keys of this process with the one that the database names, whose id is in ret_id. */
enum master_key_state master_key_compare(PGconn *conn, char ret_id[static SECRET_KEY_ID + 1]);
/* Notes the first key of this machine as the one that seals, where it may: nothing is sealed yet,
 * or this machine has the one that sealed so far, too. Returns what it compared. */
enum master_key_state master_key_take(PGconn *conn, char ret_id[static SECRET_KEY_ID + 1]);
/* Returns what is wrong in a few words for anybody ("the master key is missing: ..."), NULL when
 * nothing is. */
const char *master_key_wrong(enum master_key_state state);

#endif
