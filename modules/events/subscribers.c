/* subscribers.c - the rules of event subscribers (spec 07 section 11): states, approval by a
 * second owner, what follows from writing.
 *
 * Leaves to others: the mails and the pages behind their links (verify.c), the alerts
 * (alerts.c). */
#include "events.h"

#include "events.gen.h"

static bool subscribers_has(const wharf_rec *rec, wharf_field f)
{
    wharf_val v;

    return W->res->get(rec, f, &v);
}

static bool subscribers_is_true(const wharf_rec *rec, wharf_field f)
{
    wharf_val v;

    return W->res->get(rec, f, &v) && v.u.i;
}

static wharf_val subscribers_later(const wharf_req *req, int64_t seconds)
{
    return val_time(W->req->now_us(req) + seconds * 1000000);
}

/* ---- normalize ---- */

static bool system_types(const wharf_json *list)
{
    if (!list || W->json->type(list) != WHARF_J_ARRAY || !W->json->count(list))
        return false;
    for (const wharf_json *v = W->json->at(list, 0); v; v = W->json->next(v)) {
        wharf_event_type t = {.head = WHARF_HEAD(wharf_event_type)};
        wharf_str type;

        if (!W->json->text(v, &type) || !events_api->type_find(events_self, type, &t) || !t.system)
            return false;
    }
    return true;
}

/* Sets the types; repeated types are one. */
static wharf_status set_types(wharf_req *req, wharf_rec *rec, const wharf_json *list)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *own;
    wharf_status s;

    W->json->open(out, NULL, '[');
    for (const wharf_json *v = W->json->at(list, 0); v; v = W->json->next(v)) {
        wharf_str type = WHARF_S(""), other;
        bool before = false;

        W->json->text(v, &type);
        for (const wharf_json *u = W->json->at(list, 0); u != v; u = W->json->next(u))
            before |= W->json->text(u, &other) && same(other, type);
        if (!before)
            W->json->put(out, NULL, val_text(type));
    }
    W->json->close(out);
    s = W->json->result(req, out, &own);
    if (s == WHARF_OK)
        W->res->set(rec, EVENT_SUBSCRIBER_EVENTS, val_json(own));
    return s;
}

/* Makes the part behind the @ lower-case: it has no case. */
static void lower_domain(wharf_req *req, wharf_rec *rec)
{
    const wharf_json *sent = W->res->member(rec, "email");
    wharf_str email, copy;
    bool domain = false;

    if (!sent || !W->json->text(sent, &email))
        return;
    copy = W->mem->dup(req, email.p, email.n);
    for (size_t i = 0; i < copy.n; i++) {
        char *c = (char *)copy.p + i;

        domain |= *c == '@';
        if (domain && *c >= 'A' && *c <= 'Z')
            *c = (char)(*c + 'a' - 'A');
    }
    W->res->set(rec, EVENT_SUBSCRIBER_EMAIL, val_text(copy));
}

static wharf_status check_verbs(wharf_req *req, const wharf_rec *rec)
{
    static const char *const verbs[] = {"approve", "resend_verification"};
    bool truth;

    for (size_t i = 0; i < 2; i++) {
        const wharf_json *v = W->res->member(rec, verbs[i]);

        if (v && (!W->json->truth(v, &truth) || !truth))
            return W->err->fail(
                req, ERR_VALIDATION_FAILED, verbs[i], "%s is true, or left out", verbs[i]);
    }
    return WHARF_OK;
}

static wharf_status subscribers_normalize(wharf_req *req, uint32_t op, wharf_rec *rec)
{
    const wharf_json *list = W->res->member(rec, "events");
    wharf_status s = op == WHARF_UPDATE ? check_verbs(req, rec) : WHARF_OK;

    if (s != WHARF_OK)
        return s;
    if ((list || op == WHARF_CREATE) && !system_types(list))
        return W->err->fail(req, ERR_SUBSCRIBER_EVENTS_INVALID, "events", NULL);
    if (op == WHARF_CREATE)
        lower_domain(req, rec);
    return list ? set_types(req, rec, list) : WHARF_OK;
}

/* ---- who owns ---- */

static wharf_status sole_owner(wharf_req *req, wharf_str user, bool *ret_sole)
{
    const wharf_str *ids, *emails;
    size_t n;
    wharf_status s = events_org->owners(req, &ids, &emails, &n);

    *ret_sole = s == WHARF_OK && n == 1 && same(ids[0], user);
    return s;
}

/* ---- check ---- */

static wharf_status note_mail(wharf_req *req, wharf_str id)
{
    wharf_val args[3] = {
        val_text(W->req->organization(req)), val_text(id), val_time(W->req->now_us(req))};

    return W->db->exec(req,
        "INSERT INTO events.verification (organization_id, subscriber_id, sent_at) VALUES ($1, $2, "
        "$3::timestamptz)"
        " ON CONFLICT DO NOTHING",
        args, 3, NULL);
}

static void expect_verification(wharf_req *req, wharf_rec *rec)
{
    W->res->set(rec, EVENT_SUBSCRIBER_STATUS, val_text(WHARF_S("pending_verification")));
    W->res->set(rec, EVENT_SUBSCRIBER_VERIFICATION_SENT_AT, val_time(W->req->now_us(req)));
    W->res->set(
        rec, EVENT_SUBSCRIBER_VERIFICATION_EXPIRES_AT, subscribers_later(req, VERIFY_HOURS * 3600));
}

/* Clears what the body asks to be done, which is not what the row is. */
static void never_kept(wharf_rec *rec)
{
    W->res->set(rec, EVENT_SUBSCRIBER_APPROVE, val_bool(false));
    W->res->set(rec, EVENT_SUBSCRIBER_RESEND_VERIFICATION, val_bool(false));
}

static wharf_status subscribers_check_create(wharf_req *req, wharf_rec *rec)
{
    const wharf_caller *caller = events_keys->caller(req);
    const wharf_val organization = val_text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_val n;
    bool sole = false;
    wharf_status s = W->db->lock(req, "events.subscriber", W->req->organization(req));

    if (s == WHARF_OK)
        s = W->db->query(req,
            "SELECT count(*) FROM events.subscriber WHERE organization_id = $1::text"
            " AND deleted_at IS NULL",
            &organization, 1, &rows);
    if (s != WHARF_OK)
        return s;
    if (W->db->value(rows, 0, 0, WHARF_V_INT, &n) && n.u.i >= SUBSCRIBERS_MAX)
        return W->err->fail(req, ERR_SUBSCRIBER_LIMIT, NULL, NULL);
    if (caller->user_id.n)
        s = sole_owner(req, caller->user_id, &sole);
    W->res->set(rec, EVENT_SUBSCRIBER_APPROVAL_REQUIRED, val_bool(!sole));
    W->res->set(rec, EVENT_SUBSCRIBER_REFUSALS, val_int(0));
    never_kept(rec);
    expect_verification(req, rec);
    return s;
}

static wharf_status check_approve(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    const wharf_caller *caller = events_keys->caller(req);
    wharf_str creator = WHARF_S(""), status = WHARF_S("");
    bool sole = false;
    wharf_status s;

    if (!same(caller->role, WHARF_S("owner")) || !caller->user_id.n)
        return W->err->fail(req, ERR_SUBSCRIBER_OWNER_REQUIRED, NULL, NULL);
    if (subscribers_has(old_rec, EVENT_SUBSCRIBER_APPROVED_AT) ||
        !subscribers_is_true(old_rec, EVENT_SUBSCRIBER_APPROVAL_REQUIRED))
        return W->err->fail(req, ERR_SUBSCRIBER_ALREADY_APPROVED, NULL, NULL);
    field_get_text(old_rec, EVENT_SUBSCRIBER_CREATED_BY, &creator);
    if (same(creator, caller->user_id)) {
        s = sole_owner(req, creator, &sole); /* the other owners left: nobody else can */
        if (s != WHARF_OK || !sole)
            return s != WHARF_OK
                       ? s
                       : W->err->fail(req, ERR_SUBSCRIBER_SECOND_OWNER_REQUIRED, NULL, NULL);
    }
    W->res->set(rec, EVENT_SUBSCRIBER_APPROVED_AT, val_time(W->req->now_us(req)));
    W->res->set(rec, EVENT_SUBSCRIBER_APPROVED_BY, val_text(caller->user_id));
    field_get_text(old_rec, EVENT_SUBSCRIBER_STATUS, &status);
    if (same(status, WHARF_S("pending_approval")))
        W->res->set(rec, EVENT_SUBSCRIBER_STATUS, val_text(WHARF_S("active")));
    return WHARF_OK;
}

static wharf_status check_resend(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    static const char sql[] =
        "SELECT count(*) FILTER (WHERE sent_at > $2::timestamptz - interval "
        "'1 minute'), count(*) - 1 FROM events.verification WHERE organization_id = $3::text AND "
        "subscriber_id = $1 AND sent_at > $2::timestamptz - interval '1 day'";
    const wharf_val args[] = {val_text(W->res->id(old_rec)), val_time(W->req->now_us(req)),
        val_text(W->req->organization(req))};
    wharf_val minute, day;
    wharf_str status = WHARF_S("");
    const wharf_rows *rows;
    wharf_status s;

    field_get_text(old_rec, EVENT_SUBSCRIBER_STATUS, &status);
    if (!same(status, WHARF_S("pending_verification")) && !same(status, WHARF_S("bounced")))
        return W->err->fail(req, ERR_SUBSCRIBER_ALREADY_VERIFIED, NULL, NULL);
    s = W->db->query(req, sql, args, 3, &rows);
    if (s != WHARF_OK)
        return s;
    if ((W->db->value(rows, 0, 0, WHARF_V_INT, &minute) && minute.u.i) ||
        (W->db->value(rows, 0, 1, WHARF_V_INT, &day) && day.u.i >= RESENDS_A_DAY))
        return W->err->fail(req, ERR_RATE_LIMITED, NULL,
            "A verification mail is sent once a minute and five times a day; wait");
    expect_verification(req, rec);
    W->res->set(rec, EVENT_SUBSCRIBER_VERIFIED_AT, val_null());
    W->res->set(rec, EVENT_SUBSCRIBER_REFUSALS, val_int(0));
    return WHARF_OK;
}

static wharf_status subscribers_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec)
{
    wharf_status s = WHARF_OK;

    if (op == WHARF_CREATE)
        return subscribers_check_create(req, rec);
    if (op == WHARF_DELETE)
        return WHARF_OK;
    if (!W->res->sent(rec, EVENT_SUBSCRIBER_EVENTS) && !W->res->sent(rec, EVENT_SUBSCRIBER_EMAIL) &&
        !W->res->sent(rec, EVENT_SUBSCRIBER_APPROVE) &&
        !W->res->sent(rec, EVENT_SUBSCRIBER_RESEND_VERIFICATION))
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, NULL, "Send events, approve or resend_verification");
    if (W->res->sent(rec, EVENT_SUBSCRIBER_APPROVE))
        s = check_approve(req, old_rec, rec);
    if (s == WHARF_OK && W->res->sent(rec, EVENT_SUBSCRIBER_RESEND_VERIFICATION))
        s = check_resend(req, old_rec, rec);
    never_kept(rec);
    return s;
}

/* ---- written ---- */

static wharf_status subscribers_ask_for_mail(wharf_req *req, wharf_str id)
{
    const wharf_json *args;
    wharf_status s = W->json->parse(
        req, W->mem->format(req, "{\"subscriber\":\"%.*s\"}", (int)id.n, id.p), &args);

    if (s == WHARF_OK)
        s = note_mail(req, id);
    return s == WHARF_OK ? W->event->enqueue(req, "verify", id, args, 0) : s;
}

/* Tells all owners: who gets alerts is the matter of everybody who owns. */
static wharf_status tell_owners(wharf_req *req, const wharf_rec *rec)
{
    const wharf_str *ids, *emails;
    wharf_str address = WHARF_S("");
    size_t n;
    wharf_status s = events_org->owners(req, &ids, &emails, &n);

    field_get_text(rec, EVENT_SUBSCRIBER_EMAIL, &address);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_mail_message m = {.head = WHARF_HEAD(wharf_mail_message),
            .to = &emails[i],
            .n_to = 1,
            .subject = WHARF_S("The events of a subscriber were changed"),
            .text = W->mem->format(req,
                "The system events that are mailed to %.*s were changed.\n\nIf this was not "
                "intended, look at the event subscribers of your organization.\n",
                (int)address.n, address.p),
            .html = WHARF_S(""),
            .reply_to = WHARF_S(""),
            .message_id = WHARF_S("")};

        if (events_mail->enabled(events_self) || events_keys->caller(req)->test_mode)
            s = events_mail->queue(req, &m, NULL);
    }
    return s;
}

static wharf_status subscribers_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *rec)
{
    wharf_str id = W->res->id(op == WHARF_DELETE ? old_rec : rec);
    wharf_status s = WHARF_OK;

    if (op == WHARF_DELETE) {
        s = events_tokens->revoke(req, VERIFY_KIND, id);
        return s == WHARF_OK ? events_tokens->revoke(req, UNSUBSCRIBE_KIND, id) : s;
    }
    if (op == WHARF_CREATE || W->res->changed(old_rec, rec, EVENT_SUBSCRIBER_VERIFICATION_SENT_AT))
        s = subscribers_ask_for_mail(req, id);
    if (s == WHARF_OK && op == WHARF_UPDATE &&
        W->res->changed(old_rec, rec, EVENT_SUBSCRIBER_APPROVED_AT))
        s = W->event->emit(req, "event_subscriber.approved", "event_subscriber", id, NULL);
    if (s == WHARF_OK && op == WHARF_UPDATE &&
        W->res->changed(old_rec, rec, EVENT_SUBSCRIBER_EVENTS))
        s = tell_owners(req, rec);
    return s;
}

const wharf_hooks subscriber_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = subscribers_normalize,
    .check = subscribers_check,
    .written = subscribers_written};

/* ---- what the mail server said ---- */

wharf_status subscriber_answered(wharf_req *req, wharf_str id, bool refused)
{
    static const char refused_sql[] =
        "UPDATE events.subscriber SET refusals = refusals + 1, status = CASE WHEN "
        "refusals + 1 >= $2::bigint THEN 'bounced' ELSE "
        "status END, version = version + 1 WHERE organization_id = $3::text AND id = $1 AND "
        "deleted_at IS NULL AND status <> 'bounced' RETURNING status";
    static const char taken_sql[] =
        "UPDATE events.subscriber SET refusals = 0 WHERE organization_id = $3::text AND id = $1 "
        "AND refusals > 0 AND $2::bigint > 0";
    const wharf_val args[] = {
        val_text(id), val_int(REFUSALS_MAX), val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, refused ? refused_sql : taken_sql, args, 3, &rows);

    if (s != WHARF_OK || !refused || !W->db->count(rows) ||
        !same(row_text(rows, 0, 0), WHARF_S("bounced")))
        return s;
    return W->event->emit(req, "event_subscriber.updated", "event_subscriber", id, NULL);
}

/* ---- those who never verify ---- */

wharf_status subscribers_tidy(wharf_req *req, void *arg)
{
    static const char old_sql[] =
        "SELECT id FROM events.subscriber WHERE organization_id = $3::text AND deleted_at IS NULL "
        "AND status = 'pending_verification' AND created_at < "
        "$1::timestamptz - make_interval(days => $2::integer) LIMIT 100";
    static const char alerts_sql[] =
        "DELETE FROM events.alert WHERE organization_id = $3::text"
        " AND at < $1::timestamptz - make_interval(days => $2::integer)";
    static const char mails_sql[] =
        "DELETE FROM events.verification WHERE organization_id = $3::text"
        " AND sent_at < $1::timestamptz - make_interval(days => $2::integer)";
    const wharf_val args[] = {
        val_time(W->req->now_us(req)), val_int(PENDING_DAYS), val_text(W->req->organization(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, old_sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        s = W->res->remove(req, "event_subscriber", row_text(rows, i, 0));
    if (s == WHARF_OK)
        s = W->db->exec(req, alerts_sql, args, 3, NULL);
    return s == WHARF_OK ? W->db->exec(req, mails_sql, args, 3, NULL) : s;
}
