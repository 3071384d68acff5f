/* webhook_rules.c - what may stand in a webhook, and what follows when it changes (spec 07
 * sections 5 and 9).
 *
 * Leaves to others: values of fields (webhook_checks.c), secrets (webhook_secrets.c), the test
 * event (webhook_test.c), deliveries (delivery.c), changes that the server makes itself
 * (webhook_health.c). */
#include "webhook_match.h"
#include "webhooks.gen.h"
#include "webhooks.h"

enum { SUSPEND_MAX_DAYS = 7 }; /* a webhook can be suspended */

const char hooks_call_kind[] = "webhooks.call";

/* Tells whether this module's own write is to do this; false for writes of others. */
static bool doing(const wharf_rec *rec, int what)
{
    const struct call *call = W->res->context(rec, hooks_call_kind);

    return call && (int)call->doing == what;
}

wharf_status webhook_write_by_call(wharf_req *req, uint32_t op, wharf_str id, struct call *call)
{
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "webhook",
        .op = op,
        .id = id,
        .kind = hooks_call_kind,
        .context = call};
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &w.body);

    return s == WHARF_OK ? W->res->write(req, &w) : s;
}

/* Returns the secret that a create sends; empty: none. It goes from normalize to check. */
static wharf_str *given_secret(const wharf_rec *rec)
{
    static const char kind[] = "webhooks.given_secret";

    return W->res->scratch(rec, kind, sizeof(wharf_str));
}

/* ---- normalize ---- */

static wharf_status take_secret(wharf_req *req, wharf_rec *new_rec)
{
    const wharf_json *secret = W->res->member(new_rec, "secret");

    if (!secret)
        return WHARF_OK;
    W->res->drop(new_rec, "secret");
    if (!W->json->text(secret, given_secret(new_rec)) ||
        !hooks_crypto->secret_valid(*given_secret(new_rec)))
        return W->err->fail(req, ERR_WEBHOOK_SECRET_INVALID, "secret", NULL);
    return WHARF_OK;
}

static wharf_status webhook_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *url = W->res->member(new_rec, "url");
    wharf_str s;

    if (op != WHARF_CREATE)
        return WHARF_OK;
    if (!W->res->member(new_rec, "name") && url && W->json->text(url, &s) && url_host(s).n) {
        s = url_host(s);
        W->res->set(new_rec, WEBHOOK_NAME, val_text(W->mem->dup(req, s.p, s.n < 191 ? s.n : 191)));
    }
    return take_secret(req, new_rec);
}

/* ---- fields, see webhook_checks.c ---- */

/* Sets the field to the value as it is kept. */
static wharf_status keep_list(wharf_rec *rec, wharf_field f, wharf_status s, const wharf_json *list)
{
    if (s == WHARF_OK && list)
        W->res->set(rec, f, val_json(list));
    return s;
}

static wharf_status webhook_check_headers(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *given = field_json(new_rec, WEBHOOK_HEADERS), *shown;
    wharf_str before = old_rec ? field_text(old_rec, WEBHOOK_SEALED_HEADERS) : WHARF_S(""), values;
    wharf_status s = given ? headers_check(req, given, before, "headers", &shown, &values)
                           : WHARF_OK;

    if (s != WHARF_OK || !given)
        return s;
    W->res->set(new_rec, WEBHOOK_HEADERS, val_json(shown));
    W->res->set(new_rec, WEBHOOK_SEALED_HEADERS, values.n ? val_text(values) : val_null());
    return WHARF_OK;
}

/* ---- the test before enabling ---- */

static wharf_status run_test(wharf_req *req, wharf_rec *rec, bool must, bool *ret_good)
{
    const wharf_json *attempt, *last;
    struct target target;
    struct result r;
    wharf_status s = target_of(req, rec, &target);

    if (s == WHARF_OK)
        s = attempt_test(req, &target, WHARF_S("webhook.test"), NULL, &r, &attempt);
    if (s == WHARF_OK)
        s = last_test_of(req, &r, &last);
    if (s != WHARF_OK)
        return s;
    *ret_good = r.outcome == OUT_SUCCESS;
    if (must && !*ret_good)
        return W->err->fail(req, ERR_WEBHOOK_TEST_FAILED,
            W->mem->format(req, "%s: %.*s", r.error, (int)r.error_text.n, r.error_text.p).p, NULL);
    W->res->set(rec, WEBHOOK_LAST_TEST, val_json(last));
    return WHARF_OK;
}

/* ---- status ---- */

static void webhook_set_status(wharf_rec *rec, const char *status, wharf_val reason,
    wharf_val disabled_at, wharf_val enable_at)
{
    W->res->set(rec, WEBHOOK_STATUS, val_text(z(status)));
    W->res->set(rec, WEBHOOK_STATUS_REASON, reason);
    W->res->set(rec, WEBHOOK_DISABLED_AT, disabled_at);
    W->res->set(rec, WEBHOOK_ENABLE_AT, enable_at);
}

static wharf_status webhook_suspend(wharf_req *req, wharf_rec *rec)
{
    int64_t now = W->req->now_us(req);
    wharf_val at;

    if (!W->res->get(rec, WEBHOOK_ENABLE_AT, &at) || at.u.i < now + MINUTE_US ||
        at.u.i > now + SUSPEND_MAX_DAYS * 24 * HOUR_US)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "enable_at",
            "With status suspended enable_at is a moment 1 minute to %d days ahead",
            SUSPEND_MAX_DAYS);
    webhook_set_status(rec, "suspended", val_text(WHARF_S("manual")), val_null(), at);
    return WHARF_OK;
}

/* Tests a disabled webhook that is updated: that is the wish to have it back. Unless the receiver
 * takes the test, it stays disabled. */
static wharf_status revive(wharf_req *req, wharf_rec *rec, bool must)
{
    bool good = false;
    wharf_status s = run_test(req, rec, must, &good);

    if (s == WHARF_OK && good)
        webhook_set_status(rec, "enabled", val_null(), val_null(), val_null());
    return s;
}

/* Checks enable_at, which belongs to a suspension. */
static wharf_status check_enable_at(wharf_req *req, const wharf_rec *rec, wharf_str status)
{
    wharf_val at;

    if (!W->res->sent(rec, WEBHOOK_ENABLE_AT) || is(status, "suspended") ||
        !W->res->get(rec, WEBHOOK_ENABLE_AT, &at))
        return WHARF_OK;
    return W->err->fail(
        req, ERR_VALIDATION_FAILED, "enable_at", "enable_at goes with status suspended");
}

static wharf_status update_disabled(wharf_req *req, wharf_rec *new_rec, bool sent, wharf_str to)
{
    W->res->set(new_rec, WEBHOOK_STATUS, val_text(WHARF_S("disabled")));
    if (sent && is(to, "suspended"))
        return W->err->fail(
            req, ERR_WEBHOOK_DISABLED, "status", "A disabled webhook can't be suspended");
    return revive(req, new_rec, sent);
}

static wharf_status webhook_change_status(
    wharf_req *req, wharf_rec *new_rec, wharf_str from, wharf_str to)
{
    bool sent = W->res->sent(new_rec, WEBHOOK_STATUS),
         until = W->res->sent(new_rec, WEBHOOK_ENABLE_AT);

    if (sent && is(to, "disabled")) {
        if (!is(from, "disabled"))
            webhook_set_status(new_rec, "disabled", val_text(WHARF_S("manual")),
                val_time(W->req->now_us(req)), val_null());
        return WHARF_OK;
    }
    if (is(from, "disabled"))
        return update_disabled(req, new_rec, sent, to);
    if (is(to, "suspended") && (until || (sent && !is(from, "suspended"))))
        return webhook_suspend(req, new_rec);
    return sent && is(to, "enabled") && is(from, "suspended") ? revive(req, new_rec, true)
                                                              : WHARF_OK;
}

static wharf_status webhook_check_status(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_str from = field_text(old_rec, WEBHOOK_STATUS), to = field_text(new_rec, WEBHOOK_STATUS);
    wharf_status s;

    if (doing(new_rec, DOING_ROTATE))
        return WHARF_OK;
    if (doing(new_rec, DOING_ENABLE)) {
        webhook_set_status(new_rec, "enabled", val_null(), val_null(), val_null());
        return WHARF_OK;
    }
    s = check_enable_at(req, new_rec, to);
    return s == WHARF_OK ? webhook_change_status(req, new_rec, from, to) : s;
}

/* ---- check ---- */

static wharf_status webhook_check_limit(wharf_req *req)
{
    static const char sql[] = "SELECT count(*) FROM webhooks.webhook WHERE organization_id = "
                              "$1::text AND deleted_at IS NULL";
    wharf_val organization = val_text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_status s = W->db->lock(req, "webhooks", organization.u.s);

    if (s == WHARF_OK)
        s = W->db->query(req, sql, &organization, 1, &rows);
    if (s == WHARF_OK && row_integer(rows, 0, 0, 0) >= WEBHOOKS_MAX)
        return W->err->fail(req, ERR_WEBHOOK_LIMIT, NULL, NULL);
    return s;
}

static wharf_status make_secret(wharf_req *req, wharf_rec *new_rec)
{
    struct secrets secrets = {.n = 0};
    wharf_str secret = given_secret(new_rec)->n ? *given_secret(new_rec)
                                                : hooks_crypto->new_secret(req);
    wharf_status s = secrets_push(req, &secrets, secret, 0, W->req->now_us(req));

    if (s != WHARF_OK)
        return s;
    W->res->set(new_rec, WEBHOOK_SECRETS, val_text(secrets_write(req, &secrets)));
    W->res->set(new_rec, WEBHOOK_SECRET, val_text(secret));
    W->req->one_time(req, "secret");
    return WHARF_OK;
}

/* Sets the owner. A key that chooses what is sent, or where to, gives the webhook its own rights:
 * else it would read with those of another key. */
static wharf_status webhook_take_over(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_val key;
    wharf_status s;

    if (old_rec && !W->res->sent(new_rec, WEBHOOK_EVENTS) &&
        !W->res->sent(new_rec, WEBHOOK_LOCATION_IDS) &&
        !W->res->changed(old_rec, new_rec, WEBHOOK_URL) &&
        !W->res->changed(old_rec, new_rec, WEBHOOK_PAYLOAD))
        return WHARF_OK;
    s = owner_check(req, field_json(new_rec, WEBHOOK_EVENTS), &key);
    if (s == WHARF_OK)
        W->res->set(new_rec, WEBHOOK_OWNER_KEY, key);
    return s;
}

static wharf_status webhook_check_fields(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *list = NULL;
    wharf_status s = WHARF_OK;

    if (W->res->sent(new_rec, WEBHOOK_URL))
        s = url_check(req, field_text(new_rec, WEBHOOK_URL), "url");
    if (s == WHARF_OK && W->res->sent(new_rec, WEBHOOK_EVENTS)) {
        s = events_check(req, field_json(new_rec, WEBHOOK_EVENTS), "events", &list);
        s = keep_list(new_rec, WEBHOOK_EVENTS, s, list);
    }
    if (s == WHARF_OK && (op == WHARF_CREATE || W->res->sent(new_rec, WEBHOOK_LOCATION_IDS))) {
        s = locations_check(req, field_json(new_rec, WEBHOOK_LOCATION_IDS), "location_ids", &list);
        s = keep_list(new_rec, WEBHOOK_LOCATION_IDS, s, list);
    }
    if (s == WHARF_OK)
        s = webhook_take_over(req, old_rec, new_rec);
    if (s == WHARF_OK && W->res->sent(new_rec, WEBHOOK_FILTER))
        s = filter_check(req, field_json(new_rec, WEBHOOK_FILTER), "filter");
    if (s == WHARF_OK && W->res->sent(new_rec, WEBHOOK_HEADERS))
        s = webhook_check_headers(req, old_rec, new_rec);
    return s;
}

static wharf_status webhook_check_create(wharf_req *req, wharf_rec *new_rec)
{
    wharf_val test = {0};
    bool good;
    wharf_status s = webhook_check_limit(req);

    W->res->get(new_rec, WEBHOOK_SEND_TEST, &test);
    W->res->set(new_rec, WEBHOOK_SEND_TEST, val_bool(false));
    W->res->set(new_rec, WEBHOOK_STATUS, val_text(WHARF_S("enabled")));
    if (s == WHARF_OK)
        s = make_secret(req, new_rec);
    return s == WHARF_OK && test.u.i ? run_test(req, new_rec, true, &good) : s;
}

static wharf_status webhook_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s = old_rec ? reach_check(req, field_json(old_rec, WEBHOOK_LOCATION_IDS))
                             : WHARF_OK;

    if (s != WHARF_OK || op == WHARF_DELETE)
        return s;
    s = webhook_check_fields(req, op, old_rec, new_rec);
    if (s != WHARF_OK)
        return s;
    if (op == WHARF_CREATE)
        return webhook_check_create(req, new_rec);
    if (doing(new_rec, DOING_ROTATE)) {
        const struct call *call = W->res->context(new_rec, hooks_call_kind);

        W->res->set(new_rec, WEBHOOK_SECRETS, val_text(secrets_write(req, &call->secrets)));
    }
    return webhook_check_status(req, old_rec, new_rec);
}

/* ---- written ---- */

static wharf_status make_runtime(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "INSERT INTO webhooks.runtime (organization_id, webhook_id) VALUES ($1::text, $2::text)";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(id)};

    return W->db->exec(req, sql, args, 2, NULL);
}

/* Tells that the webhook is deleted. The event says why; so it is not the definition's. */
static wharf_status deleted(wharf_req *req, const wharf_rec *old_rec, wharf_str id)
{
    const char *reason = doing(old_rec, DOING_END) ? "{\"deletion_reason\": \"invalid_url\"}"
                                                   : "{\"deletion_reason\": \"request\"}";
    const wharf_json *extra;
    wharf_status s = delivery_drop(req, id, "webhook_deleted", NULL);

    if (s == WHARF_OK)
        s = W->json->parse(req, (wharf_str){reason, strlen(reason)}, &extra);
    return s == WHARF_OK ? W->event->emit(req, "webhook.deleted", "webhook", id, extra) : s;
}

static wharf_status webhook_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str id = W->res->id(op == WHARF_DELETE ? old_rec : new_rec);

    if (op == WHARF_CREATE)
        return make_runtime(req, id);
    if (op == WHARF_DELETE)
        return deleted(req, old_rec, id);
    if (W->res->changed(old_rec, new_rec, WEBHOOK_STATUS))
        return delivery_status_changed(
            req, id, field_text(old_rec, WEBHOOK_STATUS), field_text(new_rec, WEBHOOK_STATUS));
    return delivery_poke(req, id);
}

/* ---- lists: "event" and "location_id" ask which webhooks would get something ---- */

static wharf_status narrow_list(wharf_req *req, wharf_where *where, bool by_type, wharf_str type,
    bool by_location, wharf_str location)
{
    static const char sql[] = "SELECT id, events, location_ids FROM webhooks.webhook"
                              " WHERE organization_id = $1::text AND deleted_at IS NULL";
    wharf_val organization = val_text(W->req->organization(req)), v;
    wharf_out *ids = W->json->builder(req);
    const wharf_json *list;
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, &organization, 1, &rows);

    if (s != WHARF_OK)
        return s;
    W->json->open(ids, NULL, '[');
    for (size_t i = 0; i < W->db->count(rows); i++) {
        const wharf_json *events = W->db->value(rows, i, 1, WHARF_V_JSON, &v) ? v.u.j : NULL;
        const wharf_json *locations = W->db->value(rows, i, 2, WHARF_V_JSON, &v) ? v.u.j : NULL;

        if ((!by_type || (events && wants_type(events, type))) &&
            (!by_location || match_location(W->json, locations, location)))
            W->json->put(ids, NULL, val_text(row_text(rows, i, 0)));
    }
    W->json->close(ids);
    s = W->json->result(req, ids, &list);
    if (s == WHARF_OK)
        W->res->narrow(where, WEBHOOK_ID, "in", val_json(list));
    return s;
}

static wharf_status restrict_rows(wharf_req *req, wharf_where *where)
{
    wharf_str type = WHARF_S(""), location = WHARF_S("");
    bool by_type = W->req->param(req, "event", &type),
         by_location = W->req->param(req, "location_id", &location);

    return by_type || by_location ? narrow_list(req, where, by_type, type, by_location, location)
                                  : WHARF_OK;
}

const wharf_hooks webhook_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = webhook_normalize,
    .check = webhook_check,
    .written = webhook_written,
    .restrict_rows = restrict_rows};
