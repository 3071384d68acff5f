/* devices.c - devices: their scopes and locations, and the key that comes with a new one (spec
 * 01 section 6.2). */
#include "org.gen.h"
#include "org.h"

/* Returns where it is kept whether the request that makes a device wants a key of it: normalize
 * says it, written does it. */
static bool *issue_key(const wharf_rec *rec)
{
    static const char kind[] = "org.issue_key";

    return org_host->res->scratch(rec, kind, sizeof(bool));
}

static wharf_status device_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *wanted = org_host->res->member(new_rec, "issue_key");

    if (!wanted || op != WHARF_CREATE)
        return WHARF_OK;
    if (!org_host->json->truth(wanted, issue_key(new_rec)))
        return org_host->err->fail(
            req, ERR_VALIDATION_FAILED, "issue_key", "issue_key must be true or false");
    org_host->res->drop(new_rec, "issue_key");
    return WHARF_OK;
}

static bool devices_has(const wharf_json *array, wharf_str id)
{
    wharf_str s;

    for (const wharf_json *e = array ? org_host->json->at(array, 0) : NULL; e;
         e = org_host->json->next(e)) {
        if (org_host->json->text(e, &s) && same(s, id))
            return true;
    }
    return false;
}

/* Adds the place where the device stands to those that it reaches. */
static wharf_status add_own_location(wharf_req *req, wharf_rec *rec, wharf_str location)
{
    const wharf_json *ids = field_json(rec, DEVICE_LOCATIONS), *whole;
    wharf_out *out;
    wharf_status s;

    if (devices_has(ids, location))
        return WHARF_OK;
    out = org_host->json->builder(req);
    org_host->json->open(out, NULL, '[');
    for (const wharf_json *e = ids ? org_host->json->at(ids, 0) : NULL; e;
         e = org_host->json->next(e))
        org_host->json->put(out, NULL, val_json(e));
    org_host->json->put(out, NULL, val_text(location));
    org_host->json->close(out);
    s = org_host->json->result(req, out, &whole);
    if (s == WHARF_OK)
        org_host->res->set(rec, DEVICE_LOCATIONS, val_json(whole));
    return s;
}

static wharf_status devices_settle_locations(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    const wharf_json *ids = field_json(rec, DEVICE_LOCATIONS);
    bool before = old_rec && get_truth(old_rec, DEVICE_ALLOW_ALL_LOCATIONS, true), all;
    wharf_str location = {"", 0};
    bool placed = field_get_text(rec, DEVICE_LOCATION_ID, &location);

    if (!old_rec && !org_host->res->sent(rec, DEVICE_ALLOW_ALL_LOCATIONS))
        org_host->res->set(rec, DEVICE_ALLOW_ALL_LOCATIONS,
            val_bool(!placed && (!ids || !org_host->json->count(ids))));
    all = get_truth(rec, DEVICE_ALLOW_ALL_LOCATIONS, true);
    if (all && !before)
        return all_locations_allowed(req, false);
    if (!all && placed &&
        (!old_rec || org_host->res->sent(rec, DEVICE_LOCATION_ID) ||
            org_host->res->sent(rec, DEVICE_LOCATIONS)))
        return add_own_location(req, rec, location);
    return WHARF_OK;
}

static wharf_status device_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char count_sql[] =
        "SELECT count(*) FROM wharf.device WHERE organization_id = $1::text"
        " AND (deleted_at IS NULL OR deleted_at > $2::timestamptz)";
    wharf_status s;

    s = old_rec ? reach_device(req, old_rec) : WHARF_OK;
    if (s != WHARF_OK || op == WHARF_DELETE)
        return s;
    s = scopes_settle(req, old_rec, new_rec, DEVICE_SCOPES, false);
    if (s == WHARF_OK)
        s = devices_settle_locations(req, old_rec, new_rec);
    if (s == WHARF_OK && op == WHARF_CREATE)
        s = limit_rows(req, "org.devices", count_sql, DEVICES_MAX, ERR_DEVICE_TOO_MANY);
    return s;
}

/* Makes a key with the device's own scopes, as far as its maker has them. */
static wharf_status devices_make_key(wharf_req *req, const wharf_rec *device, wharf_str *ret_text)
{
    const wharf_json *own = field_json(device, DEVICE_SCOPES), *granted, *body;
    struct scopes scopes = scopes_of(req, own), caller = scopes_of_caller(req);
    wharf_out *out = org_host->json->builder(req);
    wharf_str name = {"", 0};
    bool found;
    wharf_status s = own ? WHARF_OK : scopes_of_role(req, WHARF_S("user"), &found, &scopes);

    scopes_meet(&scopes, &caller);
    if (s == WHARF_OK)
        s = scopes_json(req, &scopes, &granted);
    if (s != WHARF_OK)
        return s;
    field_get_text(device, DEVICE_NAME, &name);
    org_host->json->open(out, NULL, '{');
    org_host->json->put(out, "name", val_text(name));
    org_host->json->put(out, "device_id", val_text(org_host->res->id(device)));
    org_host->json->put(out, "scopes", val_json(granted));
    /* which the device's own locations limit */
    org_host->json->put(out, "allow_all_locations", val_bool(true));
    org_host->json->close(out);
    s = org_host->json->result(req, out, &body);
    return s == WHARF_OK ? keys_make(req, body, false, NULL, ret_text) : s;
}

static wharf_status device_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str text;
    wharf_status s;

    if (op == WHARF_CREATE) {
        if (!*issue_key(new_rec))
            return WHARF_OK;
        s = devices_make_key(req, new_rec, &text);
        if (s == WHARF_OK)
            org_host->res->set((wharf_rec *)(uintptr_t)new_rec, DEVICE_API_KEY, val_text(text));
        return s;
    }
    org_host->req->access_changed(req);
    return op == WHARF_DELETE ? keys_revoke_all(req, true, org_host->res->id(old_rec)) : WHARF_OK;
}

const wharf_hooks device_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = device_normalize,
    .check = device_check,
    .written = device_written};
