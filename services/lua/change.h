/* change.h - what hooks are shown of a write, those of operators and those of organizations. */
#ifndef WHARF_LUA_CHANGE_H
#define WHARF_LUA_CHANGE_H

#include "resource/write.h"

/* Returns {resource, action, id, location_id, old, input, without, new} as JSON; new_row empty:
 * without new. whole: for operators, who are shown all of the input; else members that may be too
 * large for a cell are left out, and without has their names. */
wharf_str write_change_text(
    struct wharf_req *req, const struct write *w, wharf_str new_row, bool whole);
/* Returns the body as organizations' hooks are shown it. */
const struct wharf_json *write_shown(struct wharf_req *req, const struct write *w);
/* Returns what such a hook made of it, with what was left out, unless the hook put something in
 * its place. */
const struct wharf_json *write_whole(
    struct wharf_req *req, const struct write *w, const struct wharf_json *input);
/* Returns the row as the write would leave it, as JSON. */
wharf_str write_row_to_be(struct wharf_req *req, const struct write *w);
/* Returns the location that the row will have, or the old row's; empty: none. */
wharf_str write_location(const struct write *w);
/* Returns "create", "update" or "delete". */
const char *write_action(uint32_t op);

#endif
