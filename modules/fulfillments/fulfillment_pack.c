/* fulfillment_pack.c - packs (docs/spec/03-shipments-and-trackers.md section 6.7): what is
 * picked comes into parcels, which are rows of the module parcels. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

/* ---- the parcel ---- */

wharf_status parcel_make(wharf_req *req, wharf_str fulfillment_id, wharf_str location_id,
    const wharf_json *sent, size_t number, wharf_str *ret_id)
{
    static const char *const taken[] = {"type", "length", "width", "height", "weight",
        "dimension_unit", "weight_unit", "layout_id", "special_handling_tags"};
    const wharf_parcel_write w = {.head = WHARF_HEAD(wharf_parcel_write),
        .fulfillment_id = fulfillment_id,
        .manifest_id = WHARF_S(""),
        .shipment_id = WHARF_S("")};
    wharf_str name = sent ? json_text(sent, "name") : WHARF_S("");
    wharf_out *out = W->json->builder(req);
    const wharf_json *body;
    const wharf_rec *rec;
    wharf_status s;

    if (sent && W->json->type(sent) != WHARF_J_OBJECT)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "name", "A parcel is an object");
    W->json->open(out, NULL, '{');
    W->json->put(
        out, "name", val_text(name.n ? name : W->mem->format(req, "Parcel %zu", number + 1)));
    W->json->put(out, "location_id", val_text(location_id));
    W->json->put(out, "status", val_text(WHARF_S("in_processing")));
    for (size_t i = 0; sent && i < sizeof(taken) / sizeof(taken[0]); i++) {
        const wharf_json *v = W->json->get(sent, taken[i]);

        if (!json_is_null(v))
            W->json->put(out, taken[i], val_json(v));
    }
    W->json->close(out);
    s = W->json->result(req, out, &body);
    if (s == WHARF_OK)
        s = fulfillments_parcels->write(req, WHARF_S(""), body, &w, &rec);
    if (s == WHARF_OK && ret_id)
        *ret_id = W->res->id(rec);
    return s;
}

wharf_status pack_parcel(struct scan_request *r)
{
    static const char sql[] = QUERY_ORDER_PARCELS;
    wharf_req *req = r->order.req;
    const wharf_json *made = W->json->get(r->body, "parcel");
    wharf_str wanted = order_text_read(req, r->body, "parcel_id", "", TEXT_MAX);
    const wharf_rows *rows;
    size_t k = 0;
    wharf_status s = query_about(req, sql, r->order.id, &rows);

    if (s == WHARF_OK)
        s = order_load_contents(&r->order);
    if (s != WHARF_OK)
        return s;
    if (!json_is_null(made)) {
        W->err->base(req, "parcel.");
        s = parcel_make(
            req, r->order.id, r->order.location_id, made, W->db->count(rows), &r->parcel_id);
        W->err->base(req, "");
        return s;
    }
    while (k < W->db->count(rows) &&
           (row_text(rows, k, 2).n || (wanted.n && !same(row_text(rows, k, 0), wanted))))
        k++;
    if (k < W->db->count(rows)) {
        r->parcel_id = row_text(rows, k, 0);
        return WHARF_OK;
    }
    if (wanted.n)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "parcel_id",
            "The fulfillment has no such parcel without a shipment");
    return parcel_make(
        req, r->order.id, r->order.location_id, NULL, W->db->count(rows), &r->parcel_id);
}

/* ---- packing ---- */

/* Packs what is picked at a place. */
static void pack_place(struct scan_request *r, size_t place, int64_t quantity)
{
    struct place *p = &r->order.places[place];
    struct content *c = order_content(&r->order, r->parcel_id, p->article, p->lot_id);

    p->is.packed += quantity;
    c->quantity += quantity;
    c->lot_number = p->lot_number;
}

static wharf_status take_out_of_parcel(struct scan_request *r, const struct scan *s)
{
    struct order *o = &r->order;
    int64_t rest = -s->quantity;

    for (size_t i = 0; i < o->n_contents && rest > 0; i++) {
        struct content *c = &o->contents[i];
        int64_t out = c->quantity < rest ? c->quantity : rest;

        if (c->article != s->article || !same(c->parcel_id, r->parcel_id) ||
            (s->lot_number.n && !same(c->lot_number, s->lot_number)))
            continue;
        c->quantity -= out;
        rest -= out;
        for (size_t k = o->n_places; k-- > 0 && out > 0;) {
            struct place *p = &o->places[k];
            int64_t take = p->is.packed < out ? p->is.packed : out;

            if (p->article != s->article || !same(p->lot_id, c->lot_id))
                continue;
            p->is.packed -= take;
            out -= take;
        }
    }
    order_count(o, s->article);
    return rest ? W->err->add(o->req, ERR_FULFILLMENT_OVER_PICKED,
                      order_path(o->req, s->at, "quantity"),
                      "The parcel has less of it; send a smaller quantity")
                : WHARF_OK;
}

static int64_t picked_loose(const struct order *o, const struct scan *s)
{
    int64_t sum = 0;

    for (size_t i = 0; i < o->n_places; i++) {
        if (scan_fits(s, &o->places[i]))
            sum += o->places[i].is.picked - o->places[i].is.packed;
    }
    return sum;
}

wharf_status pack_line(struct scan_request *r, const struct scan *s)
{
    struct order *o = &r->order;
    struct scan pick = *s;
    int64_t rest = s->quantity, loose;
    wharf_status status = WHARF_OK;

    if (s->quantity < 0)
        return take_out_of_parcel(r, s);
    loose = picked_loose(o, s);
    if (o->articles[s->article].packed + rest > o->articles[s->article].requested)
        return W->err->add(
            o->req, ERR_FULFILLMENT_OVER_PICKED, order_path(o->req, s->at, "quantity"), NULL);
    pick.quantity = rest - loose;
    if (pick.quantity > 0)
        status = pick_line(o, &pick);
    for (size_t i = 0; status == WHARF_OK && i < o->n_places && rest > 0; i++) {
        int64_t take = o->places[i].is.picked - o->places[i].is.packed;

        if (!scan_fits(s, &o->places[i]) || take <= 0)
            continue;
        take = take < rest ? take : rest;
        pack_place(r, i, take);
        rest -= take;
    }
    order_count(o, s->article);
    return status;
}

wharf_status pack_all(struct scan_request *r)
{
    for (size_t i = 0; i < r->order.n_places; i++) {
        int64_t take = r->order.places[i].is.picked - r->order.places[i].is.packed;

        if (take > 0)
            pack_place(r, i, take);
    }
    for (size_t i = 0; i < r->order.n; i++)
        order_count(&r->order, i);
    return WHARF_OK;
}

/* ---- contents of the parcels' rows ---- */

static int64_t packed_in(const struct order *o, wharf_str parcel, size_t article)
{
    int64_t sum = 0;

    for (size_t i = 0; i < o->n_contents; i++) {
        if (o->contents[i].article == article && same(o->contents[i].parcel_id, parcel))
            sum += o->contents[i].quantity;
    }
    return sum;
}

static void fulfillment_pack_put_line(wharf_out *out, const struct article *a, int64_t quantity)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(a->id));
    W->json->put(out, "item_id", val_text(a->item_id));
    W->json->put(out, "sku", val_text_or_null(a->sku));
    W->json->put(out, "gtin", val_text_or_null(a->gtin));
    W->json->put(out, "name", val_text(a->name));
    W->json->put(out, "comment", val_text_or_null(a->comment));
    W->json->put(out, "packed_qty", quantity_val(quantity));
    W->json->put(out, "requested_qty", quantity_val(a->requested));
    W->json->put(out, "received_qty", val_int(0));
    W->json->put(out, "defective_qty", val_int(0));
    W->json->put(out, "special_handling_tags", val_json(a->tags));
    W->json->put(out, "is_asset", val_bool(a->is_asset));
    W->json->close(out);
}

static wharf_status write_parcel(const struct order *o, wharf_str parcel)
{
    wharf_out *lines = W->json->builder(o->req), *items = W->json->builder(o->req);
    wharf_parcel_write w = {.head = WHARF_HEAD(wharf_parcel_write),
        .fulfillment_id = WHARF_S(""),
        .manifest_id = WHARF_S(""),
        .shipment_id = WHARF_S("")};
    const wharf_json *body;
    wharf_status s = W->json->parse(o->req, WHARF_S("{}"), &body);

    W->json->open(lines, NULL, '[');
    W->json->open(items, NULL, '[');
    for (size_t i = 0; i < o->n; i++) {
        int64_t quantity = packed_in(o, parcel, i);

        if (!quantity)
            continue;
        fulfillment_pack_put_line(lines, &o->articles[i], quantity);
        W->json->put(items, NULL, val_text(o->articles[i].item_id));
    }
    W->json->close(lines);
    W->json->close(items);
    if (s == WHARF_OK)
        s = W->json->result(o->req, lines, &w.contents);
    if (s == WHARF_OK)
        s = W->json->result(o->req, items, &w.item_ids);
    return s == WHARF_OK ? fulfillments_parcels->write(o->req, parcel, body, &w, NULL) : s;
}

wharf_status pack_write(struct order *o)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < o->n_contents && s == WHARF_OK; i++) {
        const struct content *c = &o->contents[i];
        size_t first = 0;

        if (c->quantity == c->was)
            continue;
        while (first < i && !(same(o->contents[first].parcel_id, c->parcel_id) &&
                                o->contents[first].quantity != o->contents[first].was))
            first++;
        if (first == i)
            s = write_parcel(o, c->parcel_id);
    }
    return s;
}
