/* cluster_place.h - where the embedded cluster lives and as whom it runs. Private to
 * kernel/db/cluster*.c. */
#ifndef WHARF_DB_CLUSTER_PLACE_H
#define WHARF_DB_CLUSTER_PLACE_H

#include <sys/types.h>

#include "util/arena.h"

struct place {
    const char *data_dir; /* absolute */
    const char *pgdata; /* the cluster's folder, absolute */
    const char *bin; /* folder of postgres and initdb */
    const char *log; /* what PostgreSQL says */
    bool as_user; /* we are root: become uid, gid */
    uid_t uid;
    gid_t gid;
    const char *user; /* its name, for messages */
    wharf_str note;
};

/* Decides all of it. False and a message. Makes folders, starts nothing. */
bool cluster_place(struct place *p, const char *data_dir, struct arena *a, wharf_str *ret_error);
/* Finds the folder of an existing cluster of this data folder, and decides or makes nothing.
 * Returns NULL when there is none. */
const char *cluster_pgdata(const char *data_dir, struct arena *a);
/* Tells whether the cluster's user can enter and list the folder. */
bool cluster_reaches(const struct place *p, const char *dir);
/* Reads the whole of a small file as text. Returns "" when it can't be read. */
wharf_str cluster_read_small(const char *file, struct arena *a);

#endif
