/* fulfillment_print.c - carrier label and packing slip as print jobs, in one call
 * (docs/spec/03-shipments-and-trackers.md section 6.8). */
#include "fulfillments.h"

#include "fulfillments.gen.h"

enum { LINE_MAX = 100 };

/* ---- the slip, where there are no templates ---- */

/* A text page that is written line by line. */
struct page {
    wharf_req *req;
    char *text;
    size_t n, room;
};

static void add_text(struct page *p, wharf_str s)
{
    if (p->n + s.n + 2 > p->room) {
        char *more;

        p->room = 2 * (p->n + s.n + 2);
        more = W->mem->alloc(p->req, p->room);
        if (p->n)
            memcpy(more, p->text, p->n);
        p->text = more;
    }
    if (s.n)
        memcpy(p->text + p->n, s.p, s.n);
    p->n += s.n;
    p->text[p->n++] = '\n';
}

static void add_fact(struct page *p, const char *name, wharf_str value)
{
    if (value.n)
        add_text(p, W->mem->format(p->req, "%-18s %s", name, value.p));
}

static void add_party(struct page *p, const char *name, const wharf_json *party)
{
    const wharf_json *address = party ? W->json->get(party, "address") : NULL;

    if (json_is_null(party))
        return;
    add_fact(p, name, json_text(party, "name"));
    add_fact(p, "", json_text(party, "business"));
    if (!json_is_null(address))
        add_fact(p, "", json_text(address, "formatted_address"));
}

static wharf_str fulfillment_print_quantity_text(wharf_req *req, int64_t quantity)
{
    wharf_out *out = W->json->writer(req);
    wharf_str s;

    W->json->put(out, NULL, quantity_val(quantity));
    s = W->json->result_text(out);
    return W->mem->dup(req, s.p, s.n);
}

static void add_article(struct page *p, const struct article *a, int64_t quantity)
{
    add_text(p, W->mem->format(p->req, "%12s  %-20.*s  %.*s",
                    fulfillment_print_quantity_text(p->req, quantity).p,
                    (int)(a->sku.n < 20 ? a->sku.n : 20), a->sku.n ? a->sku.p : "",
                    (int)(a->name.n < LINE_MAX ? a->name.n : LINE_MAX), a->name.p));
}

/* Adds what is in each parcel; without parcels all that is asked for. */
static void add_articles(struct page *p, const struct order *o, const wharf_rows *parcels)
{
    for (size_t k = W->db->count(parcels); k-- > 0;) {
        wharf_str id = row_text(parcels, k, 0);

        add_text(p, WHARF_S(""));
        add_text(p, row_text(parcels, k, 1));
        for (size_t i = 0; i < o->n_contents; i++) {
            if (same(o->contents[i].parcel_id, id) && o->contents[i].quantity)
                add_article(p, &o->articles[o->contents[i].article], o->contents[i].quantity);
        }
    }
    for (size_t i = 0; !W->db->count(parcels) && i < o->n; i++)
        add_article(p, &o->articles[i], o->articles[i].requested);
    for (size_t i = 0; i < o->n; i++) {
        const struct article *a = &o->articles[i];
        int64_t packed = a->packed + a->shipped;

        if (W->db->count(parcels) && packed < a->requested) {
            add_text(p, WHARF_S(""));
            add_text(p,
                W->mem->format(p->req, "Follows later: %s of %s",
                    fulfillment_print_quantity_text(p->req, a->requested - packed).p, a->name.p));
        }
    }
}

static wharf_status make_slip(
    wharf_req *req, const wharf_rec *rec, struct order *o, wharf_str *ret_data)
{
    static const char sql[] = QUERY_ORDER_PARCELS;
    struct page p = {.req = req};
    const wharf_rows *parcels;
    wharf_status s = order_load_contents(o);

    if (s == WHARF_OK)
        s = query_about(req, sql, o->id, &parcels);
    if (s != WHARF_OK)
        return s;
    add_text(&p, WHARF_S("PACKING SLIP"));
    add_text(&p, WHARF_S(""));
    add_fact(&p, "Fulfillment", o->id);
    add_fact(&p, "Order", field_text(rec, FULFILLMENT_ORDER_NUMBER));
    add_fact(&p, "Purchase order", field_text(rec, FULFILLMENT_PURCHASE_ORDER));
    add_fact(&p, "Reference", field_text(rec, FULFILLMENT_REFERENCE_NUMBER));
    add_party(&p, "From", field_json(rec, FULFILLMENT_SENDER));
    add_party(&p, "To", field_json(rec, FULFILLMENT_RECIPIENT));
    add_articles(&p, o, parcels);
    *ret_data = W->mem->format(req, "data:text/plain;base64,%s",
        fulfillments_crypto->base64(req, (wharf_str){p.text, p.n}).p);
    return WHARF_OK;
}

/* ---- the label ---- */

static wharf_status find_label(wharf_req *req, wharf_str fulfillment, wharf_str shipment,
    wharf_str *ret_id, wharf_str *ret_data)
{
    static const char sql[] =
        "SELECT id, label_url FROM shipments.shipment WHERE organization_id = $2::text"
        " AND fulfillment_id = $1::text AND deleted_at IS NULL AND status <> 'canceled'"
        " AND ($3::text IS NULL OR id = $3::text) ORDER BY created_at DESC, id DESC LIMIT 1";
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql,
        (const wharf_val[]){
            val_text(fulfillment), val_text(W->req->organization(req)), val_text_or_null(shipment)},
        3, &rows);

    if (s != WHARF_OK)
        return s;
    if (!W->db->count(rows))
        return shipment.n ? W->err->fail(req, ERR_VALIDATION_FAILED, "shipment_id",
                                "The fulfillment has no such shipment")
                          : W->err->fail(req, ERR_FULFILLMENT_NO_LABEL, NULL,
                                "The fulfillment has no shipment; create one first");
    *ret_id = row_text(rows, 0, 0);
    *ret_data = row_text(rows, 0, 1);
    return ret_data->n ? WHARF_OK : W->err->fail(req, ERR_FULFILLMENT_NO_LABEL, NULL, NULL);
}

/* ---- jobs ---- */

struct printing {
    wharf_req *req;
    const wharf_json *body;
    const wharf_rec *rec;
    const wharf_rec *jobs[2];
    size_t n;
};

/* One document that is printed: of which row, from where, on which paper when the request names
 * none. template: a type, whose default is drawn in place of data. */
struct document {
    const char *key, *name, *type, *paper, *template;
    wharf_str id, data;
};

/* Returns what the request says for this document, else for both. */
static const wharf_json *option_of(
    const struct printing *p, const struct document *d, const char *key)
{
    const wharf_json *own = W->json->get(p->body, d->key), *v = NULL;

    if (!json_is_null(own))
        v = W->json->get(own, key);
    if (json_is_null(v))
        v = W->json->get(p->body, key);
    return json_is_null(v) ? NULL : v;
}

static void fulfillment_print_put_configuration(
    const struct printing *p, const struct document *d, wharf_out *out)
{
    const wharf_json *v = option_of(p, d, "configuration");

    if (!v && !d->paper)
        return;
    W->json->open(out, "configuration", '{');
    if (d->paper && (!v || !json_text(v, "paper_size").n))
        W->json->put(out, "paper_size", val_text(z(d->paper)));
    for (const wharf_json *m = v ? W->json->at(v, 0) : NULL; m; m = W->json->next(m)) {
        if (!json_is_null(m))
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    W->json->close(out);
}

static void put_resource(const struct document *d, wharf_out *out)
{
    W->json->open(out, "resource", '{');
    W->json->put(out, "type", val_text(z(d->type)));
    W->json->put(out, "id", val_text(d->id));
    W->json->close(out);
}

static void fulfillment_print_put_template(const struct document *d, wharf_out *out)
{
    W->json->open(out, "template", '{');
    W->json->put(out, "id", val_text(z(d->template)));
    put_resource(d, out);
    W->json->close(out);
}

static wharf_status fulfillment_print_add_job(struct printing *p, const struct document *d)
{
    static const char *const taken[] = {"print_station_id", "printer_name", "printer_id"};
    wharf_out *out = W->json->builder(p->req);
    const wharf_json *body;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "name", val_text(W->mem->format(p->req, "%s %s", d->name, d->id.p)));
    if (d->template)
        fulfillment_print_put_template(d, out);
    else
        W->json->put(out, "data", val_text(d->data));
    for (size_t i = 0; i < 3; i++) {
        if (option_of(p, d, taken[i]))
            W->json->put(out, taken[i], val_json(option_of(p, d, taken[i])));
    }
    if (!option_of(p, d, taken[0]))
        W->json->put(out, "location_id", val_text(field_text(p->rec, FULFILLMENT_LOCATION_ID)));
    fulfillment_print_put_configuration(p, d, out);
    put_resource(d, out);
    W->json->close(out);
    s = W->json->result(p->req, out, &body);
    if (s == WHARF_OK)
        s = W->res->create(p->req, "print_job", body, &p->jobs[p->n]);
    p->n += s == WHARF_OK;
    return s;
}

static bool wants_document(const struct printing *p, const char *document)
{
    const wharf_json *list = W->json->get(p->body, "documents");
    wharf_str s;

    if (json_is_null(list))
        return true;
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e)) {
        if (W->json->text(e, &s) && is(s, document))
            return true;
    }
    return false;
}

/* Returns the paper of the country where the slip is printed. */
static wharf_status fulfillment_print_usual_paper(const struct printing *p, const char **ret)
{
    static const char sql[] =
        "SELECT coalesce(address ->> 'country_code' IN ('US', 'CA', 'MX'), false)"
        " FROM locations.location WHERE organization_id = $2::text AND id = $1::text";
    const wharf_rows *rows;
    wharf_status s = query_about(p->req, sql, field_text(p->rec, FULFILLMENT_LOCATION_ID), &rows);

    *ret = s == WHARF_OK && W->db->count(rows) && row_bool(rows, 0, 0) ? "page_size_letter"
                                                                       : "page_size_a4";
    return s;
}

/* Prints the default template of packing slips; a page of text without the module templates. */
static wharf_status print_slip(struct printing *p)
{
    struct document slip = {.key = "packing_slip",
        .name = "Packing slip",
        .type = "fulfillment",
        .id = W->res->id(p->rec)};
    struct order o;
    wharf_status s;

    if (fulfillments_draw_slips) {
        slip.template = "fulfillment__packing_slip_pdf";
        return fulfillment_print_add_job(p, &slip);
    }
    s = order_load(p->req, slip.id, field_text(p->rec, FULFILLMENT_LOCATION_ID), false, &o);
    if (s == WHARF_OK)
        s = make_slip(p->req, p->rec, &o, &slip.data);
    if (s == WHARF_OK)
        s = fulfillment_print_usual_paper(p, &slip.paper);
    return s == WHARF_OK ? fulfillment_print_add_job(p, &slip) : s;
}

static wharf_status print_all(struct printing *p)
{
    struct document label = {.key = "label", .name = "Label", .type = "shipment"};
    wharf_status s = WHARF_OK;

    if (wants_document(p, "label")) {
        s = find_label(
            p->req, W->res->id(p->rec), json_text(p->body, "shipment_id"), &label.id, &label.data);
        if (s == WHARF_OK)
            s = fulfillment_print_add_job(p, &label);
    }
    return s == WHARF_OK && wants_document(p, "packing_slip") ? print_slip(p) : s;
}

wharf_status print_post(wharf_req *req, void *arg)
{
    struct printing p = {.req = req};
    wharf_str id = WHARF_S("");
    wharf_out *out;
    wharf_status s = W->req->body(req, &p.body);

    (void)arg;
    W->req->param(req, "id", &id);
    if (s == WHARF_OK)
        s = W->req->need_scope(req, "print_jobs:write");
    if (s == WHARF_OK)
        s = W->res->fetch(req, "fulfillment", id, 0, &p.rec);
    if (s == WHARF_OK)
        s = print_all(&p);
    if (s != WHARF_OK)
        return s;
    out = W->req->respond(req, 201, "Print jobs created");
    W->json->open(out, NULL, '{');
    W->json->open(out, "jobs", '[');
    W->res->encode_many(req, out, p.jobs, p.n);
    W->json->close(out);
    W->json->close(out);
    return WHARF_OK;
}
