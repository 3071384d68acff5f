/* fulfillment_pick.c - picks (docs/spec/03-shipments-and-trackers.md section 6.6): what is
 * promised becomes picked; what was taken from another place is promised there. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

static bool fulfillment_pick_names_place(const struct scan *s)
{
    return s->layout_id.n || s->lot_number.n;
}

/* Takes what is promised at the places that fit; returns what is left. An expired lot is taken
 * only on purpose. */
static int64_t take_promised(struct order *o, const struct scan *s, int64_t rest, bool *expired)
{
    for (size_t i = 0; i < o->n_places && rest > 0; i++) {
        struct place *p = &o->places[i];
        int64_t take = p->is.quantity - p->is.picked;

        if (!scan_fits(s, p) || take <= 0)
            continue;
        if (p->expired && !s->expired_too) {
            *expired = true;
            continue;
        }
        take = take < rest ? take : rest;
        p->is.picked += take;
        rest -= take;
    }
    return rest;
}

/* Promises to the article what is available at the places that the scan names, and takes it. */
static wharf_status take_free(struct order *o, const struct scan *s, int64_t *rest, bool *expired)
{
    static const char sql[] = QUERY_LEVELS_FREE;
    const wharf_rows *rows;
    wharf_status status = W->db->query(o->req, sql,
        (const wharf_val[]){val_text(o->articles[s->article].item_id),
            val_text(W->req->organization(o->req)), val_text(o->location_id),
            val_text_or_null(s->layout_id), val_text_or_null(s->lot_number),
            val_time(W->req->now_us(o->req))},
        6, &rows);

    for (size_t i = 0; status == WHARF_OK && i < W->db->count(rows) && *rest > 0; i++) {
        struct place *p = order_place(o, s->article, row_text(rows, i, 0), row_text(rows, i, 3));
        /* what this request promised there already is not free any more */
        int64_t take = row_int(rows, i, 7) - (p->is.quantity - p->was.quantity);
        wharf_val v;

        if (row_bool(rows, i, 6) && !s->expired_too) {
            *expired = true;
            continue;
        }
        take = take < *rest ? take : *rest;
        if (take <= 0)
            continue;
        p->layout_name = row_text(rows, i, 1);
        p->layout_code = row_text(rows, i, 2);
        p->lot_number = row_text(rows, i, 4);
        if (W->db->value(rows, i, 5, WHARF_V_TIME_US, &v))
            p->expires_at = v;
        p->path = order_path(o->req, s->at, "quantity");
        p->is.quantity += take;
        p->is.picked += take;
        *rest -= take;
    }
    return status;
}

static wharf_status refuse_pick(struct order *o, const struct scan *s, bool expired)
{
    if (expired)
        return W->err->add(o->req, ERR_LOT_EXPIRED, order_path(o->req, s->at, "lot_number"), NULL);
    return W->err->add(o->req, ERR_ITEM_INSUFFICIENT_STOCK, order_path(o->req, s->at, "quantity"),
        fulfillment_pick_names_place(s)
            ? "There is not so much at this place; send a smaller quantity"
            : "Not so much is reserved; send a smaller quantity, or where it was taken");
}

static wharf_status pick_put_back(struct order *o, const struct scan *s)
{
    int64_t rest = -s->quantity;

    for (size_t i = o->n_places; i-- > 0 && rest > 0;) {
        struct place *p = &o->places[i];
        int64_t take = p->is.picked - p->is.packed;

        if (!scan_fits(s, p) || take <= 0)
            continue;
        take = take < rest ? take : rest;
        p->is.picked -= take;
        rest -= take;
    }
    order_count(o, s->article);
    return rest ? W->err->add(o->req, ERR_FULFILLMENT_OVER_PICKED,
                      order_path(o->req, s->at, "quantity"),
                      "Less is picked and not packed; send a smaller quantity")
                : WHARF_OK;
}

wharf_status pick_line(struct order *o, const struct scan *s)
{
    struct article *a = &o->articles[s->article];
    int64_t rest = s->quantity;
    bool expired = false;
    wharf_status status = WHARF_OK;

    if (s->quantity < 0)
        return pick_put_back(o, s);
    if (a->picked + s->quantity > a->requested)
        return W->err->add(
            o->req, ERR_FULFILLMENT_OVER_PICKED, order_path(o->req, s->at, "quantity"), NULL);
    rest = take_promised(o, s, rest, &expired);
    if (rest && fulfillment_pick_names_place(s))
        status = take_free(o, s, &rest, &expired);
    if (status != WHARF_OK)
        return status;
    order_count(o, s->article);
    if (rest)
        return refuse_pick(o, s, expired);
    if (a->reserved > a->requested)
        order_release(o, s->article, a->reserved - a->requested);
    return WHARF_OK;
}

wharf_status pick_all(struct order *o, bool expired_too)
{
    for (size_t i = 0; i < o->n_places; i++) {
        struct place *p = &o->places[i];

        if (!p->expired || expired_too)
            p->is.picked = p->is.quantity;
    }
    for (size_t i = 0; i < o->n; i++)
        order_count(o, i);
    return WHARF_OK;
}
