/* roles.c - see roles.h. The areas stand in roles.json, from which tools/roles.py makes the table
 * here and the rows that lists of roles show. Leaves custom roles, which are rows, and the meeting
 * of a key with its principal to principal.c. */
#include "identity/roles.h"

#include <string.h>

enum { NONE, READ, WRITE };

static const struct role_area areas[] = {
#define ROLE_AREA(area, covers, admin, user, operator_only)                                        \
    {area, covers, admin, user, operator_only},
#include "roles.gen.h"
#undef ROLE_AREA
};

const struct role_area *roles_areas(size_t *ret_count)
{
    *ret_count = sizeof(areas) / sizeof(areas[0]);
    return areas;
}

static bool roles_is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool role_is_builtin(const char *role)
{
    return roles_is(role, "owner") || roles_is(role, "developer") || roles_is(role, "admin") ||
           roles_is(role, "user");
}

bool role_has_all_locations(const char *role)
{
    return roles_is(role, "owner") || roles_is(role, "developer");
}

uint8_t role_level(const char *role, const char *area)
{
    const struct role_area *known = NULL;

    if (!role_is_builtin(role))
        return NONE;
    for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++)
        if (roles_is(areas[i].area, area))
            known = &areas[i];
    if (known && known->operator_only)
        return NONE;
    if (role_has_all_locations(role))
        return WRITE;
    if (roles_is(role, "admin"))
        return known ? known->admin : WRITE;
    return known ? known->user : NONE;
}
