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

/* Fills the parameters of a statement that uses queries/leg_seen.sql. first: $1. */
static void leg_args(wharf_req *req, wharf_val first, wharf_val args[static 5])
{
    const wharf_caller *who = trackers_keys->caller(req);

    args[0] = first;
    args[1] = val_text(W->req->organization(req));
    args[2] = val_bool(who->all_locations);
    args[3] = val_ids(req, who->locations, who->n_locations);
    args[4] = val_bool(reads_legs(req));
}

/* Writes the legs that the caller may see. */
static wharf_status put_legs(wharf_req *req, const wharf_str *ids, size_t n, wharf_out *const *outs)
{
    static const char sql[] = QUERY_LEGS_SHOWN;
    const wharf_rows *rows;
    wharf_val args[5];
    wharf_status s;

    leg_args(req, val_ids(req, ids, n), args);
    s = W->db->query(req, sql, args, 5, &rows);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        W->json->put(outs[i], NULL, val_json(row_json(rows, i, 0)));
    return s;
}

wharf_status trackers_reported_of(
    wharf_req *req, const wharf_str *ids, size_t n, bool with_trackers, wharf_str *ret_groups)
{
    static const char sql[] = QUERY_REPORTED_OF;
    const wharf_rows *rows;
    wharf_val args[6];
    wharf_status s;

    leg_args(req, val_ids(req, ids, n), args);
    args[5] = val_bool(with_trackers);
    s = W->db->query(req, sql, args, 6, &rows);
    *ret_groups = s == WHARF_OK ? row_text(rows, 0, 0) : WHARF_S("[]");
    return s;
}

/* Writes the histories of the legs that the caller may see, those of a tracker together. */
static wharf_status put_histories(
    wharf_req *req, const wharf_str *ids, size_t n, wharf_out *const *outs)
{
    const wharf_json **lines = W->mem->alloc(req, (n + 1) * sizeof(*lines));
    wharf_str groups;
    wharf_status s = trackers_reported_of(req, ids, n, false, &groups);

    if (s == WHARF_OK)
        s = trackers_shipments->histories(req, groups, n, SHOWN, lines);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        W->json->put(outs[i], NULL, val_json(lines[i]));
    return s;
}

/* ---- logs ---- */

/* Writes the newest lines of the change log, with include_logs; null else. */
static wharf_status put_logs(wharf_req *req, const wharf_str *ids, size_t n, wharf_out *const *outs)
{
    const wharf_json **lines = W->mem->alloc(req, (n + 1) * sizeof(*lines));
    bool asked = param_truth(req, "include_logs");
    wharf_str groups, visibility;
    wharf_status s = WHARF_OK;

    if (!W->req->param(req, "logs_visibility", &visibility) || is(visibility, "all"))
        visibility = WHARF_S("");
    if (asked)
        s = trackers_reported_of(req, ids, n, true, &groups);
    if (asked && s == WHARF_OK)
        s = trackers_logs->recent(req, groups, n, visibility, SHOWN, lines);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        W->json->put(outs[i], NULL, asked ? val_json(lines[i]) : val_null());
    return s;
}

/* ---- a page ---- */

wharf_status trackers_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));

    for (size_t i = 0; i < n; i++)
        ids[i] = W->res->id(recs[i]);
    if (f == TRACKER_SHIPMENTS)
        return put_legs(req, ids, n, outs);
    return f == TRACKER_TRACKING_UPDATES ? put_histories(req, ids, n, outs)
                                         : put_logs(req, ids, n, outs);
}

/* Parameters that no filter reads: logs_visibility is checked here, shipment_id names a leg, one
 * that the caller sees. */
wharf_status trackers_restrict(wharf_req *req, wharf_where *where)
{
    static const char sql[] = "SELECT s.tracker_id FROM shipments.shipment s WHERE s.id = $1::text"
                              " AND " QUERY_LEG_SEEN;
    wharf_val args[5];
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
    leg_args(req, val_text(v), args);
    s = W->db->query(req, sql, args, 5, &rows);
    if (s == WHARF_OK)
        W->res->narrow(where, TRACKER_ID, "eq",
            val_text(W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("")));
    return s;
}
