/* master_key.c - see master_key.h.
 *
 * All machines of one database seal with keys that the others have: the first key of one must be
 * among those of the next. A machine that lacks it can read nothing and would write what nobody
 * else reads. */
#include "db/master_key.h"

#include <stdio.h>
#include <string.h>

enum master_key_state master_key_compare(PGconn *conn, char ret_id[static SECRET_KEY_ID + 1])
{
    PGresult *r = PQexec(conn, "SELECT value FROM wharf.setting WHERE key = 'master_key.id'");
    enum master_key_state state = MASTER_KEY_UNKNOWN;

    ret_id[0] = 0;
    if (PQresultStatus(r) == PGRES_TUPLES_OK && !PQntuples(r)) {
        state = MASTER_KEY_UNUSED;
    } else if (PQresultStatus(r) == PGRES_TUPLES_OK) {
        state = *secret_key_id(0) ? MASTER_KEY_DIFFERS : MASTER_KEY_MISSING;
        snprintf(ret_id, SECRET_KEY_ID + 1, "%s", PQgetvalue(r, 0, 0));
        for (size_t i = 0; *secret_key_id(i); i++) {
            if (strcmp(ret_id, secret_key_id(i)) == 0)
                state = MASTER_KEY_FITS;
        }
    }
    PQclear(r);
    return state;
}

enum master_key_state master_key_take(PGconn *conn, char ret_id[static SECRET_KEY_ID + 1])
{
    const char *values[1] = {secret_key_id(0)};
    enum master_key_state state;

    if (*values[0])
        PQclear(PQexecParams(conn,
            "INSERT INTO wharf.setting (key, value) VALUES ('master_key.id', $1::text) ON CONFLICT "
            "(key) DO NOTHING",
            1, NULL, values, NULL, NULL, 0));
    state = master_key_compare(conn, ret_id);
    if (state == MASTER_KEY_FITS && strcmp(ret_id, values[0]) != 0)
        PQclear(PQexecParams(conn,
            "UPDATE wharf.setting SET value = $1::text, updated_at = now() WHERE key = "
            "'master_key.id'",
            1, NULL, values, NULL, NULL, 0));
    return state;
}

const char *master_key_wrong(enum master_key_state state)
{
    switch (state) {
    case MASTER_KEY_MISSING:
        return "the master key is missing: secrets are unavailable";
    case MASTER_KEY_DIFFERS:
        return "the master key is not the one of this database: secrets are unavailable";
    case MASTER_KEY_FITS:
    case MASTER_KEY_UNUSED:
    case MASTER_KEY_UNKNOWN:
        break;
    }
    return NULL;
}
