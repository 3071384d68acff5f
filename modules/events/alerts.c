/* alerts.c - mail about system events: to subscribers, to administrators about webhooks, to
 * users who asked for it about integrations (spec 07 sections 10 to 12).
 *
 * The step notes who is to be told of what, one row per event and address; a job per line
 * (address, resource, type) makes one mail of what waits, at most once an hour: what comes
 * within the hour goes out together when it ends, with a count. So nothing is lost. */
#include "events.h"
#include "events.gen.h"

enum {
    HOUR_S = 3600, /* an address gets one mail of a kind in this time */
    SHOWN_MAX = 50, /* events that a mail lists */
    KEY_MAX = 200
};

struct line {
    wharf_str address, resource, type;
};

/* ---- the step ---- */

static bool alerts_starts(wharf_str s, const char *with)
{
    return s.n >= strlen(with) && !memcmp(s.p, with, strlen(with));
}

/* Tells whether a webhook was deleted automatically: that is no system event, and still told to
 * administrators (section 9 'Invalid URLs'). */
static bool lost_webhook(wharf_req *req, const wharf_event *e)
{
    const wharf_json *body, *data;
    wharf_str reason;

    if (!same(e->type, WHARF_S("webhook.deleted")) || events_api->parsed(req, e, &body) != WHARF_OK)
        return false;
    data = W->json->get(body, "data");
    return data && W->json->get(data, "deletion_reason") &&
           W->json->text(W->json->get(data, "deletion_reason"), &reason) &&
           same(reason, WHARF_S("invalid_url"));
}

/* Finds who is told beside subscribers: administrators of webhooks' health and of workflows that
 * were disabled or fail, and of failing integrations the users who asked for it. */
static wharf_status others(
    wharf_req *req, wharf_str type, bool lost, const wharf_str **ret_emails, size_t *ret_n)
{
    *ret_n = 0;
    if (lost || alerts_starts(type, "webhook.") || same(type, WHARF_S("workflow.disabled")) ||
        same(type, WHARF_S("workflow.failing")))
        return events_org->administrators(req, ret_emails, ret_n);
    if (alerts_starts(type, "outgoing_integration.") || alerts_starts(type, "incoming_webhook."))
        return events_org->listeners(req, type, ret_emails, ret_n);
    return WHARF_OK;
}

static wharf_status put_alert(wharf_req *req, wharf_out *out, const wharf_event *e, bool lost)
{
    const wharf_str *emails;
    size_t n;
    wharf_status s = others(req, e->type, lost, &emails, &n);

    W->json->open(out, NULL, '{');
    W->json->put(out, "e", val_text(e->id));
    W->json->put(out, "t", val_text(e->type));
    W->json->put(out, "r", val_text(e->resource_id));
    W->json->put(out, "a", val_time(e->timestamp_us));
    W->json->open(out, "o", '[');
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        W->json->put(out, NULL, val_text(emails[i]));
    W->json->close(out);
    W->json->close(out);
    return s;
}

/* Writes rows for everybody who is to be told, and reads the lines that have no job yet. */
static wharf_status note_alerts(
    wharf_req *req, const wharf_json *list, const wharf_rows **ret_lines)
{
    static const char sql[] = QUERY_ALERTS_NOTE;
    wharf_val args[2] = {val_text(W->req->organization(req)), val_json(list)};

    return W->db->query(req, sql, args, 2, ret_lines);
}

static wharf_status alerts_ask_for_mail(wharf_req *req, const struct line *l, int64_t at_us)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *args;
    wharf_str key;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "address", val_text(l->address));
    W->json->put(out, "resource", val_text(l->resource));
    W->json->put(out, "type", val_text(l->type));
    W->json->close(out);
    s = W->json->result(req, out, &args);
    key = W->mem->format(req, "%.*s %.*s %.*s", (int)l->resource.n, l->resource.p, (int)l->type.n,
        l->type.p, (int)l->address.n, l->address.p);
    if (key.n > KEY_MAX)
        key.n = KEY_MAX; /* lines that share it wait for each other: no harm */
    return s == WHARF_OK ? W->event->enqueue(req, "alert", key, args, at_us) : s;
}

wharf_status alerts_step(
    wharf_req *req, const wharf_event *const *list, size_t n, uint8_t *outcomes, void *arg)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *alerts;
    const wharf_rows *lines;
    bool any = false;
    wharf_status s = WHARF_OK;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        bool lost = lost_webhook(req, list[i]);

        if (!list[i]->system && !lost) {
            outcomes[i] = WHARF_STEP_SKIPPED;
            continue;
        }
        s = put_alert(req, out, list[i], lost);
        any = true;
    }
    W->json->close(out);
    if (s != WHARF_OK || !any)
        return s;
    s = W->json->result(req, out, &alerts);
    if (s == WHARF_OK)
        s = note_alerts(req, alerts, &lines);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(lines); i++) {
        struct line l = {row_text(lines, i, 0), row_text(lines, i, 1), row_text(lines, i, 2)};
        wharf_val mailed;
        bool before = W->db->value(lines, i, 3, WHARF_V_TIME_US, &mailed);

        s = alerts_ask_for_mail(req, &l, before ? mailed.u.i + HOUR_S * 1000000LL : 0);
    }
    return s;
}

/* ---- the mail ---- */

static wharf_str argument(wharf_req *req, const char *name)
{
    const wharf_json *body, *v;
    wharf_str s = WHARF_S("");

    if (W->req->body(req, &body) == WHARF_OK && (v = W->json->get(body, name)) != NULL)
        W->json->text(v, &s);
    return s;
}

/* Tells whether the line is still wanted. ret_subscriber: its id, or "" of a user. */
static wharf_status still_wanted(
    wharf_req *req, const struct line *l, bool *ret_wanted, wharf_str *ret_subscriber)
{
    static const char subscriber_sql[] =
        "SELECT id FROM events.subscriber WHERE organization_id = $2::text AND email = $1"
        " AND deleted_at IS NULL AND status = 'active' AND events ? $3";
    static const char muted_sql[] =
        "SELECT 1 FROM events.muted WHERE organization_id = $2::text AND address = $1";
    const wharf_val args[] = {
        val_text(l->address), val_text(W->req->organization(req)), val_text(l->type)};
    const wharf_str *emails;
    const wharf_rows *rows;
    size_t n;
    wharf_status s = W->db->query(req, subscriber_sql, args, 3, &rows);

    *ret_subscriber = WHARF_S("");
    *ret_wanted = s == WHARF_OK && W->db->count(rows);
    if (s != WHARF_OK || *ret_wanted) {
        *ret_subscriber = *ret_wanted ? row_text(rows, 0, 0) : WHARF_S("");
        return s;
    }
    s = W->db->query(req, muted_sql, args, 2, &rows);
    if (s != WHARF_OK || W->db->count(rows))
        return s;
    s = others(req, l->type, false, &emails, &n);
    for (size_t i = 0; s == WHARF_OK && i < n; i++)
        *ret_wanted |= same(emails[i], l->address);
    return s;
}

static wharf_status unsubscribe_url(
    wharf_req *req, const struct line *l, wharf_str subscriber, wharf_str *ret_url)
{
    int64_t expires_us = W->req->now_us(req) + (int64_t)UNSUBSCRIBE_DAYS * 86400 * 1000000;
    wharf_str token, id = subscriber.n
                              ? subscriber
                              : W->mem->format(req, "@%.*s", (int)l->address.n, l->address.p);
    wharf_status s = events_tokens->make(req, UNSUBSCRIBE_KIND, id, expires_us, &token);

    if (s == WHARF_OK)
        *ret_url = events_config->url(
            req, W->mem->format(
                     req, "/v1/events/subscribers/unsubscribe?token=%.*s", (int)token.n, token.p));
    return s;
}

/* Returns the times of what is told, one per line; the newest fifty. */
static wharf_str times_text(wharf_req *req, const wharf_rows *rows)
{
    wharf_str s = WHARF_S("");
    size_t n = W->db->count(rows);

    for (size_t i = 0; i < n && i < SHOWN_MAX; i++) {
        wharf_str at = row_text(rows, i, 1), id = row_text(rows, i, 0);

        s = W->mem->format(
            req, "%.*s  %.*s  %.*s\n", (int)s.n, s.p, (int)at.n, at.p, (int)id.n, id.p);
    }
    return n > SHOWN_MAX ? W->mem->format(req, "%.*s  and %zu more\n", (int)s.n, s.p, n - SHOWN_MAX)
                         : s;
}

static wharf_status alerts_send_mail(
    wharf_req *req, const struct line *l, wharf_str subscriber, const wharf_rows *rows)
{
    wharf_event_type t = {.head = WHARF_HEAD(wharf_event_type), .description = WHARF_S("")};
    wharf_mail_message m = {.head = WHARF_HEAD(wharf_mail_message),
        .to = &l->address,
        .n_to = 1,
        .reply_to = WHARF_S(""),
        .html = WHARF_S(""),
        .message_id = WHARF_S("")};
    wharf_str times = times_text(req, rows);
    size_t n = W->db->count(rows);
    wharf_status s = unsubscribe_url(req, l, subscriber, &m.unsubscribe);

    if (s != WHARF_OK)
        return s;
    events_api->type_find(events_self, l->type, &t);
    m.subject = n > 1 ? W->mem->format(req, "%.*s: %zu alerts (%.*s)", (int)l->type.n, l->type.p, n,
                            (int)l->resource.n, l->resource.p)
                      : W->mem->format(req, "%.*s (%.*s)", (int)l->type.n, l->type.p,
                            (int)l->resource.n, l->resource.p);
    m.text = W->mem->format(req,
        "%.*s.\n\nType: %.*s\nConcerns: %.*s\nNumber: %zu\n\nTime and event:\n%.*s\nNo more of "
        "these mails: %.*s\n",
        (int)t.description.n, t.description.p, (int)l->type.n, l->type.p, (int)l->resource.n,
        l->resource.p, n, (int)times.n, times.p, (int)m.unsubscribe.n, m.unsubscribe.p);
    return events_mail->send(req, &m, "email");
}

/* Takes what waits now, which goes with this mail; from here on a new alert asks for a mail of its
 * own. */
static wharf_status take_waiting(wharf_req *req, const struct line *l, const wharf_rows **ret_rows)
{
    static const char line_sql[] =
        "UPDATE events.alert_line SET due = false WHERE organization_id = $4::text "
        "AND address = $1 AND resource_id = $2 AND type = $3";
    static const char sql[] =
        "SELECT event_id, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS \"UTC\"') FROM "
        "events.alert WHERE organization_id = $4::text AND address = $1 AND resource_id = $2 "
        "AND type = $3 AND mailed_at IS NULL ORDER BY at DESC";
    const wharf_val args[] = {val_text(l->address), val_text(l->resource), val_text(l->type),
        val_text(W->req->organization(req))};
    wharf_status s = W->db->exec(req, line_sql, args, 4, NULL);

    return s == WHARF_OK ? W->db->query(req, sql, args, 4, ret_rows) : s;
}

static wharf_status ids_json(wharf_req *req, const wharf_rows *rows, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < W->db->count(rows); i++)
        W->json->put(out, NULL, val_text(row_text(rows, i, 0)));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

/* Marks the alerts: they were mailed, or nobody wants them any more. */
static wharf_status alerts_mark(wharf_req *req, const struct line *l, const wharf_rows *rows)
{
    static const char sql[] =
        "UPDATE events.alert SET mailed_at = $2::timestamptz WHERE organization_id = $4::text "
        "AND address = $1 AND event_id IN (SELECT jsonb_array_elements_text($3::jsonb))";
    const wharf_json *ids = NULL;
    wharf_status s = ids_json(req, rows, &ids);
    const wharf_val args[] = {val_text(l->address), val_time(W->req->now_us(req)), val_json(ids),
        val_text(W->req->organization(req))};

    return s == WHARF_OK ? W->db->exec(req, sql, args, 4, NULL) : s;
}

/* Notes that the line's mail goes now, before it goes: an alert that comes while the mail server is
 * talked to waits its hour too. */
static wharf_status alerts_line_mailed(wharf_req *req, const struct line *l)
{
    static const char sql[] =
        "UPDATE events.alert_line SET mailed_at = $2::timestamptz WHERE organization_id = $5::text "
        "AND address = $1 AND resource_id = $3 AND type = $4";
    const wharf_val args[] = {val_text(l->address), val_time(W->req->now_us(req)),
        val_text(l->resource), val_text(l->type), val_text(W->req->organization(req))};

    return W->db->exec(req, sql, args, 5, NULL);
}

/* Sends the mail, with transactions of its own: none is open while the mail server is talked to,
 * since the step waits for these rows. */
wharf_status alerts_send(wharf_req *req, void *arg)
{
    struct line l = {argument(req, "address"), argument(req, "resource"), argument(req, "type")};
    wharf_str subscriber;
    const wharf_rows *rows;
    bool wanted, refused;
    wharf_status s = W->db->begin(req);

    if (s == WHARF_OK)
        s = take_waiting(req, &l, &rows);
    if (s == WHARF_OK)
        s = still_wanted(req, &l, &wanted, &subscriber);
    if (s == WHARF_OK && !wanted)
        s = alerts_mark(req, &l, rows);
    if (s == WHARF_OK && wanted && W->db->count(rows))
        s = alerts_line_mailed(req, &l);
    if (s == WHARF_OK)
        s = W->db->commit(req);
    if (s != WHARF_OK || !wanted || !W->db->count(rows))
        return s;
    s = alerts_send_mail(req, &l, subscriber, rows);
    refused = s == WHARF_INVALID;
    if (s != WHARF_OK && !refused)
        return s; /* tried again; what comes meanwhile goes with it */
    W->err->clear(req);
    s = W->db->begin(req);
    if (s == WHARF_OK && subscriber.n)
        s = subscriber_answered(req, subscriber, refused);
    if (s == WHARF_OK)
        s = alerts_mark(req, &l, rows);
    return s == WHARF_OK ? W->db->commit(req) : s;
}
