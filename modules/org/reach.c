/* reach.c - whose access a caller of some locations may touch: only that of users, devices, keys
 * and roles that reach no more than the caller (spec 01 section 7 'people'). Leaves to others:
 * what may be granted (org_keys.c, users.c, devices.c), scopes (scopes.c). */
#include "org.gen.h"
#include "org.h"

wharf_status reach_allowed(wharf_req *req, bool all, const wharf_json *ids)
{
    if (keys->caller(req)->all_locations)
        return WHARF_OK;
    return all ? all_locations_allowed(req, false) : locations_allowed(req, ids, NULL);
}

/* Tells whether the role, built in or not, lifts the limits of its users. */
wharf_status reach_of_role(wharf_req *req, wharf_str role, bool *ret_everywhere)
{
    static const char sql[] =
        "SELECT 1 FROM wharf.role WHERE organization_id = $1::text AND id = $2::text AND NOT "
        "location_restricted";
    wharf_val args[2] = {val_text(keys->caller(req)->live_organization), val_text(role)};
    const wharf_rows *rows;
    wharf_status s = WHARF_OK;

    *ret_everywhere = same(role, WHARF_S("owner")) || same(role, WHARF_S("developer"));
    if (*ret_everywhere)
        return s;
    s = org_host->db->query(req, sql, args, 2, &rows);
    *ret_everywhere = s == WHARF_OK && org_host->db->count(rows);
    return s;
}

static wharf_status reach_of_user(wharf_req *req, const wharf_rec *user)
{
    wharf_str role = {"", 0};
    bool everywhere;
    wharf_status s;

    field_get_text(user, USER_ROLE, &role);
    s = reach_of_role(req, role, &everywhere);
    if (s != WHARF_OK)
        return s;
    return reach_allowed(req, everywhere || get_truth(user, USER_ALLOW_ALL_LOCATIONS, true),
        field_json(user, USER_LOCATIONS));
}

static bool reach_holds(const wharf_json *list, wharf_str id)
{
    wharf_str s;

    for (const wharf_json *e = list ? org_host->json->at(list, 0) : NULL; e;
         e = org_host->json->next(e)) {
        if (org_host->json->text(e, &s) && same(s, id))
            return true;
    }
    return false;
}

/* Checks that those of one list that the other has not are the caller's. */
static wharf_status difference_allowed(
    wharf_req *req, const wharf_json *list, const wharf_json *other)
{
    wharf_str id;
    wharf_status s = WHARF_OK;

    for (const wharf_json *e = list ? org_host->json->at(list, 0) : NULL; e && s == WHARF_OK;
         e = org_host->json->next(e)) {
        if (org_host->json->text(e, &id) && !reach_holds(other, id))
            s = org_host->req->need_location(req, id);
    }
    return s;
}

/* Tells whether only locations change: whoever looks after a location says who reaches it,
 * whatever else these reach. */
static bool only_locations(const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const wharf_field others[] = {USER_NAME, USER_EMAIL, USER_ROLE, USER_PHONE,
        USER_PROFILE_ID, USER_STATUS, USER_ALLOW_ALL_LOCATIONS, USER_NOTIFICATION_EVENTS,
        USER_FCM_TOKENS, USER_DEVELOPER_MODE, USER_DARK_MODE, USER_SHOW_DOCK, USER_ONBOARDED_APPS,
        USER_METADATA};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (org_host->res->changed(old_rec, new_rec, others[i]))
            return false;
    }
    return true;
}

wharf_status reach_user(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const wharf_caller *who = keys->caller(req);
    const wharf_json *before = field_json(old_rec, USER_LOCATIONS), *after;
    wharf_status s;

    if (who->all_locations || same(org_host->res->id(old_rec), who->user_id))
        return WHARF_OK;
    if (!new_rec || !only_locations(old_rec, new_rec))
        return reach_of_user(req, old_rec);
    after = field_json(new_rec, USER_LOCATIONS);
    s = difference_allowed(req, before, after);
    return s == WHARF_OK ? difference_allowed(req, after, before) : s;
}

wharf_status reach_device(wharf_req *req, const wharf_rec *rec)
{
    return reach_allowed(
        req, get_truth(rec, DEVICE_ALLOW_ALL_LOCATIONS, true), field_json(rec, DEVICE_LOCATIONS));
}

/* Judges what a key reaches: what the key itself says; of all locations, what its user or device
 * reaches. */
wharf_status reach_key(wharf_req *req, const wharf_rec *key)
{
    const wharf_caller *who = keys->caller(req);
    const wharf_rec *rec;
    wharf_str id;
    wharf_status s;

    if (who->all_locations || same(org_host->res->id(key), who->key_id))
        return WHARF_OK;
    if (!get_truth(key, API_KEY_ALLOW_ALL_LOCATIONS, true))
        return locations_allowed(req, field_json(key, API_KEY_LOCATION_IDS), NULL);
    if (field_get_text(key, API_KEY_USER_ID, &id)) {
        s = org_host->res->fetch(req, "user", id, WHARF_WITH_DELETED, &rec);
        return s == WHARF_OK ? reach_of_user(req, rec) : s;
    }
    if (field_get_text(key, API_KEY_DEVICE_ID, &id)) {
        s = org_host->res->fetch(req, "device", id, WHARF_WITH_DELETED, &rec);
        return s == WHARF_OK ? reach_device(req, rec) : s;
    }
    return all_locations_allowed(req, false);
}
