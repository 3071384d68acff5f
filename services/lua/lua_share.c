/* lua_share.c - see lua_share.h.
 *
 * Each organization has a bucket that is full with a minute's worth of its share, and fills as
 * time goes by. A run is charged when it is over, with what it took: so one that began may go
 * on, and those behind it wait. */
#include "lua/lua_share.h"

#include "config/config.h"
#include "http/exchange.h"
#include "process/board.h"
#include "util/cores.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

enum {
    CELLS_MIN = 4, /* processes, without a setting */
    CELLS_MAX = 16, /* processes, without a setting */
    CPU_SHARE_S = 20, /* of a minute and core, without a setting */
    MINUTE_US = 60000000
};

static int64_t lua_share_setting(const struct config *c, const char *name, int64_t otherwise)
{
    return json_int_or(json_get(c->module_settings, "workflows"), name, otherwise);
}

void share_cells(const struct config *c, unsigned *ret_min, unsigned *ret_max)
{
    unsigned ready = cores_allowed() * 2 > CELLS_MIN ? cores_allowed() * 2 : CELLS_MIN;

    *ret_max = (unsigned)lua_share_setting(c, "cells_max", CELLS_MAX);
    *ret_min = (unsigned)lua_share_setting(c, "cells", ready < *ret_max ? ready : *ret_max);
    if (*ret_max < *ret_min)
        *ret_max = *ret_min;
}

/* Returns the microseconds of the processor in a minute; 0: any. */
static int64_t share_us(const struct wharf_req *req)
{
    return req->engine->board ? lua_share_setting(req->engine->config, "cpu_share", CPU_SHARE_S) *
                                    cores_allowed() * 1000000
                              : 0;
}

void share_spend(struct wharf_req *req, int64_t cpu_us)
{
    int64_t share = share_us(req);

    if (share && cpu_us > 0)
        limit_spend(&req->engine->board->limits,
            limit_owner(req->engine->board, 'c', req->access.who->organization),
            (int64_t)((double)cpu_us * MINUTE_US / (double)share), clock_monotonic_us());
}

int64_t share_wait_us(struct wharf_req *req)
{
    int64_t wait = 0;

    if (share_us(req))
        wait = limit_spent(&req->engine->board->limits,
                   limit_owner(req->engine->board, 'c', req->access.who->organization),
                   clock_monotonic_us()) -
               MINUTE_US;
    return wait > 0 ? wait : 0;
}
