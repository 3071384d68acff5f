/* notification_rows.c - the rows of notifications: made in the step of an event, and ended once
 * (spec 07 section 16.1). Leaves to others: who is told and by what way (customer_*.c,
 * user_*.c). */
#include "notifications.h"

#include "notifications.gen.h"

static void notification_rows_count(
    wharf_req *req, wharf_str kind, wharf_str channel, const char *status)
{
    notifications_metrics->count(req, WHARF_S("wharf_notifications"),
        W->mem->format(req, "kind=\"%.*s\",channel=\"%.*s\",status=\"%s\"", (int)kind.n, kind.p,
            (int)channel.n, channel.p, status),
        1);
}

static wharf_status notification_rows_tell(wharf_req *req, wharf_str id, const char *status)
{
    if (!strcmp(status, "sent"))
        return W->event->emit(req, "notification.sent", "notification", id, NULL);
    if (!strcmp(status, "failed"))
        return W->event->emit(req, "notification.failed", "notification", id, NULL);
    return WHARF_OK;
}

wharf_status notification_add(wharf_req *req, const struct notification *n, wharf_str *ret_id)
{
    static const char sql[] = QUERY_NOTIFICATION_ADD;
    const wharf_event *e = n->event;
    bool user = !strcmp(n->kind, "user");
    wharf_str id = W->req->new_id(req, "ntf");
    const wharf_val args[] = {
        val_text(W->req->organization(req)),
        val_text(id),
        val_text(z(n->kind)),
        val_text(z(n->channel)),
        val_text(e->id),
        val_text(e->type),
        val_text(e->resource_type),
        val_text(e->resource_id),
        val_text_or_null(e->location_id),
        val_text_or_null(n->occasion),
        user ? val_text(n->person) : val_null(),
        user ? val_null() : val_text(n->person),
        val_text_or_null(n->address),
        val_text_or_null(n->language),
        val_text(z(n->status)),
        n->reason ? val_text(z(n->reason)) : val_null(),
        n->next_attempt_us ? val_time(n->next_attempt_us) : val_null(),
        val_text_or_null(e->locations),
        val_time(W->req->now_us(req)),
        val_time(e->expires_at_us),
    };
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, sizeof(args) / sizeof(*args), &rows);

    *ret_id = s == WHARF_OK && W->db->count(rows) ? id : WHARF_S("");
    if (s != WHARF_OK || !ret_id->n)
        return s;
    notification_rows_count(req, z(n->kind), z(n->channel), n->status);
    return notification_rows_tell(req, id, n->status);
}

wharf_status notification_end(wharf_req *req, wharf_str id, const char *status, const char *reason)
{
    static const char sql[] =
        "UPDATE notifications.notification SET status = $2, reason = $3, next_attempt_at = NULL,"
        " sent_at = CASE WHEN $2 = 'sent' THEN $4::timestamptz END, version = version + 1,"
        " updated_at = $4::timestamptz"
        " WHERE organization_id = $5::text AND id = $1 AND status = 'waiting'"
        " RETURNING kind, channel";
    const wharf_val args[] = {val_text(id), val_text(z(status)),
        reason ? val_text(z(reason)) : val_null(), val_time(W->req->now_us(req)),
        val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 5, &rows);

    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    notification_rows_count(req, row_text(rows, 0, 0), row_text(rows, 0, 1), status);
    return notification_rows_tell(req, id, status);
}

wharf_status notification_tried(wharf_req *req, wharf_str id, int64_t next_us)
{
    static const char sql[] =
        "UPDATE notifications.notification SET attempts = attempts + 1, next_attempt_at ="
        " COALESCE($2::timestamptz, next_attempt_at), version = version + 1,"
        " updated_at = $3::timestamptz"
        " WHERE organization_id = $4::text AND id = $1 AND status = 'waiting'";
    const wharf_val args[] = {val_text(id), next_us ? val_time(next_us) : val_null(),
        val_time(W->req->now_us(req)), val_text(W->req->organization(req))};

    return W->db->exec(req, sql, args, 4, NULL);
}
