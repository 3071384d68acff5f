/* seen.h - who may see what was recorded about a row: an event, a log line, a request
 * (docs/spec/01-platform.md section 7 'records').
 *
 * The one place that judges records which are in memory; query/list_sql.c says the same in SQL.
 * Leaves to others: what is recorded with a row (resource/access.h). */
#ifndef WHARF_IDENTITY_SEEN_H
#define WHARF_IDENTITY_SEEN_H

#include "identity/auth.h"

/* JSON arrays of ids. locations: "[]" is everybody's; empty: not known. audience: users' ids;
 * empty: everybody. */
struct seen_by {
    wharf_str locations, audience;
};

/* Facts about a row that are recorded with its event or log line. */
struct reported_of {
    wharf_str resource; /* "shipment": its read scope is needed too */
    struct seen_by by;
};

enum sight { SIGHT_YES, SIGHT_NO_SCOPE, SIGHT_NO_LOCATION, SIGHT_NO_AUDIENCE };
enum sight principal_sight(const struct principal *p, const struct reported_of *what);

/* Tells whether one of the array's ids is a location of the principal. The array "[]" is for
 * everybody. The empty text is for those who reach all locations. */
bool seen_by_location(const struct access *who, wharf_str locations);
/* Tells whether all of the array's ids are locations of the principal. The empty text stands for
 * all that there are. */
bool seen_by_all_locations(const struct access *who, wharf_str locations);
/* Tells whether this id is an element of the JSON array of ids. */
bool seen_among(wharf_str array, wharf_str id);
/* Returns the set that was recorded, else the one location as a set; empty: not known. It is in
 * a. */
wharf_str seen_locations(struct arena *a, wharf_str location_id, wharf_str recorded);
/* Returns a JSON array of these texts, in a. */
wharf_str seen_many(struct arena *a, const wharf_str *ids, size_t n);
/* Returns a JSON array of one id, or "[]" for an empty one, in a. */
wharf_str seen_one(struct arena *a, wharf_str id);

#endif
