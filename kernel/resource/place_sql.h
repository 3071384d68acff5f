/* place_sql.h - what is known of a row that is named by its resource and its id, as SQL
 * (docs/reference/definitions.md 'Links'). */
#ifndef WHARF_RESOURCE_PLACE_SQL_H
#define WHARF_RESOURCE_PLACE_SQL_H

#include "resource/engine.h"

#define PLACE_NOWHERE "-" /* the location of a row that is not there */

/* Tells whether the definition names the link ("links": ["documents"]). */
bool definition_links(const struct definition *d, const char *link);
/* Writes out, in all expressions of definitions and in the SQL of checks, over rows t:
 * {place LINK,RESOURCE,ID}, the id of the location of a row that is named by two columns; null when
 * everybody sees it, "-" when there is no such row; and {there LINK,RESOURCE,ID}, whether there is
 * one, null when nobody knows its resource. Adds a line to problems for each that can't be. */
void place_sql_expand(struct engine *e, struct buf *problems);

#endif
