/* shared.c - see shared.h. */
#include "cell/shared.h"

#include "util/log.h"

struct cell_pool *cell_shared_pool(
    struct cell_shared *s, const struct cell_kind *kind, const char *dir)
{
    struct cell_pool *p;
    char found[400];

    pthread_mutex_lock(&s->lock);
    if (!s->pool && cell_find_dir(dir, kind->name, found, sizeof(found))) {
        s->pool = cell_pool_new(kind, found);
    } else if (!s->pool && !s->missing) {
        s->missing = true;
        log_error("cell.missing",
            "there is no program wharf-cell-%s; what needs it is refused until it is there; "
            "install it, or name its folder with the setting cell.dir",
            kind->name);
    }
    p = s->pool;
    pthread_mutex_unlock(&s->lock);
    return p;
}
