/* wharf/ext/parcels.h - services of the module parcels.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/02-places-and-people.md section 7. */
#ifndef WHARF_EXT_PARCELS_H
#define WHARF_EXT_PARCELS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Service "parcels.goods", version 1.0: parcels of goods that come or go, whose contents another
 * module knows. */
typedef struct wharf_parcels_goods_api {
    wharf_head head;
    /* Writes the parcel of a row of that resource ("manifest" or "fulfillment"), as a request
     * would; op: WHARF_CREATE or WHARF_UPDATE. id: of the parcel, on create as req->new_id() made
     * it for "prcl". Lines of `contents` have ids, new ones too, and name items that the caller
     * has looked at. */
    wharf_status (*write)(wharf_req *req, uint32_t op, const char *of, wharf_str of_id,
        wharf_str id, const wharf_json *body);
} wharf_parcels_goods_api;

#ifdef __cplusplus
}
#endif
#endif
