/* wharf/ext/inference.h - services of the module inference.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/06-inference.md section 5. */
#ifndef WHARF_EXT_INFERENCE_H
#define WHARF_EXT_INFERENCE_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Service "inference.ops", version 1.1. */
typedef struct wharf_inference_ops_api {
    wharf_head head;
    /* A tracker was made that names the reading of a label, or one was there, with this first leg
     * (or empty): a reading that waits for one is completed. */
    wharf_status (*tracked)(
        wharf_req *req, wharf_str inference_id, wharf_str tracker_id, wharf_str shipment_id);
    /* Makes a body of POST /v1/trackers of what a label says; members of `sent` win. The reading is
     * locked until the transaction ends. Refuses a reading that can have no tracker now, and a
     * caller that does not reach it. Since 1.1. */
    wharf_status (*order)(wharf_req *req, wharf_str inference_id, const wharf_json *sent,
        const wharf_json **ret_body);
} wharf_inference_ops_api;

#ifdef __cplusplus
}
#endif
#endif
