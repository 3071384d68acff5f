/* change.h - what hooks are shown of a write, those of operators and those of organizations. */
#ifndef WHARF_LUA_CHANGE_H
#define WHARF_LUA_CHANGE_H

#include "resource/write.h"

/* Returns {resource, action, id, location_id, old, input, new} as JSON; new_row empty: without
 * new. */
wharf_str write_change_text(struct wharf_req *req, const struct write *w, wharf_str new_row);
/* Returns the row as the write would leave it, as JSON. */
wharf_str write_row_to_be(struct wharf_req *req, const struct write *w);
/* Returns the location that the row will have, or the old row's; empty: none. */
wharf_str write_location(const struct write *w);
/* Returns "create", "update" or "delete". */
const char *write_action(uint32_t op);

#endif
