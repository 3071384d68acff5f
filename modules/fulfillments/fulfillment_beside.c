/* fulfillment_beside.c - locations, layouts and items that go, contacts that are merged
 * (docs/spec/03-shipments-and-trackers.md section 6.9). */
#include "fulfillments.h"

#include "fulfillments.gen.h"

static wharf_status fulfillment_beside_location_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char sql[] =
        "SELECT 1 FROM fulfillments.fulfillment WHERE organization_id = $2::text"
        " AND location_id = $1::text AND deleted_at IS NULL"
        " AND status NOT IN ('completed', 'canceled') LIMIT 1";

    (void)op;
    (void)new_rec;
    return fulfillments_places->in_use(req, W->res->id(old_rec), "fulfillments", sql);
}

/* Follows stock of removed layouts with what is reserved of it; who wanted stock of one of them
 * alone takes any. */
static wharf_status fulfillment_beside_layout_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char places[] = "SELECT fulfillments.carry($1::text[], $2::text, $3::text)";

    (void)op;
    (void)new_rec;
    return fulfillments_layouts->carry(req, old_rec, places);
}

/* Items that open articles ask for are not deleted. */
static const wharf_refusal is_ordered = {
    .sql = "SELECT x.i FROM unnest((SELECT $1::text[])) WITH ORDINALITY x(id, i) WHERE EXISTS ("
           "SELECT 1 FROM fulfillments.article a WHERE a.organization_id = $2::text"
           " AND a.item_id = x.id AND a.is_open)",
    .code = ERR_FULFILLMENT_ITEM_ORDERED};

static wharf_status fulfillment_beside_item_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    return refuse_rows(req, NULL, op, &old_rec, &new_rec, 1, &is_ordered);
}

static wharf_status fulfillment_beside_item_check_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n)
{
    return refuse_rows(req, fulfillments_many, op, old_recs, new_recs, n, &is_ordered);
}

wharf_status fulfillments_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to)
{
    static const char sql[] = WHARF_PARTIES_MERGED("fulfillments.fulfillment");
    const wharf_val args[3] = {
        val_text(W->req->organization(req)), val_array(req, from, n), val_text(to)};

    return W->db->exec(req, sql, args, 3, NULL);
}

const wharf_hooks fulfillments_location_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = fulfillment_beside_location_check,
    .ops = WHARF_DELETE};
const wharf_hooks fulfillments_layout_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .written = fulfillment_beside_layout_written,
    .ops = WHARF_DELETE};
const wharf_hooks fulfillments_item_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = fulfillment_beside_item_check,
    .check_many = fulfillment_beside_item_check_many,
    .ops = WHARF_DELETE};
