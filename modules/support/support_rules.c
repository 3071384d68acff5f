/* support_rules.c - the rules of support requests (spec 01 section 16): states, messages, what
 * follows from writing. */
#include <string.h>

#include "support.h"
#include "support.gen.h"

/* ---- normalize: attachments and the default of email ---- */

/* Reads the address of the user who asks; empty when there is none. */
static wharf_status own_email(wharf_req *req, wharf_str *ret)
{
    wharf_str actor = W->req->actor(req);
    const wharf_json *row = NULL;
    const wharf_rec *user;
    wharf_out *out;

    *ret = WHARF_S("");
    if (actor.n < 5 || memcmp(actor.p, "user_", 5) != 0)
        return WHARF_OK;
    if (W->res->fetch(req, "user", actor, 0, &user) != WHARF_OK) {
        W->err->clear(req);
        return WHARF_OK;
    }
    out = W->json->builder(req);
    W->res->encode(req, out, NULL, user);
    if (W->json->result(req, out, &row) == WHARF_OK)
        W->json->text(W->json->get(row, "email"), ret);
    return WHARF_OK;
}

static wharf_status default_email(wharf_req *req, wharf_rec *new_rec)
{
    wharf_str email;
    wharf_status s;

    if (W->res->member(new_rec, "email"))
        return WHARF_OK;
    s = own_email(req, &email);
    if (s == WHARF_OK && email.n) /* without one: see the check */
        W->res->set(new_rec, SUPPORT_REQUEST_EMAIL, val_text(email));
    return s;
}

static wharf_status support_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *list = W->res->member(new_rec, "attachments");
    wharf_status s = WHARF_OK;

    W->res->drop(new_rec, "announced");
    if (list)
        s = attachments_check(req, list);
    if (list && s == WHARF_OK)
        W->res->set(new_rec, SUPPORT_REQUEST_ANNOUNCED, val_json(list));
    W->res->drop(new_rec, "attachments");
    return op == WHARF_CREATE && s == WHARF_OK ? default_email(req, new_rec) : s;
}

/* ---- check ---- */

static bool support_follows(wharf_str from, wharf_str to)
{
    static const char *const chain[] = {"open", "in_progress", "resolved", "closed"};

    for (size_t i = 0; i + 1 < sizeof(chain) / sizeof(chain[0]); i++) {
        if (is(from, chain[i]) && is(to, chain[i + 1]))
            return true;
    }
    return false;
}

/* Checks the status. A message makes the request open again, unless the same body says what it
 * shall be. */
static wharf_status support_check_status(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    bool message = W->res->sent(new_rec, SUPPORT_REQUEST_MESSAGE),
         changed = W->res->changed(old_rec, new_rec, SUPPORT_REQUEST_STATUS);
    wharf_str from = WHARF_S("open"), to = from;

    field_get_text(old_rec, SUPPORT_REQUEST_STATUS, &from);
    field_get_text(new_rec, SUPPORT_REQUEST_STATUS, &to);
    if (message && is(from, "closed"))
        return W->err->fail(req, ERR_SUPPORT_INVALID_TRANSITION, "message",
            "The support request is closed; make a new one");
    if (changed && !support_follows(from, to) && !(message && is(to, "open")))
        return W->err->fail(req, ERR_SUPPORT_INVALID_TRANSITION, "status", NULL);
    if (message && !W->res->sent(new_rec, SUPPORT_REQUEST_STATUS))
        W->res->set(new_rec, SUPPORT_REQUEST_STATUS, val_text(WHARF_S("open")));
    return WHARF_OK;
}

static const char *author_type(wharf_str actor)
{
    return actor.n > 5 && !memcmp(actor.p, "user_", 5)  ? "user"
           : actor.n > 4 && !memcmp(actor.p, "dev_", 4) ? "device"
           : is(actor, "sys")                           ? "system"
                                                        : "api_key";
}

static wharf_status add_message(
    wharf_req *req, wharf_str request_id, wharf_str email, wharf_str body, wharf_str *ret_id)
{
    static const char sql[] =
        "INSERT INTO support.message (organization_id, id, request_id, author_type, author_id, "
        "author_email, body, created_at)"
        " VALUES ($1::text, $2::text, $3::text, $4::text, NULLIF($5::text, ''), NULLIF($6::text, "
        "''), $7::text, $8::timestamptz)";
    wharf_str actor = W->req->actor(req), type = {author_type(actor), 0};

    type.n = strlen(type.p);
    *ret_id = W->req->new_id(req, "smsg");
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(*ret_id),
        val_text(request_id), val_text(type), val_text(actor), val_text(email), val_text(body),
        val_time(W->req->now_us(req))};

    return W->db->exec(req, sql, args, 8, NULL);
}

/* Makes rows of the message and the attachments of this body; what carried them here is not kept
 * in the request's own. */
static wharf_status take_parts(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec, bool revoked)
{
    const wharf_json *list = W->res->input(new_rec, SUPPORT_REQUEST_ANNOUNCED);
    wharf_str body, email = WHARF_S(""), message_id = WHARF_S("");
    wharf_val parts = val_int(0);
    wharf_status s = WHARF_OK;

    if (old_rec)
        W->res->get(old_rec, SUPPORT_REQUEST_PARTS, &parts);
    parts.u.i += revoked; /* so that the row is written, and told of */
    if (op == WHARF_CREATE)
        field_get_text(new_rec, SUPPORT_REQUEST_EMAIL, &email);
    else
        s = own_email(req, &email);
    if (s == WHARF_OK && W->res->sent(new_rec, SUPPORT_REQUEST_MESSAGE) &&
        field_get_text(new_rec, SUPPORT_REQUEST_MESSAGE, &body)) {
        s = add_message(req, W->res->id(new_rec), email, body, &message_id);
        parts.u.i++;
        if (old_rec && field_get_text(old_rec, SUPPORT_REQUEST_MESSAGE, &body))
            W->res->set(new_rec, SUPPORT_REQUEST_MESSAGE, val_text(body));
    }
    if (s == WHARF_OK && list && W->json->type(list) == WHARF_J_ARRAY) {
        s = attachments_add(req, W->res->id(new_rec), message_id, list);
        parts.u.i += (int64_t)W->json->count(list);
    }
    W->res->set(new_rec, SUPPORT_REQUEST_ANNOUNCED, val_null());
    W->res->set(new_rec, SUPPORT_REQUEST_PARTS, parts);
    return s;
}

/* Checks revoke_links, which is an order, not a value. *ret_done: links were ended. */
static wharf_status check_revoke(
    wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec, bool *ret_done)
{
    wharf_val revoke = {0};
    wharf_status s = WHARF_OK;

    *ret_done = old_rec && W->res->sent(new_rec, SUPPORT_REQUEST_REVOKE_LINKS) &&
                W->res->get(new_rec, SUPPORT_REQUEST_REVOKE_LINKS, &revoke) && revoke.u.i;
    if (*ret_done)
        s = attachments_revoke(req, W->res->id(old_rec));
    W->res->set(new_rec, SUPPORT_REQUEST_REVOKE_LINKS, val_bool(false));
    return s;
}

static wharf_status support_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s = WHARF_OK;
    bool revoked = false;
    wharf_str email;

    if (op == WHARF_DELETE)
        return WHARF_OK;
    if (op == WHARF_CREATE && !field_get_text(new_rec, SUPPORT_REQUEST_EMAIL, &email))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "email",
            "email is required, since the key has no user with one");
    if (op == WHARF_UPDATE)
        s = support_check_status(req, old_rec, new_rec);
    else
        W->res->set(new_rec, SUPPORT_REQUEST_STATUS, val_text(WHARF_S("open")));
    if (s == WHARF_OK)
        s = check_revoke(req, old_rec, new_rec, &revoked);
    return s == WHARF_OK ? take_parts(req, op, old_rec, new_rec, revoked) : s;
}

/* ---- written ---- */

/* Asks for the notice: now, when there is nothing to wait for; else the arrival of a file asks
 * again, and this is the end of waiting. */
static wharf_status ask_for_notice(wharf_req *req, const wharf_rec *new_rec)
{
    wharf_str id = W->res->id(new_rec);
    wharf_val parts = {0};
    const wharf_json *args;
    wharf_status s = W->json->parse(
        req, W->mem->format(req, "{\"request\": \"%.*s\"}", (int)id.n, id.p), &args);

    W->res->get(new_rec, SUPPORT_REQUEST_PARTS, &parts);
    return s == WHARF_OK ? W->event->enqueue(req, "notice", WHARF_S(""), args,
                               parts.u.i > 1 ? W->req->now_us(req) + UPLOAD_SECONDS * 1000000LL : 0)
                         : s;
}

static wharf_status support_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_str status;
    wharf_status s = WHARF_OK;

    if (op == WHARF_DELETE)
        return attachments_remove(req, W->res->id(old_rec));
    if (op == WHARF_CREATE)
        return ask_for_notice(req, new_rec);
    if (W->res->sent(new_rec, SUPPORT_REQUEST_MESSAGE))
        s = W->event->emit(
            req, "support_request.replied", "support_request", W->res->id(new_rec), NULL);
    if (s == WHARF_OK && W->res->changed(old_rec, new_rec, SUPPORT_REQUEST_STATUS) &&
        field_get_text(new_rec, SUPPORT_REQUEST_STATUS, &status) && is(status, "closed"))
        s = W->event->emit(
            req, "support_request.closed", "support_request", W->res->id(new_rec), NULL);
    return s;
}

/* ---- shown ---- */

static wharf_status show_messages(wharf_req *req, wharf_str id, wharf_out *out)
{
    static const char sql[] =
        "SELECT m.id, m.author_type, m.author_id, m.author_email, m.body, m.created_at, "
        "COALESCE((SELECT jsonb_agg(a.id ORDER BY a.created_at, a.position) FROM "
        "support.attachment a WHERE a.organization_id = m.organization_id AND a.message_id = m.id "
        "AND a.request_id = m.request_id), '[]') FROM support.message m"
        " WHERE m.organization_id = $2::text AND m.request_id = $1::text ORDER BY m.id";
    const wharf_rows *rows;
    wharf_val v;
    wharf_status s = query_about(req, sql, id, &rows);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "id", val_text(row_text(rows, i, 0)));
        W->json->open(out, "author", '{');
        W->json->put(out, "type", val_text(row_text(rows, i, 1)));
        W->json->put(out, "id", W->db->value(rows, i, 2, WHARF_V_TEXT, &v) ? v : val_null());
        W->json->put(out, "email", W->db->value(rows, i, 3, WHARF_V_TEXT, &v) ? v : val_null());
        W->json->close(out);
        W->json->put(out, "body", val_text(row_text(rows, i, 4)));
        if (W->db->value(rows, i, 6, WHARF_V_JSON, &v))
            W->json->put(out, "attachments", v);
        if (W->db->value(rows, i, 5, WHARF_V_TIME_US, &v))
            W->json->put(out, "created_at", v);
        W->json->close(out);
    }
    W->json->close(out);
    return s;
}

static wharf_status support_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        if (f == SUPPORT_REQUEST_MESSAGES)
            s = show_messages(req, W->res->id(recs[i]), outs[i]);
        else if (f == SUPPORT_REQUEST_ATTACHMENTS)
            s = attachments_show(req, W->res->id(recs[i]), outs[i]);
    }
    return s;
}

const wharf_hooks support_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = support_normalize,
    .check = support_check,
    .written = support_written,
    .compute = support_compute};
