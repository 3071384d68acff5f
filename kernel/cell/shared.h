/* shared.h - the process's one pool of a kind, made for the first call: most processes never
 * need one. Lives as long as the process. */
#ifndef WHARF_CELL_SHARED_H
#define WHARF_CELL_SHARED_H

#include <pthread.h>

#include "cell/cell.h"

struct cell_shared { /* static, with the lock initialized */
    pthread_mutex_t lock;
    struct cell_pool *pool;
    bool missing; /* told once */
};

/* Returns the pool, which is made at first use. dir: the setting cell.dir. Returns NULL when the
 * program is not there, which is logged once and looked at again by each call. [any] */
struct cell_pool *cell_shared_pool(
    struct cell_shared *s, const struct cell_kind *kind, const char *dir);

#endif
