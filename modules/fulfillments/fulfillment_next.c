/* fulfillment_next.c - the pick list, and what a scanner is told to do next
 * (docs/spec/03-shipments-and-trackers.md sections 6.5 and 6.6). */
#include "fulfillments.h"

#include "fulfillments.gen.h"

enum {
    ROWS_SHOWN = 100, /* rows of a page of the pick list */
    ROWS_MOST = 1000 /* rows of a page at most */
};

/* ---- pick list ---- */

static void fulfillment_next_put_row(wharf_out *out, const struct order *o, const struct place *p)
{
    const struct article *a = &o->articles[p->article];

    W->json->open(out, NULL, '{');
    W->json->put(out, "article_id", val_text(a->id));
    W->json->put(out, "item_id", val_text(a->item_id));
    W->json->put(out, "name", val_text(a->name));
    W->json->put(out, "sku", val_text_or_null(a->sku));
    W->json->put(out, "base_uom", val_text_or_null(a->base_uom));
    W->json->put(out, "layout_id", val_text(p->layout_id));
    W->json->put(out, "layout_name", val_text_or_null(p->layout_name));
    W->json->put(out, "layout_code", val_text_or_null(p->layout_code));
    W->json->put(out, "lot_id", val_text_or_null(p->lot_id));
    W->json->put(out, "lot_number", val_text_or_null(p->lot_number));
    W->json->put(out, "expires_at", p->expires_at);
    W->json->put(out, "quantity", quantity_val(p->is.quantity));
    W->json->put(out, "picked_qty", quantity_val(p->is.picked));
    W->json->put(out, "packed_qty", quantity_val(p->is.packed));
    W->json->put(out, "remaining_qty", quantity_val(p->is.quantity - p->is.picked));
    W->json->close(out);
}

wharf_status pick_list_get(wharf_req *req, void *arg)
{
    bool remaining = param_truth(req, "remaining");
    int64_t page, limit, n = 0;
    wharf_str id = WHARF_S("");
    const wharf_rec *rec;
    struct order o;
    wharf_out *out;
    wharf_status s = W->req->page(req, ROWS_SHOWN, ROWS_MOST, &page, &limit);

    (void)arg;
    W->req->param(req, "id", &id);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "fulfillment", id, 0, &rec);
    if (s == WHARF_OK)
        s = order_load(req, id, field_text(rec, FULFILLMENT_LOCATION_ID), false, &o);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Pick list retrieved");
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < o.n_places; i++) {
        const struct place *p = &o.places[i];

        if (p->is.quantity <= (remaining ? p->is.picked : 0))
            continue;
        if (n >= (page - 1) * limit && n < page * limit)
            fulfillment_next_put_row(out, &o, p);
        n++;
    }
    W->json->close(out);
    W->req->paged(req, page, limit, n > page * limit);
    return WHARF_OK;
}

/* ---- next ---- */

static const struct place *left_to_pick(const struct order *o)
{
    for (size_t i = 0; i < o->n_places; i++) {
        if (o->places[i].is.quantity > o->places[i].is.picked)
            return &o->places[i];
    }
    return NULL;
}

static const struct place *left_to_pack(const struct order *o)
{
    for (size_t i = 0; i < o->n_places; i++) {
        if (o->places[i].is.picked > o->places[i].is.packed)
            return &o->places[i];
    }
    return NULL;
}

static bool is_waiting(const struct order *o)
{
    for (size_t i = 0; i < o->n; i++) {
        if (o->articles[i].requested > o->articles[i].reserved)
            return true;
    }
    return false;
}

static void fulfillment_next_put_place(
    wharf_out *out, const char *action, const struct order *o, const struct place *p)
{
    bool pick = strcmp(action, "pick") == 0;
    const struct article *a = p ? &o->articles[p->article] : NULL;

    W->json->open(out, "next", '{');
    W->json->put(out, "action", val_text(z(action)));
    W->json->put(out, "article_id", a ? val_text(a->id) : val_null());
    W->json->put(out, "item_id", a ? val_text(a->item_id) : val_null());
    W->json->put(out, "name", a ? val_text(a->name) : val_null());
    W->json->put(out, "layout_id", p ? val_text(p->layout_id) : val_null());
    W->json->put(out, "layout_name", p ? val_text_or_null(p->layout_name) : val_null());
    W->json->put(out, "lot_number", p ? val_text_or_null(p->lot_number) : val_null());
    W->json->put(out, "quantity",
        p ? quantity_val(pick ? p->is.quantity - p->is.picked : p->is.picked - p->is.packed)
          : val_null());
    W->json->close(out);
}

static void put_next(wharf_out *out, const struct order *o, wharf_str status)
{
    const struct place *pick = left_to_pick(o), *pack = left_to_pack(o);
    bool picking = order_status_of(status) <= ORDER_PROCESSING;

    if (picking && pick)
        fulfillment_next_put_place(out, "pick", o, pick);
    else if (picking && is_waiting(o))
        fulfillment_next_put_place(out, "wait", o, NULL);
    else if (picking && pack)
        fulfillment_next_put_place(out, "set_picked", o, NULL);
    else if (pack)
        fulfillment_next_put_place(out, "pack", o, pack);
    else
        fulfillment_next_put_place(out, "set_packed", o, NULL);
}

/* ---- the answer of a scan ---- */

static void fulfillment_next_put_article(wharf_out *out, const struct article *a)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(a->id));
    W->json->put(out, "item_id", val_text(a->item_id));
    W->json->put(out, "name", val_text(a->name));
    W->json->put(out, "requested_qty", quantity_val(a->requested));
    W->json->put(out, "reserved_qty", quantity_val(a->reserved));
    W->json->put(out, "backordered_qty", quantity_val(a->requested - a->reserved));
    W->json->put(out, "picked_qty", quantity_val(a->picked));
    W->json->put(out, "packed_qty", quantity_val(a->packed));
    W->json->close(out);
}

wharf_status scan_answer(wharf_req *req, const struct scan_request *r, wharf_str status)
{
    const struct order *o = &r->order;
    wharf_out *out = W->req->respond(
        req, 200, r->kind == SCAN_PICK ? "Pick counted" : "Pack counted");

    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("fulfillment_scan")));
    W->json->put(out, "fulfillment_id", val_text(o->id));
    W->json->put(out, "status", val_text(status));
    W->json->put(out, "parcel_id", val_text_or_null(r->parcel_id));
    W->json->open(out, "articles", '[');
    for (size_t i = 0; i < r->n_touched; i++)
        fulfillment_next_put_article(out, &o->articles[r->touched[i]]);
    W->json->close(out);
    put_next(out, o, status);
    W->json->close(out);
    return WHARF_OK;
}
