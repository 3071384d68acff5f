/* wharf/service/walk.h - every row of a list, as it was at one moment: service "wharf.walk",
 * version 1.0.
 *
 * For exports and reports. The rows are those that a list of the caller's with the same
 * parameters shows, in its order; they are read one part after the other, so memory does not
 * grow with their number, and all from one snapshot. The walk has a connection of its own: what
 * the caller writes meanwhile is committed as ever, and not seen by the walk. Rules of this
 * header: wharf/plugin.h. All functions are [worker]. */
#ifndef WHARF_SERVICE_WALK_H
#define WHARF_SERVICE_WALK_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_walk wharf_walk; /* ends with the request at the latest */

typedef struct wharf_walk_api {
    wharf_head head;
    /* options: the list's parameters as JSON (docs/spec/01-platform.md section 11.3 'JSON
     * bodies'), without page and cursor; limit: a number up to most, or "all". Tells what is
     * wrong with them (param.invalid, location_access), with paths behind base ("options.").
     * NULL options: none. The names of the members that each row will have, in their order,
     * "object" first, unless ret_names is NULL. */
    wharf_status (*check)(wharf_req *req, const char *resource, const wharf_json *options,
        int64_t most, const char *base, const wharf_str **ret_names, size_t *ret_n);
    /* The same, and begins. *ret_total: the rows that will come; with limit "all" it may be more
     * than most, then the walk ends early. Not to be called inside a memory scope. */
    wharf_status (*begin)(wharf_req *req, const char *resource, const wharf_json *options,
        int64_t most, const char *base, wharf_walk **ret_walk, int64_t *ret_total);
    /* Up to n more rows, JSON texts; *ret_n 0: there are no more. */
    wharf_status (*next)(
        wharf_req *req, wharf_walk *walk, size_t n, const wharf_str **ret_rows, size_t *ret_n);
    void (*end)(wharf_req *req, wharf_walk *walk);
} wharf_walk_api;

#ifdef __cplusplus
}
#endif
#endif
