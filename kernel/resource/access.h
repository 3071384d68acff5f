/* access.h - who may see a row: the one rule, computed from its definition
 * (docs/spec/01-platform.md section 7).
 *
 * What it says is judged here for rows that were read, in query/list_sql.c for lists, and kept
 * with what is recorded about a row (identity/seen.h). Leaves to others: scopes. */
#ifndef WHARF_RESOURCE_ACCESS_H
#define WHARF_RESOURCE_ACCESS_H

#include "identity/seen.h"
#include "resource/record.h"

/* Returns the one location that the row belongs to; "" when there is none, or a set of them. */
wharf_str record_location(const struct wharf_rec *rec);
/* Reads the ids of those of these rows that the principal sees, as a column. Returns NULL after
 * problems. [worker] */
PGresult *seen_rows(struct wharf_req *req, const struct resource *of, const wharf_str *ids,
    size_t n, const struct access *who);
/* Tells whether a row may be hidden from a key that has the scope: rows are at locations, or for
 * some users only. */
bool has_walls(const struct resource *res);
/* Replaces ids in fields with "ids_of" by null when they name rows which the principal does not
 * see. Returns false after problems. [worker] */
bool hide_references(struct wharf_req *req, const struct resource *res,
    struct wharf_rec *const *recs, size_t n, const struct access *who);
/* Fills what is recorded with an event or a line about the row. Reads another row from the
 * database when that one's rule counts. False: problems; without any on the event loop, where
 * nothing can be read. */
bool record_seen_by(struct wharf_req *req, const struct wharf_rec *rec, struct seen_by *ret);
/* Fills the same for a row by its id. Both members are empty when there is no such row. [worker] */
bool row_seen_by(
    struct wharf_req *req, const struct resource *res, wharf_str id, struct seen_by *ret);

/* Tells whether rows of the resource may be refused to this caller at all. False for most keys:
 * then nobody need look at a row to judge it. [any] */
bool may_be_refused(const struct wharf_req *req, const struct resource *res);
/* Judges whether the principal may see the row, as far as the row itself says. Adds
 * location_access, scope_access or not_found when not. For reads, whose statement judges what
 * other rows say. [any] */
bool check_location(struct wharf_req *req, const struct resource *res, const struct wharf_rec *rec);
/* Judges the same with what other rows say: a parent, the row whose audience counts. [worker] */
bool check_access(struct wharf_req *req, const struct resource *res, const struct wharf_rec *rec);
/* Judges the same for a row by its id, also a deleted one. Returns true when there is no such row:
 * the caller finds that out when it reads it. [worker] */
bool check_access_of(struct wharf_req *req, const struct resource *res, wharf_str id);

/* Returns the areas whose scope an answer to this request needed, as a JSON array: the answer may
 * show what is theirs. [any] */
wharf_str request_areas(const struct wharf_req *req);
/* Tells whether the route is about rows that are for some users only. */
bool route_for_some(const struct route *r);
/* Returns the user that an answer which is not one row is for, as a JSON array, when it may show
 * rows that are for some users only: rows of the route, or of areas whose scope it needed.
 * Empty: it is for everybody who reaches and reads as much. [any] */
wharf_str request_audience(const struct wharf_req *req);
/* Judges whether the principal reaches and reads as much as the one of whom these were kept.
 * Adds location_access or scope_access. [any] */
bool check_request_reach(struct wharf_req *req, wharf_str reach, wharf_str areas);
/* Judges whether it is of the audience that was kept; keys without a user are. Adds not_found.
 * [any] */
bool check_request_audience(struct wharf_req *req, wharf_str audience);

#endif
