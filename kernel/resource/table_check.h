/* table_check.h - comparing the tables of a database with the definitions of the loaded
 * resources, see table_check.c. */
#ifndef WHARF_RESOURCE_TABLE_CHECK_H
#define WHARF_RESOURCE_TABLE_CHECK_H

#include <libpq-fe.h>

#include "resource/engine.h"
#include "util/buf.h"

/* Compares the tables with the definitions, after migrations, before workers start. Returns false
 * after problems were added, one per line, each with the plugin's name and the remedy. */
bool tables_check(PGconn *conn, const struct engine *e, struct buf *problems);

#endif
