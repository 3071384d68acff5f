/* cluster.h - the embedded PostgreSQL: a private cluster in the data folder, reached by Unix
 * socket only.
 *
 * initdb on the first start, found again on the next, recovered after a power cut, stopped
 * cleanly. PostgreSQL refuses to run as root: then its processes run as the user `postgres` (or
 * the owner of the data folder). docs/decisions 23. */
#ifndef WHARF_DB_CLUSTER_H
#define WHARF_DB_CLUSTER_H

#include <sys/types.h>

#include "util/arena.h"

struct cluster;

/* Starts the cluster in data_dir (which must exist, and whose lock the caller holds: see
 * supervisor/datadir.h), waits until it accepts connections, makes the database `wharf`. The
 * server is a child of this process and is told to stop when this process dies. NULL and a
 * message that says what to do. note: filled with a line worth telling the operator, or "".
 * guests: a group that may connect too, or NULL: only who started it. Uses no libpq, so that the
 * supervisor can hold it. */
struct cluster *cluster_start(const char *data_dir, const gid_t *guests, struct arena *a,
    wharf_str *ret_note, wharf_str *ret_error);
const char *cluster_conninfo(const struct cluster *c);
int cluster_pid(const struct cluster *c);
/* Starts it again after it died (call when its pid was reaped); does not wait for its recovery.
 * False when it can't. */
bool cluster_revive(struct cluster *c);
/* Returns the connection string of a cluster that runs for this data folder, started by another
 * process. Returns NULL when none does. */
const char *cluster_running(const char *data_dir, struct arena *a);
/* Stops the cluster by a fast shutdown, and waits for its end. */
void cluster_stop(struct cluster *c);

#endif
