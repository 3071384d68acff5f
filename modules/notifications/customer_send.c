/* customer_send.c - the job that mails a contact (spec 07 section 16.3, rules 6 to 8).
 *
 * Its key is the contact, and it sends the oldest mail that waits for that contact, whichever job
 * it is: so mails of a contact go in the order of their events, and a job that runs twice sends
 * nothing twice. There is a job for each row; one that can't send yet asks for itself again.
 * No transaction is open while the mail server is talked to. What a crash leaves unsaid is sent
 * again with the same Message-ID: no more than the time between the server's answer and the
 * commit behind it. */
#include "customers.h"

#include "notifications.gen.h"

enum {
    WAIT_FIRST_S = 30, /* before the second try; doubled */
    WAIT_MOST_S = 7200 /* longest wait */
};

/* A mail that is sent now. */
struct sending {
    wharf_str contact, id, event_id, shipment_id, location_id, occasion, address, language;
    int64_t attempts, created_us, due_us;
    wharf_str reply_to, opt_out_url;
    struct customer_mail mail;
};

/* ---- the next one ---- */

/* Reads the oldest that waits, locked. Its id is empty when there is none. */
static wharf_status read_next(wharf_req *req, struct sending *x)
{
    static const char sql[] =
        "SELECT id, event_id, resource_id, location_id, occasion, attempts, created_at,"
        " next_attempt_at FROM notifications.notification"
        " WHERE organization_id = $2::text AND contact_id = $1::text AND status = 'waiting'"
        " AND channel = 'mail' ORDER BY position LIMIT 1 FOR UPDATE";
    const wharf_rows *rows;
    wharf_val at;
    wharf_status s = query_about(req, sql, x->contact, &rows);

    x->id = WHARF_S("");
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    x->id = row_text(rows, 0, 0);
    x->event_id = row_text(rows, 0, 1);
    x->shipment_id = row_text(rows, 0, 2);
    x->location_id = row_text(rows, 0, 3);
    x->occasion = row_text(rows, 0, 4);
    x->attempts = row_int(rows, 0, 5);
    x->created_us = W->db->value(rows, 0, 6, WHARF_V_TIME_US, &at) ? at.u.i : 0;
    x->due_us = W->db->value(rows, 0, 7, WHARF_V_TIME_US, &at) ? at.u.i : 0;
    return WHARF_OK;
}

/* Judges whether the contact is still to be mailed. *ret_reason: why not, or NULL. */
static wharf_status customer_send_judge(wharf_req *req, struct sending *x, const char **ret_reason)
{
    const wharf_json *reach;
    wharf_status s = customers_contacts->reach(req, &x->contact, 1, &reach);

    if (s != WHARF_OK)
        return s;
    x->address = json_text(reach, "email");
    x->language = json_text(reach, "language");
    *ret_reason = json_truth(W->json->get(reach, "opted_out")) ? "opted_out"
                  : !x->address.n                              ? "no_address"
                  : json_truth(W->json->get(reach, "bounced")) ? "bounced"
                                                               : NULL;
    return WHARF_OK;
}

/* Finds the mail to send now. Its id is empty when there is none, or none yet: then the job has
 * asked for itself again. */
static wharf_status customer_send_find(wharf_req *req, struct sending *x)
{
    const char *reason = "";
    wharf_status s = WHARF_OK;

    while (s == WHARF_OK && reason) {
        s = W->db->begin(req);
        if (s != WHARF_OK)
            return s;
        s = read_next(req, x);
        reason = NULL;
        if (s == WHARF_OK && x->id.n && x->due_us > W->req->now_us(req)) {
            s = customer_queue(req, x->contact, x->due_us);
            x->id = WHARF_S("");
        } else if (s == WHARF_OK && x->id.n) {
            s = customer_send_judge(req, x, &reason);
        }
        if (s == WHARF_OK && reason)
            s = notification_end(req, x->id, "skipped", reason);
        s = end_with(req, s);
    }
    return s;
}

/* ---- putting off ---- */

/* Puts the mail off until then, with another try or without. */
static wharf_status customer_send_put_off(
    wharf_req *req, const struct sending *x, int64_t until_us, bool tried)
{
    static const char sql[] =
        "UPDATE notifications.notification SET next_attempt_at = $2::timestamptz"
        " WHERE organization_id = $3::text AND id = $1::text AND status = 'waiting'";
    const wharf_val args[] = {
        val_text(x->id), val_time(until_us), val_text(W->req->organization(req))};
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    s = tried ? notification_tried(req, x->id, until_us) : W->db->exec(req, sql, args, 3, NULL);
    if (s == WHARF_OK)
        s = customer_queue(req, x->contact, until_us);
    return end_with(req, s);
}

/* Puts it off behind those that came before it: so each is looked at about once more. */
static wharf_status customer_send_wait_for_turn(
    wharf_req *req, const struct sending *x, int64_t wait_us, int64_t pace_us)
{
    static const char sql[] =
        "SELECT count(*) FROM notifications.notification n"
        " WHERE n.organization_id = $2::text AND n.status = 'waiting' AND n.channel = 'mail'"
        " AND n.position < (SELECT o.position FROM notifications.notification o"
        " WHERE o.organization_id = $2::text AND o.id = $1::text)";
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, x->id, &rows);

    return s == WHARF_OK ? customer_send_put_off(req, x,
                               W->req->now_us(req) + wait_us + row_int(rows, 0, 0) * pace_us, false)
                         : s;
}

/* ---- the mail ---- */

/* Ends the row with what was sent, or was to be. */
static wharf_status end_row(
    wharf_req *req, const struct sending *x, const char *status, const char *reason)
{
    static const char sql[] =
        "UPDATE notifications.notification SET address = $2::text, language = $3::text,"
        " title = $4::text, body = $5::text WHERE organization_id = $6::text AND id = $1::text"
        " AND status = 'waiting'";
    const wharf_val args[] = {val_text(x->id), val_text(x->address), val_text_or_null(x->language),
        val_text_or_null(x->mail.subject), val_text_or_null(x->mail.text),
        val_text(W->req->organization(req))};
    wharf_status s = W->db->exec(req, sql, args, 6, NULL);

    return s == WHARF_OK ? notification_end(req, x->id, status, reason) : s;
}

static wharf_status end_alone(
    wharf_req *req, const struct sending *x, const char *status, const char *reason)
{
    wharf_status s = W->db->begin(req);

    return s == WHARF_OK ? end_with(req, end_row(req, x, status, reason)) : s;
}

/* Makes subject and texts. *ret_reason: why there is no mail, or NULL. */
static wharf_status customer_send_make(wharf_req *req, struct sending *x, const char **ret_reason)
{
    struct customer_about about = {.event_id = x->event_id,
        .shipment_id = x->shipment_id,
        .contact_id = x->contact,
        .occasion = x->occasion};
    struct customer_settings settings;
    struct customer_template t;
    const wharf_json *data;
    wharf_str languages[2] = {x->language};
    wharf_status s = customer_settings(req, &x->location_id, 1, &settings);

    if (s == WHARF_OK)
        s = customer_link(req, x->contact, &x->opt_out_url);
    about.time_zone = settings.time_zone;
    about.opt_out_url = x->opt_out_url;
    if (s == WHARF_OK)
        s = customer_data(req, &about, &data);
    languages[1] = settings.language;
    if (s == WHARF_OK)
        s = customer_template(req, x->occasion, x->location_id, languages, 2, &t);
    if (s == WHARF_OK)
        s = customer_make(req, &t, data, &x->mail);
    x->reply_to = settings.reply_to;
    x->language = t.language;
    *ret_reason = s == WHARF_OK && (x->mail.problems || x->mail.missing) ? "template" : NULL;
    return s;
}

/* Makes it in a transaction of its own: what it makes (the link) is there before the mail is. */
static wharf_status customer_send_prepare(
    wharf_req *req, struct sending *x, const char **ret_reason)
{
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    s = customer_send_make(req, x, ret_reason);
    if (s == WHARF_OK && !notifications_config->url(req, WHARF_S("")).n)
        *ret_reason = "no_base_url";
    if (s == WHARF_OK && *ret_reason)
        s = end_row(req, x, "failed", *ret_reason);
    return end_with(req, s);
}

/* Says when it is tried again: after half a minute, each wait twice the last. */
static int64_t next_try_us(wharf_req *req, const struct sending *x)
{
    int64_t wait = WAIT_FIRST_S;

    for (int64_t i = 0; i < x->attempts && wait < WAIT_MOST_S; i++)
        wait *= 2;
    return W->req->now_us(req) + (wait < WAIT_MOST_S ? wait : WAIT_MOST_S) * 1000000;
}

static wharf_status customer_send_refused(
    wharf_req *req, const struct sending *x, const wharf_mail_answer *said)
{
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    W->log->write(notifications_self, req, WHARF_LOG_WARN, "notification.refused", "id=%.*s %.*s",
        (int)x->id.n, x->id.p, (int)said->words.n, said->words.p);
    s = end_row(req, x, "failed", "refused");
    if (s == WHARF_OK && said->address)
        s = customers_contacts->bounced(req, x->contact, x->address, said->words);
    return end_with(req, s);
}

static wharf_status deliver(wharf_req *req, struct sending *x)
{
    const wharf_mail_message m = {.head = WHARF_HEAD(wharf_mail_message),
        .to = &x->address,
        .n_to = 1,
        .reply_to = x->reply_to,
        .subject = x->mail.subject,
        .text = x->mail.text,
        .html = x->mail.html,
        .message_id = W->mem->format(req, "%.*s@wharf", (int)x->id.n, x->id.p),
        .unsubscribe = x->opt_out_url};
    wharf_mail_answer said = {.head = WHARF_HEAD(wharf_mail_answer)};
    wharf_status s = notifications_mail->deliver(req, &m, &said);

    if (s != WHARF_OK)
        return s;
    if (said.outcome == WHARF_MAIL_SENT)
        return end_alone(req, x, "sent", NULL);
    if (said.outcome == WHARF_MAIL_REFUSED)
        return customer_send_refused(req, x, &said);
    if (x->created_us + GIVE_UP_HOURS * HOUR_US <= W->req->now_us(req))
        return end_alone(req, x, "failed", "unreachable");
    return customer_send_put_off(req, x, next_try_us(req, x), true);
}

wharf_status customer_send(wharf_req *req, void *arg)
{
    struct sending x = {.id = WHARF_S("")};
    const char *reason = NULL;
    const wharf_json *body;
    int64_t wait_us = 0, pace_us = 0;
    wharf_status s = W->req->body(req, &body);

    x.contact = json_text(body, "contact");
    if (s != WHARF_OK || !customers_contacts)
        return s;
    s = customer_send_find(req, &x);
    if (s != WHARF_OK || !x.id.n)
        return s;
    if (!notifications_mail->turn(req, &wait_us, &pace_us))
        return customer_send_wait_for_turn(req, &x, wait_us, pace_us);
    s = customer_send_prepare(req, &x, &reason);
    return s == WHARF_OK && !reason ? deliver(req, &x) : s;
}

/* ---- what no job is about ---- */

/* Asks for jobs of contacts whose mails are due for long: those of a job that was parked, or
 * cancelled. */
wharf_status customer_sweep(wharf_req *req, void *arg)
{
    static const char sql[] =
        "SELECT DISTINCT contact_id FROM notifications.notification"
        " WHERE organization_id = $1::text AND status = 'waiting' AND channel = 'mail'"
        " AND next_attempt_at < $2::timestamptz - interval '10 minutes'"
        " LIMIT " SQL_NUMBER(1000);
    const wharf_val args[2] = {val_text(W->req->organization(req)), val_time(W->req->now_us(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 2, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = customer_queue(req, row_text(rows, i, 0), 0);
    return s;
}
