/* blob_sample.c - see blob_sample.h. */
#include "blob/blob_sample.h"

#include <sodium.h>
#include <stdio.h>

#include "services_queries.gen.h"

const char blob_sample_sql[] = QUERY_BLOB_SAMPLE;

static bool blob_sample_mark_lost(PGconn *conn, const char *hash)
{
    static const char sql[] =
        "UPDATE wharf.file SET damage = 'lost', read_at = wharf.now() WHERE hash = $1 AND state = "
        "'stored' AND damage IS NULL";
    PGresult *r = PQexecParams(conn, sql, 1, NULL, &hash, NULL, NULL, 0);
    bool good = PQresultStatus(r) == PGRES_COMMAND_OK;

    PQclear(r);
    return good;
}

bool blob_sample(
    PGconn *conn, struct blob_store *store, bool note, struct blob_sampled *ret_sampled)
{
    unsigned char raw[BLOB_HASH / 2];
    char from[BLOB_HASH + 1];
    const char *values[1] = {from};
    PGresult *r;
    bool good;

    randombytes_buf(raw, sizeof(raw));
    sodium_bin2hex(from, sizeof(from), raw, sizeof(raw));
    r = PQexecParams(conn, blob_sample_sql, 1, NULL, values, NULL, NULL, 0);
    good = PQresultStatus(r) == PGRES_TUPLES_OK;
    *ret_sampled = (struct blob_sampled){0, 0, ""};
    for (int i = 0; good && i < PQntuples(r); i++) {
        const char *hash = PQgetvalue(r, i, 0);
        uint64_t size;
        enum blob_status status = blob_size(store, hash, &size);

        ret_sampled->looked++;
        good = status == BLOB_OK || status == BLOB_ABSENT;
        if (status != BLOB_ABSENT)
            continue;
        if (!ret_sampled->lost++)
            snprintf(ret_sampled->first, sizeof(ret_sampled->first), "%s", hash);
        good = !note || blob_sample_mark_lost(conn, hash);
    }
    PQclear(r);
    return good;
}
