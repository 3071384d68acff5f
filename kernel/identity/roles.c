/* roles.c - see roles.h. Custom roles are rows; leaves them, and meeting a key with its
 * principal, to auth. */
#include "identity/roles.h"

#include <string.h>

enum { NONE, READ, WRITE };

static const struct role_area areas[] = {
    {"shipments", "shipments", WRITE, WRITE, false},
    {"parcels", "parcels", WRITE, WRITE, false},
    {"trackers", "trackers; provider detection needs trackers:read", WRITE, WRITE, false},
    {"contacts", "contacts, contact import", WRITE, WRITE, false},
    {"groups", "groups", WRITE, WRITE, false},
    {"locations", "locations, layouts, location users", WRITE, READ, false},
    {"containers", "containers", WRITE, WRITE, false},
    {"items", "items, levels, bills of materials, assembly orders", WRITE, WRITE, false},
    {"assets", "assets", WRITE, WRITE, false},
    {"fulfillments", "fulfillments", WRITE, WRITE, false},
    {"manifests", "manifests", WRITE, WRITE, false},
    {"documents", "documents", WRITE, WRITE, false},
    {"audits", "audits, audit tasks", WRITE, WRITE, false},
    {"inferences", "label inferences", WRITE, WRITE, false},
    {"print_stations", "print stations, printers", WRITE, WRITE, false},
    {"print_jobs", "print jobs", WRITE, WRITE, false},
    {"templates", "templates; PDF generation needs templates:read", WRITE, READ, false},
    {"reason_codes", "reason codes", WRITE, READ, false},
    {"batches", "batches; creating one also needs write in the target's area", WRITE, WRITE, false},
    {"exports", "exports; creating one also needs read in the target's area", WRITE, WRITE, false},
    {"workflow", "workflows, secrets, sync", WRITE, READ, false},
    {"webhooks", "webhooks", WRITE, NONE, false},
    {"events", "events, delivery attempts, resend", WRITE, READ, false},
    {"notifications", "event subscribers", WRITE, READ, false},
    {"integrations", "outgoing integrations, incoming webhooks", WRITE, NONE, false},
    {"logs", "change log, request log", READ, READ, false},
    {"support", "support requests", WRITE, WRITE, false},
    {"organizations", "organizations, settings", WRITE, READ, false},
    {"users", "users", WRITE, READ, false},
    {"devices", "devices", WRITE, READ, false},
    {"roles", "roles", READ, NONE, false},
    {"api_keys", "API keys", NONE, NONE, false},
    {"system", "test clock, operator hooks", NONE, NONE, true},
};

const struct role_area *roles_areas(size_t *ret_count)
{
    *ret_count = sizeof(areas) / sizeof(areas[0]);
    return areas;
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool role_is_builtin(const char *role)
{
    return is(role, "owner") || is(role, "developer") || is(role, "admin") || is(role, "user");
}

bool role_has_all_locations(const char *role)
{
    return is(role, "owner") || is(role, "developer");
}

uint8_t role_level(const char *role, const char *area)
{
    const struct role_area *known = NULL;

    if (!role_is_builtin(role))
        return NONE;
    for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++)
        if (is(areas[i].area, area))
            known = &areas[i];
    if (known && known->operator_only)
        return NONE;
    if (role_has_all_locations(role))
        return WRITE;
    if (is(role, "admin"))
        return known ? known->admin : WRITE;
    return known ? known->user : NONE;
}
