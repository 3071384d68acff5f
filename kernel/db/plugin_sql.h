/* plugin_sql.h - which statements a plugin or a hook may not run.
 *
 * The server begins and ends transactions, and sets the role and the organization that such
 * statements run with. One that does so itself is refused before it runs. This is a wall against
 * mistakes and against a hook that is too curious; it is none against a plugin's C code, which
 * runs inside the server (docs/reference/plugin-abi.md section 6). */
#ifndef WHARF_DB_PLUGIN_SQL_H
#define WHARF_DB_PLUGIN_SQL_H

/* Returns NULL when the statement may run; else what it would do, as the end of a sentence
 * ("ends the transaction"). Static text. */
const char *plugin_sql_refused(const char *sql);

#endif
