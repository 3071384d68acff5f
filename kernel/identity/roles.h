/* roles.h - the built-in roles and the catalogue of scopes (docs/spec/01-platform.md section
 * 6.3), as data.
 *
 * Levels are those of enum scope_level: 0 none, 1 read, 2 write. */
#ifndef WHARF_IDENTITY_ROLES_H
#define WHARF_IDENTITY_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct role_area {
    const char *area;
    const char *covers; /* for people */
    uint8_t admin, user;
    bool operator_only; /* in no role: only keys made on the machine hold it */
};

const struct role_area *roles_areas(size_t *ret_count);
/* Tells whether the role is owner, developer, admin or user. */
bool role_is_builtin(const char *role);
/* Tells whether the role reaches every location: owner and developer do. */
bool role_has_all_locations(const char *role);
/* Returns what a built-in role may do in an area. Areas of plugins that are not in the catalogue:
 * write for owner, developer and admin, nothing for user. Returns 0 for a role that is not built
 * in. */
uint8_t role_level(const char *role, const char *area);

#endif
