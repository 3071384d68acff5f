/* retention.c - see retention.h. */
#include "event/retention.h"

#include "util/log.h"
#include "util/str.h"

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
    r = req_query(req, "SELECT wharf.drop_expired_partitions()", NULL, 0);
    if (!r)
        return WHARF_UNAVAILABLE;
    if (PQgetvalue(r, 0, 0)[0] != '0')
        log_info("retention.partitions", "dropped=%s", PQgetvalue(r, 0, 0));
    return WHARF_OK;
}
