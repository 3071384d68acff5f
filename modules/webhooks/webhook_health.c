/* webhook_health.c - what a webhook's figures, its receiver or time ask for: suspended,
 * degraded, disabled, enabled again, deleted (spec 07 section 10).
 *
 * Each is one transaction of the webhook's organization: the row and the event with the whole
 * webhook. Leaves to others: the figures themselves (webhooks.judge), changes that people make
 * (webhook_rules.c), the mail to administrators, which follows from the event (module events). */
#include "webhooks.gen.h"
#include "webhooks.h"

/* ---- changes ---- */

struct change {
    const char *care, *sql, *event; /* event NULL: none */
    const char *from, *to; /* of the status; NULL: it stays */
};

#define SET(what, where)                                                                           \
    "UPDATE webhooks.webhook SET " what                                                            \
    " WHERE organization_id = $1::text AND id = $2::text AND deleted_at IS NULL"                   \
    " AND " where " RETURNING id"
#define STAMP ", updated_at = $3::timestamptz, updated_by = 'sys', version = version + 1"

static const struct change changes[] = {
    {"suspend",
        SET("status = 'suspended', status_reason = 'failures', enable_at = $3::timestamptz + "
            "interval '1 hour'" STAMP,
            "status = 'enabled'"),
        .event = "webhook.suspended", .from = "enabled", .to = "suspended"},
    {"settings",
        SET("status = 'suspended', status_reason = 'settings', enable_at = NULL" STAMP,
            "status = 'enabled'"),
        .event = "webhook.suspended", .from = "enabled", .to = "suspended"},
    {"disable",
        SET("status = 'disabled', status_reason = 'failure_rate', disabled_at = $3::timestamptz, "
            "enable_at = NULL" STAMP,
            "status = 'enabled'"),
        .event = "webhook.disabled", .from = "enabled", .to = "disabled"},
    {"receiver_request",
        SET("status = 'disabled', status_reason = 'receiver_request', disabled_at = "
            "$3::timestamptz, enable_at = "
            "NULL" STAMP,
            "status <> 'disabled'"),
        .event = "webhook.disabled", .from = "enabled", .to = "disabled"},
    {"degrade", SET("degraded_at = COALESCE(degraded_at, $3::timestamptz)", "status = 'enabled'"),
        .event = "webhook.degraded"},
    {"recover", SET("degraded_at = NULL", "$3::timestamptz IS NOT NULL")},
};

static wharf_status make_change(wharf_req *req, const struct change *c, wharf_str id)
{
    static const char raised_sql[] =
        "UPDATE webhooks.runtime SET degraded_raised_at = CASE WHEN $4::boolean THEN "
        "$3::timestamptz END"
        " WHERE organization_id = $1::text AND webhook_id = $2::text AND (NOT $4::boolean OR "
        "degraded_raised_at IS NULL OR degraded_raised_at <= $3::timestamptz - interval '24 "
        "hours')";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(id),
        val_time(W->req->now_us(req)), val_bool(c->event != NULL)};
    const wharf_rows *rows;
    uint64_t n = 1;
    wharf_status s = W->db->query(req, c->sql, args, 3, &rows);

    if (s != WHARF_OK || !W->db->count(rows))
        return s; /* somebody was faster */
    if (!c->to)
        s = W->db->exec(req, raised_sql, args, 4, &n);
    else
        s = delivery_status_changed(
            req, id, (wharf_str){c->from, strlen(c->from)}, (wharf_str){c->to, strlen(c->to)});
    if (s == WHARF_OK && c->event && n)
        s = W->event->emit(req, c->event, "webhook", id, NULL);
    return s;
}

/* Enables a webhook by time: through the resource, so that it is logged and told of as any
 * change. */
static wharf_status enable(wharf_req *req, wharf_str id)
{
    struct call call = {.doing = DOING_ENABLE};

    return webhook_write_by_call(req, WHARF_UPDATE, id, &call);
}

static wharf_status webhook_health_end(wharf_req *req, wharf_str id)
{
    struct call call = {.doing = DOING_END};

    return webhook_write_by_call(req, WHARF_DELETE, id, &call);
}

static wharf_status do_care(wharf_req *req, wharf_str id, wharf_str care)
{
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        if (is(care, changes[i].care))
            return make_change(req, &changes[i], id);
    }
    return is(care, "enable") ? enable(req, id) : webhook_health_end(req, id);
}

/* Judges a stored URL. Returns what is to be done about its webhook; empty: nothing. A URL that is
 * only good with net.allow_http may be good again tomorrow: its webhook waits. */
static wharf_str care_of_url(wharf_req *req, wharf_str url, bool by_settings)
{
    wharf_status s = url_check(req, url, "url");

    if (s == WHARF_OK)
        return by_settings ? WHARF_S("enable") : WHARF_S("");
    W->err->clear(req);
    s = url_check_http(req, url, "url");
    W->err->clear(req);
    return s == WHARF_OK ? WHARF_S("settings") : WHARF_S("invalid_url");
}

/* Checks all stored URLs once, at the start of the engine: the rules, or the operator's
 * exceptions, may have changed. */
static wharf_status check_urls(wharf_req *req)
{
    static const char sql[] = "SELECT organization_id, webhook_id, url, by_settings FROM "
                              "webhooks.all_urls($1::text, $2::text)";
    wharf_val at[] = {val_text(WHARF_S("")), val_text(WHARF_S(""))};
    const wharf_rows *rows;
    size_t n;

    do {
        wharf_status s = W->db->begin(req);

        if (s == WHARF_OK)
            s = W->db->query(req, sql, at, 2, &rows);
        if (s == WHARF_OK)
            s = W->db->commit(req);
        if (s != WHARF_OK)
            return s;
        n = W->db->count(rows);
        for (size_t i = 0; i < n; i++) {
            wharf_str care = care_of_url(req, row_text(rows, i, 2), row_bool(rows, i, 3));

            if (care.n)
                health_care(req, row_text(rows, i, 0), row_text(rows, i, 1), care);
        }
        if (n) {
            at[0] = val_text(row_text(rows, n - 1, 0));
            at[1] = val_text(row_text(rows, n - 1, 1));
        }
    } while (n == 1000);
    return WHARF_OK;
}

wharf_status health_care(
    wharf_req *req, wharf_str organization, wharf_str webhook_id, wharf_str care)
{
    wharf_status s;

    if (is(care, "urls"))
        return check_urls(req);
    s = hooks_events->act_for(req, organization);
    if (s == WHARF_OK)
        s = W->db->begin(req);
    if (s == WHARF_OK) {
        s = do_care(req, webhook_id, care);
        if (s == WHARF_OK)
            s = W->db->commit(req);
        else
            W->db->rollback(req);
    }
    if (s != WHARF_OK)
        W->log->write(hooks_self, req, WHARF_LOG_WARN, "webhooks.care",
            "webhook=%s care=%s did not work out", webhook_id.p, care.p);
    W->err->clear(req);
    hooks_events->act_for(req, WHARF_S(""));
    return s;
}
