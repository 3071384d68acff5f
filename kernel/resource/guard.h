/* guard.h - rows that the path of a plugin's route names are judged before its handler runs
 * (docs/reference/plugin-abi.md section 6 'Parameters').
 *
 * The paths of resources tell which parameter is the id of which resource's row; the route's
 * definition tells it of the others ("params"). The server does not start with a parameter that
 * neither explains. Leaves to others: what the rule is (access.h), rows that bodies name
 * (references.c). */
#ifndef WHARF_RESOURCE_GUARD_H
#define WHARF_RESOURCE_GUARD_H

#include "resource/engine.h"

/* Fills the guards of a plugin's route. False: a problem was told. */
bool guard_link(const struct engine *e, struct route *r, struct buf *problems);
/* Judges whether the caller may see the rows that the path names. Rows that are not there are the
 * handler's to tell of. Returns false after problems. [worker] */
bool guard_rows(struct wharf_req *req);

#endif
