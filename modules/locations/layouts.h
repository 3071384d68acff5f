/* layouts.h - layouts: places in a tree under one location (spec 02 section 3). */
#ifndef LAYOUTS_H
#define LAYOUTS_H

#include "locations.h"

enum {
    DEPTH_MAX = 10, /* levels of layouts */
    CHILDREN_MAX = 1000, /* layouts under one */
    BATCH_MAX = 400 /* layouts of one request */
};

/* Returns the hex SHA-256 of what a client set of a layout; position as a number, metadata as its
 * object (or NULL). */
wharf_str layout_checksum(wharf_req *req, wharf_str id, wharf_str name, wharf_str code,
    wharf_str path, int64_t position, const wharf_json *metadata);
/* Returns "lay_" and what follows "loc_". */
wharf_str layout_default_id(wharf_req *req, wharf_str location_id);
/* Fails with 403 layout.locked when the location or the organization says so. */
wharf_status layout_unlocked(wharf_req *req, wharf_str location_id);
/* Finds the layout at a path of names ("/" is none: ret_id empty). ret_found false: there is none,
 * or more than one. */
wharf_status layout_by_names(
    wharf_req *req, wharf_str location_id, wharf_str names, bool *ret_found, wharf_str *ret_id);
/* Makes the default layouts of new locations, with the next statement. */
void layouts_make_default(wharf_req *req, const wharf_str *location_ids, size_t n);

/* ---- places_known.c ---- */
/* Finds the location of a live layout; empty: there is none. rec: the row that it is asked for, or
 * NULL; of rows of a set places_ahead() has asked before. */
wharf_status place_location_of(
    wharf_req *req, const wharf_rec *rec, wharf_str layout_id, wharf_str *ret);
wharf_status places_ahead(wharf_req *req, const wharf_rec *const *recs, size_t n,
    wharf_field location, wharf_field layout);

/* Writes the array as POST of it does, without an answer (layout_upsert.c). */
wharf_status layouts_merge(wharf_req *req, wharf_str location_id, const wharf_json *layouts);
extern const wharf_locations_layouts_api layouts_service;
/* Writes the same as the item of a batch: one layout that is wrong does not keep the others from
 * being judged. Each problem is told; the item is refused then. */
wharf_status layouts_merge_item(wharf_req *req, wharf_str location_id, const wharf_json *layouts);
/* Makes the problems told so far the item's from now on, which is refused for them, and the
 * request has none. For the hook batch_item. Returns false when something is wrong that is
 * nobody's in particular; it stays on the request. */
bool layouts_hold_problems(wharf_req *req);
/* Runs an item {location_id, layouts} of a batch (docs/spec/10-batches.md section 8.2):
 * places.c. */
wharf_status layouts_batch_item(wharf_req *req, const char *action, const wharf_json *item);

#endif
