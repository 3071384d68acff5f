/* need.h - what a server of these settings needs of its machine and of its database, looked at
 * before it starts: connections, ports, the address that clients use. For `wharf check`. */
#ifndef WHARF_TOOL_NEED_H
#define WHARF_TOOL_NEED_H

#include <libpq-fe.h>

#include "config/config.h"
#include "resource/engine.h"

/* Tells how many connections this server may have, and how many the database gives. Too few are
 * told, and no problem: the server serves with fewer. */
void need_connections(PGconn *conn, const struct config *config, const struct engine *e);
/* Looks whether the ports are free, unless a server runs on this data folder. Returns false after
 * it has printed what is wrong, as the next one. */
bool need_ports(const struct config *config, struct arena *a);
/* Looks whether base_url is an address that links can begin with. */
bool need_base_url(const struct config *config);

#endif
