/* seen_parts.h - the parts of an event's data that not everybody who sees the event may see
 * (docs/spec/07-events-and-webhooks.md section 4.2).
 *
 * They are kept beside the data, each line with the place and the resource that it is of, so that
 * a reader who forgets about them shows none. Parts are the JSON object
 *
 *   {"shipments": {"of": "shipment", "newest": 100, "lines": [["loc_1", {...}], [null, {...}]]},
 *    "current_shipment_id": {"one": true, "lines": [["loc_1", "ship_1"]]}}
 *
 * A line is for who reads the resource `of` (of everybody's without it), and reaches the location;
 * null is everywhere. Which lines somebody sees is a text that may be kept: the body that is made
 * with it is the same whenever it is made. Leaves to others: what the parts are
 * (resource/told.h). */
#ifndef WHARF_IDENTITY_SEEN_PARTS_H
#define WHARF_IDENTITY_SEEN_PARTS_H

#include "identity/auth.h"

/* Returns the members that the principal sees, as they follow others in an object, each behind a
 * comma; "" of no parts. *ret_seen: what is seen, a JSON array, or "". Both are in a. */
wharf_str parts_for(
    struct arena *a, wharf_str parts, const struct access *who, wharf_str *ret_seen);
/* Returns the same members, by what was seen. */
wharf_str parts_members(struct arena *a, wharf_str parts, wharf_str seen);
/* Returns the text with these members put in at the place. */
wharf_str parts_put(struct arena *a, wharf_str text, size_t at, wharf_str members);
/* Returns the object as the principal sees it. who NULL: sees everything. */
wharf_str parts_shown(struct arena *a, wharf_str object, wharf_str parts, const struct access *who);

#endif
