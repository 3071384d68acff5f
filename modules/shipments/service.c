/* service.c - the service shipments.ops: writes of other modules go through the same pipeline, with what they say beside the body. */
#include "shipments.h"
#include "shipments.gen.h"

/* What is said beside the body of the write that runs on this thread; a stack, since writes nest. Set and reset around res->update only,
 * so it never outlives the call. */
struct beside {
    const struct beside *under;
    wharf_str id;
    const wharf_shipment_write *write;
    bool recount;
};
static _Thread_local const struct beside *beside;

const wharf_shipment_write *shipments_write_of(wharf_str id)
{
    return beside && same(beside->id, id) ? beside->write : NULL;
}

bool shipments_recounted(wharf_str id)
{
    return beside && beside->recount && same(beside->id, id);
}

static wharf_status update_beside(wharf_req *req, const wharf_json *body, const struct beside *with)
{
    const struct beside *under = beside;
    wharf_status s;

    beside = with;
    s = W->res->update(req, "shipment", with->id, body, NULL);
    beside = under;
    return s;
}

static wharf_status update(
    wharf_req *req, wharf_str id, const wharf_json *tracking_update, const wharf_shipment_write *w)
{
    const struct beside with = {.under = beside, .id = id, .write = w};
    wharf_out *out = W->json->writer(req);
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
    const struct beside with = {.under = beside, .id = parent_id, .recount = true};
    const wharf_json *body;
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &body);

    return s == WHARF_OK ? update_beside(req, body, &with) : s;
}

static wharf_status set_tracker(wharf_req *req, wharf_str shipment_id, wharf_str tracker_id, int64_t leg)
{
    static const char sql[] =
        "UPDATE shipments.shipment SET tracker_id = $2::text, leg = $3::bigint, version = version + 1"
        " WHERE organization_id = $4::text AND id = $1::text";
    wharf_val args[4] = {
        val_text(shipment_id), val_text_or_null(tracker_id), val_int(leg), val_text(W->req->organization(req))};

    return W->db->exec(req, sql, args, 4, NULL);
}

const wharf_shipments_ops_api shipments_ops = {WHARF_HEAD(wharf_shipments_ops_api), shipments_canonical,
    shipments_group, shipments_filters, shipments_read_update, update, set_tracker, shipments_history, shipments_make};
