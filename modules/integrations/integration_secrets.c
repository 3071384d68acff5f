/* integration_secrets.c - the secrets of an integration: written by key, read by the server only
 * (spec 07 section 12). */
#include "integrations.gen.h"
#include "integrations.h"

#include "wharf/secrets.h"

wharf_str secret_key(const wharf_json *auth)
{
    wharf_str said = json_text(auth, "secret");

    return said.n ? said : WHARF_S("secret");
}

wharf_status secret_value(
    wharf_req *req, wharf_str integration_id, wharf_str key, wharf_str *ret_value)
{
    static const char sql[] =
        "SELECT id, value FROM integrations.secret WHERE organization_id = $1::text AND "
        "integration_id = $2::text AND key = $3::text AND deleted_at IS NULL";
    const wharf_val args[] = {
        val_text(W->req->organization(req)), val_text(integration_id), val_text(key)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    *ret_value = WHARF_S("");
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    if (!int_crypto->open(req, "integrations.secret", "value", row_text(rows, 0, 0),
            row_text(rows, 0, 1), ret_value)) {
        *ret_value = WHARF_S("");
        W->log->write(int_self, req, WHARF_LOG_ERROR, "integrations.sealed",
            "a secret of %.*s does not open with this machine's keys", (int)integration_id.n,
            integration_id.p);
    }
    return WHARF_OK;
}

/* ---- routes ---- */

static wharf_status find_integration(wharf_req *req, const wharf_rec **ret, wharf_str *ret_id)
{
    wharf_status s;

    *ret_id = WHARF_S("");
    W->req->param(req, "integration", ret_id);
    s = W->res->fetch(req, "integration", *ret_id, WHARF_FOR_UPDATE, ret);
    return s == WHARF_OK && is(field_text(*ret, INTEGRATION_DIRECTION), "outgoing")
               ? int_rules->reach(req, field_json(*ret, INTEGRATION_LOCATION_IDS))
               : s;
}

static const struct secrets_kind kind = {.resource = "integration_secret",
    .parent = "integration_id",
    .sql = "SELECT count(*), max(id) FILTER (WHERE key = $3::text) FROM integrations.secret WHERE "
           "organization_id = $1::text AND integration_id = $2::text AND deleted_at IS NULL",
    .too_many = ERR_INTEGRATION_TOO_MANY_SECRETS,
    .most = SECRETS_MAX};

wharf_status secret_put(wharf_req *req, void *arg)
{
    const wharf_json *body, *auth;
    wharf_str integration, key, value;
    const wharf_rec *rec;
    wharf_status s = find_integration(req, &rec, &integration);

    (void)arg;
    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s != WHARF_OK)
        return s;
    key = json_text(body, "key");
    value = json_text(body, "value");
    auth = field_json(rec, INTEGRATION_AUTH);
    if (is(json_text(auth, "type"), "standard_webhooks") && same(secret_key(auth), key) &&
        !int_crypto->secret_valid(value))
        return W->err->fail(req, ERR_INTEGRATION_SECRET_INVALID, "value", NULL);
    return secrets_set(req, &kind, integration, key, value);
}

wharf_status secret_remove(wharf_req *req, void *arg)
{
    wharf_str integration;
    const wharf_rec *rec;
    wharf_status s = find_integration(req, &rec, &integration);

    (void)arg;
    return s == WHARF_OK ? secrets_remove(req, &kind, integration) : s;
}
