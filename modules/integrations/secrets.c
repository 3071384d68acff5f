/* secrets.c - the secrets of an integration: written by key, read by the server only (spec 07 section 12). */
#include "integrations.gen.h"
#include "integrations.h"

wharf_status secret_value(wharf_req *req, wharf_str integration_id, wharf_str key, wharf_str *ret_value)
{
    static const char sql[] = "SELECT id, value FROM integrations.secret WHERE organization_id = $1::text AND "
                              "integration_id = $2::text AND key = $3::text AND deleted_at IS NULL";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(integration_id), val_text(key)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    *ret_value = WHARF_S("");
    if (s != WHARF_OK || !W->db->count(rows))
        return s;
    if (!int_crypto->open(req, "integrations.secret", "value", row_text(rows, 0, 0), row_text(rows, 0, 1), ret_value)) {
        *ret_value = WHARF_S("");
        W->log->write(int_self, req, WHARF_LOG_ERROR, "integrations.sealed",
            "a secret of %.*s does not open with this machine's keys", (int)integration_id.n, integration_id.p);
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

/* *ret_id: of the secret of this key, empty when there is none. *ret_n: how many there are in all. */
static wharf_status find_secret(
    wharf_req *req, wharf_str integration_id, wharf_str key, wharf_str *ret_id, int64_t *ret_n)
{
    static const char sql[] =
        "SELECT count(*), COALESCE(max(id) FILTER (WHERE key = $3::text), '') FROM integrations.secret WHERE "
        "organization_id = $1::text AND integration_id = $2::text AND deleted_at IS NULL";
    const wharf_val args[] = {val_text(W->req->organization(req)), val_text(integration_id), val_text(key)};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 3, &rows);

    if (s != WHARF_OK)
        return s;
    *ret_n = row_int(rows, 0, 0);
    *ret_id = row_text(rows, 0, 1);
    return WHARF_OK;
}

static wharf_status secret_body(
    wharf_req *req, wharf_str integration_id, wharf_str key, wharf_str value, bool anew, const wharf_json **ret)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    if (anew) {
        W->json->put(out, "integration_id", val_text(integration_id));
        W->json->put(out, "key", val_text(key));
    }
    W->json->put(out, "value", val_text(value));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

wharf_status secret_put(wharf_req *req, void *arg)
{
    const wharf_json *body, *auth, *given;
    wharf_str integration, id, key, value;
    const wharf_rec *rec;
    int64_t n = 0;
    wharf_status s = find_integration(req, &rec, &integration);

    (void)arg;
    if (s == WHARF_OK)
        s = W->req->body(req, &body);
    if (s != WHARF_OK)
        return s;
    key = json_text(body, "key");
    value = json_text(body, "value");
    auth = field_json(rec, INTEGRATION_AUTH);
    if (is(json_text(auth, "type"), "standard_webhooks") && same(json_text(auth, "secret"), key) &&
        !int_crypto->secret_valid(value))
        return W->err->fail(req, "integration.secret_invalid", "value", NULL);
    s = find_secret(req, integration, key, &id, &n);
    if (s == WHARF_OK && !id.n && n >= SECRETS_MAX)
        return W->err->fail(req, "integration.too_many_secrets", NULL, NULL);
    if (s == WHARF_OK)
        s = secret_body(req, integration, key, value, !id.n, &given);
    if (s == WHARF_OK)
        s = id.n ? W->res->update(req, "integration_secret", id, given, &rec)
                 : W->res->create(req, "integration_secret", given, &rec);
    if (s == WHARF_OK)
        W->res->encode(
            req, W->req->respond(req, id.n ? 200 : 201, id.n ? "Secret replaced" : "Secret created"), NULL, rec);
    return s;
}

wharf_status secret_remove(wharf_req *req, void *arg)
{
    wharf_str integration, id, key = WHARF_S("");
    const wharf_rec *rec;
    wharf_out *out;
    int64_t n;
    wharf_status s = find_integration(req, &rec, &integration);

    (void)arg;
    W->req->param(req, "key", &key);
    if (s == WHARF_OK)
        s = find_secret(req, integration, key, &id, &n);
    if (s == WHARF_OK && !id.n)
        return W->err->fail(req, "not_found", key.p, NULL);
    if (s == WHARF_OK)
        s = W->res->remove(req, "integration_secret", id);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Secret deleted");
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(id));
    W->json->put(out, "object", val_text(WHARF_S("integration_secret")));
    W->json->put(out, "deleted", val_bool(true));
    W->json->close(out);
    return WHARF_OK;
}
