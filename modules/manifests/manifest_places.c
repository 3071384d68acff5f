/* manifest_places.c - put-away, and what goes with locations and layouts
 * (docs/spec/03-shipments-and-trackers.md sections 7.8 and 7.9). */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"

/* ---- POST /v1/manifests/:manifest/put-aways ---- */

struct put_away {
    wharf_req *req;
    const wharf_json *body;
    wharf_str manifest, location;
    wharf_str item, unit, from, to, lot, note;
    int64_t quantity, base;
};

/* Finds the item, its unit, and the quantity in base units. */
static wharf_status manifest_places_find(struct put_away *p)
{
    static const char sql[] =
        "SELECT f.v ->> 'item', f.v ->> 'problem', f.v ->> 'member', u.id, u.problem,"
        " to_jsonb(manifests.in_base($5::numeric, u.factor))"
        " FROM (SELECT manifests.receive_find($2::text, $1::text, '{}', $3::jsonb) AS v OFFSET 0) f"
        " LEFT JOIN LATERAL manifests.unit_of($2::text, f.v ->> 'item', $4::text,"
        " $3::jsonb -> 'j' ->> 'code') u ON true";
    wharf_out *line = W->json->writer(p->req);
    const wharf_rows *rows;
    wharf_status s;

    W->json->open(line, NULL, '{');
    W->json->put(line, "j", val_json(p->body));
    W->json->close(line);
    s = W->db->query(p->req, sql,
        (const wharf_val[]){val_text(p->manifest), val_text(W->req->organization(p->req)),
            val_text(W->json->result_text(line)),
            val_text_or_null(json_text(p->body, "item_transactional_unit_id")),
            val_decimal(p->quantity, QUANTITY_SCALE)},
        5, &rows);
    if (s != WHARF_OK)
        return s;
    if (row_text(rows, 0, 1).n)
        return manifest_tell(p->req, row_text(rows, 0, 1), row_text(rows, 0, 2).p);
    if (row_text(rows, 0, 4).n)
        return manifest_tell(p->req, row_text(rows, 0, 4), "item_transactional_unit_id");
    p->item = row_text(rows, 0, 0);
    p->unit = row_text(rows, 0, 3);
    W->json->decimal(row_json(rows, 0, 5), QUANTITY_SCALE, &p->base);
    return WHARF_OK;
}

static wharf_status manifest_places_move(struct put_away *p, wharf_stock **ret_stock)
{
    const wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause),
        .reason = "transfer",
        .source_type = WHARF_S("manifest"),
        .source_id = p->manifest};
    wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
        .item_id = p->item,
        .location_id = p->location,
        .layout_id = p->from,
        .lot_id = WHARF_S(""),
        .lot_number = p->lot,
        .bucket = WHARF_STOCK_AVAILABLE,
        .quantity = -p->base,
        .reason_code_id = WHARF_S(""),
        .note = p->note,
        .unit_id = WHARF_S(""),
        .path = "quantity"};
    wharf_status s = manifests_stock->begin(p->req, &cause, ret_stock);

    if (s != WHARF_OK)
        return s;
    manifests_stock->move(*ret_stock, &m);
    m.layout_id = p->to;
    m.quantity = p->base;
    m.path = "layout_id";
    manifests_stock->move(*ret_stock, &m);
    return manifests_stock->apply(*ret_stock);
}

static void manifest_places_answer(const struct put_away *p, const wharf_stock *stock)
{
    wharf_stock_moved from = {.head = WHARF_HEAD(wharf_stock_moved)};
    wharf_out *out = W->req->respond(p->req, 200, "Put away");

    manifests_stock->moved(stock, 0, &from);
    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("put_away")));
    W->json->put(out, "manifest_id", val_text(p->manifest));
    W->json->put(out, "group_id", val_text(manifests_stock->group_id(stock)));
    W->json->put(out, "item_id", val_text(p->item));
    W->json->put(out, "quantity", val_decimal(p->base, QUANTITY_SCALE));
    W->json->put(out, "from_layout_id", val_text(from.layout_id));
    W->json->put(out, "layout_id", val_text(p->to));
    W->json->put(out, "lot_number", val_text_or_null(p->lot));
    W->json->close(out);
}

wharf_status manifest_stow_post(wharf_req *req, void *arg)
{
    struct put_away p = {.req = req, .manifest = WHARF_S(""), .quantity = WHARF_STOCK_ONE};
    const wharf_json *quantity;
    const wharf_rec *rec;
    wharf_stock *stock;
    enum manifest_status status;
    wharf_status s = W->req->body(req, &p.body);

    W->req->param(req, "manifest", &p.manifest);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "manifest", p.manifest, WHARF_FOR_UPDATE, &rec);
    if (s != WHARF_OK)
        return s;
    status = manifest_status_of(rec);
    if (status == MANIFEST_IS_CREATED)
        return W->err->fail(req, ERR_MANIFEST_NOT_ACCEPTED, NULL, NULL);
    if (status == MANIFEST_IS_VOID)
        return W->err->fail(req, ERR_MANIFEST_CLOSED, NULL, NULL);
    p.location = field_text(rec, MANIFEST_LOCATION_ID);
    p.from = json_text(p.body, "from_layout_id");
    p.to = json_text(p.body, "layout_id");
    p.lot = json_text(p.body, "lot_number");
    p.note = json_text(p.body, "comment");
    quantity = W->json->get(p.body, "quantity");
    if (!json_is_null(quantity))
        s = manifest_quantity(req, quantity, "quantity", true, &p.quantity);
    if (s == WHARF_OK)
        s = manifest_places_find(&p);
    if (s == WHARF_OK)
        s = manifest_places_move(&p, &stock);
    if (s == WHARF_OK)
        manifest_places_answer(&p, stock);
    return s;
}

/* ---- locations and layouts that go ---- */

static wharf_status manifest_places_location_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char sql[] = "SELECT 1 FROM manifests.manifest WHERE organization_id = $2::text"
                              " AND location_id = $1::text AND deleted_at IS NULL"
                              " AND status IN ('created', 'accepted', 'processing') LIMIT 1";

    return manifests_places->in_use(req, W->res->id(old_rec), "manifests", sql);
}

static wharf_status manifest_places_layout_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] = QUERY_LAYOUTS_CARRY;

    return manifests_layouts->carry(req, old_rec, sql);
}

const wharf_hooks manifest_location_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = manifest_places_location_check, .ops = WHARF_DELETE};
const wharf_hooks manifest_layout_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .written = manifest_places_layout_written,
    .ops = WHARF_DELETE};
