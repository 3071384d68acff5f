/* asset_places.c - where an asset is, and with whom (docs/spec/02-places-and-people.md section 9):
 * its layout, locations and layouts that go, contacts that are merged. */
#include "assets.h"

#include "assets.gen.h"

static wharf_status bring_back(wharf_req *req, wharf_str location)
{
    uint32_t flags;
    wharf_status s = assets_places->flags(req, location, &flags);

    if (s != WHARF_OK)
        return s;
    if (!(flags & WHARF_LOCATION_KNOWN))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "location_id",
            "The location of the asset is not there any more; send another location_id");
    return flags & WHARF_LOCATION_ACTIVE
               ? WHARF_OK
               : W->err->fail(req, ERR_LOCATION_INACTIVE, "location_id", NULL);
}

wharf_status asset_settle_place(
    wharf_req *req, bool restored, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec)
{
    wharf_str location = field_text(rec, ASSET_LOCATION_ID);
    wharf_status s = assets_layouts->settle(
        req, op, old_rec, rec, ASSET_LOCATION_ID, ASSET_LAYOUT_ID, WHARF_PLACE_ACTIVE);

    if (s == WHARF_OK && restored && !W->res->changed(old_rec, rec, ASSET_LOCATION_ID))
        s = bring_back(req, location);
    /* the default layout has the id of its location (docs/spec/02-places-and-people.md
     * section 3) */
    if (s == WHARF_OK && !field_text(rec, ASSET_LAYOUT_ID).n && location.n > 4)
        W->res->set(rec, ASSET_LAYOUT_ID, val_text(W->mem->format(req, "lay_%s", location.p + 4)));
    return s;
}

/* ---- what goes ---- */

static wharf_status asset_places_location_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char sql[] =
        "SELECT 1 FROM assets.asset WHERE organization_id = $2::text AND location_id = $1::text"
        " AND archived_at IS NULL AND deleted_at IS NULL"
        " AND status NOT IN ('disposed', 'sold', 'donated') LIMIT 1";

    return assets_places->in_use(req, W->res->id(old_rec), "assets", sql);
}

static wharf_status asset_places_layout_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] =
        "UPDATE assets.asset SET layout_id = $2::text, version = version + 1"
        " WHERE organization_id = $3::text AND layout_id = ANY ((SELECT $1::text[])::text[])"
        " AND deleted_at IS NULL";

    return assets_layouts->carry(req, old_rec, sql);
}

wharf_status assets_contacts_merged(wharf_req *req, const wharf_str *from, size_t n, wharf_str to)
{
    static const char sql[] =
        "UPDATE assets.asset SET assignee_id = $3::text, version = version + 1"
        " WHERE organization_id = $1::text AND assignee_id = ANY ((SELECT $2::text[])::text[])"
        " AND deleted_at IS NULL";
    const wharf_val args[3] = {
        val_text(W->req->organization(req)), val_array(req, from, n), val_text(to)};

    return W->db->exec(req, sql, args, 3, NULL);
}

const wharf_hooks assets_location_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = asset_places_location_check, .ops = WHARF_DELETE};
const wharf_hooks assets_layout_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .written = asset_places_layout_written, .ops = WHARF_DELETE};
