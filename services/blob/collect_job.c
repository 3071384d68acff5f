/* collect_job.c - the collection as a job of the kernel: each hour, once for the installation.
 * See blob_file.h. */
#include <stdlib.h>

#include "blob/blob_file.h"
#include "resource/engine.h"
#include "util/log.h"
#include "util/str.h"
#include "wharf/errors.h"

const char file_collect_policy[] = "{\"every\": \"1h\", \"retries\": 0, \"timeout\": \"6h\", "
                                   "\"transaction\": \"own\", \"background\": true}";

static int64_t rows_of(void *arg, const char *sql, const char *value)
{
    struct wharf_req *req = arg;
    struct sql_arg args[1] = {{value, value ? strlen(value) : 0}};
    struct db_error e = {.status = DB_OK};
    int64_t n = 0;
    PGresult *r;

    if (!value && db_do(req->thread->db, sql, &e) == DB_OK)
        return 0;
    r = value ? db_run(req->thread->db, sql, args, 1, &e) : NULL;
    if (!r) {
        log_write(WHARF_LOG_WARN, NULL, req->request_id, "file.collect", "%s", e.message);
        return -1;
    }
    n = PQresultStatus(r) == PGRES_TUPLES_OK ? PQntuples(r) : strtoll(PQcmdTuples(r), NULL, 10);
    PQclear(r);
    return n;
}

wharf_status file_collect_job(struct wharf_req *req, void *arg)
{
    struct file_collected done;
    bool good = file_collect(
        rows_of, req, req->engine->blobs, req->now_us, req->engine->config->blob_grace_s, &done);

    (void)arg;
    log_info("file.collected", "%u expired files, %u objects, %u temporary files", done.rows,
        done.objects, done.temporary);
    return good ? WHARF_OK : req_fail(req, ERR_STORAGE_UNAVAILABLE, NULL, NULL);
}
