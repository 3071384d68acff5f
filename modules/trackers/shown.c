/* shown.c - what a tracker shows of its legs: themselves, their histories together, the change log (docs/spec/03-shipments-and-trackers.md
 * sections 5.1, 5.2 and 5.4). */
#include "trackers.h"
#include "trackers.gen.h"

#define MOMENT(column) "to_char(" column " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"

/* ---- legs ---- */

/* Those whose location the caller does not reach are left out: $2 all, $3 the reached ones. */
static wharf_status put_legs(wharf_req *req, const wharf_str *ids, size_t n, wharf_out *const *outs)
{
    static const char sql
        [] = "SELECT coalesce((SELECT jsonb_agg(jsonb_build_object('object', 'shipment', 'id', s.id, 'status', "
             "s.status, 'filters', s.filters,"
             " 'type', s.type, 'tracking_number', s.tracking_number, 'provider_id', s.provider_id, 'provider', "
             "s.provider, 'tracking_url',"
             " s.tracking_url, 'sender', s.sender, 'recipient', s.recipient, 'estimated_delivery_at', " MOMENT("s."
                                                                                                               "estimat"
                                                                                                               "ed_"
                                                                                                               "deliver"
                                                                                                               "y_at") ", 'pickup_at', " MOMENT(
                 "s.pickup_at") ", 'delivered_at', " MOMENT("s.delivered_at") ", 'container_id', s.container_id, "
                                                                              "'tracker_id', s.tracker_id, "
                                                                              "'fulfillment_id', s.fulfillment_id, "
                                                                              "'location_id', s.location_id,"
                                                                              " 'layout_id', s.layout_id, "
                                                                              "'coordinates', s.coordinates, "
                                                                              "'parent_id', s.parent_id, 'is_parent', "
                                                                              "s.is_parent, 'order_number',"
                                                                              " s.order_number, 'tags', s.tags, "
                                                                              "'metadata', s.metadata, "
                                                                              "'created_at', " MOMENT(
                                                                                  "s.created_at") ", "
                                                                                                  "'updated_at',"
                                                                                                  " " MOMENT("s."
                                                                                                             "updated_"
                                                                                                             "at") ") "
                                                                                                                   "ORD"
                                                                                                                   "ER "
                                                                                                                   "BY "
                                                                                                                   "s."
                                                                                                                   "leg"
                                                                                                                   ", "
                                                                                                                   "s."
                                                                                                                   "cre"
                                                                                                                   "ate"
                                                                                                                   "d_"
                                                                                                                   "at,"
                                                                                                                   " s."
                                                                                                                   "id)"
                                                                                                                   " FR"
                                                                                                                   "OM "
                                                                                                                   "shi"
                                                                                                                   "pme"
                                                                                                                   "nts"
                                                                                                                   ".sh"
                                                                                                                   "ipm"
                                                                                                                   "ent"
                                                                                                                   " s "
                                                                                                                   "WHE"
                                                                                                                   "RE "
                                                                                                                   "s."
                                                                                                                   "tra"
                                                                                                                   "cke"
                                                                                                                   "r_"
                                                                                                                   "id "
                                                                                                                   "= "
                                                                                                                   "i."
                                                                                                                   "id "
                                                                                                                   "AND"
                                                                                                                   " s."
                                                                                                                   "del"
                                                                                                                   "ete"
                                                                                                                   "d_"
                                                                                                                   "at "
                                                                                                                   "IS "
                                                                                                                   "NUL"
                                                                                                                   "L"
                                                                                                                   " AN"
                                                                                                                   "D "
                                                                                                                   "($"
                                                                                                                   "2::"
                                                                                                                   "boo"
                                                                                                                   "lea"
                                                                                                                   "n "
                                                                                                                   "OR "
                                                                                                                   "s."
                                                                                                                   "loc"
                                                                                                                   "ati"
                                                                                                                   "on_"
                                                                                                                   "id "
                                                                                                                   "IS "
                                                                                                                   "NUL"
                                                                                                                   "L "
                                                                                                                   "OR "
                                                                                                                   "s."
                                                                                                                   "loc"
                                                                                                                   "ati"
                                                                                                                   "on_"
                                                                                                                   "id "
                                                                                                                   "IN "
                                                                                                                   "(SE"
                                                                                                                   "LEC"
                                                                                                                   "T "
                                                                                                                   "jso"
                                                                                                                   "nb_"
                                                                                                                   "arr"
                                                                                                                   "ay_"
                                                                                                                   "ele"
                                                                                                                   "men"
                                                                                                                   "ts_"
                                                                                                                   "tex"
                                                                                                                   "t($"
                                                                                                                   "3::"
                                                                                                                   "jso"
                                                                                                                   "nb)"
                                                                                                                   ")))"
                                                                                                                   ", "
                                                                                                                   "'[]"
                                                                                                                   "')"
                                                                                                                   " FR"
                                                                                                                   "OM "
                                                                                                                   "jso"
                                                                                                                   "nb_"
                                                                                                                   "arr"
                                                                                                                   "ay_"
                                                                                                                   "ele"
                                                                                                                   "men"
                                                                                                                   "ts_"
                                                                                                                   "tex"
                                                                                                                   "t($"
                                                                                                                   "1::"
                                                                                                                   "jso"
                                                                                                                   "nb)"
                                                                                                                   " WI"
                                                                                                                   "TH "
                                                                                                                   "ORD"
                                                                                                                   "INA"
                                                                                                                   "LIT"
                                                                                                                   "Y "
                                                                                                                   "AS "
                                                                                                                   "i("
                                                                                                                   "id,"
                                                                                                                   " pl"
                                                                                                                   "ace"
                                                                                                                   ") "
                                                                                                                   "ORD"
                                                                                                                   "ER "
                                                                                                                   "BY "
                                                                                                                   "i."
                                                                                                                   "pla"
                                                                                                                   "ce";
    const wharf_caller *who = trackers_keys->caller(req);
    wharf_val args[3] = {
        val_ids(req, ids, n), val_bool(who->all_locations), val_ids(req, who->locations, who->n_locations)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        W->json->put(outs[i], NULL, val_json(row_json(rows, i, 0)));
    return s;
}

/* The ids of all legs of a tracker, and whatever its log has to tell of: itself, trackers that were merged into it. */
static wharf_status leg_ids(
    wharf_req *req, wharf_str tracker_id, bool with_trackers, wharf_str *ids, size_t most, size_t *ret_n)
{
    static const char sql[] =
        "SELECT s.id FROM shipments.shipment s WHERE s.tracker_id = $1::text AND s.deleted_at IS NULL"
        " UNION ALL SELECT m FROM trackers.tracker t, jsonb_array_elements_text(t.merged_ids || to_jsonb(t.id)) m"
        " WHERE t.id = $1::text AND $2::boolean";
    wharf_val args[2] = {val_text(tracker_id), val_bool(with_trackers)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    *ret_n = 0;
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows) && *ret_n < most; i++)
        ids[(*ret_n)++] = row_text(rows, i, 0);
    return s;
}

static wharf_status put_history(wharf_req *req, wharf_str tracker_id, wharf_out *out)
{
    wharf_str ids[LEGS_MAX];
    const wharf_json *lines;
    size_t n;
    wharf_status s = leg_ids(req, tracker_id, false, ids, LEGS_MAX, &n);

    if (s == WHARF_OK)
        s = trackers_shipments->history(req, ids, n, SHOWN, &lines);
    if (s == WHARF_OK)
        W->json->put(out, NULL, val_json(lines));
    return s;
}

/* ---- logs ---- */

static wharf_status put_logs(wharf_req *req, wharf_str tracker_id, wharf_out *out)
{
    wharf_str ids[4 * LEGS_MAX], visibility;
    const wharf_json *rows;
    size_t n;
    wharf_status s;

    if (!param_truth(req, "include_logs")) {
        W->json->put(out, NULL, val_null());
        return WHARF_OK;
    }
    if (!W->req->param(req, "logs_visibility", &visibility) || is(visibility, "all"))
        visibility = WHARF_S("");
    s = leg_ids(req, tracker_id, true, ids, 4 * LEGS_MAX, &n);
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
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        s = f == TRACKER_LOGS ? put_logs(req, ids[i], outs[i]) : put_history(req, ids[i], outs[i]);
    return s;
}

/* Parameters that no filter reads: logs_visibility is checked here, shipment_id names a leg. */
wharf_status trackers_restrict(wharf_req *req, wharf_where *where)
{
    static const char sql[] = "SELECT tracker_id FROM shipments.shipment WHERE id = $1::text AND deleted_at IS NULL";
    wharf_str v;
    const wharf_rows *rows;
    wharf_val arg;
    wharf_status s;

    if (W->req->param(req, "include_logs", &v) && !is(v, "true") && !is(v, "false") && !is(v, "1") && !is(v, "0") &&
        !is(v, "yes") && !is(v, "no"))
        return W->err->fail(req, "param.invalid", "include_logs", "include_logs must be true or false");
    if (W->req->param(req, "logs_visibility", &v) && !is(v, "public") && !is(v, "internal") && !is(v, "all"))
        return W->err->fail(req, "param.invalid", "logs_visibility", "logs_visibility must be public, internal or all");
    if (!W->req->param(req, "shipment_id", &v))
        return WHARF_OK;
    arg = val_text(v);
    s = W->db->query(req, sql, &arg, 1, &rows);
    if (s == WHARF_OK)
        W->res->narrow(where, TRACKER_ID, "eq", val_text(W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("")));
    return s;
}
