/* lines.h - rows of the change log beside those that history.h writes: comments and changes of
 * status by rules, and reading the newest ones of a few rows (wharf/service/logs.h,
 * docs/spec/03-shipments-and-trackers.md section 5.4). Leaves sealing to seal.h. */
#ifndef WHARF_EVENT_LINES_H
#define WHARF_EVENT_LINES_H

#include "resource/request.h"
#include "wharf/service/logs.h"

wharf_status log_add(wharf_req *req, const wharf_log_line *line);
wharf_status log_add_many(wharf_req *req, wharf_str actor_type, wharf_str actor_id,
    wharf_str actor_name, const wharf_log_line *lines, size_t n);
wharf_status log_recent(wharf_req *req, wharf_str groups, size_t n, wharf_str visibility,
    size_t limit, const wharf_json **ret_rows);
wharf_status log_page(wharf_req *req, wharf_str groups, wharf_str visibility, bool newest,
    int64_t skip, int64_t limit, const wharf_json **ret_rows);

#endif
