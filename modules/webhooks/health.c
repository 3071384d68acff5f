/* health.c - what a webhook's figures, its receiver or time ask for: suspended, degraded, disabled, enabled again, deleted (spec 07 section 10).
 *
 * Each is one transaction of the webhook's organization: the row, the event with the whole webhook, the mail to the administrators.
 * Leaves to others: the figures themselves (webhooks.judge), changes that people make (rules.c).
 */
#include "webhooks.gen.h"
#include "webhooks.h"

#define W hooks_host

enum { RECIPIENTS_MAX = 20 };

/* ---- mail ---- */

static size_t add_addresses(wharf_str *to, const wharf_json *list)
{
    size_t n = 0;

    for (const wharf_json *e = W->json->at(list, 0); e && n < RECIPIENTS_MAX; e = W->json->next(e))
        n += W->json->text(e, &to[n]);
    return n;
}

static size_t owners(wharf_req *req, wharf_str *to)
{
    const wharf_rec *const *recs;
    const wharf_json *query, *row;
    size_t n_recs = 0, n = 0;

    if (W->json->parse(req, WHARF_S("{\"role\": \"owner\", \"status\": \"active\", \"limit\": \"20\"}"), &query) != WHARF_OK ||
        W->res->list(req, "user", query, &recs, &n_recs) != WHARF_OK) {
        W->err->clear(req);
        return 0;
    }
    for (size_t i = 0; i < n_recs && n < RECIPIENTS_MAX; i++) {
        wharf_out *out = W->json->writer(req);

        W->res->encode(req, out, NULL, recs[i]);
        if (finish(req, out, &row) == WHARF_OK && W->json->get(row, "email"))
            n += W->json->text(W->json->get(row, "email"), &to[n]) && to[n].n;
    }
    return n;
}

/* One message for each, so that nobody sees the others. A mail that can't be queued is no reason to leave the webhook as it is. */
static void tell_administrators(wharf_req *req, wharf_str id, const char *what, const char *means)
{
    wharf_str to[RECIPIENTS_MAX], name = id, url = WHARF_S("");
    const wharf_rec *rec;
    const wharf_json *named = organization_setting(req, "notifications", "administrators");
    size_t n = named && W->json->type(named) == WHARF_J_ARRAY ? add_addresses(to, named) : 0;

    if (!n)
        n = owners(req, to);
    if (W->res->fetch(req, "webhook", id, WHARF_WITH_DELETED, &rec) == WHARF_OK) {
        name = get_text(rec, WEBHOOK_NAME);
        url = get_text(rec, WEBHOOK_URL);
    }
    W->err->clear(req);
    for (size_t i = 0; i < n; i++) {
        wharf_mail_message m = {.head = WHARF_HEAD(wharf_mail_message), .to = &to[i], .n_to = 1};

        m.subject = W->mem->format(req, "Webhook %.*s %s", (int)name.n, name.p, what);
        m.text = W->mem->format(req, "The webhook %.*s (%.*s) to\n%.*s\n%s.\n\n%s\n", (int)name.n, name.p, (int)id.n, id.p, (int)url.n, url.p,
            what, means);
        if (hooks_mail->queue(req, &m, NULL) != WHARF_OK)
            W->err->clear(req);
    }
}

/* ---- changes ---- */

struct change {
    const char *care, *sql, *event, *what, *means; /* event NULL: none */
    const char *from, *to; /* of the status; NULL: it stays */
};

#define SET(what, where)                                                                                               \
    "UPDATE webhooks.webhook SET " what " WHERE organization_id = $1::text AND id = $2::text AND deleted_at IS NULL"   \
    " AND " where " RETURNING id"
#define STAMP ", updated_at = $3::timestamptz, updated_by = 'sys', version = version + 1"

static const struct change changes[] = {
    {"suspend",
        SET("status = 'suspended', status_reason = 'failures', enable_at = $3::timestamptz + interval '1 hour'" STAMP,
            "status = 'enabled'"),
        "webhook.suspended", "is suspended",
        "At least 50 attempts failed within an hour and none succeeded. Deliveries wait, and go on in an hour.", "enabled",
        "suspended"},
    {"disable",
        SET("status = 'disabled', status_reason = 'failure_rate', disabled_at = $3::timestamptz, enable_at = NULL" STAMP,
            "status = 'enabled'"),
        "webhook.disabled", "is disabled",
        "On two days in a row more than 30 % of the attempts failed, and more than 500. Waiting deliveries are dropped after 48 "
        "hours. Change or save the webhook to have it tested and enabled.",
        "enabled", "disabled"},
    {"receiver_request",
        SET("status = 'disabled', status_reason = 'receiver_request', disabled_at = $3::timestamptz, enable_at = NULL" STAMP,
            "status <> 'disabled'"),
        "webhook.disabled", "is disabled",
        "Its receiver answered with webhook-delivery: disable. Change or save the webhook to have it tested and enabled.", "enabled",
        "disabled"},
    {"degrade", SET("degraded_at = COALESCE(degraded_at, $3::timestamptz)", "status = 'enabled'"), "webhook.degraded", "is degraded",
        "More than 30 % of the attempts of the last 24 hours failed, and more than 100. If it stays like this, it is disabled.", NULL, NULL},
    {"recover", SET("degraded_at = NULL", "$3::timestamptz IS NOT NULL"), NULL, NULL, NULL, NULL, NULL},
};

static wharf_status make_change(wharf_req *req, const struct change *c, wharf_str id)
{
    static const char raised_sql[] = "UPDATE webhooks.runtime SET degraded_raised_at = CASE WHEN $4::boolean THEN $3::timestamptz END"
                                     " WHERE organization_id = $1::text AND webhook_id = $2::text";
    const wharf_val args[] = {text(W->req->organization(req)), text(id), moment(W->req->now_us(req)), truth(c->event != NULL)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, c->sql, args, 3, &rows);

    if (s != WHARF_OK || !W->db->count(rows))
        return s; /* somebody was faster */
    if (!c->to)
        s = W->db->exec(req, raised_sql, args, 4, NULL);
    else
        s = delivery_status_changed(req, id, (wharf_str){c->from, strlen(c->from)}, (wharf_str){c->to, strlen(c->to)});
    if (s == WHARF_OK && c->event)
        s = W->event->emit(req, c->event, "webhook", id, NULL);
    if (s == WHARF_OK && c->event)
        tell_administrators(req, id, c->what, c->means);
    return s;
}

/* By time: through the resource, so that it is logged and told of as any change. */
static wharf_status enable(wharf_req *req, wharf_str id)
{
    const wharf_json *none;
    const wharf_rec *rec;
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &none);

    if (s != WHARF_OK)
        return s;
    hooks_call = (struct call){.doing = DOING_ENABLE};
    s = W->res->update(req, "webhook", id, none, &rec);
    hooks_call = (struct call){.doing = DOING_NOTHING};
    return s;
}

static wharf_status end(wharf_req *req, wharf_str id)
{
    wharf_status s;

    hooks_call = (struct call){.doing = DOING_END};
    s = W->res->remove(req, "webhook", id);
    hooks_call = (struct call){.doing = DOING_NOTHING};
    if (s == WHARF_OK)
        tell_administrators(req, id, "is deleted", "Its URL is not one that can be sent to, or its host was refused or unknown for a day.");
    return s;
}

static wharf_status do_care(wharf_req *req, wharf_str id, wharf_str care)
{
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        if (is(care, changes[i].care))
            return make_change(req, &changes[i], id);
    }
    return is(care, "enable") ? enable(req, id) : end(req, id);
}

/* All stored URLs once, at the start of the engine: the rules, or the operator's exceptions, may have changed. */
static wharf_status check_urls(wharf_req *req)
{
    static const char sql[] = "SELECT organization_id, webhook_id, url FROM webhooks.all_urls($1::text, $2::text)";
    wharf_val at[] = {textz(""), textz("")};
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
            if (url_check(req, row_text(rows, i, 2), "url") != WHARF_OK) {
                W->err->clear(req);
                health_care(req, row_text(rows, i, 0), row_text(rows, i, 1), WHARF_S("invalid_url"));
            }
        }
        if (n) {
            at[0] = text(row_text(rows, n - 1, 0));
            at[1] = text(row_text(rows, n - 1, 1));
        }
    } while (n == 1000);
    return WHARF_OK;
}

wharf_status health_care(wharf_req *req, wharf_str organization, wharf_str webhook_id, wharf_str care)
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
        W->log->write(hooks_self, req, WHARF_LOG_WARN, "webhooks.care", "webhook=%s care=%s did not work out", webhook_id.p, care.p);
    W->err->clear(req);
    hooks_events->act_for(req, WHARF_S(""));
    return s;
}
