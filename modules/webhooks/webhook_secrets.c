/* webhook_secrets.c - the secrets of a webhook: one that signs first, and older ones that sign
 * until they expire (spec 07 section 6). */
#include "webhooks.h"
#include "webhooks.gen.h"

enum { EXPIRE_DEFAULT_S = 86400 }; /* an old secret signs on */

wharf_status secrets_read(wharf_req *req, wharf_str column, int64_t now_us, struct secrets *ret)
{
    const wharf_json *list;
    wharf_status s;

    ret->n = 0;
    if (!column.n)
        return WHARF_OK;
    s = W->json->parse(req, column, &list);
    if (s != WHARF_OK)
        return s;
    for (const wharf_json *e = W->json->at(list, 0); e && ret->n < SECRETS_MAX;
         e = W->json->next(e)) {
        const wharf_json *end = W->json->get(e, "expires_us");
        int64_t expires = 0;
        wharf_str secret;

        if (end)
            W->json->integer(end, &expires);
        if ((expires && expires <= now_us) || !W->json->text(W->json->get(e, "secret"), &secret))
            continue;
        ret->secret[ret->n] = secret;
        ret->expires_us[ret->n++] = expires;
    }
    return WHARF_OK;
}

wharf_status secrets_push(
    wharf_req *req, struct secrets *s, wharf_str secret, int64_t expires_us, int64_t now_us)
{
    struct secrets old = *s;

    s->n = 1;
    s->secret[0] = secret;
    s->expires_us[0] = 0;
    for (size_t i = 0; i < old.n; i++) {
        int64_t end = i && old.expires_us[i] < expires_us ? old.expires_us[i] : expires_us;

        if (end <= now_us)
            continue;
        if (s->n == SECRETS_MAX)
            return W->err->fail(
                req, ERR_WEBHOOK_TOO_MANY_SECRETS, "expire_old_after_seconds", NULL);
        s->secret[s->n] = old.secret[i];
        s->expires_us[s->n++] = end;
    }
    return WHARF_OK;
}

wharf_str secrets_write(wharf_req *req, const struct secrets *s)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < s->n; i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "secret", val_text(s->secret[i]));
        if (s->expires_us[i])
            W->json->put(out, "expires_us", val_int(s->expires_us[i]));
        W->json->close(out);
    }
    W->json->close(out);
    return W->json->result_text(out);
}

/* ---- routes ---- */

wharf_status find_webhook(wharf_req *req, uint32_t flags, const wharf_rec **ret, wharf_str *ret_id)
{
    *ret_id = WHARF_S("");
    W->req->param(req, "webhook", ret_id);
    return W->res->fetch(req, "webhook", *ret_id, flags, ret);
}

static void webhook_secrets_show(wharf_out *out, const struct secrets *s)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "secret", s->n ? val_text(s->secret[0]) : val_null());
    W->json->open(out, "previous", '[');
    for (size_t i = 1; i < s->n; i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "expires_at", val_time(s->expires_us[i]));
        W->json->close(out);
    }
    W->json->close(out);
    W->json->close(out);
}

/* Notes in the change log that the secret was shown. It is shown to who may write. */
static wharf_status note_access(wharf_req *req, wharf_str id)
{
    const wharf_log_line line = {.head = WHARF_HEAD(wharf_log_line),
        .resource = "webhook",
        .action = "accessed_secret",
        .resource_id = id,
        .message = WHARF_S("The signing secret was shown")};

    return hooks_logs->add(req, &line);
}

wharf_status webhook_secret(wharf_req *req, void *arg)
{
    const wharf_rec *rec;
    struct secrets secrets;
    wharf_str id;
    wharf_status s = find_webhook(req, 0, &rec, &id);

    if (s == WHARF_OK)
        s = secrets_read(req, field_text(rec, WEBHOOK_SECRETS), W->req->now_us(req), &secrets);
    if (s == WHARF_OK)
        s = note_access(req, id);
    if (s == WHARF_OK)
        webhook_secrets_show(W->req->respond(req, 200, "Secret of the webhook"), &secrets);
    return s;
}

wharf_status webhook_rotate(wharf_req *req, void *arg)
{
    int64_t now = W->req->now_us(req), after = EXPIRE_DEFAULT_S;
    const wharf_json *body, *sent;
    wharf_str id, given = WHARF_S("");
    const wharf_rec *rec;
    struct secrets secrets;
    struct call call;
    wharf_status s = find_webhook(req, WHARF_FOR_UPDATE, &rec, &id);

    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s != WHARF_OK)
        return s;
    sent = W->json->get(body, "expire_old_after_seconds");
    if (sent)
        W->json->integer(sent, &after);
    sent = W->json->get(body, "secret");
    if (sent)
        W->json->text(sent, &given);
    if (sent && !hooks_crypto->secret_valid(given))
        return W->err->fail(req, ERR_WEBHOOK_SECRET_INVALID, "secret", NULL);
    s = secrets_read(req, field_text(rec, WEBHOOK_SECRETS), now, &secrets);
    if (s == WHARF_OK)
        s = secrets_push(req, &secrets, given.n ? given : hooks_crypto->new_secret(req),
            now + after * SECOND_US, now);
    call = (struct call){.doing = DOING_ROTATE, .secrets = secrets};
    if (s == WHARF_OK)
        s = webhook_write_by_call(req, WHARF_UPDATE, id, &call);
    if (s != WHARF_OK)
        return s;
    W->req->one_time(req, "secret");
    webhook_secrets_show(W->req->respond(req, 200, "Secret rotated"), &secrets);
    return WHARF_OK;
}
