/* seal.h - tamper evidence of the change log: rows chained by hashes, per organization (docs/spec/01-platform.md section 13, docs/logs.md).
 *
 * The chain itself is made and walked in SQL (db/migrations/0005_logs.sql). Leaves to others: writing rows (history.h), showing them.
 */
#ifndef WHARF_EVENT_SEAL_H
#define WHARF_EVENT_SEAL_H

#include "resource/request.h"

struct seal_report {
    bool valid;
    int64_t checked;
    wharf_str first_bad_id, head_hash; /* or empty */
};

/* A kernel job: seals what was committed since the last run. */
wharf_status seal_job(struct wharf_req *req, void *arg);
/* Checks what the request's created_at filters choose of the resource that shows the log; its location rules do not count. */
wharf_status seal_verify(struct wharf_req *req, const struct resource *shown, struct seal_report *ret);

#endif
