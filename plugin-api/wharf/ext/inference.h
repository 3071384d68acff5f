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

/* Service "inference.ops", version 1.0. */
typedef struct wharf_inference_ops_api {
    wharf_head head;
    /* A tracker was made that names the reading of a label, with this first leg (or empty): a
     * reading that waits for one is completed. */
    wharf_status (*tracked)(
        wharf_req *req, wharf_str inference_id, wharf_str tracker_id, wharf_str shipment_id);
} wharf_inference_ops_api;

#ifdef __cplusplus
}
#endif
#endif
