/* retention.h - deleting what is over: change log, request log, events (docs/decisions 6).
 *
 * Nobody sees it any more by then: reads hide it by predicate (x-wharf "retain", expires_at).
 * The rules are in SQL (db/sql/expire_*.sql). */
#ifndef WHARF_EVENT_RETENTION_H
#define WHARF_EVENT_RETENTION_H

#include "resource/request.h"

/* Runs a kernel job: deletes in small batches until nothing is left, then partitions in which
 * everything is over. */
wharf_status retention_job(struct wharf_req *req, void *arg);

#endif
