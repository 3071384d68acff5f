/* manifest_assets.c - assets that come with a manifest: one for each unit of an asset item
 * (docs/spec/03-shipments-and-trackers.md section 7.3), archived when their receipt is taken
 * back. Without the module assets units are only counted. */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"

enum { ASSETS_MAX = 500 }; /* assets of a line */

bool assets_are_there(wharf_req *req)
{
    return W->res->links(req, WHARF_S("asset"), "documents");
}

static wharf_status manifest_assets_make_one(const struct booking *b, const wharf_json *part,
    wharf_str layout, wharf_str serial, bool defective, wharf_str *ret_id)
{
    wharf_out *out = W->json->builder(b->req);
    const wharf_json *body;
    const wharf_rec *rec;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "item_id", val_json(W->json->get(part, "item")));
    W->json->put(out, "location_id", val_text(b->location));
    W->json->put(out, "layout_id", val_text_or_null(layout));
    W->json->put(out, "manifest_id", val_text(b->manifest));
    W->json->put(
        out, "status", val_text(defective ? WHARF_S("out_of_service") : WHARF_S("in_storage")));
    if (serial.n)
        W->json->put(out, "serial_number", val_text(serial));
    W->json->close(out);
    s = W->json->result(b->req, out, &body);
    if (s == WHARF_OK)
        s = W->res->create(b->req, "asset", body, &rec);
    if (s == WHARF_OK)
        *ret_id = W->res->id(rec);
    return s;
}

wharf_status assets_make(const struct booking *b, const wharf_json *part, wharf_str layout,
    const char *path, const wharf_json **ret_ids)
{
    const wharf_json *serials = W->json->get(part, "serials");
    int64_t all = 0, bad = 0, numbered = serials ? (int64_t)W->json->count(serials) : 0;
    wharf_out *out = W->json->builder(b->req);
    wharf_status s = WHARF_OK;

    W->json->decimal(W->json->get(part, "received"), 0, &all);
    W->json->decimal(W->json->get(part, "defective"), 0, &bad);
    if (all > ASSETS_MAX)
        return W->err->fail(b->req, ERR_VALIDATION_FAILED, path,
            "A line makes at most 500 assets; send several lines");
    W->json->open(out, NULL, '[');
    for (int64_t i = 0; i < all && s == WHARF_OK; i++) {
        wharf_str serial = WHARF_S(""), id = WHARF_S("");

        if (i >= all - numbered)
            W->json->text(W->json->at(serials, (size_t)(i - (all - numbered))), &serial);
        s = manifest_assets_make_one(b, part, layout, serial, i >= all - bad, &id);
        W->json->put(out, NULL, val_text(id));
    }
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(b->req, out, ret_ids) : s;
}

wharf_status assets_take_back(const struct booking *b, const wharf_json *part)
{
    static const char sql[] =
        "SELECT a.id, a.status IN ('in_storage', 'out_of_service') FROM assets.asset a"
        " WHERE a.organization_id = $2::text AND a.id IN (SELECT jsonb_array_elements_text("
        "$1::jsonb)) AND a.archived_at IS NULL AND a.deleted_at IS NULL ORDER BY a.id";
    const wharf_json *ids = W->json->get(part, "assets");
    const wharf_rows *rows;
    wharf_status s;

    if (json_is_null(ids) || !W->json->count(ids) || !assets_are_there(b->req))
        return WHARF_OK;
    s = W->db->query(b->req, sql,
        (const wharf_val[]){val_json(ids), val_text(W->req->organization(b->req))}, 2, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (!row_bool(rows, i, 1))
            return W->err->fail(b->req, ERR_MANIFEST_ASSETS_USED, row_text(rows, i, 0).p, NULL);
        s = W->res->remove(b->req, "asset", row_text(rows, i, 0));
    }
    return s;
}
