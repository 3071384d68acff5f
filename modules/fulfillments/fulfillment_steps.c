/* fulfillment_steps.c - what a new status asks and does (docs/spec/03-shipments-and-trackers.md
 * section 6.3). */
#include "fulfillments.h"

#include "fulfillments.gen.h"

static const bool follows[ORDER_STATUSES][ORDER_STATUSES] = {
    [ORDER_CREATED] = {[ORDER_PROCESSING] = true,
        [ORDER_PICKED] = true,
        [ORDER_PACKED] = true,
        [ORDER_CANCELED] = true},
    [ORDER_PROCESSING] = {[ORDER_PICKED] = true, [ORDER_PACKED] = true, [ORDER_CANCELED] = true},
    [ORDER_PICKED] = {[ORDER_PACKED] = true, [ORDER_PROCESSING] = true, [ORDER_CANCELED] = true},
    [ORDER_PACKED] = {[ORDER_SHIPPING] = true,
        [ORDER_COMPLETED] = true,
        [ORDER_PICKED] = true,
        [ORDER_CANCELED] = true},
    [ORDER_SHIPPING] = {[ORDER_COMPLETED] = true, [ORDER_CANCELED] = true}};

/* ---- what is asked ---- */

static wharf_status fulfillment_steps_check_all(const struct order *o, bool packed)
{
    size_t place = 0;

    for (size_t i = 0; i < o->n; i++) {
        const struct article *a = &o->articles[i];

        if (a->removed)
            continue;
        if ((packed ? a->packed : a->picked) < a->requested)
            W->err->add(o->req, ERR_FULFILLMENT_SHORT,
                W->mem
                    ->format(o->req, "articles.%zu.%s", place, packed ? "packed_qty" : "picked_qty")
                    .p,
                NULL);
        place++;
    }
    return W->err->current(o->req);
}

/* Tells whether a shipment of the fulfillment is bought and not canceled. */
static wharf_status is_bought(const struct order *o, bool *ret)
{
    static const char sql[] =
        "SELECT EXISTS (SELECT 1 FROM shipments.shipment WHERE organization_id = $2::text"
        " AND fulfillment_id = $1::text AND deleted_at IS NULL"
        " AND status NOT IN ('rates_generated', 'canceled'))";
    const wharf_rows *rows;
    wharf_status s = query_about(o->req, sql, o->id, &rows);

    *ret = s == WHARF_OK && row_bool(rows, 0, 0);
    return s;
}

static wharf_status check_cancel(const struct order *o)
{
    bool bought;
    wharf_status s = is_bought(o, &bought);

    return s == WHARF_OK && bought ? W->err->fail(o->req, ERR_FULFILLMENT_SHIPPED, "status", NULL)
                                   : s;
}

static wharf_status fulfillment_steps_check_packed(
    const struct order *o, bool may_lack, enum order_status *to)
{
    bool bought = false;
    wharf_status s = may_lack ? WHARF_OK : fulfillment_steps_check_all(o, true);

    if (s == WHARF_OK)
        s = is_bought(o, &bought);
    if (bought)
        *to = ORDER_SHIPPING;
    return s;
}

/* ---- what is done ---- */

static void empty_parcels(struct order *o)
{
    for (size_t i = 0; i < o->n_contents; i++)
        o->contents[i].quantity = 0;
}

static void release_all(struct order *o)
{
    for (size_t i = 0; i < o->n_places; i++)
        o->places[i].is = (struct portions){0, 0, 0, o->places[i].is.shipped};
    for (size_t i = 0; i < o->n; i++)
        order_count(o, i);
}

static wharf_status ship_all(struct order *o)
{
    int64_t total = 0;

    for (size_t i = 0; i < o->n_places; i++) {
        struct place *p = &o->places[i];

        total += p->is.packed;
        p->is = (struct portions){0, 0, 0, p->is.shipped + p->is.packed};
    }
    return total ? WHARF_OK
                 : W->err->fail(o->req, ERR_FULFILLMENT_SHORT, "status",
                       "Nothing is packed; pack it first, or cancel the fulfillment");
}

wharf_status step_check(
    struct order *o, enum order_status from, enum order_status *to, bool may_lack)
{
    wharf_status s = WHARF_OK;

    if (*to == from)
        return WHARF_OK;
    if (order_closed(from))
        return W->err->fail(o->req, ERR_FULFILLMENT_CLOSED, "status", NULL);
    if (*to >= ORDER_STATUSES || !follows[from][*to])
        return W->err->fail(o->req, ERR_FULFILLMENT_INVALID_TRANSITION, "status", NULL);
    switch (*to) {
    case ORDER_PICKED:
        return from == ORDER_PACKED || may_lack ? WHARF_OK : fulfillment_steps_check_all(o, false);
    case ORDER_PACKED:
        return fulfillment_steps_check_packed(o, may_lack, to);
    case ORDER_COMPLETED:
        return ship_all(o);
    case ORDER_CANCELED:
        s = check_cancel(o);
        if (s == WHARF_OK)
            s = order_load_contents(o);
        empty_parcels(o);
        release_all(o);
        return s;
    case ORDER_CREATED:
    case ORDER_PROCESSING:
    case ORDER_SHIPPING:
    case ORDER_STATUSES:
        break;
    }
    return s;
}

static wharf_status set_parcels(const struct order *o, const char *text)
{
    static const char sql[] = "SELECT id FROM parcels.parcel WHERE organization_id = $2::text"
                              " AND fulfillment_id = $1::text AND deleted_at IS NULL ORDER BY id";
    const wharf_parcel_write w = {.head = WHARF_HEAD(wharf_parcel_write),
        .fulfillment_id = WHARF_S(""),
        .manifest_id = WHARF_S(""),
        .shipment_id = WHARF_S("")};
    const wharf_json *body;
    const wharf_rows *rows;
    wharf_status s = W->json->parse(o->req, z(text), &body);

    if (s == WHARF_OK)
        s = query_about(o->req, sql, o->id, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = fulfillments_parcels->write(o->req, row_text(rows, i, 0), body, &w, NULL);
    return s;
}

wharf_status step_written(struct order *o, enum order_status to)
{
    static const char sql[] =
        "UPDATE fulfillments.article SET is_open = false, version = version + 1"
        " WHERE organization_id = $2::text AND fulfillment_id = $1::text";
    wharf_status s;

    if (!order_closed(to))
        return WHARF_OK;
    s = query_about(o->req, sql, o->id, NULL);
    if (s == WHARF_OK)
        s = pieces_close(o->req, o->id, to == ORDER_CANCELED);
    if (s == WHARF_OK)
        s = set_parcels(o,
            to == ORDER_COMPLETED ? "{\"status\": \"outbound_transit\"}" : "{\"unpacked\": true}");
    return s;
}
