/* template_resource.c - rows of other modules as data of a template: loaded with the rights of
 * who asks, and shown as a retrieve shows them (spec 05 section 8). */
#include "templates.h"
#include "templates.gen.h"

/* Rows that templates are made of, and the scopes that read them. A layout is known by its id
 * alone. */
static const struct kind {
    const char *type, *scope;
} kinds[] = {{"shipment", "shipments:read"}, {"item", "items:read"}, {"asset", "assets:read"},
    {"parcel", "parcels:read"}, {"container", "containers:read"}, {"layout", "locations:read"},
    {"location", "locations:read"}, {"fulfillment", "fulfillments:read"},
    {"manifest", "manifests:read"}, {"tracker", "trackers:read"}, {"contact", "contacts:read"},
    {"assembly_order", "items:read"}};

static const struct kind *template_kind_of(wharf_str type)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (is(type, kinds[i].type))
            return &kinds[i];
    }
    return NULL;
}

static wharf_status template_encode(wharf_req *req, const wharf_rec *rec, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(req);

    W->res->encode(req, out, NULL, rec);
    return W->json->result(req, out, ret);
}

wharf_status resource_load(
    wharf_req *req, const wharf_json *named, const struct place *at, const wharf_json **ret)
{
    const struct place type_at = {.up = at, .key = "type"}, id_at = {.up = at, .key = "id"};
    wharf_str type = json_text(named, "type");
    const struct kind *kind = template_kind_of(type);
    const wharf_rec *rec;
    wharf_status s;

    if (!kind) {
        place_wrong(req, &type_at, "is no resource that templates are made of");
        return W->err->current(req);
    }
    s = W->req->need_scope(req, kind->scope);
    if (s == WHARF_OK)
        s = W->res->fetch(req, kind->type, json_text(named, "id"), WHARF_SHOWN, &rec);
    if (s == WHARF_NOT_FOUND) {
        W->err->clear(req);
        place_wrong(req, &id_at, "is the id of no %s", kind->type);
        return W->err->current(req);
    }
    return s == WHARF_OK ? template_encode(req, rec, ret) : s;
}

static wharf_status load_organization(wharf_req *req, const wharf_json **ret)
{
    static const char sql[] = "SELECT jsonb_build_object('id', id, 'name', name) FROM "
                              "wharf.organization WHERE organization_id = $1::text";
    const wharf_val arg = val_text(W->req->organization(req));
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, &arg, 1, &rows);

    *ret = s == WHARF_OK && W->db->count(rows) ? row_json(rows, 0, 0) : NULL;
    return s;
}

wharf_status context_load(wharf_req *req, wharf_str location, struct drawing *d)
{
    const wharf_rec *rec;
    wharf_status s = load_organization(req, &d->organization);

    if (s != WHARF_OK || !location.n)
        return s;
    s = W->res->fetch(req, "location", location, WHARF_SHOWN, &rec);
    if (s == WHARF_NOT_FOUND || s == WHARF_DENIED) {
        W->err->clear(req);
        return WHARF_OK;
    }
    return s == WHARF_OK ? template_encode(req, rec, &d->location) : s;
}
