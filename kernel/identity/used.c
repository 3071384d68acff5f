/* used.c - when keys and devices were used last, written by the side thread (db/notifier.h). See
 * auth.h. */
#include "identity/auth.h"

#include <libpq-fe.h>

#include "util/buf.h"
#include "util/log.h"

enum { USED_TEXT = 1024 * 1024 };

/* Writes last_used_at, and last_seen_at of the key's device, at most once a minute for each key
 * whatever the number of requests and processes. */
void auth_used_write(struct auth_cache *c, PGconn *pg)
{
    static const char sql[] =
        "WITH used AS (UPDATE wharf.api_key AS k SET last_used_at = wharf.now()"
        " FROM (SELECT * FROM unnest($1::text[], $2::text[]) AS u(organization_id, id) ORDER BY 2) "
        "AS u"
        " WHERE k.organization_id = u.organization_id AND k.id = u.id"
        " AND (k.last_used_at IS NULL OR k.last_used_at <= wharf.now() - interval '60 seconds')"
        " RETURNING k.organization_id, k.device_id),"
        /* who changes the device now waits for nobody here, and is not waited for: the next
         * minute writes it again */
        " seen AS (SELECT d.organization_id, d.id FROM wharf.device AS d WHERE (d.organization_id, "
        "d.id) IN (SELECT organization_id, device_id FROM used) FOR UPDATE SKIP LOCKED)"
        " UPDATE wharf.device AS d SET last_seen_at = wharf.now() FROM seen AS s"
        " WHERE d.organization_id = s.organization_id AND d.id = s.id";
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
