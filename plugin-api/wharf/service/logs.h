/* wharf/service/logs.h - the change log's seal: service "wharf.logs", version 1.3
 * (docs/reference/logs.md).
 *
 * The server writes the change log and seals it; which rows anybody sees is a resource's matter.
 * Rules of this header: wharf/plugin.h. */
#ifndef WHARF_SERVICE_LOGS_H
#define WHARF_SERVICE_LOGS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller sets head; members that its size does not reach are left out. */
typedef struct wharf_logs_report {
    wharf_head head;
    bool valid;
    int64_t checked; /* sealed rows whose hash and place in the chain were looked at */
    wharf_str first_bad_id; /* empty when valid, and when the whole chain is gone */
    wharf_str head_hash; /* of the newest sealed row, 64 hex digits; empty before the first */
} wharf_logs_report;

/* A row of the change log that no change of a field makes: a comment, a change of status. The
 * caller sets head; texts may be empty. */
typedef struct wharf_log_line {
    wharf_head head;
    const char *resource, *action; /* "tracker", "comment" */
    wharf_str resource_id, parent_id, location_id, message;
    const wharf_json *images, *changes; /* arrays, or NULL */
    bool public_line; /* visibility public, else internal */
} wharf_log_line;

typedef struct wharf_logs_api {
    wharf_head head;
    /* Checks the chain of the request's organization from the first to the last row that the
     * request's created_at filters (query parameters, docs/spec/01-platform.md section 11)
     * choose; all of it without any. resource: the declared one that shows the change log. */
    wharf_status (*verify)(wharf_req *req, const char *resource, wharf_logs_report *report);
    /* 1.1 */
    /* in the request's transaction */
    wharf_status (*add)(wharf_req *req, const wharf_log_line *line);
    /* The newest rows of n groups of resources, a group's together, oldest first, as a JSON array
     * each. groups: a JSON array of n arrays of ids; visibility: "public", "internal" or empty for
     * both. ret_rows has n places. */
    wharf_status (*recent)(wharf_req *req, wharf_str groups, size_t n, wharf_str visibility,
        size_t limit, const wharf_json **ret_rows);
    /* 1.2: the same of one group by pages: those after the first `skip`, at most limit, as a JSON
     * array; newest: the other way round. */
    wharf_status (*page)(wharf_req *req, wharf_str groups, wharf_str visibility, bool newest,
        int64_t skip, int64_t limit, const wharf_json **ret_rows);
    /* 1.3: n lines of one resource and action by somebody else than the request's caller, at one
     * moment and in this order, in the request's transaction. Images and changes are left out. */
    wharf_status (*add_many)(wharf_req *req, wharf_str actor_type, wharf_str actor_id,
        wharf_str actor_name, const wharf_log_line *lines, size_t n);
} wharf_logs_api;

#ifdef __cplusplus
}
#endif
#endif
