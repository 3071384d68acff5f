/* loop.h - the event loop of a web worker; the admin listener of a job worker is the same with
 * fewer routes. */
#ifndef WHARF_HTTP_LOOP_H
#define WHARF_HTTP_LOOP_H

#include "http/exchange.h"

/* Starts the server. In s, engine, config, boot, term_fd and access_fd are set. listen_fd is
 * borrowed. Returns false when nothing runs; *ret_why says why. */
bool server_start(struct server *s, int listen_fd, const char **ret_why);
/* Runs until term_fd becomes readable and everything is answered, or the drain time is over. */
void server_run(struct server *s);
void server_stop(struct server *s);

#endif
