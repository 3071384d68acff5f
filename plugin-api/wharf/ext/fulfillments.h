/* wharf/ext/fulfillments.h - services of the module fulfillments: what a shipment carries.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/03-shipments-and-trackers.md section 6.8. */
#ifndef WHARF_EXT_FULFILLMENTS_H
#define WHARF_EXT_FULFILLMENTS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Codes of this module that others answer with. */
#define ERR_FULFILLMENT_CLOSED "fulfillment.closed"

/* Service "fulfillments.shipping", version 1.0. */
typedef struct wharf_fulfillments_shipping_api {
    wharf_head head;
    /* Reads what a new shipment takes from its fulfillment: an object of sender, recipient, parcels
     * (each with the parcel_id of one that is in no shipment), location_id, order_number,
     * purchase_order, reference_number. parcel_ids: an array, or NULL for all that are left;
     * boxed: parcels are asked for, and it is a problem when there are none. NULL in *ret_facts:
     * there is no such fulfillment, which is the caller's to tell. Problems: validation.failed at
     * parcel_ids, fulfillment.closed. */
    wharf_status (*facts)(wharf_req *req, wharf_str id, const wharf_json *parcel_ids, bool boxed,
        const wharf_json **ret_facts);
} wharf_fulfillments_shipping_api;

#ifdef __cplusplus
}
#endif
#endif
