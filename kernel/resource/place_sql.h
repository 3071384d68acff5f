/* place_sql.h - where a row is that is named by its resource and its id, as SQL
 * (docs/reference/definitions.md 'Links'). */
#ifndef WHARF_RESOURCE_PLACE_SQL_H
#define WHARF_RESOURCE_PLACE_SQL_H

#include "resource/engine.h"

/* Tells whether the definition names the link ("links": ["documents"]). */
bool definition_links(const struct definition *d, const char *link);
/* Writes out {place:LINK,RESOURCE,ID} in all expressions of the definition: SQL of the id of the
 * location, null when everybody sees the row, "-" when there is no such row. Adds a line to
 * problems for each that can't be written. */
void place_sql_expand(const struct engine *e, const struct definition *d, struct buf *problems);

#endif
