/* shipment_routes.c - what is not a plain write of shipments: creation that may find the row
 * there, buying, refunds, histories (spec 03 section 3). */
#include "shipments.h"
#include "shipments.gen.h"

/* ---- POST /v1/shipments ---- */

/* Finds an uncompleted shipment of the number and its provider. */
static wharf_status known_number(
    wharf_req *req, wharf_str number, wharf_str provider, wharf_str *ret_id)
{
    static const char sql[] =
        "SELECT id FROM shipments.of_number($1::text) WHERE organization_id = $3::text"
        " AND provider_id = $2::text AND NOT filters ? 'completed' ORDER BY created_at, id LIMIT 1";
    wharf_val args[3] = {val_text(number), val_text(provider), val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    *ret_id = s == WHARF_OK && W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("");
    return s;
}

static wharf_status shipment_find_known(wharf_req *req, const wharf_json *body, wharf_str *ret_id)
{
    wharf_str number = json_text(body, "tracking_number"),
              provider = json_text(body, "provider_id");
    wharf_detection found = {.head = WHARF_HEAD(wharf_detection)};
    wharf_status s;

    *ret_id = WHARF_S("");
    if (!number.n || json_truth(W->json->get(body, "allow_duplicate")))
        return WHARF_OK;
    number = shipments_carriers->normalize(req, number);
    s = W->db->lock(req, "tracking_number", number);
    if (s == WHARF_OK && !provider.n) {
        s = shipments_carriers->detect(req, number, &found);
        provider = found.provider_id;
    }
    return s == WHARF_OK ? known_number(req, number, provider, ret_id) : s;
}

wharf_status shipments_make(
    wharf_req *req, const wharf_json *body, const wharf_rec **ret_rec, bool *ret_known)
{
    wharf_str id;
    wharf_status s;

    *ret_known = false;
    if (W->json->type(body) != WHARF_J_OBJECT)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "", "A shipment must be an object");
    s = shipment_find_known(req, body, &id);
    if (s != WHARF_OK)
        return s;
    if (id.n) {
        *ret_known = true;
        return W->res->fetch(req, "shipment", id, WHARF_SHOWN, ret_rec);
    }
    return W->res->create(req, "shipment", body, ret_rec);
}

static void shipment_answer(
    wharf_req *req, uint32_t status, const char *message, const wharf_rec *rec)
{
    W->res->encode(req, W->req->respond(req, status, message), NULL, rec);
    if (status == 201)
        W->req->created(req, W->mem->format(req, "/v1/shipments/%s", W->res->id(rec).p));
}

wharf_status shipments_post(wharf_req *req, void *arg)
{
    const wharf_rec *rec = NULL;
    const wharf_json *body, *rates;
    bool known;
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        s = shipments_make(req, body, &rec, &known);
    if (s != WHARF_OK)
        return s;
    rates = field_json(rec, SHIPMENT_RATES);
    if (known)
        shipment_answer(req, 200, "Existing shipment returned", rec);
    else if (is(field_text(rec, SHIPMENT_STATUS), "rates_generated") &&
             (!rates || !W->json->count(rates)))
        shipment_answer(req, 201, "Shipment created; no provider offered a rate", rec);
    else
        shipment_answer(req, 201, "Shipment created", rec);
    return WHARF_OK;
}

/* ---- items of batches (docs/spec/10-batches.md section 8.1) ---- */

static bool shipment_has(const wharf_json *item, const char *key)
{
    return !json_is_null(W->json->get(item, key));
}

/* Makes a new shipment as POST makes it: an uncompleted shipment of the number stays the only
 * one. */
wharf_status shipments_batch_item(wharf_req *req, const char *action, const wharf_json *item)
{
    const wharf_rec *rec = NULL;
    bool known;
    wharf_status s;

    if (json_text(item, "id").n || strcmp(action, "merge") != 0)
        return WHARF_OK;
    if (!shipment_has(item, "tracking_number") &&
        !(shipment_has(item, "sender") && shipment_has(item, "recipient") &&
            shipment_has(item, "parcels")))
        return W->err->fail(req, ERR_BATCH_SHAPE, NULL,
            "A shipment needs a tracking_number, or sender, recipient and parcels, or the id of "
            "one that is there");
    s = shipments_make(req, item, &rec, &known);
    if (s == WHARF_OK)
        shipments_batch->done(req, W->res->id(rec), known ? "unchanged" : "created");
    return s;
}

/* ---- members ---- */

static wharf_status update_with(
    wharf_req *req, const char *key, wharf_val value, const wharf_rec **ret_rec)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *body;
    wharf_str id = WHARF_S("");
    wharf_status s;

    W->req->param(req, "id", &id);
    W->json->open(out, NULL, '{');
    W->json->put(out, key, value);
    W->json->close(out);
    s = W->json->result(req, out, &body);
    return s == WHARF_OK ? W->res->update(req, "shipment", id, body, ret_rec) : s;
}

wharf_status shipments_purchase_post(wharf_req *req, void *arg)
{
    const wharf_json *body;
    const wharf_rec *rec = NULL;
    wharf_str rate;
    wharf_status s = W->req->body(req, &body);

    if (s != WHARF_OK)
        return s;
    rate = json_text(body, "rate_id");
    if (!rate.n)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "rate_id", "rate_id is required");
    s = update_with(req, "rate_id", val_text(rate), &rec);
    if (s == WHARF_OK)
        shipment_answer(req, 200, "Shipment purchased", rec);
    return s;
}

wharf_status shipments_refund_post(wharf_req *req, void *arg)
{
    const wharf_rec *rec = NULL;
    wharf_status s = update_with(req, "refund_status", val_text(WHARF_S("requested")), &rec);

    if (s == WHARF_OK)
        shipment_answer(req, 200, "Refund requested", rec);
    return s;
}

wharf_status shipments_updates_post(wharf_req *req, void *arg)
{
    const wharf_json *body;
    const wharf_rec *rec = NULL;
    wharf_status s = W->req->body(req, &body);

    if (s != WHARF_OK)
        return s;
    if (W->json->type(body) != WHARF_J_ARRAY)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "", "Send an array of tracking updates");
    s = update_with(req, "tracking_update", val_json(body), &rec);
    if (s == WHARF_OK)
        shipment_answer(req, 200, "Shipment updated", rec);
    return s;
}

/* ---- GET /v1/shipments/:id/tracking-updates ---- */

wharf_status shipments_updates_get(wharf_req *req, void *arg)
{
    wharf_str id = WHARF_S(""), order = WHARF_S("asc");
    const wharf_rec *rec;
    const wharf_rows *rows;
    int64_t page, limit;
    wharf_out *out;
    wharf_status s = W->req->page(req, HISTORY_SHOWN, HISTORY_MOST, &page, &limit);

    W->req->param(req, "id", &id);
    if ((W->req->param(req, "order", &order) || W->req->param(req, "direction", &order)) &&
        !is(order, "asc") && !is(order, "desc"))
        s = W->err->add(req, ERR_PARAM_INVALID, "order", "order must be asc or desc");
    if (s == WHARF_OK)
        s = W->res->fetch(req, "shipment", id, 0, &rec);
    if (s == WHARF_OK)
        s = shipments_history_page(
            req, id, is(order, "desc"), (page - 1) * limit, limit + 1, &rows);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Tracking updates retrieved");
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < W->db->count(rows) && (int64_t)i < limit; i++)
        W->json->put(out, NULL, val_json(row_json(rows, i, 0)));
    W->json->close(out);
    W->req->paged(req, page, limit, (int64_t)W->db->count(rows) > limit);
    return WHARF_OK;
}
