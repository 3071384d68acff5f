/* rates.c - quotes, buying them, refunds (docs/spec/03-shipments-and-trackers.md sections 3.1
 * and 3.2). Built in is the provider "private": flat rates of the organization's settings. */
#include "shipments.h"
#include "shipments.gen.h"

enum {
    RATE_MINUTES = 15, /* a quote can be bought */
    REFUND_DAYS = 14, /* a label can be refunded */
    REFUND_MINUTES_ON_DEMAND = 5, /* of on-demand rates */
    NUMBER_TRIES = 8 /* numbers that are tried until one is free */
};

static int64_t rates_whole(const wharf_json *object, const char *key)
{
    const wharf_json *v = W->json->get(object, key);
    int64_t i = 0;

    return v && W->json->integer(v, &i) ? i : 0;
}

/* ---- quotes ---- */

static wharf_status put_rate(wharf_req *req, wharf_out *out, const wharf_json *private_rate)
{
    const wharf_json *days = W->json->get(private_rate, "transit_days");
    wharf_str currency = json_text(private_rate, "currency");

    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(W->req->new_id(req, "rate")));
    W->json->put(out, "provider_id", val_text(WHARF_S("private")));
    W->json->put(out, "provider_name", val_text(WHARF_S("Private")));
    W->json->put(out, "service_level_id", val_text(json_text(private_rate, "service_level_id")));
    W->json->put(out, "service_level_name", val_text(json_text(private_rate, "name")));
    W->json->put(out, "amount", val_int(rates_whole(private_rate, "amount")));
    W->json->put(out, "billed_amount", val_int(rates_whole(private_rate, "amount")));
    W->json->put(out, "currency", val_text(currency.n ? currency : WHARF_S("usd")));
    if (json_is_null(days))
        W->json->put(out, "estimated_delivery_at", val_null());
    else
        W->json->put(out, "estimated_delivery_at",
            val_time(W->req->now_us(req) + rates_whole(private_rate, "transit_days") * DAY_US));
    W->json->put(out, "transit_days", val_json(days));
    W->json->put(out, "rate_type", val_text(WHARF_S("flat")));
    W->json->close(out);
    return WHARF_OK;
}

static const wharf_json *cheapest(const wharf_json *rates)
{
    const wharf_json *best = NULL;

    for (const wharf_json *e = rates ? W->json->at(rates, 0) : NULL; e; e = W->json->next(e)) {
        if (!best || rates_whole(e, "billed_amount") < rates_whole(best, "billed_amount"))
            best = e;
    }
    return best;
}

wharf_status shipments_quote(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *private_rates = NULL, *rates;
    wharf_out *out = W->json->builder(req);
    wharf_status s = shipments_org->setting_json(req, "shipments.private_rates", &private_rates);

    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '[');
    for (const wharf_json *e = private_rates ? W->json->at(private_rates, 0) : NULL; e;
         e = W->json->next(e))
        put_rate(req, out, e);
    W->json->close(out);
    s = W->json->result(req, out, &rates);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, SHIPMENT_RATES, val_json(rates));
    W->res->set(rec, SHIPMENT_RECOMMENDED_RATE, val_json(cheapest(rates)));
    W->res->set(rec, SHIPMENT_RATES_GENERATED_AT, val_time(W->req->now_us(req)));
    return WHARF_OK;
}

wharf_status shipments_wanted_rate(wharf_req *req, const wharf_rec *rec, wharf_str *ret)
{
    const wharf_json *options = field_json(rec, SHIPMENT_OPTIONS),
                     *rates = field_json(rec, SHIPMENT_RATES);
    wharf_str word = json_text(options, "purchase"), level = json_text(options, "service_level_id");

    *ret = WHARF_S("");
    if (is(word, "recommended") && cheapest(rates))
        *ret = json_text(cheapest(rates), "id");
    for (const wharf_json *e = level.n && rates ? W->json->at(rates, 0) : NULL; e;
         e = W->json->next(e)) {
        if (same(json_text(e, "service_level_id"), level))
            *ret = json_text(e, "id");
    }
    if (!ret->n && (word.n || level.n) && rates && W->json->count(rates))
        return W->err->fail(req, ERR_SHIPMENT_RATE_INVALID,
            word.n ? "options.purchase" : "options.service_level_id", NULL);
    return WHARF_OK;
}

/* ---- buying ---- */

static wharf_status new_number(wharf_req *req, wharf_str *ret)
{
    static const char sql[] =
        "SELECT 1 FROM shipments.of_number($1::text) WHERE organization_id = $2::text";
    const wharf_rows *rows;

    for (int i = 0; i < NUMBER_TRIES; i++) {
        wharf_status s;

        *ret = shipments_carriers->internal_number(req);
        s = query_about(req, sql, *ret, &rows);
        if (s != WHARF_OK || !W->db->count(rows))
            return s;
    }
    return W->err->fail(req, ERR_INTERNAL, NULL, NULL);
}

static wharf_status take_rate(struct history *h, const wharf_json *rate)
{
    wharf_str number = field_text(h->rec, SHIPMENT_TRACKING_NUMBER),
              provider = json_text(rate, "provider_id");
    wharf_status s = number.n ? WHARF_OK : new_number(h->req, &number);

    if (s != WHARF_OK)
        return s;
    W->res->set(h->rec, SHIPMENT_TRACKING_NUMBER, val_text(number));
    W->res->set(h->rec, SHIPMENT_PURCHASED_RATE, val_json(rate));
    W->res->set(h->rec, SHIPMENT_PROVIDER_ID, val_text(provider));
    W->res->set(h->rec, SHIPMENT_SERVICE_LEVEL_ID, val_text(json_text(rate, "service_level_id")));
    W->res->set(h->rec, SHIPMENT_AMOUNT, val_int(rates_whole(rate, "amount")));
    W->res->set(h->rec, SHIPMENT_BILLED_AMOUNT, val_int(rates_whole(rate, "billed_amount")));
    W->res->set(h->rec, SHIPMENT_CURRENCY, val_text(json_text(rate, "currency")));
    return shipments_enter(h, "created", "");
}

wharf_status shipments_purchase(struct history *h, const wharf_rec *old_rec, wharf_str rate_id)
{
    const wharf_rec *at = old_rec ? old_rec : h->rec;
    const wharf_json *rates = field_json(at, SHIPMENT_RATES);
    int64_t made = field_int(at, SHIPMENT_RATES_GENERATED_AT);

    if (field_json(at, SHIPMENT_PURCHASED_RATE))
        return W->err->fail(h->req, ERR_SHIPMENT_PURCHASED, NULL, NULL);
    for (const wharf_json *e = rates ? W->json->at(rates, 0) : NULL; e; e = W->json->next(e)) {
        if (!same(json_text(e, "id"), rate_id))
            continue;
        if (made + RATE_MINUTES * MINUTE_US < W->req->now_us(h->req))
            return W->err->fail(h->req, ERR_SHIPMENT_RATE_EXPIRED, "rate_id", NULL);
        return take_rate(h, e);
    }
    return W->err->fail(h->req, ERR_SHIPMENT_RATE_INVALID, "rate_id", NULL);
}

/* ---- refunds ---- */

static wharf_status request_refund(struct history *h, const wharf_rec *old_rec)
{
    const wharf_json *rate = field_json(old_rec, SHIPMENT_PURCHASED_RATE);
    int64_t now = W->req->now_us(h->req), made = field_int(old_rec, SHIPMENT_RATES_GENERATED_AT);
    bool on_demand = rate && is(json_text(rate, "rate_type"), "on_demand");

    if (!rate || !is(h->status, "created"))
        return W->err->fail(h->req, ERR_SHIPMENT_REFUND_NOT_ALLOWED, "refund_status", NULL);
    if (now > made + (on_demand ? REFUND_MINUTES_ON_DEMAND * MINUTE_US : REFUND_DAYS * DAY_US))
        return W->err->fail(h->req, ERR_SHIPMENT_REFUND_WINDOW, "refund_status", NULL);
    return WHARF_OK;
}

wharf_status shipments_settle_refund(struct history *h, const wharf_rec *old_rec)
{
    wharf_str from = field_text(old_rec, SHIPMENT_REFUND_STATUS),
              to = field_text(h->rec, SHIPMENT_REFUND_STATUS);
    const char *source = h->source;
    wharf_status s;

    if (!W->res->sent(h->rec, SHIPMENT_REFUND_STATUS) || (same(from, to) && !is(to, "requested")))
        return WHARF_OK;
    if (is(to, "requested")) {
        if (is(from, "requested") || is(from, "refunded"))
            return W->err->fail(h->req, ERR_SHIPMENT_REFUND_EXISTS, "refund_status", NULL);
        return request_refund(h, old_rec);
    }
    if (is(from, "refunded"))
        return W->err->fail(h->req, ERR_SHIPMENT_REFUND_EXISTS, "refund_status", NULL);
    if (!is(from, "requested"))
        return W->err->fail(h->req, ERR_SHIPMENT_REFUND_NOT_REQUESTED, "refund_status", NULL);
    if (is(to, "rejected") || is(h->status, "canceled"))
        return WHARF_OK;
    h->source = "system";
    s = shipments_enter(h, "canceled", "Refunded");
    h->source = source;
    return s;
}
