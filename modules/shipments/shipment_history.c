/* shipment_history.c - tracking updates applied: lines of the history, and what they do to the
 * shipment (docs/spec/03-shipments-and-trackers.md section 4). The shipment's row is locked; so
 * are, by it, its lines. */
#include "shipments.h"
#include "shipments.gen.h"

/* Tells whether this write, the one that it follows from, or the batch that it is of, said that no
 * customer is to be told. */
static bool shipment_history_is_quiet(wharf_req *req, const wharf_rec *rec)
{
    const wharf_shipment_write *w = shipments_write_of(rec);

    return (W->res->sent(rec, SHIPMENT_NOTIFY_CUSTOMER) &&
               !field_int(rec, SHIPMENT_NOTIFY_CUSTOMER)) ||
           (w && WHARF_HAS(wharf_shipment_write, w, quiet)) || shipments_events->silent(req);
}

wharf_status shipments_history_open(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec, struct history *h)
{
    static const char sql[] =
        "SELECT occurred_at FROM shipments.tracking_update WHERE organization_id = $2::text"
        " AND shipment_id = $1::text ORDER BY occurred_at DESC, position DESC LIMIT 1";
    const wharf_shipment_write *w;
    const wharf_rows *rows;
    wharf_val v;
    wharf_status s;

    *h = (struct history){.req = req,
        .rec = new_rec,
        .id = W->res->id(new_rec),
        .status = field_text(old_rec, SHIPMENT_STATUS),
        .count = field_int(old_rec, SHIPMENT_HISTORY_COUNT),
        .force = field_int(new_rec, SHIPMENT_FORCE_UPDATE) != 0,
        .creating = op == WHARF_CREATE,
        .quiet = shipment_history_is_quiet(req, new_rec),
        .source = "api"};
    w = shipments_write_of(h->rec);
    if (w && w->source)
        h->source = w->source;
    if (op == WHARF_CREATE)
        return WHARF_OK;
    s = query_about(req, sql, h->id, &rows);
    if (s == WHARF_OK && W->db->count(rows) && W->db->value(rows, 0, 0, WHARF_V_TIME_US, &v))
        h->newest_us = v.u.i;
    return s;
}

/* ---- rules ---- */

static wharf_status shipment_history_too_many(struct history *h, const char *path)
{
    static const char sql[] = "SELECT count(*) FROM shipments.tracking_update"
                              " WHERE organization_id = $2::text AND shipment_id = $1::text";
    const wharf_rows *rows;
    wharf_status s;

    if (h->count < HISTORY_MOST)
        return WHARF_OK;
    s = query_about(h->req, sql, h->id, &rows);
    return s == WHARF_OK && row_int(rows, 0, 0) >= HISTORY_MOST
               ? W->err->fail(h->req, ERR_SHIPMENT_UPDATE_LIMIT, path, NULL)
               : s;
}

/* Judges a change of status after section 2, the table of transitions. */
static wharf_status shipment_history_allowed(struct history *h, wharf_str to, const char *path)
{
    const char *at = W->mem->format(h->req, "%sstatus", path).p;
    uint32_t group = shipments_group(to);

    if (same(to, h->status))
        return WHARF_OK;
    if (group == WHARF_GROUP_BEFORE && !(is(to, "created") && is(h->status, "rates_generated")))
        return W->err->fail(h->req, ERR_SHIPMENT_STATUS_INVALID, at, NULL);
    if (shipments_completed(h->status) && !h->force)
        return W->err->fail(h->req, ERR_SHIPMENT_COMPLETED, at, NULL);
    return WHARF_OK;
}

static wharf_status shipment_history_set_status(
    struct history *h, wharf_str status, int64_t occurred_us)
{
    bool good = shipments_group(status) == WHARF_GROUP_GOOD,
         was = shipments_group(h->status) == WHARF_GROUP_GOOD;
    const wharf_json *filters;
    wharf_status s = shipments_filters(h->req, status, &filters);

    if (s != WHARF_OK)
        return s;
    if (good && !same(status, h->status))
        W->res->set(h->rec, SHIPMENT_DELIVERED_AT, val_time(occurred_us));
    else if (was && !good)
        W->res->set(h->rec, SHIPMENT_DELIVERED_AT, val_null());
    W->res->set(h->rec, SHIPMENT_STATUS, val_text(status));
    W->res->set(h->rec, SHIPMENT_FILTERS, val_json(filters));
    h->status = status;
    return WHARF_OK;
}

static wharf_status shipment_history_check_place(
    struct history *h, wharf_tracking_update *u, const char *path)
{
    if (shipments_layouts)
        return shipments_layouts->stand(h->req, &u->location_id, u->layout_id, path);
    return u->location_id.n ? W->req->need_location(h->req, u->location_id) : WHARF_OK;
}

/* ---- lines ---- */

static wharf_str event_of(const struct history *h, wharf_str status, bool late)
{
    if (h->creating)
        return WHARF_S("shipment.created");
    if (late || same(status, h->status))
        return WHARF_S("shipment.updated");
    return shipments_group(status) == WHARF_GROUP_GOOD ? WHARF_S("shipment.delivered")
           : is(status, "canceled")                    ? WHARF_S("shipment.canceled")
                                                       : WHARF_S("shipment.updated");
}

static wharf_str shipment_history_hash_of(const struct history *h, const wharf_tracking_update *u)
{
    return W->mem->format(h->req, "%s\x1f%s\x1f%lld\x1f%s\x1f%s\x1f%s\x1f%s", h->id.p, u->status.p,
        (long long)(u->occurred_us / 1000), u->comment.p, u->location_id.p, u->layout_id.p,
        u->container_id.p);
}

static wharf_status insert_line(
    struct history *h, const wharf_tracking_update *u, wharf_str status, bool late, bool *ret_new)
{
    static const char sql[] = QUERY_TRACKING_UPDATE_ADD;
    const wharf_val args[LINE_ARGS] = {val_text(W->req->organization(h->req)),
        val_text(W->req->new_id(h->req, "tup")), val_text(h->id), val_text_or_null(status),
        val_text_or_null(u->comment), val_time(u->occurred_us), val_text_or_null(u->location_id),
        val_text_or_null(u->layout_id), val_text_or_null(u->container_id),
        val_text_or_null(u->contact_id), val_text_or_null(u->user_id),
        val_text_or_null(u->vehicle_id), val_json(u->address), val_json(u->coordinates),
        val_json(u->images), val_json(u->provider_status), val_bool(!u->status.n),
        val_text(z(h->source)), val_text(event_of(h, status, late)),
        val_text(shipment_history_hash_of(h, u)), val_int(h->count + 1),
        val_time(W->req->now_us(h->req)), val_text_or_null(W->req->actor(h->req)),
        val_bool(h->quiet)};
    struct shipments_shared *set = shipments_shared(h->rec);
    uint64_t n = 0;
    wharf_status s;

    if (set && set->collecting) {
        shipments_keep_line(h->req, set, args, ret_new);
        return WHARF_OK;
    }
    s = W->db->exec(h->req, sql, args, LINE_ARGS, &n);
    *ret_new = n > 0;
    return s;
}

wharf_status shipments_apply(
    struct history *h, const wharf_tracking_update *update, const char *path)
{
    wharf_tracking_update u = *update;
    wharf_str status = u.status.n ? u.status : h->status;
    bool late = h->newest_us && u.occurred_us < h->newest_us, is_new = false;
    wharf_status s = WHARF_OK;

    if (!u.status.n && !h->newest_us)
        return W->err->fail(
            h->req, ERR_INVALID_COMMENT, W->mem->format(h->req, "%scomment", path).p, NULL);
    s = shipment_history_check_place(h, &u, path);
    if (s == WHARF_OK)
        s = shipment_history_too_many(h, path);
    if (s == WHARF_OK)
        s = insert_line(h, &u, status, late, &is_new);
    if (s != WHARF_OK || !is_new)
        return s;
    h->count++;
    W->res->set(h->rec, SHIPMENT_HISTORY_COUNT, val_int(h->count));
    if (late)
        return WHARF_OK;
    s = u.status.n ? shipment_history_allowed(h, u.status, path) : WHARF_OK;
    if (s == WHARF_OK && u.status.n)
        s = shipment_history_set_status(h, u.status, u.occurred_us);
    if (s != WHARF_OK)
        return s;
    h->newest_us = u.occurred_us;
    if (u.location_id.n) {
        W->res->set(h->rec, SHIPMENT_LOCATION_ID, val_text(u.location_id));
        W->res->set(h->rec, SHIPMENT_LAYOUT_ID, val_text_or_null(u.layout_id));
    }
    if (u.coordinates)
        W->res->set(h->rec, SHIPMENT_COORDINATES, val_json(u.coordinates));
    return WHARF_OK;
}

wharf_status shipments_enter(struct history *h, const char *status, const char *comment)
{
    wharf_tracking_update u = wharf_update_of(z(status), z(comment), W->req->now_us(h->req));
    bool force = h->force;
    wharf_status s;

    if (u.occurred_us < h->newest_us)
        u.occurred_us = h->newest_us;
    h->force = true;
    s = shipments_apply(h, &u, "");
    h->force = force;
    return s;
}

/* ---- shown ---- */

wharf_status shipments_history_page(
    wharf_req *req, wharf_str id, bool newest, int64_t skip, int64_t limit, const wharf_rows **ret)
{
    static const char
        forward[] = "SELECT shipments.tracking_update_shown(u)"
                    " FROM shipments.tracking_update u WHERE u.organization_id = $2::text"
                    " AND u.shipment_id = $1::text ORDER BY u.occurred_at, u.position"
                    " OFFSET $3::bigint LIMIT $4::bigint",
        backward[] = "SELECT shipments.tracking_update_shown(u)"
                     " FROM shipments.tracking_update u WHERE u.organization_id = $2::text"
                     " AND u.shipment_id = $1::text ORDER BY u.occurred_at DESC, u.position DESC"
                     " OFFSET $3::bigint LIMIT $4::bigint";
    wharf_val args[4] = {
        val_text(id), val_text(W->req->organization(req)), val_int(skip), val_int(limit)};

    return W->db->query(req, newest ? backward : forward, args, 4, ret);
}
