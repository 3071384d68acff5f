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

enum wharf_location_flag {
    WHARF_LOCATION_KNOWN = 1, /* there is such a location, not deleted */
    WHARF_LOCATION_ACTIVE = 2, /* may receive new stations, containers, parcels, assets (else location.inactive) */
    WHARF_LOCATION_CLOUD_PRINTING = 4, /* settings.cloud_printing.enabled (else location.cloud_printing_disabled) */
    WHARF_LOCATION_LOCKED = 8 /* settings.layouts.locked */
};

/* Service "locations.directory", version 1.0. */
typedef struct wharf_locations_directory_api {
    wharf_head head;
    /* WHARF_LOCATION_* of a location, 0 when it is not there. Tells no problem and checks no access. */
    wharf_status (*flags)(wharf_req *req, wharf_str location_id, uint32_t *ret_flags);
    /* An address as taken anywhere (spec 02 section 1): text, object or addr_ id, with line2 apart (or empty). Answers the
     * value object as JSON text and remembers it; problems are told as validation.failed at path. */
    wharf_status (*address)(
        wharf_req *req, const wharf_json *input, wharf_str line2, const char *path, wharf_str *ret_json);
} wharf_locations_directory_api;

#ifdef __cplusplus
}
#endif
#endif
