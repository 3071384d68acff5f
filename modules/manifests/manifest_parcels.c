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

/* Refuses to unpack, past its manifest, or to delete parcels whose contents are no stock yet.
 * together: they are the rows of a set. */
static wharf_status manifest_parcels_check_parcels(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n, bool together)
{
    static const char sql[] =
        "SELECT x.i FROM unnest((SELECT $1::text[])) WITH ORDINALITY x(id, i) WHERE EXISTS ("
        "SELECT 1 FROM manifests.parcel p WHERE p.organization_id = $2::text AND p.id = x.id"
        " AND p.stored)";
    static const char *const names[] = {"unpacked", "contents"};
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    size_t *of = W->mem->alloc(req, (n + 1) * sizeof(*of)), k = 0;
    const wharf_rows *rows;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        if (op == WHARF_UPDATE && !W->res->changed_any(old_recs[i], new_recs[i], names, 2))
            continue;
        ids[k] = W->res->id(old_recs[i]);
        of[k++] = i;
    }
    if (*writing(req) || !k)
        return WHARF_OK;
    s = query_about(req, sql, val_array(req, ids, k).u.s, &rows);
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        if (together)
            manifests_many->at(req, of[row_int(rows, r, 0) - 1]);
        W->err->add(
            req, ERR_MANIFEST_PARCEL_UNOPENED, op == WHARF_UPDATE ? "unpacked" : NULL, NULL);
    }
    return s;
}

static wharf_status parcel_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s = manifest_parcels_check_parcels(req, op, &old_rec, &new_rec, 1, false);

    return s == WHARF_OK ? W->err->current(req) : s;
}

static wharf_status parcel_check_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n)
{
    return manifest_parcels_check_parcels(req, op, old_recs, new_recs, n, true);
}

const wharf_hooks manifest_parcel_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = parcel_check,
    .check_many = parcel_check_many,
    .ops = WHARF_UPDATE | WHARF_DELETE};
