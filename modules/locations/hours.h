/* hours.h - operating hours of a location (spec 02 section 2). */
#ifndef HOURS_H
#define HOURS_H

#include "locations.h"

/* Makes the whole week after a request: stored days (or NULL: the default week) with what was sent
 * (or NULL) merged in by day. Times are normalised; problems are told at
 * operating_hours.<day>.<member>. */
wharf_status hours_merge(
    wharf_req *req, const wharf_json *stored, const wharf_json *sent, const wharf_json **ret_week);
/* Makes [{"days": "Mon - Fri", "hours": "09:00 - 17:00"}, ...] of a whole week. */
wharf_status hours_display(wharf_req *req, const wharf_json *week, const wharf_json **ret_list);
/* Reads "9:30" or "09:30" as minutes; 24:00 too. */
bool hours_time(wharf_str s, int *ret_minutes);
/* Tells whether s is a calendar day "2026-12-25". */
bool hours_date(wharf_str s);

#endif
