/* notification_routes.c - sending a notification again, and forgetting those that are over (spec
 * 07 section 16.1). */
#include "notifications.h"

#include "notifications.gen.h"

static wharf_status notification_judge(wharf_req *req, const wharf_rec *rec)
{
    wharf_str status = field_text(rec, NOTIFICATION_STATUS),
              reason = field_text(rec, NOTIFICATION_REASON);

    if (is(status, "failed") ||
        (is(status, "skipped") &&
            (is(reason, "no_address") || is(reason, "bounced") || is(reason, "no_device"))))
        return WHARF_OK;
    return W->err->fail(req, ERR_NOTIFICATION_NOT_FAILED, NULL, NULL);
}

wharf_status notification_resend(wharf_req *req, void *arg)
{
    static const char sql[] = QUERY_NOTIFICATION_AGAIN;
    wharf_str id, again = W->req->new_id(req, "ntf");
    const wharf_rec *rec;
    wharf_val args[4];
    bool user;
    wharf_status s;

    W->req->param(req, "notification", &id);
    s = W->res->fetch(req, "notification", id, 0, &rec);
    if (s == WHARF_OK)
        s = notification_judge(req, rec);
    if (s != WHARF_OK)
        return s;
    args[0] = val_text(W->req->organization(req));
    args[1] = val_text(id);
    args[2] = val_text(again);
    args[3] = val_time(W->req->now_us(req));
    s = W->db->exec(req, sql, args, 4, NULL);
    user = is(field_text(rec, NOTIFICATION_KIND), "user");
    if (s == WHARF_OK)
        s = user ? user_queue(req, field_text(rec, NOTIFICATION_USER_ID), 0)
                 : customer_queue(req, field_text(rec, NOTIFICATION_CONTACT_ID), 0);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "notification", again, WHARF_SHOWN, &rec);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 202, "Notification is sent again"), NULL, rec);
    return s;
}

wharf_status notification_tidy(wharf_req *req, void *arg)
{
    static const char sql[] =
        "DELETE FROM notifications.notification WHERE organization_id = $1::text AND id IN"
        " (SELECT id FROM notifications.notification WHERE organization_id = $1::text"
        " AND expires_at < $2::timestamptz AND status <> 'waiting' LIMIT 1000)";
    const wharf_val args[2] = {val_text(W->req->organization(req)), val_time(W->req->now_us(req))};
    uint64_t n = 1;
    wharf_status s = WHARF_OK;

    while (s == WHARF_OK && n && !W->req->cancelled(req))
        s = W->db->exec(req, sql, args, 2, &n);
    return s;
}
