/* wharf/ext/parcels.h - services of the module parcels: boxes that belong to rows of others.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/02-places-and-people.md section 7. */
#ifndef WHARF_EXT_PARCELS_H
#define WHARF_EXT_PARCELS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Facts that a write by another module carries beside the body. The caller sets head. */
typedef struct wharf_parcel_write {
    wharf_head head;
    /* creates: what it belongs to; or empty */
    wharf_str fulfillment_id, manifest_id;
    /* creates: its id, as req->new_id() made it for "prcl"; empty: a new one */
    wharf_str new_id;
    /* with set_shipment; empty: in none. A parcel that is there enters a shipment only when it
     * is of fulfillment_id, and in no other one: else validation.failed at parcel_id */
    wharf_str shipment_id;
    bool set_shipment;
    /* the whole list, as answers show it, and the ids of its items, an array; or NULL both */
    const wharf_json *contents, *item_ids;
} wharf_parcel_write;

/* Service "parcels.ops", version 1.0. */
typedef struct wharf_parcels_ops_api {
    wharf_head head;
    /* Makes a parcel (id empty) or changes one, by the same rules and with the same events as a
     * request. ret_rec: or NULL. */
    wharf_status (*write)(wharf_req *req, wharf_str id, const wharf_json *body,
        const wharf_parcel_write *w, const wharf_rec **ret_rec);
} wharf_parcels_ops_api;

#ifdef __cplusplus
}
#endif
#endif
