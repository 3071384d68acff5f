/* wharf/ext/trackers.h - services of the module trackers.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/03-shipments-and-trackers.md section 5. */
#ifndef WHARF_EXT_TRACKERS_H
#define WHARF_EXT_TRACKERS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Service "trackers.ops", version 1.0. */
typedef struct wharf_trackers_ops_api {
    wharf_head head;
    /* POST /v1/trackers for another module: a new tracker, or the open one of its number and
     * provider (*ret_known). */
    wharf_status (*create)(
        wharf_req *req, const wharf_json *body, const wharf_rec **ret_rec, bool *ret_known);
} wharf_trackers_ops_api;

#ifdef __cplusplus
}
#endif
#endif
