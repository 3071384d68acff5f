/* status.c - the statuses, their groups and their old names
 * (docs/spec/03-shipments-and-trackers.md section 2). */
#include "shipments.h"

static const struct {
    const char *name;
    uint32_t group;
} statuses[] = {
    {"rates_generated", WHARF_GROUP_BEFORE},
    {"created", WHARF_GROUP_BEFORE},
    {"scheduled", WHARF_GROUP_MOVING},
    {"driver_dispatched", WHARF_GROUP_MOVING},
    {"provider_at_pickup", WHARF_GROUP_MOVING},
    {"package_accepted", WHARF_GROUP_MOVING},
    {"in_transit", WHARF_GROUP_MOVING},
    {"package_at_waypoint", WHARF_GROUP_MOVING},
    {"added_to_container", WHARF_GROUP_MOVING},
    {"removed_from_container", WHARF_GROUP_MOVING},
    {"added_to_vehicle", WHARF_GROUP_MOVING},
    {"removed_from_vehicle", WHARF_GROUP_MOVING},
    {"delivered_to_provider", WHARF_GROUP_MOVING},
    {"out_for_delivery", WHARF_GROUP_MOVING},
    {"provider_at_dropoff", WHARF_GROUP_MOVING},
    {"pickup_available", WHARF_GROUP_MOVING},
    {"recipient_at_pickup", WHARF_GROUP_MOVING},
    {"address_issue", WHARF_GROUP_ISSUE},
    {"contact_provider", WHARF_GROUP_ISSUE},
    {"delayed", WHARF_GROUP_ISSUE},
    {"attempted", WHARF_GROUP_ISSUE},
    {"rescheduled", WHARF_GROUP_ISSUE},
    {"location_inaccessible", WHARF_GROUP_ISSUE},
    {"package_damaged", WHARF_GROUP_ISSUE},
    {"unknown", WHARF_GROUP_ISSUE},
    {"delivered", WHARF_GROUP_GOOD},
    {"picked_up", WHARF_GROUP_GOOD},
    {"return_to_sender", WHARF_GROUP_BAD},
    {"package_undeliverable", WHARF_GROUP_BAD},
    {"package_lost", WHARF_GROUP_BAD},
    {"package_disposed", WHARF_GROUP_BAD},
    {"canceled", WHARF_GROUP_CANCELED},
};
static const struct {
    const char *alias, *name;
} aliases[] = {{"delivery_attempted", "attempted"}, {"delivery_scheduled", "scheduled"},
    {"delivery_rescheduled", "rescheduled"}, {"courier_at_sender", "provider_at_pickup"},
    {"contact_courier", "contact_provider"}, {"cancelled", "canceled"}};

wharf_str shipments_canonical(wharf_str status)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (is(status, aliases[i].alias))
            return z(aliases[i].name);
    }
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (is(status, statuses[i].name))
            return z(statuses[i].name);
    }
    return WHARF_S("");
}

uint32_t shipments_group(wharf_str status)
{
    wharf_str name = shipments_canonical(status);

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (is(name, statuses[i].name))
            return statuses[i].group;
    }
    return WHARF_GROUP_NONE;
}

wharf_status shipments_filters(wharf_req *req, wharf_str status, const wharf_json **ret)
{
    uint32_t group = shipments_group(status);
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '[');
    if (group >= WHARF_GROUP_GOOD)
        W->json->put(out, NULL, val_text(WHARF_S("completed")));
    else if (!is(status, "rates_generated"))
        W->json->put(out, NULL, val_text(WHARF_S("outstanding")));
    if (group == WHARF_GROUP_ISSUE || group == WHARF_GROUP_BAD)
        W->json->put(out, NULL, val_text(WHARF_S("exception")));
    W->json->close(out);
    return W->json->result(req, out, ret);
}
