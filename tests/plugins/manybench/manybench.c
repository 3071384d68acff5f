/* manybench.c - POST /v1/manybench: {action, resource, bodies, ids, all} through the service
 * wharf.many; answers what became of each row. And stamps, whose rule writes again what was just
 * written: "loud" names are upper case. */
#include <string.h>

#include "wharf/service/many.h"
#include "wharf/values.h"

#include "manybench.gen.h"

static const wharf_host *host;
static const wharf_many_api *many_rows;

enum { MOST = 1000 };

struct asked {
    wharf_str action, resource;
    const wharf_json *bodies[MOST];
    wharf_str ids[MOST];
    size_t n;
    uint32_t flags;
};

static void read_asked(const wharf_json *body, struct asked *a)
{
    const wharf_json *bodies = host->json->get(body, "bodies"), *ids = host->json->get(body, "ids");
    size_t n_ids = 0;
    bool all;

    host->json->text(host->json->get(body, "action"), &a->action);
    host->json->text(host->json->get(body, "resource"), &a->resource);
    for (const wharf_json *m = bodies ? host->json->at(bodies, 0) : NULL; m && a->n < MOST;
         m = host->json->next(m))
        a->bodies[a->n++] = m;
    for (const wharf_json *m = ids ? host->json->at(ids, 0) : NULL; m && n_ids < MOST;
         m = host->json->next(m))
        host->json->text(m, &a->ids[n_ids++]);
    a->n = a->n ? a->n : n_ids;
    if (host->json->get(body, "all") && host->json->truth(host->json->get(body, "all"), &all) &&
        all)
        a->flags = WHARF_MANY_ALL;
}

static void put_row(wharf_out *out, const wharf_many *many, size_t i)
{
    static const char *const outcomes[] = {"", "written", "unchanged", "refused", "taken_back"};
    wharf_str code, path, message;

    host->json->open(out, NULL, '{');
    host->json->put(out, "outcome", wharf_text(wharf_z(outcomes[many_rows->outcome(many, i)])));
    host->json->put(out, "id", wharf_text_or_null(many_rows->id(many, i)));
    host->json->open(out, "problems", '[');
    for (size_t k = 0; many_rows->problem(many, i, k, &code, &path, &message); k++) {
        host->json->open(out, NULL, '{');
        host->json->put(out, "code", wharf_text(code));
        host->json->put(out, "path", wharf_text(path));
        host->json->put(out, "message", wharf_text(message));
        host->json->close(out);
    }
    host->json->close(out);
    host->json->close(out);
}

static wharf_status run(wharf_req *req, void *arg)
{
    struct asked *a = host->mem->alloc(req, sizeof(*a));
    const wharf_json *body;
    const wharf_many *many = NULL;
    wharf_out *out;
    wharf_status s = host->req->body(req, &body);

    (void)arg;
    if (s != WHARF_OK)
        return s;
    read_asked(body, a);
    if (wharf_same(a->action, WHARF_S("create")))
        s = many_rows->create(req, a->resource.p, a->bodies, a->n, a->flags, &many);
    else if (wharf_same(a->action, WHARF_S("update")))
        s = many_rows->update(req, a->resource.p, a->ids, a->bodies, a->n, a->flags, &many);
    else
        s = many_rows->remove(req, a->resource.p, a->ids, a->n, a->flags, &many);
    if (s != WHARF_OK)
        return s;
    out = host->req->respond(req, 200, "Rows written");
    host->json->open(out, NULL, '{');
    host->json->put(out, "refused", wharf_integer((int64_t)many_rows->refused(many)));
    host->json->open(out, "rows", '[');
    for (size_t i = 0; i < a->n; i++)
        put_row(out, many, i);
    host->json->close(out);
    host->json->close(out);
    return WHARF_OK;
}

static wharf_status make_loud(wharf_req *req)
{
    static const char sql[] = "UPDATE manybench.stamp SET name = upper(name) WHERE organization_id "
                              "= $1 AND name LIKE 'loud %'";
    const wharf_val organization = wharf_text(host->req->organization(req));

    return host->db->exec(req, sql, &organization, 1, NULL);
}

static wharf_status written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    (void)op, (void)old_rec, (void)new_rec;
    return make_loud(req);
}

static wharf_status written_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n)
{
    (void)op, (void)old_recs, (void)new_recs, (void)n;
    return make_loud(req);
}

static const wharf_hooks hooks = {
    .head = WHARF_HEAD(wharf_hooks), .written = written, .written_many = written_many};

static const wharf_route routes[] = {
    {ROUTE_WRITE, .handler = run},
};

static void declare(wharf_plugin *self, wharf_decl *d, const wharf_decl_api *api)
{
    const wharf_resource stamp = {.head = WHARF_HEAD(wharf_resource),
        .name = "stamp",
        .definition = STAMP_DEFINITION,
        .definition_hash = STAMP_DEFINITION_HASH,
        .hooks = &hooks};

    (void)self;
    MIGRATIONS(api, d);
    api->resource(d, &stamp);
    ROUTES(api, d, routes);
    api->errors(d, (wharf_str)ERRORS);
}

static wharf_status start(wharf_plugin *self, wharf_req *req)
{
    (void)req;
    many_rows = host->service(self, "wharf.many", 1, 0);
    return many_rows ? WHARF_OK : WHARF_UNAVAILABLE;
}

const wharf_plugin_desc *wharf_plugin_entry_v1(const wharf_host *given)
{
    static const wharf_plugin_desc desc = {.head = WHARF_HEAD(wharf_plugin_desc),
        .manifest = MANIFEST,
        .declare = declare,
        .start = start};

    host = given;
    return &desc;
}
