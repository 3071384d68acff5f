/* shown.c - what a tracker shows of its legs: themselves, their histories together, the change
 * log (docs/spec/03-shipments-and-trackers.md sections 5.1, 5.2 and 5.4). */
#include "trackers.h"
#include "trackers.gen.h"

/* ---- legs ---- */

/* Tells whether the caller reads legs. Those that it may not see are left out, here and in what is
 * told of them: those whose location it does not reach, and all without shipments:read. */
static bool reads_legs(wharf_req *req)
{
    return trackers_keys->level(req, WHARF_S("shipments")) >= WHARF_LEVEL_READ;
}

/* Writes the legs that the caller may see. */
static wharf_status put_legs(wharf_req *req, const wharf_str *ids, size_t n, wharf_out *const *outs)
{
    static const char sql[] = QUERY_LEGS_SHOWN;
    const wharf_caller *who = trackers_keys->caller(req);
    wharf_val args[5] = {val_ids(req, ids, n), val_bool(who->all_locations),
        val_ids(req, who->locations, who->n_locations), val_text(W->req->organization(req)),
        val_bool(reads_legs(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 5, &rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        W->json->put(outs[i], NULL, val_json(row_json(rows, i, 0)));
    return s;
}

wharf_status trackers_reported_of(
    wharf_req *req, wharf_str tracker_id, wharf_str *ids, size_t most, size_t *ret_n)
{
    static const char sql[] = QUERY_REPORTED_OF;
    const wharf_caller *who = trackers_keys->caller(req);
    wharf_val args[5] = {val_text(tracker_id), val_text(W->req->organization(req)),
        val_bool(who->all_locations), val_ids(req, who->locations, who->n_locations),
        val_bool(reads_legs(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 5, &rows);

    *ret_n = 0;
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows) && *ret_n < most; i++)
        ids[(*ret_n)++] = row_text(rows, i, 0);
    return s;
}

/* Writes the histories of the legs that the caller may see, those of a tracker together. */
static wharf_status put_histories(
    wharf_req *req, const wharf_str *ids, size_t n, wharf_out *const *outs)
{
    static const char sql[] = QUERY_LEGS_OF_EACH;
    const wharf_caller *who = trackers_keys->caller(req);
    wharf_val args[5] = {val_ids(req, ids, n), val_text(W->req->organization(req)),
        val_bool(who->all_locations), val_ids(req, who->locations, who->n_locations),
        val_bool(reads_legs(req))};
    const wharf_json **lines = W->mem->alloc(req, (n + 1) * sizeof(*lines));
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 5, &rows);

    if (s == WHARF_OK)
        s = trackers_shipments->histories(req, row_text(rows, 0, 0), n, SHOWN, lines);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        W->json->put(outs[i], NULL, val_json(lines[i]));
    return s;
}

/* ---- logs ---- */

static wharf_status put_logs(wharf_req *req, wharf_str tracker_id, wharf_out *out)
{
    wharf_str ids[REPORTED_MAX], visibility;
    const wharf_json *rows;
    size_t n;
    wharf_status s;

    if (!param_truth(req, "include_logs")) {
        W->json->put(out, NULL, val_null());
        return WHARF_OK;
    }
    if (!W->req->param(req, "logs_visibility", &visibility) || is(visibility, "all"))
        visibility = WHARF_S("");
    s = trackers_reported_of(req, tracker_id, ids, REPORTED_MAX, &n);
    if (s == WHARF_OK)
        s = trackers_logs->recent(req, ids, n, visibility, SHOWN, &rows);
    if (s == WHARF_OK)
        W->json->put(out, NULL, val_json(rows));
    return s;
}

/* ---- a page ---- */

wharf_status trackers_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n; i++)
        ids[i] = W->res->id(recs[i]);
    if (f == TRACKER_SHIPMENTS)
        return put_legs(req, ids, n, outs);
    if (f == TRACKER_TRACKING_UPDATES)
        return put_histories(req, ids, n, outs);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        s = put_logs(req, ids[i], outs[i]);
    return s;
}

/* Parameters that no filter reads: logs_visibility is checked here, shipment_id names a leg, one
 * that the caller sees. */
wharf_status trackers_restrict(wharf_req *req, wharf_where *where)
{
    static const char sql[] =
        "SELECT tracker_id FROM shipments.shipment"
        " WHERE organization_id = $2::text AND id = $1::text AND deleted_at IS NULL AND $5::boolean"
        " AND ($3::boolean OR location_id IS NULL OR location_id IN (SELECT "
        "jsonb_array_elements_text($4::jsonb)))";
    const wharf_caller *who = trackers_keys->caller(req);
    wharf_str v;
    const wharf_rows *rows;
    wharf_status s;

    if (W->req->param(req, "include_logs", &v) && !is(v, "true") && !is(v, "false") &&
        !is(v, "1") && !is(v, "0") && !is(v, "yes") && !is(v, "no"))
        return W->err->fail(
            req, ERR_PARAM_INVALID, "include_logs", "include_logs must be true or false");
    if (W->req->param(req, "logs_visibility", &v) && !is(v, "public") && !is(v, "internal") &&
        !is(v, "all"))
        return W->err->fail(req, ERR_PARAM_INVALID, "logs_visibility",
            "logs_visibility must be public, internal or all");
    if (!W->req->param(req, "shipment_id", &v))
        return WHARF_OK;
    wharf_val args[5] = {val_text(v), val_text(W->req->organization(req)),
        val_bool(who->all_locations), val_ids(req, who->locations, who->n_locations),
        val_bool(reads_legs(req))};
    s = W->db->query(req, sql, args, 5, &rows);
    if (s == WHARF_OK)
        W->res->narrow(where, TRACKER_ID, "eq",
            val_text(W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("")));
    return s;
}
