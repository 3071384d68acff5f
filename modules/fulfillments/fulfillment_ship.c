/* fulfillment_ship.c - shipments of a fulfillment (docs/spec/03-shipments-and-trackers.md
 * sections 6.3 and 6.8): what they take from it, parcels that are free again, and the status
 * that follows them. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

/* ---- what a new shipment takes ---- */

static wharf_status check_chosen(
    wharf_req *req, const wharf_json *parcel_ids, const wharf_json *parcels)
{
    for (const wharf_json *e = parcel_ids ? W->json->at(parcel_ids, 0) : NULL; e;
         e = W->json->next(e)) {
        const wharf_json *p = W->json->at(parcels, 0);
        wharf_str id = WHARF_S("");

        W->json->text(e, &id);
        while (p && !same(json_text(p, "parcel_id"), id))
            p = W->json->next(p);
        if (!p)
            return W->err->add(req, ERR_VALIDATION_FAILED, "parcel_ids",
                "The fulfillment has no parcel %s without a shipment", id.p);
    }
    return WHARF_OK;
}

static wharf_status shipping_facts(wharf_req *req, wharf_str id, const wharf_json *parcel_ids,
    bool boxed, const wharf_json **ret_facts)
{
    static const char sql[] = QUERY_SHIP_FACTS;
    const wharf_json *parcels;
    const wharf_rows *rows;
    wharf_status s;

    *ret_facts = NULL;
    if (json_is_null(parcel_ids) || W->json->type(parcel_ids) != WHARF_J_ARRAY)
        parcel_ids = NULL;
    s = W->db->query(req, sql,
        (const wharf_val[]){
            val_text(id), val_text(W->req->organization(req)), val_json(parcel_ids)},
        3, &rows);
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    s = W->req->need_location(req, row_text(rows, 0, 1));
    if (s != WHARF_OK)
        return s;
    if (order_closed(order_status_of(row_text(rows, 0, 2))))
        return W->err->fail(req, ERR_FULFILLMENT_CLOSED, "fulfillment_id", NULL);
    *ret_facts = row_json(rows, 0, 0);
    parcels = W->json->get(*ret_facts, "parcels");
    if (!boxed)
        return WHARF_OK;
    if (!W->json->count(parcels))
        return W->err->add(req, ERR_VALIDATION_FAILED, "parcel_ids",
            "The fulfillment has no such parcel without a shipment; pack one first");
    return check_chosen(req, parcel_ids, parcels);
}

const wharf_fulfillments_shipping_api fulfillments_shipping = {
    WHARF_HEAD(wharf_fulfillments_shipping_api), shipping_facts};

/* ---- what follows from shipments ---- */

/* Takes parcels of fulfillments out of shipments that are over before they began. */
static wharf_status free_parcels(wharf_req *req, wharf_val shipments)
{
    static const char sql[] =
        "SELECT id FROM parcels.parcel WHERE organization_id = $2::text"
        " AND shipment_id = ANY ((SELECT $1::text[])::text[]) AND fulfillment_id IS NOT NULL"
        " AND deleted_at IS NULL ORDER BY id";
    const wharf_parcel_write w = {.head = WHARF_HEAD(wharf_parcel_write),
        .fulfillment_id = WHARF_S(""),
        .manifest_id = WHARF_S(""),
        .shipment_id = WHARF_S(""),
        .set_shipment = true};
    const wharf_json *body;
    const wharf_rows *rows;
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &body);

    if (s == WHARF_OK)
        s = query_about(req, sql, shipments.u.s, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = fulfillments_parcels->write(req, row_text(rows, i, 0), body, &w, NULL);
    return s;
}

static wharf_status move_on(wharf_req *req, const wharf_rows *rows, size_t i)
{
    struct act act = {.kind = ACT_FOLLOW, .to = ORDER_SHIPPING};
    wharf_status s = WHARF_OK;

    if (is(row_text(rows, i, 1), "packed"))
        s = fulfillment_act(req, row_text(rows, i, 0), &act, NULL);
    act.to = ORDER_COMPLETED;
    if (s == WHARF_OK && row_bool(rows, i, 3))
        s = fulfillment_act(req, row_text(rows, i, 0), &act, NULL);
    return s;
}

/* Lets a job move the fulfillment of a shipment on, behind the request: its caller writes the
 * shipment, and does not reach the location of the fulfillment. */
static wharf_status move_on_later(wharf_req *req, const wharf_val *shipments, wharf_str id)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *args;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "shipments", *shipments);
    W->json->close(out);
    s = W->json->result(req, out, &args);
    return s == WHARF_OK ? W->event->enqueue(req, "fulfillments.follow", id, args, 0) : s;
}

/* Moves the fulfillments of shipments on, as far as these are. */
static wharf_status follow_shipments(wharf_req *req, wharf_val shipments, bool later)
{
    static const char sql[] = QUERY_SHIP_FOLLOW;
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, shipments.u.s, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        if (!is(row_text(rows, i, 1), "packed") && !row_bool(rows, i, 3))
            continue;
        if (later && W->req->need_location(req, row_text(rows, i, 2)) != WHARF_OK) {
            W->err->clear(req);
            s = move_on_later(req, &shipments, row_text(rows, i, 0));
            continue;
        }
        s = move_on(req, rows, i);
    }
    return s;
}

wharf_status follow_run(wharf_req *req, void *arg)
{
    const wharf_json *args;
    wharf_str shipments;
    wharf_status s = W->req->body(req, &args);

    (void)arg;
    shipments = s == WHARF_OK ? json_text(args, "shipments") : WHARF_S("");
    return s == WHARF_OK && shipments.n ? follow_shipments(req, val_text(shipments), false) : s;
}

/* Tells whether a written shipment may move its fulfillment on. */
static bool moves_fulfillment(uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char *const fields[] = {"status", "fulfillment_id"};

    return op != WHARF_UPDATE || W->res->changed_any(old_rec, new_rec, fields, 2);
}

static wharf_status settle_shipments(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n)
{
    static const char sql[] =
        "SELECT id, status = 'canceled' FROM shipments.shipment WHERE organization_id = $2::text"
        " AND id = ANY ((SELECT $1::text[])::text[]) AND fulfillment_id IS NOT NULL ORDER BY id";
    wharf_str *ids = W->mem->alloc(req, (2 * n + 1) * sizeof(*ids)), *over = ids + n;
    size_t n_ids = 0, n_over = 0;
    const wharf_rows *rows;
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n; i++) {
        const wharf_rec *was = old_recs ? old_recs[i] : NULL, *now = new_recs ? new_recs[i] : NULL;

        if (moves_fulfillment(op, was, now))
            ids[n_ids++] = W->res->id(now ? now : was);
    }
    if (n_ids)
        s = query_about(req, sql, val_array(req, ids, n_ids).u.s, &rows);
    if (s != WHARF_OK || !n_ids || !W->db->count(rows))
        return s;
    n_ids = W->db->count(rows);
    for (size_t i = 0; i < n_ids; i++) {
        ids[i] = row_text(rows, i, 0);
        if (op == WHARF_DELETE || row_bool(rows, i, 1))
            over[n_over++] = ids[i];
    }
    if (n_over)
        s = free_parcels(req, val_array(req, over, n_over));
    return s == WHARF_OK ? follow_shipments(req, val_array(req, ids, n_ids), true) : s;
}

static wharf_status fulfillment_ship_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    return settle_shipments(req, op, old_rec ? &old_rec : NULL, new_rec ? &new_rec : NULL, 1);
}

const wharf_hooks fulfillments_shipment_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .written = fulfillment_ship_written,
    .written_many = settle_shipments};
