/* shipment_rules.c - the rules of shipments (docs/spec/03-shipments-and-trackers.md sections 3
 * and 4): modes of creation, providers, parents, what may be deleted, which events follow. */
#include "shipments.h"
#include "shipments.gen.h"

/* ---- normalize ---- */

static wharf_status detect_provider(wharf_req *req, wharf_rec *rec, wharf_str number)
{
    wharf_detection found = {.head = WHARF_HEAD(wharf_detection)};
    const wharf_carriers_table *providers;
    wharf_status s = shipments_providers(req, rec, &providers);

    if (s == WHARF_OK)
        s = shipments_carriers->detect_in(req, providers, number, &found);

    if (s == WHARF_OK)
        W->res->set(rec, SHIPMENT_PROVIDER_ID, val_text(found.provider_id));
    return s;
}

/* Takes from the fulfillment what the body does not say. */
static wharf_status take_fulfillment(wharf_req *req, wharf_rec *rec)
{
    static const struct {
        const char *name;
        wharf_field field;
    } taken[] = {{"sender", SHIPMENT_SENDER}, {"recipient", SHIPMENT_RECIPIENT},
        {"parcels", SHIPMENT_PARCELS}, {"location_id", SHIPMENT_LOCATION_ID},
        {"order_number", SHIPMENT_ORDER_NUMBER}, {"purchase_order", SHIPMENT_PURCHASE_ORDER},
        {"reference_number", SHIPMENT_REFERENCE_NUMBER}};
    const wharf_json *id = W->res->member(rec, "fulfillment_id"), *facts;
    wharf_str text;
    wharf_status s;

    if (!shipments_orders || json_is_null(id) || !W->json->text(id, &text) || !text.n)
        return WHARF_OK;
    s = shipments_orders->facts(req, text, W->res->member(rec, "parcel_ids"),
        json_is_null(W->res->member(rec, "parcels")), &facts);
    for (size_t i = 0; s == WHARF_OK && facts && i < sizeof(taken) / sizeof(taken[0]); i++) {
        const wharf_json *v = W->json->get(facts, taken[i].name);

        if (!W->res->member(rec, taken[i].name) && !json_is_null(v))
            W->res->set(rec, taken[i].field, val_json(v));
    }
    return s;
}

static wharf_status shipment_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *number = W->res->member(new_rec, "tracking_number");
    wharf_str s;
    wharf_status status = op == WHARF_CREATE ? take_fulfillment(req, new_rec) : WHARF_OK;

    if (status == WHARF_OK)
        status = shipments_take_parties(req, new_rec);

    if (status == WHARF_OK && number && W->json->text(number, &s) && s.n) {
        s = shipments_carriers->normalize(req, s);
        W->res->set(new_rec, SHIPMENT_TRACKING_NUMBER, val_text(s));
        if (json_is_null(W->res->member(new_rec, "provider_id")))
            status = detect_provider(req, new_rec, s);
    }
    return status;
}

/* ---- check: values that follow from others ---- */

static wharf_status settle_provider(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec)
{
    wharf_str id = field_text(rec, SHIPMENT_PROVIDER_ID),
              number = field_text(rec, SHIPMENT_TRACKING_NUMBER);
    const wharf_carriers_table *providers;
    const wharf_json *provider;
    wharf_status s;

    if (op == WHARF_UPDATE && !W->res->changed(old_rec, rec, SHIPMENT_PROVIDER_ID) &&
        !W->res->changed(old_rec, rec, SHIPMENT_TRACKING_NUMBER))
        return WHARF_OK;
    if (!id.n) {
        W->res->set(rec, SHIPMENT_PROVIDER, val_null());
        W->res->set(rec, SHIPMENT_TRACKING_URL, val_null());
        return WHARF_OK;
    }
    s = shipments_providers(req, rec, &providers);
    if (s == WHARF_OK)
        s = shipments_carriers->provider_in(req, providers, id, &provider);
    if (s == WHARF_OK && !provider)
        return W->err->fail(req, ERR_PROVIDER_UNKNOWN, "provider_id", NULL);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, SHIPMENT_PROVIDER, val_json(provider));
    W->res->set(rec, SHIPMENT_TRACKING_URL,
        val_text_or_null(shipments_carriers->tracking_url_in(req, providers, id, number)));
    return WHARF_OK;
}

/* Sets the overall weight: the parcels' together. */
static void settle_weight(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *parcels = field_json(rec, SHIPMENT_PARCELS);
    int64_t sum = 0, one;

    if (W->res->sent(rec, SHIPMENT_WEIGHT) || !parcels || !W->json->count(parcels))
        return;
    for (const wharf_json *e = W->json->at(parcels, 0); e; e = W->json->next(e)) {
        if (W->json->get(e, "weight") && W->json->decimal(W->json->get(e, "weight"), 4, &one))
            sum += one;
    }
    W->res->set(rec, SHIPMENT_WEIGHT, val_decimal(sum, 4));
}

enum {
    CUSTOMS_BYTES = 64 * 1024, /* bytes of customs */
    TIMEOUT_LEAST = 500, /* milliseconds that providers get */
    TIMEOUT_MOST = 20000 /* milliseconds that providers get */
};

/* Checks that what is kept as it was sent has a size, and what is read of options has a form. */
static wharf_status check_kept(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *customs = field_json(rec, SHIPMENT_CUSTOMS),
                     *options = field_json(rec, SHIPMENT_OPTIONS), *timeout;
    wharf_out *out = W->json->writer(req);
    int64_t ms = TIMEOUT_LEAST;

    if (customs && W->res->sent(rec, SHIPMENT_CUSTOMS)) {
        W->json->put(out, NULL, val_json(customs));
        if (W->json->result_text(out).n > CUSTOMS_BYTES)
            W->err->add(
                req, ERR_VALIDATION_FAILED, "customs", "customs must have at most 64 KiB as JSON");
    }
    timeout = options && W->res->sent(rec, SHIPMENT_OPTIONS)
                  ? W->json->get(options, "provider_timeout")
                  : NULL;
    if (!json_is_null(timeout) &&
        (!W->json->integer(timeout, &ms) || ms < TIMEOUT_LEAST || ms > TIMEOUT_MOST))
        W->err->add(req, ERR_VALIDATION_FAILED, "options.provider_timeout",
            "options.provider_timeout must be 500 to 20000 milliseconds");
    return W->err->current(req);
}

static wharf_status shipment_check_parent(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    static const char sql[] =
        "SELECT parent_id IS NOT NULL FROM shipments.shipment"
        " WHERE organization_id = $2::text AND id = $1::text AND deleted_at IS NULL";
    wharf_str parent = field_text(rec, SHIPMENT_PARENT_ID);
    const wharf_rows *rows;
    wharf_status s;

    if (!W->res->sent(rec, SHIPMENT_PARENT_ID) || !parent.n)
        return WHARF_OK;
    if (same(parent, W->res->id(rec)) || (old_rec && field_int(old_rec, SHIPMENT_IS_PARENT)))
        return W->err->fail(req, ERR_SHIPMENT_PARENT_INVALID, "parent_id", NULL);
    s = query_about(req, sql, parent, &rows);
    if (s == WHARF_OK && (!W->db->count(rows) || row_bool(rows, 0, 0)))
        return W->err->fail(req, ERR_SHIPMENT_PARENT_INVALID, "parent_id", NULL);
    return s;
}

static wharf_status settle_children(wharf_req *req, wharf_rec *rec)
{
    static const char sql[] =
        "SELECT count(*) FROM shipments.shipment"
        " WHERE organization_id = $2::text AND parent_id = $1::text AND deleted_at IS NULL";
    const wharf_rows *rows;
    wharf_status s;

    if (!shipments_recounted(rec))
        return WHARF_OK;
    s = query_about(req, sql, W->res->id(rec), &rows);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, SHIPMENT_CHILDREN_COUNT, val_int(row_int(rows, 0, 0)));
    W->res->set(rec, SHIPMENT_IS_PARENT, val_bool(row_int(rows, 0, 0) > 0));
    return WHARF_OK;
}

/* ---- check: creation ---- */

static wharf_status shipment_missing(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *parcels = field_json(rec, SHIPMENT_PARCELS);

    W->err->add(req, ERR_VALIDATION_FAILED, "tracking_number",
        "Send tracking_number, or sender, recipient and parcels");
    if (!field_json(rec, SHIPMENT_SENDER))
        W->err->add(
            req, ERR_VALIDATION_FAILED, "sender", "sender is required without a tracking number");
    if (!field_json(rec, SHIPMENT_RECIPIENT))
        W->err->add(req, ERR_VALIDATION_FAILED, "recipient",
            "recipient is required without a tracking number");
    if (!parcels || !W->json->count(parcels))
        W->err->add(req, ERR_VALIDATION_FAILED, "parcels",
            "parcels are required without a tracking number");
    return W->err->current(req);
}

static wharf_status begin_quote(struct history *h)
{
    const wharf_json *parcels = field_json(h->rec, SHIPMENT_PARCELS), *filters;
    wharf_str rate;
    wharf_status s;

    if (!field_json(h->rec, SHIPMENT_SENDER) || !field_json(h->rec, SHIPMENT_RECIPIENT) ||
        !parcels || !W->json->count(parcels))
        return shipment_missing(h->req, h->rec);
    shipments_check_parties(h->req, h->rec);
    s = W->err->current(h->req);
    if (s == WHARF_OK)
        s = shipments_filters(h->req, WHARF_S("rates_generated"), &filters);
    if (s != WHARF_OK)
        return s;
    h->status = WHARF_S("rates_generated");
    W->res->set(h->rec, SHIPMENT_STATUS, val_text(h->status));
    W->res->set(h->rec, SHIPMENT_FILTERS, val_json(filters));
    s = shipments_quote(h->req, h->rec);
    if (s == WHARF_OK)
        s = shipments_wanted_rate(h->req, h->rec, &rate);
    return s == WHARF_OK && rate.n ? shipments_purchase(h, NULL, rate) : s;
}

static wharf_status shipment_begin(struct history *h)
{
    bool number = field_text(h->rec, SHIPMENT_TRACKING_NUMBER).n > 0;
    bool parties = field_json(h->rec, SHIPMENT_SENDER) || field_json(h->rec, SHIPMENT_RECIPIENT);

    if (!W->res->sent(h->rec, SHIPMENT_TYPE))
        W->res->set(h->rec, SHIPMENT_TYPE,
            val_text(number && !parties ? WHARF_S("inbound") : WHARF_S("outbound")));
    W->res->set(h->rec, SHIPMENT_CURRENCY, val_text(WHARF_S("usd")));
    W->res->set(h->rec, SHIPMENT_PAID, val_bool(false));
    W->res->set(h->rec, SHIPMENT_IS_PARENT, val_bool(false));
    W->res->set(h->rec, SHIPMENT_CHILDREN_COUNT, val_int(0));
    W->res->set(h->rec, SHIPMENT_HISTORY_COUNT, val_int(0));
    W->res->set(h->rec, SHIPMENT_LEG, val_int(0));
    settle_weight(h->req, h->rec);
    if (!number)
        return begin_quote(h);
    h->status = WHARF_S("rates_generated"); /* so that created may follow */
    return shipments_enter(h, "created", "");
}

/* ---- check: updates ---- */

static wharf_status shipment_check_number(
    wharf_req *req, const struct history *h, const wharf_rec *old_rec)
{
    bool changed = W->res->changed(old_rec, h->rec, SHIPMENT_TRACKING_NUMBER) ||
                   W->res->changed(old_rec, h->rec, SHIPMENT_PROVIDER_ID);

    if (!changed || h->force || shipments_group(h->status) == WHARF_GROUP_BEFORE)
        return WHARF_OK;
    return W->err->fail(req, ERR_SHIPMENT_IN_TRANSIT,
        W->res->changed(old_rec, h->rec, SHIPMENT_TRACKING_NUMBER) ? "tracking_number"
                                                                   : "provider_id",
        NULL);
}

/* Ends a quote that is given a number: it is one no longer. */
static wharf_status number_of_quote(struct history *h)
{
    if (!is(h->status, "rates_generated") || !field_text(h->rec, SHIPMENT_TRACKING_NUMBER).n)
        return WHARF_OK;
    return shipments_enter(h, "created", "");
}

static wharf_status apply_sent(struct history *h)
{
    const wharf_json *input = W->res->input(h->rec, SHIPMENT_TRACKING_UPDATE);
    bool many = input && W->json->type(input) == WHARF_J_ARRAY;
    wharf_tracking_update *list;
    size_t n;
    wharf_status s;

    if (!input)
        return WHARF_OK;
    s = shipments_read_updates(h->req, input, &list, &n);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        const char *path = many ? W->mem->format(h->req, "%zu.", i).p : "tracking_update.";

        if (!shipments_write_of(
                h->rec)) /* else another module wrote it, and looked at what its client said */
            s = shipments_check_update(h->req, &list[i], path);
        /* An update without a time of its own, on a shipment that was just created, differs by
         * the clock only. */
        if (h->creating && !list[i].dated && list[i].occurred_us <= h->newest_us)
            list[i].occurred_us = h->newest_us;
        if (s == WHARF_OK)
            s = shipments_apply(h, &list[i], path);
    }
    return s;
}

static wharf_status apply_beside(struct history *h, const wharf_shipment_write *w)
{
    if (!w)
        return WHARF_OK;
    if (w->set_container)
        W->res->set(h->rec, SHIPMENT_CONTAINER_ID, val_text_or_null(w->container_id));
    if (w->place) {
        W->res->set(h->rec, SHIPMENT_LOCATION_ID, val_text_or_null(w->location_id));
        W->res->set(h->rec, SHIPMENT_LAYOUT_ID, val_text_or_null(w->layout_id));
    }
    return WHARF_OK;
}

static wharf_status shipment_write_log(struct history *h)
{
    const wharf_json *log = W->res->input(h->rec, SHIPMENT_LOG);
    wharf_log_line line = {
        .head = WHARF_HEAD(wharf_log_line), .resource = "shipment", .action = "comment"};

    if (!log)
        return WHARF_OK;
    line.resource_id = h->id;
    line.parent_id = field_text(h->rec, SHIPMENT_TRACKER_ID);
    line.location_id = field_text(h->rec, SHIPMENT_LOCATION_ID);
    line.message = json_text(log, "message");
    line.images = W->json->get(log, "images");
    line.public_line = is(json_text(log, "visibility"), "public");
    h->count++; /* so that the row changes, and its event tells of it */
    W->res->set(h->rec, SHIPMENT_HISTORY_COUNT, val_int(h->count));
    return shipments_logs->add(h->req, &line);
}

static wharf_status log_status(struct history *h, const wharf_rec *old_rec)
{
    wharf_str from = field_text(old_rec, SHIPMENT_STATUS);
    wharf_log_line line = {
        .head = WHARF_HEAD(wharf_log_line), .resource = "shipment", .action = "status_changed"};
    wharf_out *out;
    wharf_status s;

    if (same(from, h->status) || !old_rec)
        return WHARF_OK;
    out = W->json->builder(h->req);
    W->json->open(out, NULL, '[');
    W->json->open(out, NULL, '{');
    W->json->put(out, "field", val_text(WHARF_S("status")));
    W->json->put(out, "old", val_text_or_null(from));
    W->json->put(out, "new", val_text(h->status));
    W->json->close(out);
    W->json->close(out);
    s = W->json->result(h->req, out, &line.changes);
    line.resource_id = h->id;
    line.parent_id = field_text(h->rec, SHIPMENT_TRACKER_ID);
    line.location_id = field_text(h->rec, SHIPMENT_LOCATION_ID);
    line.message = WHARF_S("");
    line.public_line = true;
    return s == WHARF_OK ? shipments_logs->add(h->req, &line) : s;
}

/* Takes orders of an update that are no update of tracking: a number, a purchase, a refund. */
static wharf_status take_orders(struct history *h, const wharf_rec *old_rec)
{
    wharf_str rate_id = field_text(h->rec, SHIPMENT_RATE_ID);
    wharf_status s = shipment_check_number(h->req, h, old_rec);

    if (s == WHARF_OK && rate_id.n)
        s = shipments_purchase(h, old_rec, rate_id);
    return s == WHARF_OK ? number_of_quote(h) : s;
}

static wharf_status apply_all(
    struct history *h, uint32_t op, const wharf_rec *old_rec, const wharf_shipment_write *w)
{
    wharf_status s = op == WHARF_CREATE ? shipment_begin(h) : take_orders(h, old_rec);

    if (s == WHARF_OK)
        s = apply_beside(h, w);
    if (s == WHARF_OK)
        s = apply_sent(h);
    return s == WHARF_OK && op == WHARF_UPDATE ? shipments_settle_refund(h, old_rec) : s;
}

static wharf_status shipment_finish(struct history *h, uint32_t op, const wharf_rec *old_rec)
{
    wharf_status s = settle_provider(h->req, op, old_rec, h->rec);

    if (s == WHARF_OK)
        s = settle_children(h->req, h->rec);
    if (s == WHARF_OK)
        s = shipment_write_log(h);
    if (s == WHARF_OK)
        s = log_status(h, old_rec);
    if (s == WHARF_OK)
        shipments_settle_parties(h->req, h->rec);
    return s;
}

static wharf_status shipment_check_write(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_shipment_write *w = shipments_write_of(new_rec);
    struct history h;
    wharf_status s = shipments_history_open(req, op, old_rec, new_rec, &h);

    if (s == WHARF_OK && w && w->skip_completed && shipments_completed(h.status))
        return apply_beside(&h, &(wharf_shipment_write){.set_container = w->set_container,
                                    .container_id = w->container_id});
    if (s == WHARF_OK)
        s = check_kept(req, new_rec);
    if (s == WHARF_OK)
        s = shipment_check_parent(req, old_rec, new_rec);
    if (s == WHARF_OK && shipments_layouts)
        s = shipments_layouts->settle(
            req, op, old_rec, new_rec, SHIPMENT_LOCATION_ID, SHIPMENT_LAYOUT_ID, WHARF_PLACE_ADOPT);
    if (s == WHARF_OK)
        s = apply_all(&h, op, old_rec, w);
    return s == WHARF_OK ? shipment_finish(&h, op, old_rec) : s;
}

wharf_status shipments_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_str status = field_text(old_rec, SHIPMENT_STATUS);

    if (op != WHARF_DELETE)
        return shipment_check_write(req, op, old_rec, new_rec);
    if (!is(status, "rates_generated") && !is(status, "created") && !is(status, "canceled"))
        return W->err->fail(req, ERR_SHIPMENT_IN_TRANSIT, NULL, NULL);
    if (is(status, "created") && field_json(old_rec, SHIPMENT_PURCHASED_RATE))
        return W->err->fail(req, ERR_SHIPMENT_PURCHASED, NULL,
            "The shipment is purchased; cancel it or have it refunded first");
    return WHARF_OK;
}

/* ---- written ---- */

static wharf_status orphan(wharf_req *req, wharf_str id)
{
    static const char sql[] = "SELECT id FROM shipments.shipment"
                              " WHERE organization_id = $2::text AND parent_id = $1::text AND "
                              "deleted_at IS NULL ORDER BY id";
    const wharf_json *body;
    const wharf_rows *rows;
    wharf_status s = W->json->parse(req, WHARF_S("{\"parent_id\": null}"), &body);

    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = W->res->update(req, "shipment", row_text(rows, i, 0), body, NULL);
    return s;
}

static wharf_status count_parents(
    wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str before = field_text(old_rec, SHIPMENT_PARENT_ID),
              after = field_text(new_rec, SHIPMENT_PARENT_ID);
    const wharf_rec *there;
    wharf_status s = WHARF_OK;

    if (same(before, after))
        return WHARF_OK;
    if (before.n && W->res->fetch(req, "shipment", before, 0, &there) == WHARF_OK)
        s = shipments_recount(req, before);
    else
        W->err->clear(req); /* the parent is being deleted itself */
    return s == WHARF_OK && after.n ? shipments_recount(req, after) : s;
}

static wharf_status emit_status(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str status = field_text(new_rec, SHIPMENT_STATUS);
    wharf_status s = WHARF_OK;

    if (!same(status, field_text(old_rec, SHIPMENT_STATUS)) && is(status, "canceled"))
        s = W->event->emit(req, "shipment.canceled", "shipment", W->res->id(new_rec), NULL);
    else if (!same(status, field_text(old_rec, SHIPMENT_STATUS)) &&
             shipments_group(status) == WHARF_GROUP_GOOD)
        s = W->event->emit(req, "shipment.delivered", "shipment", W->res->id(new_rec), NULL);
    if (s == WHARF_OK && old_rec &&
        !same(field_text(old_rec, SHIPMENT_REFUND_STATUS),
            field_text(new_rec, SHIPMENT_REFUND_STATUS)))
        s = W->event->emit(req, "shipment.refund_updated", "shipment", W->res->id(new_rec), NULL);
    return s;
}

wharf_status shipments_follow(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_status s;

    if (op == WHARF_DELETE)
        s = orphan(req, W->res->id(old_rec));
    else
        s = emit_status(req, old_rec, new_rec);
    if (s == WHARF_OK)
        s = count_parents(req, old_rec, new_rec);
    return s == WHARF_OK && op == WHARF_CREATE ? shipments_simulator_begin(req, new_rec) : s;
}

static wharf_status shipment_rules_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_status s = shipments_follow(req, op, old_rec, new_rec);

    return s == WHARF_OK && op != WHARF_DELETE ? shipments_remember(req, &new_rec, 1) : s;
}

const wharf_hooks shipments_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = shipment_normalize,
    .check = shipments_check,
    .written = shipment_rules_written,
    .batch_item = shipments_batch_item,
    .look_ahead = shipments_look_ahead,
    .check_many = shipments_check_many,
    .written_many = shipments_written_many,
    .batch_items = shipments_batch_items};

/* ---- locations and layouts ---- */

static wharf_status shipment_location_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char sql[] = "SELECT 1 FROM shipments.shipment WHERE organization_id = $2::text "
                              "AND location_id = $1::text"
                              " AND deleted_at IS NULL"
                              " AND NOT filters ? 'completed' LIMIT 1";

    return shipments_places ? shipments_places->in_use(req, W->res->id(old_rec), "shipments", sql)
                            : WHARF_OK;
}

static wharf_status shipment_layout_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] =
        "UPDATE shipments.shipment SET layout_id = $2::text, version = version + 1"
        " WHERE organization_id = $3::text AND layout_id = ANY ((SELECT $1::text[])::text[]) AND "
        "deleted_at IS NULL";

    return shipments_layouts ? shipments_layouts->carry(req, old_rec, sql) : WHARF_OK;
}

const wharf_hooks shipments_location_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = shipment_location_check, .ops = WHARF_DELETE};
const wharf_hooks shipments_layout_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .written = shipment_layout_written, .ops = WHARF_DELETE};
