/* asset_rules.c - the rules of assets (docs/spec/02-places-and-people.md section 9): statuses, who
 * has it, archiving. Leaves the item to asset_items.c, the place to asset_places.c, the number to
 * asset_serials.c, maintenance to asset_times.c. */
#include "assets.h"

#include "assets.gen.h"

/* ---- normalize ---- */

static wharf_status asset_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *v = W->res->member(new_rec, "currency");
    wharf_str s;
    char *p;

    if (!v || W->json->type(v) != WHARF_J_STRING || !W->json->text(v, &s))
        return WHARF_OK;
    s = W->mem->dup(req, s.p, s.n);
    for (p = (char *)s.p; *p; p++)
        *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    W->res->set(new_rec, ASSET_CURRENCY, val_text(s));
    return WHARF_OK;
}

/* ---- check ---- */

/* Tells whether an asset of this status has left the house for good. */
static bool is_closed(wharf_str status)
{
    return is(status, "disposed") || is(status, "sold") || is(status, "donated");
}

/* Settles what goes with a status: the assignee, the day on which a loan ends. */
static wharf_status settle_loan(
    wharf_req *req, bool moved, const wharf_rec *old_rec, wharf_rec *rec)
{
    wharf_str status = field_text(rec, ASSET_STATUS);
    bool lent = is(status, "on_loan");

    if (old_rec && moved && is(status, "in_storage"))
        W->res->set(rec, ASSET_ASSIGNEE_ID, val_null());
    if ((lent || is(status, "in_use")) && !field_text(rec, ASSET_ASSIGNEE_ID).n &&
        (moved || W->res->changed(old_rec, rec, ASSET_ASSIGNEE_ID)))
        return W->err->fail(req, ERR_ASSET_ASSIGNEE_REQUIRED, "assignee_id", NULL);
    if (lent || !field_int(rec, ASSET_DUE_BACK_AT))
        return WHARF_OK;
    if (W->res->sent(rec, ASSET_DUE_BACK_AT))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "due_back_at",
            "due_back_at goes with status on_loan; leave it out");
    W->res->set(rec, ASSET_DUE_BACK_AT, val_null());
    return WHARF_OK;
}

static wharf_status settle_disposal(
    wharf_req *req, bool moved, const wharf_rec *old_rec, wharf_rec *rec)
{
    wharf_str reason = field_text(rec, ASSET_DISPOSAL_REASON_CODE_ID), code;
    bool closes = is_closed(field_text(rec, ASSET_STATUS)),
         was_closed = old_rec && is_closed(field_text(old_rec, ASSET_STATUS));

    if (moved && was_closed && !field_int(rec, ASSET_FORCE_UPDATE))
        return W->err->fail(req, ERR_ASSET_CLOSED, "status", NULL);
    if (moved && closes != was_closed && !W->res->sent(rec, ASSET_DISPOSED_AT))
        W->res->set(rec, ASSET_DISPOSED_AT, closes ? val_time(W->req->now_us(req)) : val_null());
    if (!reason.n || (old_rec && !W->res->changed(old_rec, rec, ASSET_DISPOSAL_REASON_CODE_ID)))
        return WHARF_OK;
    return assets_reasons
               ? assets_reasons->check(req, reason, "asset", "disposal_reason_code_id", &code)
               : W->err->fail(req, ERR_VALIDATION_FAILED, "disposal_reason_code_id",
                     "The module reasons is not enabled; leave it out");
}

/* Sets or clears archived_at as `archived` asks. Returns whether the asset is restored. */
static bool settle_archived(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    bool archived = old_rec && field_int(old_rec, ASSET_ARCHIVED_AT);

    if (!W->res->sent(rec, ASSET_ARCHIVED) || (field_int(rec, ASSET_ARCHIVED) != 0) == archived)
        return false;
    W->res->set(rec, ASSET_ARCHIVED_AT, archived ? val_null() : val_time(W->req->now_us(req)));
    return archived;
}

/* Checks an asset; not its number: *ret_serial is what it is to take. */
static wharf_status asset_check_data(wharf_req *req, uint32_t op, const wharf_rec *old_rec,
    wharf_rec *new_rec, struct serial_wanted *ret_serial)
{
    bool moved = op == WHARF_CREATE, restored;
    wharf_status s = WHARF_OK;

    if (old_rec)
        moved = W->res->changed(old_rec, new_rec, ASSET_STATUS);
    restored = settle_archived(req, old_rec, new_rec);
    if (op == WHARF_CREATE || restored)
        s = asset_settle_item(req, restored, new_rec);
    if (s == WHARF_OK)
        s = asset_settle_place(req, restored, op, old_rec, new_rec);
    if (s == WHARF_OK)
        s = settle_loan(req, moved, old_rec, new_rec);
    if (s == WHARF_OK)
        s = settle_disposal(req, moved, old_rec, new_rec);
    if (s != WHARF_OK)
        return s;
    asset_settle_maintenance(req, old_rec, new_rec);
    return asset_check_serial(req, old_rec, new_rec, ret_serial);
}

static wharf_status asset_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    struct serial_wanted serial = {.row = 0};
    wharf_status s = asset_check_data(req, op, old_rec, new_rec, &serial);

    return s == WHARF_OK && serial.rec ? asset_take_serials(req, &serial, 1, false) : s;
}

static wharf_status asset_check_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n)
{
    struct serial_wanted *serials = W->mem->alloc(req, (n + 1) * sizeof(*serials));
    size_t wanted = 0;
    wharf_status s = assets_layouts->ahead(
        req, (const wharf_rec *const *)new_recs, n, ASSET_LOCATION_ID, ASSET_LAYOUT_ID);

    if (s == WHARF_OK && op == WHARF_CREATE)
        s = asset_hold_items(req, new_recs, n);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        struct serial_wanted serial = {.row = i};

        assets_many->at(req, i);
        s = asset_check_data(req, op, old_recs ? old_recs[i] : NULL, new_recs[i], &serial);
        if (s == WHARF_OK && serial.rec)
            serials[wanted++] = serial;
        s = row_passed(req, s);
    }
    return s == WHARF_OK && wanted ? asset_take_serials(req, serials, wanted, true) : s;
}

const wharf_hooks assets_asset_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = asset_normalize,
    .check = asset_check,
    .check_many = asset_check_many,
    .ops = WHARF_CREATE | WHARF_UPDATE};
