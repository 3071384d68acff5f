/* retention.c - see retention.h. */
#include "event/retention.h"

#include "util/log.h"
#include "util/str.h"

/* Drops what is over for everybody, a partition in a transaction
 * (db/sql/drop_expired_partitions.sql). */
static wharf_status drop_partitions(struct wharf_req *req)
{
    unsigned dropped = 0;
    bool more = true;

    while (more && !req->job->stop(req)) {
        struct arena_mark mark = arena_mark(req->arena);
        PGresult *r = req_query(req, "SELECT wharf.drop_expired_partitions(1)", NULL, 0);

        if (!r)
            return WHARF_UNAVAILABLE;
        more = PQgetvalue(r, 0, 0)[0] != '0';
        dropped += more;
        arena_rewind(req->arena, mark);
    }
    if (dropped)
        log_info("retention.partitions", "dropped=%u", dropped);
    return WHARF_OK;
}

wharf_status retention_job(struct wharf_req *req, void *arg)
{
    static const char *const batches[] = {"SELECT wharf.expire_request_log(1000)",
        "SELECT wharf.expire_events(1000)", "SELECT wharf.expire_change_log(1000)",
        "SELECT wharf.expire_tokens(1000)"};
    struct arena_mark mark = arena_mark(req->arena);
    PGresult *r = NULL;

    (void)arg;
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
        bool more = true;

        while (more) {
            r = req_query(req, batches[i], NULL, 0);
            if (!r)
                return WHARF_UNAVAILABLE;
            more = PQgetvalue(r, 0, 0)[0] != '0';
            arena_rewind(req->arena, mark);
            if (req->job->stop(req))
                return WHARF_OK; /* the next period goes on */
        }
    }
    return drop_partitions(req);
}
