/* verify.c - the mail that asks whether an address wants alerts, and the pages behind its link
 * and behind "unsubscribe" (spec 07 section 11).
 *
 * A look at a page does nothing: mail programs open links by themselves. Its button, and the
 * one-click of mail programs (RFC 8058), post. */
#include "events.h"
#include "events.gen.h"

#include "events.gen.h"

/* ---- the mail ---- */

/* Prepares the address and a new token; the address is empty when nobody has to be asked any
 * more. */
static wharf_status verify_prepare(
    wharf_req *req, wharf_str id, wharf_str *ret_address, wharf_str *ret_token)
{
    static const char sql[] =
        "SELECT email FROM events.subscriber WHERE organization_id = $2::text AND id = $1"
        " AND deleted_at IS NULL AND status = 'pending_verification'";
    int64_t expires_us = W->req->now_us(req) + (int64_t)VERIFY_HOURS * 3600 * 1000000;
    const wharf_rows *rows;
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    s = query_about(req, sql, id, &rows);
    *ret_address = s == WHARF_OK && W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("");
    if (s == WHARF_OK && ret_address->n)
        s = events_tokens->revoke(req, VERIFY_KIND, id);
    if (s == WHARF_OK && ret_address->n)
        s = events_tokens->make(req, VERIFY_KIND, id, expires_us, ret_token);
    return end_with(req, s);
}

static wharf_status send_link(wharf_req *req, wharf_str address, wharf_str token)
{
    wharf_mail_message m = {.head = WHARF_HEAD(wharf_mail_message),
        .to = &address,
        .n_to = 1,
        .subject = WHARF_S("Confirm that you want to get alerts"),
        .reply_to = WHARF_S(""),
        .message_id = WHARF_S("")};
    wharf_str url;

    url = events_config->url(req,
        W->mem->format(req, "/v1/events/subscribers/verify?token=%.*s", (int)token.n, token.p));
    m.text = W->mem->format(req,
        "Somebody wants alerts of a warehouse system to be sent to this address.\n\nTo confirm it, "
        "open this link within %d hours and press the button:\n\n%.*s\n\nIf you know nothing of "
        "this, do nothing.\n",
        VERIFY_HOURS, (int)url.n, url.p);
    m.html = W->mem->format(req,
        "<p>Somebody wants alerts of a warehouse system to be sent to this address.</p><p>To "
        "confirm it, open <a href=\"%.*s\">this page</a> within %d hours and press the "
        "button.</p><p>If you know nothing of this, do nothing.</p>",
        (int)url.n, url.p, VERIFY_HOURS);
    return events_mail->send(req, &m, "email");
}

/* Sends the link. The token is committed before the mail goes out: who opens the link at once
 * finds it. */
wharf_status verify_send(wharf_req *req, void *arg)
{
    const wharf_json *body;
    wharf_str id = WHARF_S(""), address = WHARF_S(""), token = WHARF_S("");
    wharf_status s = W->req->body(req, &body);

    if (s == WHARF_OK)
        W->json->text(W->json->get(body, "subscriber"), &id);
    if (s == WHARF_OK)
        s = verify_prepare(req, id, &address, &token);
    if (s != WHARF_OK || !address.n)
        return s;
    s = send_link(req, address, token);
    if (s != WHARF_OK && s != WHARF_INVALID)
        return s; /* tried again */
    W->err->clear(req);
    if (W->db->begin(req) != WHARF_OK)
        return WHARF_UNAVAILABLE;
    return end_with(req, subscriber_answered(req, id, s == WHARF_INVALID));
}

/* ---- the pages ---- */

/* Finds the thing that the link stands for; fails with subscriber.token_invalid when there is
 * none. */
static wharf_status verify_enter(wharf_req *req, const char *kind, wharf_str *ret_id)
{
    wharf_str token = WHARF_S("");
    wharf_status s;

    W->req->param(req, "token", &token);
    s = events_tokens->enter(req, kind, token, ret_id);
    if (s != WHARF_NOT_FOUND)
        return s;
    W->err->clear(req);
    return W->err->fail(req, ERR_SUBSCRIBER_TOKEN_INVALID, "token", NULL);
}

wharf_status verify_page(wharf_req *req, void *arg)
{
    wharf_str id;
    wharf_status s = verify_enter(req, VERIFY_KIND, &id);

    if (s == WHARF_OK)
        events_tokens->page(req, 200, WHARF_S("Confirm your address"),
            WHARF_S("Alerts of a warehouse system shall be sent to you. Press the button if you "
                    "want that."),
            WHARF_S("Send me alerts"));
    return s;
}

wharf_status verify_done(wharf_req *req, void *arg)
{
    static const char sql[] = QUERY_SUBSCRIBER_VERIFIED;
    wharf_val args[3];
    const wharf_rows *rows;
    bool active;
    wharf_str id;
    wharf_status s = verify_enter(req, VERIFY_KIND, &id);

    if (s != WHARF_OK)
        return s;
    args[0] = val_text(id);
    args[1] = val_text(W->req->organization(req));
    args[2] = val_time(W->req->now_us(req));
    s = W->db->query(req, sql, args, 3, &rows);
    if (s == WHARF_OK && !W->db->count(rows))
        return W->err->fail(req, ERR_SUBSCRIBER_TOKEN_INVALID, "token", NULL);
    if (s == WHARF_OK)
        s = events_tokens->revoke(req, VERIFY_KIND, id);
    if (s == WHARF_OK)
        s = W->event->emit(req, "event_subscriber.verified", "event_subscriber", id, NULL);
    if (s != WHARF_OK)
        return s;
    active = same(row_text(rows, 0, 0), WHARF_S("active"));
    events_tokens->page(req, 200, WHARF_S("Your address is confirmed"),
        active ? WHARF_S("Alerts are sent to you from now on.")
               : WHARF_S("An owner of the organization still has to approve; alerts are sent to "
                         "you from then on."),
        WHARF_S(""));
    return WHARF_OK;
}

wharf_status unsubscribe_page(wharf_req *req, void *arg)
{
    wharf_str id;
    wharf_status s = verify_enter(req, UNSUBSCRIBE_KIND, &id);

    if (s == WHARF_OK)
        events_tokens->page(req, 200, WHARF_S("No more alerts"),
            WHARF_S("Press the button and no more alerts are sent to you."),
            WHARF_S("Unsubscribe"));
    return s;
}

/* Unsubscribes. id: a subscriber, or "@" and the address of an administrator who is none. */
wharf_status unsubscribe_done(wharf_req *req, void *arg)
{
    static const char mute_sql[] = "INSERT INTO events.muted (organization_id, address, at) VALUES "
                                   "($1, $2, $3::timestamptz) ON CONFLICT DO NOTHING";
    wharf_val args[3];
    wharf_str id;
    wharf_status s = verify_enter(req, UNSUBSCRIBE_KIND, &id);

    if (s != WHARF_OK)
        return s;
    if (id.p[0] == '@') {
        args[0] = val_text(W->req->organization(req));
        args[1] = val_text((wharf_str){id.p + 1, id.n - 1});
        args[2] = val_time(W->req->now_us(req));
        s = W->db->exec(req, mute_sql, args, 3, NULL);
    } else {
        s = W->res->remove(req, "event_subscriber", id);
    }
    if (s != WHARF_OK)
        return s;
    events_tokens->page(req, 200, WHARF_S("You are unsubscribed"),
        WHARF_S("No more alerts are sent to you."), WHARF_S(""));
    return WHARF_OK;
}
