/* lua_share.h - what the operator gives to the code of organizations: the table `workflows` of
 * the configuration, and how much of the processor an organization's runs may have
 * (docs/spec/08-workflows-and-lua.md section 6, rules 8 and 9). The count is in the board: one
 * for all workers of a machine. */
#ifndef WHARF_LUA_LUA_SHARE_H
#define WHARF_LUA_LUA_SHARE_H

#include "resource/request.h"

struct config;
/* Reads workflows.cells and workflows.cells_max: processes that a worker keeps ready, and has at
 * most. */
void share_cells(const struct config *c, unsigned *ret_min, unsigned *ret_max);
/* Counts how much of the processor a run of the request's organization took. */
void share_spend(struct wharf_req *req, int64_t cpu_us);
/* Returns how long it takes until the organization's runs may go on; 0: now. */
int64_t share_wait_us(struct wharf_req *req);

#endif
