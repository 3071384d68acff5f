/* health.h - can requests be served? What a worker finds out about its surroundings, for GET
 * /readyz (docs/guide/operation.md 'Readiness').
 *
 * Looked at by the worker's side thread (notifier.c), so that a probe costs no request anything;
 * told by the event loop. */
#ifndef WHARF_HTTP_HEALTH_H
#define WHARF_HTTP_HEALTH_H

#include <libpq-fe.h>

#include "resource/engine.h"

struct health;

/* Makes the state of the readiness checks. database: what the worker's connections use. Lives as
 * long as the process. */
struct health *health_new(const struct engine *e, const char *database);
/* Looks at what is due; pg is the side thread's connection, which is up. [side thread] */
void health_look(struct health *h, PGconn *pg);
/* Takes what PostgreSQL said when the side thread could not connect; a database that says nothing
 * is told as away by others. [side thread] */
void health_refused(struct health *h, const char *message);
/* Answers GET /readyz, with ?verbose as JSON. */
void run_readyz(struct wharf_req *req);

#endif
