/* collect_job.c - the collection as a job of the kernel: each hour, once for the installation; and
 * the erasing of one object, at once. See blob_file.h. */
#include <stdlib.h>

#include "blob/blob_file.h"
#include "resource/engine.h"
#include "util/log.h"
#include "util/str.h"
#include "wharf/errors.h"

const char file_collect_policy[] = "{\"every\": \"1h\", \"retries\": 0, \"timeout\": \"6h\", "
                                   "\"transaction\": \"own\", \"background\": true}";

const char file_erase_policy[] = "{\"retries\": 1000, \"backoff\": {\"first\": \"2s\", \"max\": "
                                 "\"10m\"}, \"transaction\": \"own\"}";

static void warn(const struct wharf_req *req, const struct db_error *e)
{
    log_write(WHARF_LOG_WARN, NULL, req->request_id, "file.collect", "%s", e->message);
}

static int64_t collect_job_rows_of(void *arg, const char *sql, const char *value)
{
    struct wharf_req *req = arg;
    struct sql_arg args[1] = {{value, strlen(value)}};
    struct db_error e;
    int64_t n = 0;
    PGresult *r = db_run(req->thread->db, sql, args, 1, &e);

    if (!r) {
        warn(req, &e);
        return -1;
    }
    n = PQresultStatus(r) == PGRES_TUPLES_OK ? PQntuples(r) : strtoll(PQcmdTuples(r), NULL, 10);
    PQclear(r);
    return n;
}

static bool collect_job_step(void *arg, enum tx_step what)
{
    struct wharf_req *req = arg;
    struct db_conn *db = req->thread->db;
    struct db_error e;

    if (what == TX_BEGIN) {
        db_begin(db);
        return true;
    }
    if ((what == TX_COMMIT ? db_commit(db, &e) : db_rollback(db, &e)) == DB_OK)
        return true;
    warn(req, &e);
    return false;
}

wharf_status file_collect_job(struct wharf_req *req, void *arg)
{
    const struct file_database db = {collect_job_rows_of, collect_job_step, req};
    struct file_collected done;
    bool good = file_collect(
        &db, req->engine->blobs, req->now_us, req->engine->config->blob_grace_s, &done);

    (void)arg;
    log_info("file.collected", "%u expired files, %u objects, %u temporary files%s", done.rows,
        done.objects, done.temporary, done.held ? "; a backup runs, the rest waits for it" : "");
    return good ? WHARF_OK : req_fail(req, ERR_STORAGE_UNAVAILABLE, NULL, NULL);
}

wharf_status file_erase_job(struct wharf_req *req, void *arg)
{
    const struct file_database db = {collect_job_rows_of, collect_job_step, req};
    struct file_collected done;
    bool good = file_erase_object(
        &db, req->engine->blobs, json_text_or(req->body, "hash", "").p, &done);

    (void)arg;
    return good && !done.held ? WHARF_OK : req_fail(req, ERR_STORAGE_UNAVAILABLE, NULL, NULL);
}
