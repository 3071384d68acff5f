/* assets.h - inside of the module assets. */
#ifndef ASSETS_H
#define ASSETS_H

#define W assets_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/errors.h"
#include "wharf/ext/items.h"
#include "wharf/ext/locations.h"
#include "wharf/ext/reasons.h"
#include "wharf/inline.h"
#include "wharf/sets.h"

extern const wharf_items_catalog_api *assets_items;
extern const wharf_locations_directory_api *assets_places;
extern const wharf_locations_layouts_api *assets_layouts;
extern const wharf_many_api *assets_many;
extern const wharf_reasons_lookup_api *assets_reasons; /* NULL: the module is not there */

extern const wharf_hooks assets_asset_hooks, assets_sequence_hooks;
extern const wharf_hooks assets_item_hooks, assets_location_hooks, assets_layout_hooks;

/* ---- asset_items.c: the item of an asset ---- */
/* Holds the item of an asset that is made or restored, checks that it is one of assets, and takes
 * over what lists sort and search by. */
wharf_status asset_settle_item(wharf_req *req, bool restored, wharf_rec *rec);
/* Holds the items of the new assets of a set before that. */
wharf_status asset_hold_items(wharf_req *req, wharf_rec *const *recs, size_t n);

/* ---- asset_places.c ---- */
/* Checks and fills in where the asset is. old_rec: NULL on create. */
wharf_status asset_settle_place(
    wharf_req *req, bool restored, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec);
/* Moves what others' contacts had to the one that they are merged into. */
wharf_status assets_contacts_merged(wharf_req *req, const wharf_str *from, size_t n, wharf_str to);

/* ---- asset_serials.c ---- */
struct serial_wanted { /* a number that an asset is to take */
    wharf_rec *rec; /* NULL: it takes none */
    wharf_str sequence, before; /* empty: the organization's; the sequence's own prefix */
    size_t row; /* of the set */
};
/* Checks what is said of the number, and whether it comes of a sequence. */
wharf_status asset_check_serial(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec, struct serial_wanted *ret);
/* Gives assets the next numbers of their sequences, in this order. together: they are rows of a
 * set. */
wharf_status asset_take_serials(
    wharf_req *req, struct serial_wanted *list, size_t n, bool together);
wharf_status asset_sequence_create(wharf_req *req, void *arg);

/* ---- asset_times.c ---- */
/* Settles the maintenance: what is kept of its status, and when the next one is. */
void asset_settle_maintenance(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec);

#endif
