/* guard.h - rows that the path of a plugin's route names are judged before its handler runs (docs/plugin-abi.md 'Routes').
 *
 * Which parameter is the id of which resource's row follows from the paths of resources, else from the route's definition; a parameter of which nobody
 * says it is a mistake that stops the start. Leaves to others: what the rule is (access.h), rows that bodies name (references.c).
 */
#ifndef WHARF_RESOURCE_GUARD_H
#define WHARF_RESOURCE_GUARD_H

#include "resource/engine.h"

/* Fills the guards of a plugin's route. False: a problem was told. */
bool guard_link(const struct engine *e, struct route *r, struct buf *problems);
/* May the caller see the rows that the path names? Rows that are not there are the handler's to tell of. False: problems. [worker] */
bool guard_rows(struct wharf_req *req);

#endif
