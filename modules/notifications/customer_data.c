/* customer_data.c - what a template may say: the shipment as it was at its event, and those it
 * names as they are now, each as the API shows it (spec 07 section 16.3 'Templates'). */
#include "customers.h"

#include "notifications.gen.h"

/* Puts a row as lists show it; null when it is not there, or nobody knows such rows. */
static wharf_status customer_data_put_row(
    wharf_req *req, wharf_out *out, const char *key, wharf_str id)
{
    const wharf_rec *rec;
    wharf_status s = id.n ? W->res->fetch(req, key, id, WHARF_SHOWN, &rec) : WHARF_NOT_FOUND;

    if (s == WHARF_OK) {
        W->res->encode(req, out, key, rec);
        return s;
    }
    if (s != WHARF_NOT_FOUND && s != WHARF_UNAVAILABLE)
        return s;
    W->err->clear(req);
    W->json->put(out, key, val_null());
    return WHARF_OK;
}

/* Reads the shipment as its event has it; NULL: the event has gone, or its data were too large. */
static wharf_status of_event(wharf_req *req, wharf_str event_id, const wharf_json **ret)
{
    const wharf_event *const *events;
    const wharf_json *body;
    wharf_status s;

    *ret = NULL;
    if (!event_id.n)
        return WHARF_OK;
    s = notifications_events->read(req, &event_id, 1, &events);
    if (s != WHARF_OK || !events[0] || events[0]->data_truncated)
        return s;
    s = W->json->parse(req, events[0]->body, &body);
    if (s == WHARF_OK)
        *ret = W->json->get(body, "data");
    return s;
}

static wharf_status customer_data_put_shipment(
    wharf_req *req, wharf_out *out, const struct customer_about *a, const wharf_json **ret)
{
    wharf_out *alone = W->json->builder(req);
    wharf_status s = of_event(req, a->event_id, ret);

    if (s == WHARF_OK && !*ret) {
        W->json->open(alone, NULL, '{');
        s = customer_data_put_row(req, alone, "shipment", a->shipment_id);
        W->json->close(alone);
        if (s == WHARF_OK)
            s = W->json->result(req, alone, ret);
        *ret = s == WHARF_OK ? W->json->get(*ret, "shipment") : NULL;
    }
    if (s == WHARF_OK)
        W->json->put(out, "shipment", val_json(*ret));
    return s;
}

/* Returns the link to the carrier, when it is one: what stands in a mail is clicked. */
static wharf_val link_of(const wharf_json *shipment)
{
    wharf_str url = json_text(shipment, "tracking_url");
    bool web = !strncmp(url.p, "https://", 8) || !strncmp(url.p, "http://", 7);

    return web ? val_text(url) : val_null();
}

static wharf_status put_organization(wharf_req *req, wharf_out *out)
{
    static const char sql[] = "SELECT name FROM wharf.organization"
                              " WHERE organization_id = $1::text AND id = $2::text";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, W->req->organization(req), &rows);

    if (s != WHARF_OK)
        return s;
    W->json->open(out, "organization", '{');
    W->json->put(out, "id", val_text(W->req->organization(req)));
    W->json->put(out, "name", W->db->count(rows) ? val_text(row_text(rows, 0, 0)) : val_null());
    W->json->close(out);
    return WHARF_OK;
}

wharf_status customer_data(wharf_req *req, const struct customer_about *a, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *shipment;
    wharf_status s;

    W->json->open(out, NULL, '{');
    s = customer_data_put_shipment(req, out, a, &shipment);
    if (s == WHARF_OK)
        s = customer_data_put_row(req, out, "tracker", json_text(shipment, "tracker_id"));
    if (s == WHARF_OK)
        s = customer_data_put_row(req, out, "contact", a->contact_id);
    if (s == WHARF_OK)
        s = customer_data_put_row(req, out, "location", json_text(shipment, "location_id"));
    if (s == WHARF_OK)
        s = put_organization(req, out);
    if (s != WHARF_OK)
        return s;
    W->json->put(out, "occasion", val_text(a->occasion));
    W->json->put(out, "time_zone", val_text(a->time_zone));
    W->json->put(out, "tracking_url", link_of(shipment));
    W->json->put(out, "opt_out_url", val_text(a->opt_out_url));
    W->json->close(out);
    return W->json->result(req, out, ret);
}
