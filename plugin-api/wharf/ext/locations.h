/* wharf/ext/locations.h - services of the module locations.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction.
 */
#ifndef WHARF_EXT_LOCATIONS_H
#define WHARF_EXT_LOCATIONS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Codes of this module that others answer with. */
#define ERR_LOCATION_INACTIVE "location.inactive"
#define ERR_LOCATION_CLOUD_PRINTING_DISABLED "location.cloud_printing_disabled"

enum wharf_location_flag {
    WHARF_LOCATION_KNOWN = 1, /* there is such a location, not deleted */
    /* may receive new stations, containers, parcels, assets (else location.inactive) */
    WHARF_LOCATION_ACTIVE = 2,
    /* settings.cloud_printing.enabled (else location.cloud_printing_disabled) */
    WHARF_LOCATION_CLOUD_PRINTING = 4,
    WHARF_LOCATION_LOCKED = 8 /* settings.layouts.locked */
};

/* Service "locations.directory", version 1.2. */
typedef struct wharf_locations_directory_api {
    wharf_head head;
    /* WHARF_LOCATION_* of a location, 0 when it is not there. Tells no problem and checks no
     * access. */
    wharf_status (*flags)(wharf_req *req, wharf_str location_id, uint32_t *ret_flags);
    /* An address as taken anywhere (spec 02 section 1): text, object or addr_ id, with line2
     * apart (or empty). Answers the value object as JSON text and remembers it; problems are
     * told as validation.failed at path. */
    wharf_status (*address)(wharf_req *req, const wharf_json *input, wharf_str line2,
        const char *path, wharf_str *ret_json);
    /* 1.1: in check hooks on "location" when it is deleted. sql asks for rows that still belong
     * to the location $1 of the organization $2; any answer is location.in_use with the kind
     * ("containers"), unless the request says force=true. */
    wharf_status (*in_use)(
        wharf_req *req, wharf_str location_id, const char *kind, const char *sql);
    /* 1.2: for rows that are written in sets. As address, with the organization's country (two
     * letters, upper case) told, and without remembering the address: who writes a row with it
     * calls remember, for the addresses of all rows at once. Asks the database only for addr_
     * ids. */
    wharf_status (*address_in)(wharf_req *req, const wharf_json *input, wharf_str line2,
        wharf_str country, const char *path, wharf_str *ret_json);
    /* 1.2: JSON texts of address_in */
    wharf_status (*remember)(wharf_req *req, const wharf_str *addresses, size_t n);
} wharf_locations_directory_api;

enum wharf_place_flag {
    /* a layout alone brings its location along; else it needs the location */
    WHARF_PLACE_ADOPT = 1,
    /* a location that is new to the row must be active (location.inactive) */
    WHARF_PLACE_ACTIVE = 2
};

/* Service "locations.layouts", version 1.3: rows that stand in a layout. */
typedef struct wharf_locations_layouts_api {
    wharf_head head;
    /* In check hooks of a resource with a location and a layout field: the layout lies in the
     * location (layout.location_mismatch at the layout's path). Another location, or none, takes
     * the layout away unless the request sends one. */
    wharf_status (*settle)(wharf_req *req, uint32_t op, const wharf_rec *old_rec,
        wharf_rec *new_rec, wharf_field location, wharf_field layout, uint32_t flags);
    /* The same for a place that is no field: *location_id may be empty, and is filled in. path:
     * of the layout. */
    wharf_status (*place)(
        wharf_req *req, wharf_str *location_id, wharf_str layout_id, const char *path);
    /* In written hooks on "layout" when it is deleted: the removed layouts as a text[] literal,
     * and where what stood there goes. */
    wharf_status (*removed)(
        wharf_req *req, wharf_str layout_id, wharf_str *ret_ids, wharf_str *ret_target);
    /* {id, name, nested_name, code, location: {id, name}} of layouts that stand in rows: outs[i]
     * gets the one of ids[i] or null. */
    wharf_status (*show)(wharf_req *req, const wharf_str *ids, size_t n, wharf_out *const *outs);
    /* The writes of batches (docs/spec/02-places-and-people.md section 3): layouts is an array
     * of up to 400. merge: as POST of it. overwrite: what the array does not name is removed
     * first, its contents go to the default layout. remove: {id} each. */
    wharf_status (*merge)(wharf_req *req, wharf_str location_id, const wharf_json *layouts);
    wharf_status (*overwrite)(wharf_req *req, wharf_str location_id, const wharf_json *layouts);
    wharf_status (*remove)(wharf_req *req, wharf_str location_id, const wharf_json *layouts);
    /* 1.1 */
    /* In written hooks of deletes on "layout": sql takes away what stood in the removed
     * layouts $1 (text[]) to the layout $2, in the organization $3. */
    wharf_status (*carry)(wharf_req *req, const wharf_rec *old_layout, const char *sql);
    /* A place that is no field: the location (of the layout, when there is only that; filled in)
     * is there and within the caller's reach, the layout lies in it. path: what stands in front
     * of location_id and layout_id in problems. */
    wharf_status (*stand)(
        wharf_req *req, wharf_str *location_id, wharf_str layout_id, const char *path);
    /* 1.2 */
    /* The stock of a location was counted in these of its layouts: their last_audited_at, and
     * that of the location, is now. No event tells of it. Until the transaction ends none of them
     * can be removed; one that is removed already is left out. */
    wharf_status (*audited)(
        wharf_req *req, wharf_str location_id, const wharf_str *layout_ids, size_t n);
    /* 1.3 */
    /* In check_many hooks, before settle() of each row: asks once what it would ask for each. */
    wharf_status (*ahead)(wharf_req *req, const wharf_rec *const *recs, size_t n,
        wharf_field location, wharf_field layout);
} wharf_locations_layouts_api;

#ifdef __cplusplus
}
#endif
#endif
