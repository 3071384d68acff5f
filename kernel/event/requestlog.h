/* requestlog.h - the request log: lines handed over by the event loop, written in batches by a
 * thread with its own connection (docs/spec/01-platform.md section 13 'Request log',
 * docs/reference/logs.md).
 *
 * Handing over never waits for the database: what does not fit into the queue is dropped and
 * counted. What was handed over
 * within the last second may be lost in a crash. Leaves to others: which requests are written
 * (http/http_access.c), reading (module logs). */
#ifndef WHARF_EVENT_REQUESTLOG_H
#define WHARF_EVENT_REQUESTLOG_H

#include "resource/engine.h"

struct request_log;

/* Texts are copied. Those that are empty are null. */
struct request_line {
    wharf_str organization, id, method, route, path, query, code, key_id, principal_id, ip,
        user_agent, client_request_id, idempotency_key;
    wharf_str request_body,
        /* JSON, or its beginning, as it was; what must not be kept is removed by the thread */
        response_body;
    wharf_str row_id, path_id, parent_id;
    /* JSON arrays: who may see it (docs/spec/01-platform.md section 7 'records') */
    wharf_str audience, reach, areas;
    int64_t created_us, duration_us, request_bytes, response_bytes;
    int status;
    bool replayed;
};
enum { REQUEST_BODY_READ = 64 * 1024 }; /* so much of a body is enough to fill what is kept of it */

struct request_log *request_log_start(const struct engine *e, const char *database);
void request_log_add(struct request_log *log, const struct request_line *line);
/* Writes what is waiting, if the database answers. NULL is accepted. */
/* Returns the bytes of lines that wait to be written. NULL is accepted. */
size_t request_log_bytes(struct request_log *log);
void request_log_stop(struct request_log *log);

#endif
