/* wharf/ext/containers.h - services of the module containers.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/02-places-and-people.md section 8. */
#ifndef WHARF_EXT_CONTAINERS_H
#define WHARF_EXT_CONTAINERS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Service "containers.membership", version 1.0. */
typedef struct wharf_containers_membership_api {
    wharf_head head;
    /* The container that a shipment is in; empty: none. Batches refuse such shipments
     * (shipment.in_container). */
    wharf_status (*container_of)(
        wharf_req *req, wharf_str shipment_id, wharf_str *ret_container_id);
    /* Adds shipments as "add" of a container's update does, all or none. */
    wharf_status (*add)(
        wharf_req *req, wharf_str container_id, const wharf_str *shipment_ids, size_t n);
} wharf_containers_membership_api;

#ifdef __cplusplus
}
#endif
#endif
