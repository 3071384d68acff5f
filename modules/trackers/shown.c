/* shown.c - the change log of a tracker and its legs, and trackers by a leg
 * (docs/spec/03-shipments-and-trackers.md sections 5.1, 5.2 and 5.4). Leaves to others: the legs
 * and their histories, which the definition computes by SQL. */
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

wharf_status trackers_reported_of(
    wharf_req *req, const wharf_str *ids, size_t n, wharf_str *ret_groups)
{
    static const char sql[] = QUERY_REPORTED_OF;
    const wharf_rows *rows;
    wharf_val args[5];
    wharf_status s;

    leg_args(req, val_ids(req, ids, n), args);
    s = W->db->query(req, sql, args, 5, &rows);
    *ret_groups = s == WHARF_OK ? row_text(rows, 0, 0) : WHARF_S("[]");
    return s;
}

/* ---- logs ---- */

/* Writes the newest lines of the change log, the only field that the definition leaves to us. It
 * is asked for with include_logs. */
wharf_status trackers_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids)), groups, visibility;
    const wharf_json **lines = W->mem->alloc(req, (n + 1) * sizeof(*lines));
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        ids[i] = W->res->id(recs[i]);
    if (!W->req->param(req, "logs_visibility", &visibility) || is(visibility, "all"))
        visibility = WHARF_S("");
    s = trackers_reported_of(req, ids, n, &groups);
    if (s == WHARF_OK)
        s = trackers_logs->recent(req, groups, n, visibility, SHOWN, lines);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        W->json->put(outs[i], NULL, val_json(lines[i]));
    return s;
}

/* Narrows by shipment_id, which no filter reads: it names a leg, one that the caller sees. */
wharf_status trackers_restrict(wharf_req *req, wharf_where *where)
{
    static const char sql[] = "SELECT s.tracker_id FROM shipments.shipment s WHERE s.id = $1::text"
                              " AND " QUERY_LEG_SEEN;
    wharf_val args[5];
    wharf_str v;
    const wharf_rows *rows;
    wharf_status s;

    if (!W->req->param(req, "shipment_id", &v))
        return WHARF_OK;
    leg_args(req, val_text(v), args);
    s = W->db->query(req, sql, args, 5, &rows);
    if (s == WHARF_OK)
        W->res->narrow(where, TRACKER_ID, "eq",
            val_text(W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("")));
    return s;
}
