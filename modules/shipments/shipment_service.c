/* shipment_service.c - the service shipments.ops: writes of other modules go through the same
 * pipeline, with what they say beside the body (spec 03 section 3). */
#include "shipments.h"
#include "shipments.gen.h"

/* The context of updates by this file: what other modules say beside the body. */
static const char beside_kind[] = "shipments.beside";
struct beside {
    wharf_str id;
    const wharf_shipment_write *write;
    bool recount;
};

const wharf_shipment_write *shipments_write_of(const wharf_rec *rec)
{
    const struct beside *beside = W->res->context(rec, beside_kind);

    return beside ? beside->write : NULL;
}

bool shipments_recounted(const wharf_rec *rec)
{
    const struct beside *beside = W->res->context(rec, beside_kind);

    return beside && beside->recount;
}

static wharf_status update_beside(wharf_req *req, const wharf_json *body, struct beside *with)
{
    const wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "shipment",
        .op = WHARF_UPDATE,
        .id = with->id,
        .body = body,
        .kind = beside_kind,
        .context = with};

    return W->res->write(req, &w);
}

static wharf_status update(
    wharf_req *req, wharf_str id, const wharf_json *tracking_update, const wharf_shipment_write *w)
{
    struct beside with = {.id = id, .write = w};
    wharf_out *out = W->json->builder(req);
    const wharf_json *body;
    wharf_status s;

    W->json->open(out, NULL, '{');
    if (tracking_update)
        W->json->put(out, "tracking_update", val_json(tracking_update));
    W->json->close(out);
    s = W->json->result(req, out, &body);
    return s == WHARF_OK ? update_beside(req, body, &with) : s;
}

wharf_status shipments_recount(wharf_req *req, wharf_str parent_id)
{
    struct beside with = {.id = parent_id, .recount = true};
    const wharf_json *body;
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &body);

    return s == WHARF_OK ? update_beside(req, body, &with) : s;
}

static wharf_status set_tracker(
    wharf_req *req, wharf_str shipment_id, wharf_str tracker_id, int64_t leg)
{
    static const char sql[] = "UPDATE shipments.shipment SET tracker_id = $2::text, leg = "
                              "$3::bigint, version = version + 1"
                              " WHERE organization_id = $4::text AND id = $1::text";
    wharf_val args[4] = {val_text(shipment_id), val_text_or_null(tracker_id), val_int(leg),
        val_text(W->req->organization(req))};

    return W->db->exec(req, sql, args, 4, NULL);
}

static wharf_status set_trackers(
    wharf_req *req, const wharf_str *shipment_ids, const wharf_str *tracker_ids, size_t n)
{
    static const char sql[] = QUERY_TRACKERS_SET;
    wharf_val args[3] = {val_text(W->req->organization(req)), val_array(req, shipment_ids, n),
        val_array(req, tracker_ids, n)};

    return W->db->exec(req, sql, args, 3, NULL);
}

static bool enter_tracker(wharf_rec *rec, wharf_str tracker_id)
{
    if (field_text(rec, SHIPMENT_TRACKER_ID).n || !field_text(rec, SHIPMENT_TRACKING_NUMBER).n ||
        is(field_text(rec, SHIPMENT_STATUS), "rates_generated"))
        return false;
    W->res->set(rec, SHIPMENT_TRACKER_ID, val_text(tracker_id));
    W->res->set(rec, SHIPMENT_LEG, val_int(0));
    return true;
}

const wharf_shipments_ops_api shipments_ops = {WHARF_HEAD(wharf_shipments_ops_api),
    shipments_canonical, shipments_group, shipments_filters, shipments_take_update, update,
    set_tracker, shipments_make, set_trackers, enter_tracker, shipments_party};
