/* lua_tenant.h - hooks of organizations around writes (docs/spec/08-workflows-and-lua.md section
 * 3): who has some is known with each key, what they do is the module's that runs them
 * (wharf/service/lua.h, wharf_lua_hooks). They come behind the operators' hooks, at the same
 * places of the pipeline. */
#ifndef WHARF_LUA_LUA_TENANT_H
#define WHARF_LUA_LUA_TENANT_H

#include "resource/observe.h"

/* Tells whether a write of this kind may have hooks. Asks nothing; where it is not known
 * (principals that no key stands for) it may. [any] */
bool tenant_wants(const struct wharf_req *req, const struct resource *res, uint32_t op);
/* Makes ready what the before hooks of an update or a delete need, while PostgreSQL looks for the
 * row. Must be called before the row is read. */
wharf_status tenant_ahead(struct wharf_req *req, struct write *w);
/* Runs the before hooks, one after the other, each with what the one before made of the body.
 * ret_changed: they changed w->body. */
wharf_status tenant_before(struct wharf_req *req, struct write *w, bool *ret_changed);
wharf_status tenant_after(struct wharf_req *req, const struct write *w);

#endif
