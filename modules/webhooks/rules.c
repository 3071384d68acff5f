/* rules.c - what may stand in a webhook, and what follows when it changes (spec 07 sections 5 and 9).
 *
 * Leaves to others: secrets (secrets.c), the test event (test.c), deliveries (delivery.c), changes that the server makes itself (health.c).
 */
#include <strings.h>

#include "match.h"
#include "webhooks.gen.h"
#include "webhooks.h"

#define W hooks_host

enum { HEADER_NAMES_MAX = 20, HEADER_NAME = 64, HEADER_VALUE = 1024, SUSPEND_MAX_DAYS = 7 };

_Thread_local struct call hooks_call;
static _Thread_local wharf_str given_secret; /* of the create whose normalize ran last on this thread; empty: none */

/* ---- normalize ---- */

static wharf_status take_secret(wharf_req *req, wharf_rec *new_rec)
{
    const wharf_json *secret = W->res->member(new_rec, "secret");

    given_secret = WHARF_S("");
    if (!secret)
        return WHARF_OK;
    W->res->drop(new_rec, "secret");
    if (!W->json->text(secret, &given_secret) || !hooks_crypto->secret_valid(given_secret))
        return W->err->fail(req, "webhook.secret_invalid", "secret", NULL);
    return WHARF_OK;
}

static wharf_status normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *url = W->res->member(new_rec, "url");
    wharf_str s;

    if (op != WHARF_CREATE)
        return WHARF_OK;
    if (!W->res->member(new_rec, "name") && url && W->json->text(url, &s) && url_host(s).n) {
        s = url_host(s);
        W->res->set(new_rec, WEBHOOK_NAME, text(W->mem->dup(req, s.p, s.n < 191 ? s.n : 191)));
    }
    return take_secret(req, new_rec);
}

/* ---- lists ---- */

static wharf_status unique_texts(wharf_req *req, wharf_rec *rec, wharf_field f, const wharf_json *list)
{
    wharf_out *out = W->json->writer(req);
    const wharf_json *kept;
    wharf_status s;

    W->json->open(out, NULL, '[');
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        wharf_str a = WHARF_S(""), b;
        bool before = false;

        W->json->text(e, &a);
        for (const wharf_json *o = W->json->at(list, 0); o != e; o = W->json->next(o))
            before |= W->json->text(o, &b) && same(a, b);
        if (!before)
            W->json->put(out, NULL, text(a));
    }
    W->json->close(out);
    s = finish(req, out, &kept);
    if (s == WHARF_OK)
        W->res->set(rec, f, json_of(kept));
    return s;
}

static wharf_status check_events(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *list = get_json(rec, WEBHOOK_EVENTS);
    size_t i = 0;

    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e), i++) {
        wharf_str type = WHARF_S("");

        W->json->text(e, &type);
        if (!hooks_events->pattern_known(hooks_self, type))
            W->err->add(req, "webhook.event_unknown", W->mem->format(req, "events.%zu", i).p,
                "There is no event type %.*s; GET /v1/events/types lists them", (int)type.n, type.p);
    }
    return W->err->current(req) == WHARF_OK ? unique_texts(req, rec, WEBHOOK_EVENTS, list) : W->err->current(req);
}

static wharf_status check_locations(wharf_req *req, wharf_rec *rec)
{
    const wharf_caller *who = hooks_keys->caller(req);
    const wharf_json *list = get_json(rec, WEBHOOK_LOCATION_IDS);
    size_t n = list ? W->json->count(list) : 0, i = 0;
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    bool *known = W->mem->alloc(req, n + 1);
    wharf_status s;

    if (!list)
        return who->all_locations ? WHARF_OK
                                  : W->err->fail(req, "location_access", "location_ids",
                                        "The key reaches some locations only; name those of the webhook");
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e))
        W->json->text(e, &ids[i++]);
    for (i = 0; i < n; i++) {
        if (W->req->need_location(req, ids[i]) != WHARF_OK)
            return W->err->current(req);
    }
    s = hooks_keys->known_locations(req, who->test_mode, ids, n, known);
    for (i = 0; s == WHARF_OK && i < n; i++) {
        if (!known[i])
            W->err->add(req, "validation.failed", W->mem->format(req, "location_ids.%zu", i).p,
                "There is no location %.*s", (int)ids[i].n, ids[i].p);
    }
    if (s == WHARF_OK)
        s = W->err->current(req);
    return s == WHARF_OK ? unique_texts(req, rec, WEBHOOK_LOCATION_IDS, list) : s;
}

static wharf_status check_filter(wharf_req *req, const wharf_rec *rec)
{
    const wharf_json *list = get_json(rec, WEBHOOK_FILTER);
    size_t i = 0;

    if (list && W->json->count(list) > FILTER_MAX)
        return W->err->fail(req, "webhook.filter_invalid", "filter", "There are more than %d conditions", FILTER_MAX);
    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e), i++) {
        const char *problem = match_condition_problem(W->json, e);

        if (problem)
            W->err->add(req, "webhook.filter_invalid", W->mem->format(req, "filter.%zu", i).p, "%s", problem);
    }
    return W->err->current(req);
}

/* ---- headers ---- */

static bool begins(wharf_str s, const char *z)
{
    return s.n >= strlen(z) && strncasecmp(s.p, z, strlen(z)) == 0;
}

static bool equals(wharf_str s, const char *z)
{
    return s.n == strlen(z) && begins(s, z);
}

static bool header_name(wharf_str name)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return name.n && name.n <= HEADER_NAME && strspn(name.p, token) == name.n && !begins(name, "webhook-") &&
           !begins(name, "wharf-") && !begins(name, "content-") && !equals(name, "host") &&
           !equals(name, "transfer-encoding") && !equals(name, "connection") && !equals(name, "expect") &&
           !equals(name, "user-agent") && !equals(name, "traceparent");
}

static bool header_value(wharf_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        if (((unsigned char)value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] == 0x7f)
            return false;
    }
    return value.n <= HEADER_VALUE;
}

static const wharf_json *named(const wharf_json *headers, wharf_str name)
{
    for (const wharf_json *m = headers ? W->json->at(headers, 0) : NULL; m; m = W->json->next(m)) {
        if (W->json->key(m).n == name.n && strncasecmp(W->json->key(m).p, name.p, name.n) == 0)
            return m;
    }
    return NULL;
}

/* One pair into both objects: with its value to be sealed, and with *** to be shown. */
static void take_header(wharf_req *req, const wharf_json *m, const wharf_json *old, wharf_out *sealed, wharf_out *shown)
{
    wharf_str name = W->json->key(m), value = WHARF_S("");
    const char *path = W->mem->format(req, "headers.%.*s", (int)name.n, name.p).p;

    if (!header_name(name)) {
        W->err->add(req, "webhook.header_invalid", path,
            "The name has 1 to %d characters and is none that the server sets itself", HEADER_NAME);
        return;
    }
    if (!W->json->text(m, &value) || !header_value(value)) {
        W->err->add(
            req, "webhook.header_invalid", path, "The value is a text of one line with up to %d bytes", HEADER_VALUE);
        return;
    }
    if (is(value, "***") && named(old, name))
        W->json->text(named(old, name), &value);
    name = W->mem->dup(req, name.p, name.n);
    W->json->put(sealed, name.p, text(value));
    W->json->put(shown, name.p, textz("***"));
}

static wharf_status check_headers(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_json *given = get_json(new_rec, WEBHOOK_HEADERS), *old = NULL, *shown_json;
    wharf_out *sealed = W->json->writer(req), *shown = W->json->writer(req);
    wharf_str before = old_rec ? get_text(old_rec, WEBHOOK_SEALED_HEADERS) : WHARF_S("");
    wharf_status s = before.n ? W->json->parse(req, before, &old) : WHARF_OK;

    if (s != WHARF_OK || !given)
        return s;
    if (W->json->count(given) > HEADER_NAMES_MAX)
        return W->err->fail(
            req, "webhook.header_invalid", "headers", "There are more than %d headers", HEADER_NAMES_MAX);
    W->json->open(sealed, NULL, '{');
    W->json->open(shown, NULL, '{');
    for (const wharf_json *m = W->json->at(given, 0); m; m = W->json->next(m)) {
        if (named(given, W->json->key(m)) != m)
            W->err->add(req, "webhook.header_invalid", "headers", "A header stands there twice");
        take_header(req, m, old, sealed, shown);
    }
    W->json->close(sealed);
    W->json->close(shown);
    s = W->err->current(req);
    if (s == WHARF_OK)
        s = finish(req, shown, &shown_json);
    if (s != WHARF_OK)
        return s;
    W->res->set(new_rec, WEBHOOK_HEADERS, json_of(shown_json));
    W->res->set(
        new_rec, WEBHOOK_SEALED_HEADERS, W->json->count(given) ? text(W->json->result_text(sealed)) : nothing());
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
        return W->err->fail(req, "webhook.test_failed",
            W->mem->format(req, "%s: %.*s", r.error, (int)r.error_text.n, r.error_text.p).p, NULL);
    W->res->set(rec, WEBHOOK_LAST_TEST, json_of(last));
    return WHARF_OK;
}

/* ---- status ---- */

static void set_status(wharf_rec *rec, const char *status, wharf_val reason, wharf_val disabled_at, wharf_val enable_at)
{
    W->res->set(rec, WEBHOOK_STATUS, textz(status));
    W->res->set(rec, WEBHOOK_STATUS_REASON, reason);
    W->res->set(rec, WEBHOOK_DISABLED_AT, disabled_at);
    W->res->set(rec, WEBHOOK_ENABLE_AT, enable_at);
}

static wharf_status suspend(wharf_req *req, wharf_rec *rec)
{
    int64_t now = W->req->now_us(req);
    wharf_val at;

    if (!W->res->get(rec, WEBHOOK_ENABLE_AT, &at) || at.u.i < now + MINUTE_US ||
        at.u.i > now + SUSPEND_MAX_DAYS * 24 * HOUR_US)
        return W->err->fail(req, "validation.failed", "enable_at",
            "With status suspended enable_at is a moment 1 minute to %d days ahead", SUSPEND_MAX_DAYS);
    set_status(rec, "suspended", textz("manual"), nothing(), at);
    return WHARF_OK;
}

/* An update of a disabled webhook is the wish to have it back: unless the receiver takes the test, it stays disabled. */
static wharf_status revive(wharf_req *req, wharf_rec *rec, bool must)
{
    bool good = false;
    wharf_status s = run_test(req, rec, must, &good);

    if (s == WHARF_OK && good)
        set_status(rec, "enabled", nothing(), nothing(), nothing());
    return s;
}

/* enable_at belongs to a suspension. */
static wharf_status check_enable_at(wharf_req *req, const wharf_rec *rec, wharf_str status)
{
    wharf_val at;

    if (!W->res->sent(rec, WEBHOOK_ENABLE_AT) || is(status, "suspended") || !W->res->get(rec, WEBHOOK_ENABLE_AT, &at))
        return WHARF_OK;
    return W->err->fail(req, "validation.failed", "enable_at", "enable_at goes with status suspended");
}

static wharf_status update_disabled(wharf_req *req, wharf_rec *new_rec, bool sent, wharf_str to)
{
    W->res->set(new_rec, WEBHOOK_STATUS, textz("disabled"));
    if (sent && is(to, "suspended"))
        return W->err->fail(req, "webhook.disabled", "status", "A disabled webhook can't be suspended");
    return revive(req, new_rec, sent);
}

static wharf_status change_status(wharf_req *req, wharf_rec *new_rec, wharf_str from, wharf_str to)
{
    bool sent = W->res->sent(new_rec, WEBHOOK_STATUS), until = W->res->sent(new_rec, WEBHOOK_ENABLE_AT);

    if (sent && is(to, "disabled")) {
        if (!is(from, "disabled"))
            set_status(new_rec, "disabled", textz("manual"), moment(W->req->now_us(req)), nothing());
        return WHARF_OK;
    }
    if (is(from, "disabled"))
        return update_disabled(req, new_rec, sent, to);
    if (is(to, "suspended") && (until || (sent && !is(from, "suspended"))))
        return suspend(req, new_rec);
    return sent && is(to, "enabled") && is(from, "suspended") ? revive(req, new_rec, true) : WHARF_OK;
}

static wharf_status check_status(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_str from = get_text(old_rec, WEBHOOK_STATUS), to = get_text(new_rec, WEBHOOK_STATUS);
    wharf_status s;

    if (hooks_call.doing == DOING_ROTATE)
        return WHARF_OK;
    if (hooks_call.doing == DOING_ENABLE) {
        set_status(new_rec, "enabled", nothing(), nothing(), nothing());
        return WHARF_OK;
    }
    s = check_enable_at(req, new_rec, to);
    return s == WHARF_OK ? change_status(req, new_rec, from, to) : s;
}

/* ---- check ---- */

static wharf_status check_limit(wharf_req *req)
{
    static const char sql[] =
        "SELECT count(*) FROM webhooks.webhook WHERE organization_id = $1::text AND deleted_at IS NULL";
    wharf_val organization = text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_status s = W->db->lock(req, "webhooks", organization.u.s);

    if (s == WHARF_OK)
        s = W->db->query(req, sql, &organization, 1, &rows);
    if (s == WHARF_OK && row_integer(rows, 0, 0, 0) >= WEBHOOKS_MAX)
        return W->err->fail(req, "webhook.limit", NULL, NULL);
    return s;
}

static wharf_status make_secret(wharf_req *req, wharf_rec *new_rec)
{
    struct secrets secrets = {.n = 0};
    wharf_str secret = given_secret.n ? given_secret : hooks_crypto->new_secret(req);
    wharf_status s = secrets_push(req, &secrets, secret, 0, W->req->now_us(req));

    given_secret = WHARF_S("");
    if (s != WHARF_OK)
        return s;
    W->res->set(new_rec, WEBHOOK_SECRETS, text(secrets_write(req, &secrets)));
    W->res->set(new_rec, WEBHOOK_SECRET, text(secret));
    W->req->one_time(req, "secret");
    return WHARF_OK;
}

static wharf_status check_fields(wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s = WHARF_OK;

    if (W->res->sent(new_rec, WEBHOOK_URL))
        s = url_check(req, get_text(new_rec, WEBHOOK_URL), "url");
    if (s == WHARF_OK && W->res->sent(new_rec, WEBHOOK_EVENTS))
        s = check_events(req, new_rec);
    if (s == WHARF_OK && (op == WHARF_CREATE || W->res->sent(new_rec, WEBHOOK_LOCATION_IDS)))
        s = check_locations(req, new_rec);
    if (s == WHARF_OK && W->res->sent(new_rec, WEBHOOK_FILTER))
        s = check_filter(req, new_rec);
    if (s == WHARF_OK && W->res->sent(new_rec, WEBHOOK_HEADERS))
        s = check_headers(req, old_rec, new_rec);
    return s;
}

/* A key of some locations changes the webhooks of these only. */
static wharf_status check_reach(wharf_req *req, const wharf_rec *old_rec)
{
    const wharf_json *list = get_json(old_rec, WEBHOOK_LOCATION_IDS);
    wharf_str id;

    if (hooks_keys->caller(req)->all_locations)
        return WHARF_OK;
    if (!list)
        return W->err->fail(req, "location_access", NULL, "The webhook is of all locations");
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        if (W->json->text(e, &id) && W->req->need_location(req, id) != WHARF_OK)
            return W->err->current(req);
    }
    return WHARF_OK;
}

static wharf_status check_create(wharf_req *req, wharf_rec *new_rec)
{
    wharf_val test = {0};
    bool good;
    wharf_status s = check_limit(req);

    W->res->get(new_rec, WEBHOOK_SEND_TEST, &test);
    W->res->set(new_rec, WEBHOOK_SEND_TEST, truth(false));
    W->res->set(new_rec, WEBHOOK_STATUS, textz("enabled"));
    if (s == WHARF_OK)
        s = make_secret(req, new_rec);
    return s == WHARF_OK && test.u.i ? run_test(req, new_rec, true, &good) : s;
}

static wharf_status check(wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s = old_rec ? check_reach(req, old_rec) : WHARF_OK;

    if (s != WHARF_OK || op == WHARF_DELETE)
        return s;
    s = check_fields(req, op, old_rec, new_rec);
    if (s != WHARF_OK)
        return s;
    if (op == WHARF_CREATE)
        return check_create(req, new_rec);
    if (hooks_call.doing == DOING_ROTATE)
        W->res->set(new_rec, WEBHOOK_SECRETS, text(secrets_write(req, &hooks_call.secrets)));
    return check_status(req, old_rec, new_rec);
}

/* ---- written ---- */

static wharf_status make_runtime(wharf_req *req, wharf_str id)
{
    static const char sql[] = "INSERT INTO webhooks.runtime (organization_id, webhook_id) VALUES ($1::text, $2::text)";
    const wharf_val args[] = {text(W->req->organization(req)), text(id)};

    return W->db->exec(req, sql, args, 2, NULL);
}

/* The event says why; so it is not the definition's. */
static wharf_status deleted(wharf_req *req, wharf_str id)
{
    const char *reason = hooks_call.doing == DOING_END ? "{\"deletion_reason\": \"invalid_url\"}"
                                                       : "{\"deletion_reason\": \"request\"}";
    const wharf_json *extra;
    wharf_status s = delivery_drop(req, id, "webhook_deleted", NULL);

    if (s == WHARF_OK)
        s = W->json->parse(req, (wharf_str){reason, strlen(reason)}, &extra);
    return s == WHARF_OK ? W->event->emit(req, "webhook.deleted", "webhook", id, extra) : s;
}

static wharf_status written(wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str id = W->res->id(op == WHARF_DELETE ? old_rec : new_rec);

    if (op == WHARF_CREATE)
        return make_runtime(req, id);
    if (op == WHARF_DELETE)
        return deleted(req, id);
    if (W->res->changed(old_rec, new_rec, WEBHOOK_STATUS))
        return delivery_status_changed(req, id, get_text(old_rec, WEBHOOK_STATUS), get_text(new_rec, WEBHOOK_STATUS));
    return delivery_poke(req, id);
}

/* ---- lists: "event" and "location_id" ask which webhooks would get something ---- */

static wharf_status narrow_list(
    wharf_req *req, wharf_where *where, bool by_type, wharf_str type, bool by_location, wharf_str location)
{
    static const char sql[] = "SELECT id, events, location_ids FROM webhooks.webhook"
                              " WHERE organization_id = $1::text AND deleted_at IS NULL";
    wharf_val organization = text(W->req->organization(req)), v;
    wharf_out *ids = W->json->writer(req);
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
            W->json->put(ids, NULL, text(row_text(rows, i, 0)));
    }
    W->json->close(ids);
    s = finish(req, ids, &list);
    if (s == WHARF_OK)
        W->res->narrow(where, WEBHOOK_ID, "in", json_of(list));
    return s;
}

static wharf_status restrict_rows(wharf_req *req, wharf_where *where)
{
    wharf_str type = WHARF_S(""), location = WHARF_S("");
    bool by_type = W->req->param(req, "event", &type), by_location = W->req->param(req, "location_id", &location);

    return by_type || by_location ? narrow_list(req, where, by_type, type, by_location, location) : WHARF_OK;
}

const wharf_hooks webhook_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = normalize,
    .check = check,
    .written = written,
    .restrict_rows = restrict_rows};
