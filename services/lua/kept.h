/* kept.h - what a plugin made of an organization's hooks, kept in this process for the next
 * requests: a write must not ask the database each time which workflows there are and what their
 * publishers may do. Renewed as rights are (identity/auth.h): when a key or anybody's hooks
 * change, and after 5 s. A key that was read later than that has other hooks' marks, and never
 * meets what is older. */
#ifndef WHARF_LUA_KEPT_H
#define WHARF_LUA_KEPT_H

#include "resource/request.h"

typedef wharf_status lua_make(struct wharf_req *req, void **ret);

/* Returns what `make` answers for the request's organization, or answered for another request. All
 * that make allocates in the request's arena lives as long as it is kept, and as long as this
 * request (its scope, where one is open); what make leaves must not point into the arena of
 * before, nor be changed. */
wharf_status lua_kept(struct wharf_req *req, lua_make *make, const void **ret);

#endif
