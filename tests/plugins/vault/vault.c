/* vault.c - a resource with a sealed column and a rule that reads it, and one without rules. For
 * tests/api/org/test_secrets.py. */
#include <stdlib.h>

#include "wharf/plugin.h"

#include "vault.gen.h"

static const wharf_host *W;

/* hint: "<length>:<last character>" of the token, and whether the rule saw the old one. */
static wharf_status vault_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_val token, old;
    wharf_str hint;

    if (op == WHARF_DELETE || !W->res->get(new_rec, VAULT_TOKEN, &token))
        return WHARF_OK;
    if (token.u.s.n < 4)
        return W->err->fail(req, "vault.weak", "token", NULL);
    hint = W->mem->format(req, "%zu:%c%s", token.u.s.n, token.u.s.p[token.u.s.n - 1],
        old_rec && W->res->get(old_rec, VAULT_TOKEN, &old) &&
                W->res->changed(old_rec, new_rec, VAULT_TOKEN)
            ? " was another"
            : "");
    W->res->set(new_rec, VAULT_HINT, (wharf_val){.type = WHARF_V_TEXT, .u.s = hint});
    return WHARF_OK;
}

static const wharf_hooks vault_hooks = {.head = WHARF_HEAD(wharf_hooks), .check = vault_check};

/* A new token, shown this once. */
static wharf_status renew(wharf_req *req, void *arg)
{
    wharf_str id, token = W->req->new_id(req, "token");
    const wharf_json *body;
    const wharf_rec *rec;
    wharf_out *out;
    wharf_status s;

    (void)arg;
    W->req->param(req, "vault", &id);
    s = W->json->parse(
        req, W->mem->format(req, "{\"token\":\"%.*s\"}", (int)token.n, token.p), &body);
    if (s == WHARF_OK)
        s = W->res->update(req, "vault", id, body, &rec);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Token renewed");
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", (wharf_val){.type = WHARF_V_TEXT, .u.s = id});
    W->json->put(out, "token", (wharf_val){.type = WHARF_V_TEXT, .u.s = token});
    W->json->close(out);
    W->req->one_time(req, "token");
    return WHARF_OK;
}

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource vault = {.head = WHARF_HEAD(wharf_resource),
        .name = "vault",
        .definition = VAULT_DEFINITION,
        .definition_hash = VAULT_DEFINITION_HASH,
        .hooks = &vault_hooks};
    const wharf_resource drawer = {.head = WHARF_HEAD(wharf_resource),
        .name = "drawer",
        .definition = DRAWER_DEFINITION,
        .definition_hash = DRAWER_DEFINITION_HASH};

    const wharf_route route = {.head = WHARF_HEAD(wharf_route),
        .method = "POST",
        .path = "/v1/vaults/:vault/token",
        .scope = "vaults:write",
        .definition = WHARF_S(
            "{\"summary\": \"A new token, shown this once\", \"location\": \"none\", \"response\": "
            "{\"type\": \"object\"}}"),
        .handler = renew};

    const wharf_route careless = {
        .head = WHARF_HEAD(wharf_route), .method = "GET", .path = "/v1/careless", .handler = renew};
    wharf_route unplaced = route;

    (void)self;
    unplaced.path = "/v1/unplaced";
    unplaced.definition = WHARF_S("{\"summary\": \"Forgot its policy\"}");
    if (getenv("WHARF_TEST_CARELESS")) {
        api->route(d, &careless);
        api->route(d, &unplaced);
    }
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
    api->resource(d, &vault);
    api->resource(d, &drawer);
    api->route(d, &route);
}

static const wharf_plugin_desc desc = {
    .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *host)
{
    W = host;
    return &desc;
}
