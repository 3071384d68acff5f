/* fulfillment_pieces.c - which assets were picked (docs/spec/03-shipments-and-trackers.md
 * section 6.6). Whether the module assets is there is asked of the server: its rows are read
 * by SQL. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

static const char *piece_path(const struct order *o, const struct scan *s)
{
    return order_path(o->req, s->at, s->asset_id.n ? "asset_id" : "serial_number");
}

static wharf_status find_asset(
    const struct order *o, const struct scan *s, wharf_str *ret_id, wharf_str *ret_serial)
{
    static const char sql[] =
        "SELECT id, serial_number FROM assets.asset WHERE organization_id = $2::text"
        " AND item_id = $3::text AND location_id = $5::text AND archived_at IS NULL"
        " AND deleted_at IS NULL AND CASE WHEN $4::boolean THEN id = $1::text"
        " ELSE lower(serial_number) = lower($1::text) END";
    const wharf_rows *rows = NULL;
    wharf_status status = WHARF_OK;

    if (W->res->links(o->req, WHARF_S("asset"), "documents"))
        status = W->db->query(o->req, sql,
            (const wharf_val[]){val_text(s->asset_id.n ? s->asset_id : s->serial_number),
                val_text(W->req->organization(o->req)), val_text(o->articles[s->article].item_id),
                val_bool(s->asset_id.n > 0), val_text(o->location_id)},
            5, &rows);
    if (status != WHARF_OK)
        return status;
    if (!rows || !W->db->count(rows))
        return W->err->add(o->req, ERR_VALIDATION_FAILED, piece_path(o, s),
            "There is no such asset of the item at the location");
    *ret_id = row_text(rows, 0, 0);
    *ret_serial = row_text(rows, 0, 1);
    return WHARF_OK;
}

static wharf_status piece_put_back(const struct order *o, const struct scan *s, wharf_str asset)
{
    static const char sql[] = "DELETE FROM fulfillments.piece WHERE organization_id = $2::text"
                              " AND asset_id = $1::text AND article_id = $3::text AND is_open";
    uint64_t n = 0;
    wharf_status status = W->db->exec(o->req, sql,
        (const wharf_val[]){val_text(asset), val_text(W->req->organization(o->req)),
            val_text(o->articles[s->article].id)},
        3, &n);

    return status == WHARF_OK && !n ? W->err->add(o->req, ERR_VALIDATION_FAILED, piece_path(o, s),
                                          "The asset is not among those that were picked")
                                    : status;
}

wharf_status piece_take(struct order *o, const struct scan *s)
{
    static const char sql[] =
        "INSERT INTO fulfillments.piece (organization_id, article_id, asset_id, fulfillment_id,"
        " serial_number) VALUES ($2::text, $3::text, $1::text, $4::text, $5::text)"
        " ON CONFLICT DO NOTHING";
    const struct article *a = &o->articles[s->article];
    wharf_str asset = WHARF_S(""), serial = WHARF_S("");
    uint64_t n = 0;
    wharf_status status;

    if (!a->is_asset || (s->quantity != WHARF_STOCK_ONE && s->quantity != -WHARF_STOCK_ONE))
        return W->err->add(o->req, ERR_VALIDATION_FAILED, piece_path(o, s),
            "A serial number is of one piece of an item with is_asset");
    status = find_asset(o, s, &asset, &serial);
    if (status != WHARF_OK)
        return status;
    if (s->quantity < 0)
        return piece_put_back(o, s, asset);
    status = W->db->exec(o->req, sql,
        (const wharf_val[]){val_text(asset), val_text(W->req->organization(o->req)),
            val_text(a->id), val_text(o->id), val_text(serial)},
        5, &n);
    return status == WHARF_OK && !n
               ? W->err->add(o->req, ERR_FULFILLMENT_ASSET_TAKEN, piece_path(o, s), NULL)
               : status;
}

wharf_status pieces_close(wharf_req *req, wharf_str fulfillment_id, bool canceled)
{
    static const char drop[] = "DELETE FROM fulfillments.piece WHERE organization_id = $2::text"
                               " AND fulfillment_id = $1::text";
    static const char close[] =
        "UPDATE fulfillments.piece SET is_open = false WHERE organization_id = $2::text"
        " AND fulfillment_id = $1::text";

    return query_about(req, canceled ? drop : close, fulfillment_id, NULL);
}
