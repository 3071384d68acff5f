/* manifest_close.c - the end of a manifest: what is not booked yet is booked, what did not come is
 * taken off (docs/spec/03-shipments-and-trackers.md sections 7.2 and 7.4). */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"

static wharf_status put_percent(wharf_req *req, wharf_out *out, const char *key, const char *path)
{
    const wharf_json *v = NULL;
    wharf_status s = manifests_org->setting_json(req, path, &v);

    W->json->put(out, key, val_json(json_is_null(v) ? NULL : v));
    return s;
}

wharf_status manifest_put_tolerance(wharf_req *req, wharf_out *out)
{
    wharf_status s = put_percent(req, out, "over", "manifests.over_receipt_percent");

    return s == WHARF_OK ? put_percent(req, out, "under", "manifests.under_receipt_percent") : s;
}

static wharf_status manifest_close_tell(wharf_req *req, const wharf_json *problems)
{
    for (const wharf_json *p = W->json->at(problems, 0); p; p = W->json->next(p))
        manifest_tell(req, json_text(p, "problem"), json_text(p, "article").p);
    return W->err->current(req);
}

static wharf_status manifest_close_ask(struct manifest_write *w, const wharf_json **ret_answer)
{
    static const char sql[] = "SELECT manifests.close($1::text, $2::jsonb)";
    wharf_out *facts = W->json->writer(w->req);
    const wharf_rows *rows;
    wharf_status s;

    manifest_put_facts(w->req, facts);
    s = manifest_put_tolerance(w->req, facts);
    W->json->put(facts, "reason", val_bool(field_text(w->rec, MANIFEST_REASON_CODE_ID).n > 0));
    W->json->put(facts, "receipts", val_bool(field_int(w->rec, MANIFEST_RECEIPT_COUNT) > 0));
    W->json->close(facts);
    if (s == WHARF_OK)
        s = W->db->query(w->req, sql,
            (const wharf_val[]){val_text(w->id), val_text(W->json->result_text(facts))}, 2, &rows);
    *ret_answer = s == WHARF_OK ? row_json(rows, 0, 0) : NULL;
    return s == WHARF_OK && !*ret_answer ? W->err->fail(w->req, ERR_INTERNAL, NULL, NULL) : s;
}

static wharf_status manifest_close_store(const struct booking *b, const wharf_json *parcels)
{
    wharf_status s = WHARF_OK;

    for (const wharf_json *p = W->json->at(parcels, 0); p && s == WHARF_OK; p = W->json->next(p)) {
        wharf_str id = WHARF_S("");

        W->json->text(p, &id);
        s = parcel_write(b->req, b->manifest, b->location, id, false);
    }
    return s;
}

wharf_status manifest_complete(struct manifest_write *w)
{
    const wharf_json *answer = NULL, *parcels;
    struct booking b = {.req = w->req,
        .manifest = w->id,
        .location = w->location,
        .reason = field_text(w->rec, MANIFEST_REASON_CODE_ID),
        .comment = WHARF_S("")};
    wharf_status s = manifest_close_ask(w, &answer);

    if (s != WHARF_OK)
        return s;
    if (!json_is_null(W->json->get(answer, "problems")))
        return manifest_close_tell(w->req, W->json->get(answer, "problems"));
    b.parts = W->json->get(answer, "parts");
    parcels = W->json->get(answer, "store");
    s = booking_make(&b);
    if (s == WHARF_OK)
        s = manifest_close_store(&b, parcels);
    if (s == WHARF_OK && W->json->count(b.parts) + W->json->count(parcels)) {
        s = receipt_of_completion(w->req, &b);
        W->res->set(
            w->rec, MANIFEST_RECEIPT_COUNT, val_int(field_int(w->rec, MANIFEST_RECEIPT_COUNT) + 1));
    }
    W->res->set(w->rec, MANIFEST_PROCESSED_AT, val_time(W->req->now_us(w->req)));
    return s;
}

wharf_status manifest_void(struct manifest_write *w)
{
    static const char sql[] =
        "SELECT (SELECT count(*) FROM manifests.article WHERE organization_id = $2::text"
        " AND manifest_id = $1::text AND booked > 0 AND deleted_at IS NULL)"
        " + (SELECT count(*) FROM manifests.parcel WHERE organization_id = $2::text"
        " AND manifest_id = $1::text AND stored)";
    const wharf_rows *rows;
    wharf_status s = query_about(w->req, sql, w->id, &rows);

    if (s == WHARF_OK && row_int(rows, 0, 0))
        return W->err->fail(w->req, ERR_MANIFEST_RECEIVED, "status", NULL);
    return s == WHARF_OK ? booking_expect(w->req, w->id, w->location, false, "expected", NULL) : s;
}
