/* sqlbench.c - POST /v1/sqlbench: {steps: [["exec" or "later", n], ["query"], ["begin"],
 * ["commit"], ["rollback"]]}, one after the other in the request's transaction; answers what
 * each said: "ok", "refused", or which n are there, in the order they came. */
#include "wharf/values.h"

#include "sqlbench.gen.h"

static const wharf_host *W;

static const char add_sql[] =
    "INSERT INTO sqlbench.mark (organization_id, n) VALUES ($1, $2::bigint)";

static wharf_status add(wharf_req *req, bool later, int64_t n)
{
    wharf_val args[2] = {wharf_text(W->req->organization(req)), wharf_integer(n)};
    wharf_status s = WHARF_OK;

    if (later)
        W->db->later(req, add_sql, args, 2);
    else
        s = W->db->exec(req, add_sql, args, 2, NULL);
    memset(args, 0x7f, sizeof(args)); /* what is sent later is what was given */
    return s;
}

static wharf_status look(wharf_req *req, wharf_out *out)
{
    wharf_val organization = wharf_text(W->req->organization(req)), n;
    const wharf_rows *rows;
    wharf_status s = W->db->query(req,
        "SELECT n FROM sqlbench.mark WHERE organization_id = $1 AND role = current_user ORDER BY "
        "place",
        &organization, 1, &rows);

    if (s != WHARF_OK)
        return s;
    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < W->db->count(rows); i++) {
        if (W->db->value(rows, i, 0, WHARF_V_INT, &n))
            W->json->put(out, NULL, n);
    }
    W->json->close(out);
    return s;
}

static wharf_status do_step(wharf_req *req, wharf_out *out, wharf_str what, int64_t n)
{
    wharf_status s = WHARF_OK;

    if (wharf_same(what, WHARF_S("query")))
        return look(req, out);
    if (wharf_same(what, WHARF_S("begin")))
        s = W->db->begin(req);
    else if (wharf_same(what, WHARF_S("commit")))
        s = W->db->commit(req);
    else if (wharf_same(what, WHARF_S("rollback")))
        W->db->rollback(req);
    else
        s = add(req, wharf_same(what, WHARF_S("later")), n);
    if (s == WHARF_OK)
        W->json->put(out, NULL, wharf_text(WHARF_S("ok")));
    return s;
}

static wharf_status run(wharf_req *req, void *arg)
{
    wharf_out *reported = W->json->builder(req), *out;
    const wharf_json *body, *result, *steps;
    wharf_status s = W->req->body(req, &body);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    steps = W->json->get(body, "steps");
    W->json->open(reported, NULL, '[');
    for (const wharf_json *m = steps ? W->json->at(steps, 0) : NULL; m; m = W->json->next(m)) {
        wharf_str what = WHARF_S("");
        int64_t n = 0;

        W->json->text(W->json->at(m, 0), &what);
        if (W->json->count(m) > 1)
            W->json->integer(W->json->at(m, 1), &n);
        if (do_step(req, reported, what, n) == WHARF_OK)
            continue;
        W->err->clear(req);
        W->json->put(reported, NULL, wharf_text(WHARF_S("refused")));
    }
    W->json->close(reported);
    s = W->json->result(req, reported, &result);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 200, "Steps done");
    W->json->open(out, NULL, '{');
    W->json->put(out, "told", (wharf_val){.type = WHARF_V_JSON, .u.j = result});
    W->json->close(out);
    return WHARF_OK;
}

static const wharf_route routes[] = {
    {ROUTE_RUN, .handler = run},
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    (void)self;
    ROUTES(api, d, routes);
    api->errors(d, (wharf_str)ERRORS);
    MIGRATIONS(api, d);
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *given)
{
    static const wharf_plugin_desc desc = {
        .head = WHARF_HEAD(wharf_plugin_desc), .manifest = MANIFEST, .declare = declare};

    W = given;
    return &desc;
}
