/* manifest_parcels.c - parcels of manifests as rows of the module parcels, which they are from the
 * moment on in which they come (docs/spec/03-shipments-and-trackers.md section 7.5). */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"

static const char writing_kind; /* a flag of the request: this module writes a parcel */

static bool *writing(wharf_req *req)
{
    return W->mem->slot(req, &writing_kind, sizeof(bool));
}

/* Reads a parcel: the body of its write, and in w what is in it. */
static wharf_status manifest_parcels_body_of(wharf_req *req, wharf_str location, wharf_str parcel,
    bool made, wharf_parcel_write *w, const wharf_json **ret)
{
    static const char sql[] =
        "SELECT coalesce(p.tracking_number, p.container_number, 'Parcel ' || p.position),"
        " p.tracking_number, p.container_number, p.layout_id, p.unpacked, p.defective,"
        " c.lines, jsonb_path_query_array(c.lines, '$[*].item_id'), p.received"
        " FROM manifests.parcel p, manifests.parcel_contents($2::text, p.id) c(lines) WHERE "
        "p.organization_id = $2::text AND p.id = $1::text";
    const wharf_rows *rows;
    wharf_out *out = W->json->builder(req);
    wharf_status s = query_about(req, sql, parcel, &rows);
    bool unpacked;

    if (s != WHARF_OK)
        return s;
    unpacked = row_bool(rows, 0, 4);
    W->json->open(out, NULL, '{');
    if (!made) {
        W->json->put(out, "name", val_text(row_text(rows, 0, 0)));
        W->json->put(out, "tracking_number", val_text_or_null(row_text(rows, 0, 1)));
        W->json->put(out, "container_number", val_text_or_null(row_text(rows, 0, 2)));
        W->json->put(out, "location_id", val_text(location));
        if (row_text(rows, 0, 3).n)
            W->json->put(out, "layout_id", val_text(row_text(rows, 0, 3)));
    }
    W->json->put(out, "status",
        val_text(unpacked               ? WHARF_S("unpacked")
                 : row_bool(rows, 0, 8) ? WHARF_S("in_storage")
                                        : WHARF_S("inbound_transit")));
    W->json->put(out, "received", val_bool(row_bool(rows, 0, 8)));
    W->json->put(out, "unpacked", val_bool(unpacked));
    W->json->put(out, "defective", val_bool(row_bool(rows, 0, 5)));
    W->json->close(out);
    w->contents = row_json(rows, 0, 6);
    w->item_ids = row_json(rows, 0, 7);
    return W->json->result(req, out, ret);
}

wharf_status parcel_write(
    wharf_req *req, wharf_str manifest, wharf_str location, wharf_str parcel, bool made)
{
    wharf_parcel_write w = {.head = WHARF_HEAD(wharf_parcel_write),
        .fulfillment_id = WHARF_S(""),
        .manifest_id = manifest,
        .new_id = made ? WHARF_S("") : parcel,
        .shipment_id = WHARF_S("")};
    const wharf_json *body;
    wharf_status s;

    if (!manifests_parcels)
        return WHARF_OK;
    s = manifest_parcels_body_of(req, location, parcel, made, &w, &body);
    if (s == WHARF_OK && W->json->count(w.contents) > CONTAINER_LINES_MAX)
        s = W->err->fail(
            req, ERR_VALIDATION_FAILED, "parcel_id", "A parcel has at most 500 articles");
    if (s != WHARF_OK)
        return s;
    *writing(req) = true;
    s = manifests_parcels->write(req, made ? parcel : WHARF_S(""), body, &w, NULL);
    *writing(req) = false;
    if (s == WHARF_NOT_FOUND && made) { /* somebody deleted its row, empty as it was */
        W->err->clear(req);
        s = WHARF_OK;
    }
    return s;
}

/* ---- rules of parcels ---- */

/* Parcels whose contents are no stock yet are not deleted, nor unpacked past their manifest. */
static const char *const unpacks[] = {"unpacked", "contents"};
static const wharf_refusal is_stored = {
    .sql = "SELECT x.i FROM unnest((SELECT $1::text[])) WITH ORDINALITY x(id, i) WHERE EXISTS ("
           "SELECT 1 FROM manifests.parcel p WHERE p.organization_id = $2::text AND p.id = x.id"
           " AND p.stored)",
    .code = ERR_MANIFEST_PARCEL_UNOPENED,
    .path = "unpacked",
    .fields = unpacks,
    .n_fields = 2};

static wharf_status parcel_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    return *writing(req) ? WHARF_OK : refuse_rows(req, NULL, op, &old_rec, &new_rec, 1, &is_stored);
}

static wharf_status parcel_check_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n)
{
    return *writing(req) ? WHARF_OK
                         : refuse_rows(req, manifests_many, op, old_recs, new_recs, n, &is_stored);
}

const wharf_hooks manifest_parcel_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = parcel_check,
    .check_many = parcel_check_many,
    .ops = WHARF_UPDATE | WHARF_DELETE};
