/* parcels.h - inside of the module parcels. */
#ifndef PARCELS_H
#define PARCELS_H

#define W parcels_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/ext/locations.h"
#include "wharf/ext/parcels.h"
#include "wharf/inline.h"
#include "wharf/sets.h"

extern const wharf_locations_directory_api *parcels_places;
extern const wharf_locations_layouts_api *parcels_layouts;
extern const wharf_many_api *parcels_many;
extern bool parcels_items; /* the module items is there */

extern const wharf_hooks parcels_hooks, parcels_location_hooks, parcels_layout_hooks,
    parcels_shipment_hooks;
extern const wharf_parcels_ops_api parcels_ops;

/* Makes the whole list after a request: stored lines with what was sent merged in; problems at
 * contents.2.item_id ... (contents.c). */
wharf_status parcels_contents(wharf_req *req, const wharf_rec *rec, const wharf_json *stored,
    const wharf_json *sent, const wharf_json **ret_contents, const wharf_json **ret_item_ids);
/* Asks for the items that the contents of all rows of a set name by their ids. */
wharf_status parcels_contents_ahead(wharf_req *req, const wharf_rec *const *recs, size_t n);

#endif
