/* customer_template_rules.c - templates that an organization writes: what can't be read is
 * refused when it is written; preview and test (spec 07 section 16.3 'Templates'). */
#include "customers.h"

#include "notifications.gen.h"

/* A shipment as mails have it, for templates that are looked at without one. */
static const char example[] =
    "{\"shipment\": {\"object\": \"shipment\", \"id\": \"ship_0\", \"status\": "
    "\"out_for_delivery\","
    " \"tracking_number\": \"1Z12345E0291980793\", \"order_number\": \"1042\","
    " \"provider\": {\"id\": \"ups\", \"name\": \"UPS\"},"
    " \"delivered_at\": \"2026-03-02T14:05:00.000Z\","
    " \"recipient\": {\"name\": \"Ada Lovelace\", \"email\": \"ada@example.com\"}},"
    " \"tracker\": {\"object\": \"tracker\", \"id\": \"track_0\", \"status\": "
    "\"out_for_delivery\"},"
    " \"contact\": {\"object\": \"contact\", \"id\": \"ctct_0\", \"name\": \"Ada Lovelace\","
    " \"email\": \"ada@example.com\"},"
    " \"location\": {\"object\": \"location\", \"id\": \"loc_0\", \"name\": \"Mail room\","
    " \"phone\": \"+12175550142\", \"address\": {\"formatted_address\":"
    " \"1 Main St, Springfield, IL 62701, US\"}},"
    " \"time_zone\": \"UTC\", \"tracking_url\": \"https://example.com/track/1Z12345E0291980793\"";

static wharf_str example_link(wharf_req *req)
{
    return notifications_config->url(req, WHARF_S(LINK "?token=example"));
}

static wharf_status example_data(wharf_req *req, wharf_str occasion, const wharf_json **ret)
{
    wharf_str link = example_link(req),
              text = W->mem->format(req,
                  "%s, \"organization\": {\"name\": \"Example\"}, \"occasion\": \"%.*s\","
                  " \"opt_out_url\": \"%.*s\"}",
                  example, (int)occasion.n, occasion.p, (int)link.n, link.p);

    return W->json->parse(req, text, ret);
}

static struct customer_template customer_template_of(const wharf_rec *rec)
{
    return (struct customer_template){.subject = field_text(rec, NOTIFICATION_TEMPLATE_SUBJECT),
        .text = field_text(rec, NOTIFICATION_TEMPLATE_TEXT),
        .html = field_text(rec, NOTIFICATION_TEMPLATE_HTML),
        .language = field_text(rec, NOTIFICATION_TEMPLATE_LANGUAGE)};
}

static wharf_status customer_template_tell_problems(wharf_req *req, const wharf_json *problems)
{
    for (const wharf_json *p = W->json->at(problems, 0); p; p = W->json->next(p)) {
        wharf_str path = json_text(p, "path"), message = json_text(p, "message");
        int64_t line = 1, column = 1;

        W->json->integer(W->json->get(p, "line"), &line);
        W->json->integer(W->json->get(p, "column"), &column);
        W->err->add(req, ERR_NOTIFICATION_TEMPLATE_INVALID, path.p,
            "%.*s, line %lld, column %lld: %.*s", (int)path.n, path.p, (long long)line,
            (long long)column, (int)message.n, message.p);
    }
    return W->err->current(req);
}

static wharf_status customer_template_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    struct customer_template t = customer_template_of(new_rec);
    struct customer_mail mail;
    const wharf_json *data;
    wharf_status s;

    if (strpbrk(t.subject.p, "\r\n"))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "subject", "subject must be one line");
    s = example_data(req, field_text(new_rec, NOTIFICATION_TEMPLATE_OCCASION), &data);
    if (s == WHARF_OK)
        s = customer_make(req, &t, data, &mail);
    return s == WHARF_OK && mail.problems ? customer_template_tell_problems(req, mail.problems) : s;
}

const wharf_hooks customer_template_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .check = customer_template_check,
    .ops = WHARF_CREATE | WHARF_UPDATE};

/* ---- preview and test ---- */

/* Reads a shipment that the caller may see, with the contact who is told of it. */
static wharf_status customer_template_data_of(
    wharf_req *req, wharf_str shipment_id, const wharf_rec *of, const wharf_json **ret)
{
    static const char sql[] = "SELECT recipient_contact_id, location_id FROM shipments.shipment"
                              " WHERE organization_id = $2::text AND id = $1::text";
    struct customer_about about = {.event_id = WHARF_S(""),
        .shipment_id = shipment_id,
        .occasion = field_text(of, NOTIFICATION_TEMPLATE_OCCASION),
        .opt_out_url = example_link(req)};
    struct customer_settings settings;
    const wharf_rec *rec;
    const wharf_rows *rows;
    wharf_str place;
    wharf_status s = W->req->need_scope(req, "shipments:read");

    if (s == WHARF_OK)
        s = W->res->fetch(req, "shipment", shipment_id, 0, &rec);
    if (s == WHARF_NOT_FOUND || s == WHARF_UNAVAILABLE) {
        W->err->clear(req);
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "shipment_id", "shipment_id must be the id of a shipment");
    }
    if (s == WHARF_OK)
        s = query_about(req, sql, shipment_id, &rows);
    if (s != WHARF_OK)
        return s;
    about.contact_id = row_text(rows, 0, 0);
    place = row_text(rows, 0, 1);
    s = customer_settings(req, &place, 1, &settings);
    about.time_zone = settings.time_zone;
    return s == WHARF_OK ? customer_data(req, &about, ret) : s;
}

static wharf_status customer_template_make(wharf_req *req, struct customer_mail *ret)
{
    const wharf_json *body, *data = NULL;
    struct customer_template t;
    const wharf_rec *rec;
    wharf_str id, shipment;
    wharf_status s;

    W->req->param(req, "template", &id);
    s = W->res->fetch(req, "notification_template", id, 0, &rec);
    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s != WHARF_OK)
        return s;
    shipment = json_text(body, "shipment_id");
    t = customer_template_of(rec);
    s = shipment.n ? customer_template_data_of(req, shipment, rec, &data)
                   : example_data(req, field_text(rec, NOTIFICATION_TEMPLATE_OCCASION), &data);
    if (s == WHARF_OK)
        s = customer_make(req, &t, data, ret);
    return s == WHARF_OK && ret->problems ? customer_template_tell_problems(req, ret->problems) : s;
}

static void customer_template_answer(
    wharf_req *req, const char *message, const struct customer_mail *m)
{
    wharf_out *out = W->req->respond(req, 200, message);

    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("notification_preview")));
    W->json->put(out, "subject", val_text(m->subject));
    W->json->put(out, "text", val_text(m->text));
    W->json->put(out, "html", val_text(m->html));
    W->json->put(out, "missing", val_json(m->missing));
    W->json->close(out);
}

wharf_status customer_preview(wharf_req *req, void *arg)
{
    struct customer_mail mail;
    wharf_status s = customer_template_make(req, &mail);

    if (s == WHARF_OK)
        customer_template_answer(req, "Notification template previewed", &mail);
    return s;
}

/* Reads the address of the key's user; users stand with the live organization. */
static wharf_status own_address(wharf_req *req, wharf_str *ret)
{
    wharf_str user = notifications_keys->caller(req)->user_id;
    wharf_out *out = W->json->builder(req);
    const wharf_json *row = NULL;
    const wharf_rec *rec;
    wharf_status s = user.n ? W->res->fetch(req, "user", user, WHARF_SHOWN, &rec) : WHARF_OK;

    if (s == WHARF_OK && user.n) {
        W->json->open(out, NULL, '{');
        W->res->encode(req, out, "user", rec);
        W->json->close(out);
        s = W->json->result(req, out, &row);
    }
    *ret = json_text(W->json->get(row, "user"), "email");
    return s == WHARF_OK && !ret->n
               ? W->err->fail(req, ERR_VALIDATION_FAILED, NULL,
                     "A test goes to the address of the key's own user, and this key has none")
               : s;
}

wharf_status customer_test(wharf_req *req, void *arg)
{
    wharf_mail_message m = {.head = WHARF_HEAD(wharf_mail_message),
        .reply_to = WHARF_S(""),
        .message_id = WHARF_S(""),
        .unsubscribe = WHARF_S("")};
    struct customer_mail mail;
    wharf_str address;
    wharf_status s = own_address(req, &address);

    if (s == WHARF_OK)
        s = customer_template_make(req, &mail);
    if (s != WHARF_OK)
        return s;
    m.to = &address;
    m.n_to = 1;
    m.subject = mail.subject;
    m.text = mail.text;
    m.html = mail.html;
    s = notifications_mail->send(req, &m, NULL);
    if (s == WHARF_OK)
        customer_template_answer(req, "Notification template sent to yourself", &mail);
    return s;
}
