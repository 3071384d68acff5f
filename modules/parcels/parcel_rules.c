/* parcel_rules.c - the rules of parcels (docs/spec/02-places-and-people.md section 7): units,
 * places, states; parcels that come with a shipment. */
#include "parcels.h"
#include "parcels.gen.h"

enum { SCALE = 4 };
#define INCHES_PER_CM (1 / 2.54)
#define POUNDS_PER_KG 2.2046226218

/* the context of writes by modules, a wharf_parcel_write */
static const char beside_kind[] = "parcels.beside";

/* ---- normalize: other units ---- */

static double parcel_factor_of(wharf_str unit)
{
    return is(unit, "cm")   ? INCHES_PER_CM
           : is(unit, "kg") ? POUNDS_PER_KG
           : is(unit, "g")  ? POUNDS_PER_KG / 1000
           : is(unit, "oz") ? 1.0 / 16
                            : 1;
}

static void parcel_convert(
    wharf_req *req, wharf_rec *rec, const char *name, wharf_field field, double factor)
{
    const wharf_json *v = W->res->member(rec, name);
    int64_t scaled;
    double exact;

    if (!v || !W->json->decimal(v, 6, &scaled))
        return; /* told as what it is: no number */
    exact = (double)scaled / 1e6 * factor * 1e4;
    W->res->set(rec, field, val_decimal((int64_t)(exact < 0 ? exact - 0.5 : exact + 0.5), SCALE));
}

static wharf_status parcel_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    const wharf_json *dimension = W->res->member(new_rec, "dimension_unit"),
                     *weight = W->res->member(new_rec, "weight_unit");
    wharf_str unit;

    if (dimension && W->json->text(dimension, &unit) && !is(unit, "in")) {
        parcel_convert(req, new_rec, "length", PARCEL_LENGTH, parcel_factor_of(unit));
        parcel_convert(req, new_rec, "width", PARCEL_WIDTH, parcel_factor_of(unit));
        parcel_convert(req, new_rec, "height", PARCEL_HEIGHT, parcel_factor_of(unit));
    }
    if (weight && W->json->text(weight, &unit) && !is(unit, "lb")) {
        parcel_convert(req, new_rec, "weight", PARCEL_WEIGHT, parcel_factor_of(unit));
        parcel_convert(req, new_rec, "max_weight_domestic", PARCEL_MAX_WEIGHT_DOMESTIC,
            parcel_factor_of(unit));
        parcel_convert(req, new_rec, "max_weight_international", PARCEL_MAX_WEIGHT_INTERNATIONAL,
            parcel_factor_of(unit));
    }
    return WHARF_OK;
}

/* ---- check ---- */

static wharf_status parcel_settle_status(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    if (field_int(rec, PARCEL_UNPACKED) && W->res->sent(rec, PARCEL_UNPACKED) &&
        !W->res->input(rec, PARCEL_STATUS) &&
        (!old_rec || !W->res->changed(old_rec, rec, PARCEL_STATUS)) &&
        (!old_rec || W->res->changed(old_rec, rec, PARCEL_UNPACKED)) &&
        (old_rec || is(field_text(rec, PARCEL_STATUS), "in_storage")))
        W->res->set(rec, PARCEL_STATUS, val_text(WHARF_S("unpacked")));
    if (old_rec && is(field_text(old_rec, PARCEL_STATUS), "destroyed") &&
        W->res->changed(old_rec, rec, PARCEL_STATUS))
        return W->err->fail(req, ERR_PARCEL_DESTROYED, "status", NULL);
    return WHARF_OK;
}

static wharf_status settle_contents(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    const wharf_json *sent = W->res->input(rec, PARCEL_CONTENTS), *contents, *items;
    wharf_status s;

    if (!W->res->sent(rec, PARCEL_CONTENTS) || !sent)
        return WHARF_OK;
    s = parcels_contents(
        req, rec, old_rec ? field_json(old_rec, PARCEL_CONTENTS) : NULL, sent, &contents, &items);
    if (s != WHARF_OK)
        return s;
    W->res->set(rec, PARCEL_CONTENTS, val_json(contents));
    W->res->set(rec, PARCEL_ITEM_IDS, val_json(items));
    return WHARF_OK;
}

/* Refuses requests that change what is packed for a fulfillment behind its back. */
static wharf_status parcel_check_packed(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    const wharf_json *contents = old_rec ? field_json(old_rec, PARCEL_CONTENTS) : NULL;

    if (!old_rec || !field_text(old_rec, PARCEL_FULFILLMENT_ID).n)
        return WHARF_OK;
    if (op == WHARF_DELETE ? contents && W->json->count(contents)
                           : W->res->sent(new_rec, PARCEL_CONTENTS))
        return W->err->fail(req, ERR_PARCEL_PACKED, op == WHARF_DELETE ? NULL : "contents", NULL);
    return WHARF_OK;
}

/* Checks that a parcel that is there may enter a shipment. */
static wharf_status check_entry(
    wharf_req *req, const wharf_rec *old_rec, const wharf_parcel_write *w)
{
    if (!old_rec || !w->set_shipment || !w->shipment_id.n)
        return WHARF_OK;
    if (w->fulfillment_id.n &&
        same(field_text(old_rec, PARCEL_FULFILLMENT_ID), w->fulfillment_id) &&
        !field_text(old_rec, PARCEL_SHIPMENT_ID).n)
        return WHARF_OK;
    return W->err->fail(req, ERR_VALIDATION_FAILED, "parcel_id",
        "The parcel is not of the fulfillment, or is in another shipment");
}

static void settle_beside(uint32_t op, const wharf_parcel_write *w, wharf_rec *rec)
{
    if (op == WHARF_CREATE) {
        W->res->set(rec, PARCEL_FULFILLMENT_ID, val_text_or_null(w->fulfillment_id));
        W->res->set(rec, PARCEL_MANIFEST_ID, val_text_or_null(w->manifest_id));
    }
    if (w->set_shipment)
        W->res->set(rec, PARCEL_SHIPMENT_ID, val_text_or_null(w->shipment_id));
    if (w->contents) {
        W->res->set(rec, PARCEL_CONTENTS, val_json(w->contents));
        W->res->set(rec, PARCEL_ITEM_IDS, val_json(w->item_ids));
    }
}

static wharf_status parcel_rules_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    const wharf_parcel_write *w = new_rec ? W->res->context(new_rec, beside_kind) : NULL;
    wharf_status s = w ? check_entry(req, old_rec, w)
                       : parcel_check_packed(req, op, old_rec, new_rec);

    if (op == WHARF_DELETE || s != WHARF_OK)
        return s;
    s = parcels_layouts->settle(req, op, old_rec, new_rec, PARCEL_LOCATION_ID, PARCEL_LAYOUT_ID,
        WHARF_PLACE_ADOPT | WHARF_PLACE_ACTIVE);
    if (s == WHARF_OK && op == WHARF_CREATE && !w && !field_text(new_rec, PARCEL_LOCATION_ID).n)
        s = W->err->fail(
            req, ERR_VALIDATION_FAILED, "location_id", "location_id is required, or layout_id");
    if (s == WHARF_OK)
        s = parcel_settle_status(req, old_rec, new_rec);
    if (s == WHARF_OK)
        s = settle_contents(req, old_rec, new_rec);
    if (s == WHARF_OK && w)
        settle_beside(op, w, new_rec);
    return s;
}

static wharf_status parcel_rules_check_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n)
{
    const wharf_rec *const *recs = (const wharf_rec *const *)new_recs;
    wharf_status s = WHARF_OK;

    if (op != WHARF_DELETE)
        s = parcels_layouts->ahead(req, recs, n, PARCEL_LOCATION_ID, PARCEL_LAYOUT_ID);
    if (s == WHARF_OK && op != WHARF_DELETE)
        s = parcels_contents_ahead(req, recs, n);
    return s == WHARF_OK
               ? check_each(req, parcels_many, op, old_recs, new_recs, n, parcel_rules_check)
               : s;
}

static wharf_status parcel_write_beside(wharf_req *req, wharf_str id, const wharf_json *body,
    const wharf_parcel_write *beside, const wharf_rec **ret_rec)
{
    wharf_parcel_write copy = {.head = WHARF_HEAD(wharf_parcel_write)};
    wharf_write w = {.head = WHARF_HEAD(wharf_write),
        .resource = "parcel",
        .op = id.n ? WHARF_UPDATE : WHARF_CREATE,
        .body = body,
        .kind = beside_kind,
        .context = &copy,
        .ret_rec = ret_rec};

    memcpy(&copy, beside, beside->head.size < sizeof(copy) ? beside->head.size : sizeof(copy));
    w.id = id.n ? id : copy.new_id;
    return W->res->write(req, &w);
}

const wharf_parcels_ops_api parcels_ops = {WHARF_HEAD(wharf_parcels_ops_api), parcel_write_beside};

/* ---- shown ---- */

static wharf_status parcel_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs)
{
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));

    for (size_t i = 0; i < n; i++)
        ids[i] = field_text(recs[i], PARCEL_LAYOUT_ID);
    return parcels_layouts->show(req, ids, n, outs);
}

const wharf_hooks parcels_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = parcel_normalize,
    .check = parcel_rules_check,
    .compute = parcel_compute,
    .check_many = parcel_rules_check_many};

/* ---- locations and layouts ---- */

static wharf_status parcel_location_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    static const char sql[] =
        "SELECT 1 FROM parcels.parcel WHERE organization_id = $2::text AND location_id = $1::text"
        " AND deleted_at IS NULL"
        " AND status NOT IN ('destroyed', 'unpacked') LIMIT 1";

    return parcels_places->in_use(req, W->res->id(old_rec), "parcels", sql);
}

static wharf_status parcel_layout_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    static const char sql[] =
        "UPDATE parcels.parcel SET layout_id = $2::text, version = version + 1"
        " WHERE organization_id = $3::text AND layout_id = ANY ((SELECT $1::text[])::text[]) AND "
        "deleted_at IS NULL";

    return parcels_layouts->carry(req, old_rec, sql);
}

const wharf_hooks parcels_location_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .check = parcel_location_check, .ops = WHARF_DELETE};
const wharf_hooks parcels_layout_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .written = parcel_layout_written, .ops = WHARF_DELETE};

/* ---- the parcels of a shipment ---- */

/* Puts a parcel that is there, of the shipment's fulfillment, into the shipment. */
static wharf_status enter_one(wharf_req *req, wharf_str id, const wharf_parcel_write *beside)
{
    const wharf_json *body;
    wharf_status s = W->json->parse(req, WHARF_S("{}"), &body);

    return s == WHARF_OK ? parcel_write_beside(req, id, body, beside, NULL) : s;
}

/* Texts of a shipment whose parcels are made. */
struct boxes_of {
    wharf_str shipment, location, layout, fulfillment;
};

static wharf_status parcel_make_one(
    wharf_req *req, const struct boxes_of *of, const wharf_json *parcel, size_t i)
{
    wharf_out *out = W->json->builder(req);
    const wharf_parcel_write beside = {.head = WHARF_HEAD(wharf_parcel_write),
        .fulfillment_id = of->fulfillment,
        .manifest_id = WHARF_S(""),
        .shipment_id = of->shipment,
        .set_shipment = true};
    const wharf_json *body;
    wharf_status s;

    W->err->base(req, W->mem->format(req, "parcels.%zu.", i).p);
    if (json_text(parcel, "parcel_id").n) {
        s = enter_one(req, json_text(parcel, "parcel_id"), &beside);
        W->err->base(req, "");
        return s;
    }
    W->json->open(out, NULL, '{');
    if (!json_text(parcel, "name").n)
        W->json->put(out, "name", val_text(W->mem->format(req, "Parcel %zu", i + 1)));
    W->json->put(out, "status", val_text(WHARF_S("in_processing")));
    if (of->location.n)
        W->json->put(out, "location_id", val_text(of->location));
    if (of->layout.n)
        W->json->put(out, "layout_id", val_text(of->layout));
    for (const wharf_json *m = W->json->at(parcel, 0); m; m = W->json->next(m)) {
        bool unnamed = same(W->json->key(m), WHARF_S("name")) && !json_text(parcel, "name").n;

        if (!json_is_null(m) && !unnamed)
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    W->json->close(out);
    s = W->json->result(req, out, &body);
    if (s == WHARF_OK)
        s = parcel_write_beside(req, WHARF_S(""), body, &beside, NULL);
    W->err->base(req, "");
    return s;
}

/* Makes the parcels of new shipments; those without any are not read. together: they are the rows
 * of a set, and problems are told of each. */
static wharf_status parcel_make_all(
    wharf_req *req, const wharf_rec *const *recs, size_t n, bool together)
{
    static const char sql[] = QUERY_PARCELS_OF;
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, val_rec_ids(req, recs, n).u.s, &rows);

    for (size_t k = 0; s == WHARF_OK && k < W->db->count(rows); k++) {
        const wharf_json *list = row_json(rows, k, 2);
        const struct boxes_of of = {
            row_text(rows, k, 1), row_text(rows, k, 3), row_text(rows, k, 4), row_text(rows, k, 5)};
        size_t i = 0;

        if (together)
            parcels_many->at(req, (size_t)row_int(rows, k, 0) - 1);
        for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e && s == WHARF_OK;
             e = W->json->next(e), i++)
            s = parcel_make_one(req, &of, e, i);
    }
    return s;
}

static wharf_status shipment_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    return op == WHARF_CREATE ? parcel_make_all(req, &new_rec, 1, false) : WHARF_OK;
}

static wharf_status shipments_written(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n)
{
    (void)old_recs;
    return op == WHARF_CREATE ? parcel_make_all(req, new_recs, n, true) : WHARF_OK;
}

const wharf_hooks parcels_shipment_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .written = shipment_written,
    .written_many = shipments_written};
