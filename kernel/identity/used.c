/* used.c - when keys and devices were used last, written by the side thread (db/notifier.h). See
 * auth.h. */
#include "identity/auth.h"
#include "kernel_queries.gen.h"

#include <libpq-fe.h>

#include "util/buf.h"
#include "util/log.h"

enum { USED_TEXT = 1024 * 1024 };

/* Writes last_used_at, and last_seen_at of the key's device, at most once a minute for each key
 * whatever the number of requests and processes. */
void auth_used_write(struct auth_cache *c, PGconn *pg)
{
    static const char sql[] = QUERY_KEYS_USED;
    struct buf organizations, keys;

    buf_init(&organizations, USED_TEXT);
    buf_init(&keys, USED_TEXT);
    if (auth_used_take(c, &organizations, &keys)) {
        const char *args[] = {organizations.p, keys.p};
        PGresult *r = PQexecParams(pg, sql, 2, NULL, args, NULL, NULL, 0);

        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            log_warn("keys.used", "%s", PQresultErrorMessage(r));
        PQclear(r);
    }
    buf_done(&organizations);
    buf_done(&keys);
}
