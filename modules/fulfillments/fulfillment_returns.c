/* fulfillment_returns.c - what comes back of a completed fulfillment
 * (docs/spec/03-shipments-and-trackers.md section 6.8): a receipt of stock that is linked to
 * it. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

enum { NOTE_MAX = 500 }; /* letters of a comment */

/* One line of a return. */
struct line {
    size_t article;
    int64_t received, defective;
    wharf_str layout_id, lot_number, reason_code_id, comment;
    const char *at;
};

struct lines {
    struct returns *r;
    struct line list[LINES_MAX];
    size_t n;
};

/* ---- reading ---- */

static const wharf_json *line_member(const wharf_json *line, const char *key, const char *former)
{
    const wharf_json *v = W->json->get(line, key);

    return json_is_null(v) ? W->json->get(line, former) : v;
}

static wharf_status read_quantities(struct lines *l, const wharf_json *e, struct line *ret)
{
    wharf_req *req = l->r->order.req;
    struct article *a = &l->r->order.articles[ret->article];
    const wharf_json *received = line_member(e, "received_qty", "verified_qty"),
                     *defective = line_member(e, "defective_qty", "damaged_qty");
    wharf_status s = order_quantity_read(
        req, received, a->is_asset, order_path(req, ret->at, "received_qty"), &ret->received);

    if (s == WHARF_OK && !json_is_null(defective))
        s = order_quantity_read(req, defective, a->is_asset,
            order_path(req, ret->at, "defective_qty"), &ret->defective);
    if (s != WHARF_OK)
        return s;
    if (ret->received <= 0)
        return W->err->add(req, ERR_VALIDATION_FAILED, order_path(req, ret->at, "received_qty"),
            "%sreceived_qty must be above 0", ret->at);
    if (ret->defective < 0 || ret->defective > ret->received)
        return W->err->add(req, ERR_VALIDATION_FAILED, order_path(req, ret->at, "defective_qty"),
            "%sdefective_qty must be 0 to received_qty", ret->at);
    a->received += ret->received;
    a->defective += ret->defective;
    return a->received <= a->shipped ? WHARF_OK
                                     : W->err->add(req, ERR_FULFILLMENT_OVER_RETURNED,
                                           order_path(req, ret->at, "received_qty"), NULL);
}

/* Finds the lot of a line that names none: the one that was shipped. */
static wharf_status settle_lot(struct lines *l, struct line *line)
{
    const struct order *o = &l->r->order;
    bool known = line->lot_number.n > 0;

    for (size_t i = 0; i < o->n_places; i++) {
        const struct place *p = &o->places[i];

        if (p->article != line->article || !p->is.shipped || !p->lot_number.n)
            continue;
        if (!known && line->lot_number.n && !same(line->lot_number, p->lot_number))
            return W->err->add(
                o->req, ERR_ITEM_LOT_REQUIRED, order_path(o->req, line->at, "lot_number"), NULL);
        if (!known)
            line->lot_number = p->lot_number;
    }
    return WHARF_OK;
}

static wharf_status fulfillment_returns_check_reason(wharf_req *req, const struct line *line)
{
    wharf_str code;
    const char *path = order_path(req, line->at, "reason_code_id");

    if (!line->reason_code_id.n)
        return WHARF_OK;
    if (!fulfillments_reasons)
        return W->err->add(req, ERR_VALIDATION_FAILED, path, "There is no such reason code");
    return fulfillments_reasons->check(req, line->reason_code_id, "fulfillment", path, &code);
}

static wharf_status fulfillment_returns_read_line(
    struct lines *l, const wharf_json *e, const char *where)
{
    struct order *o = &l->r->order;
    wharf_str id;
    struct line *line = &l->list[l->n];
    size_t k;
    wharf_status s;

    *line = (struct line){.at = where};
    if (W->json->type(e) != WHARF_J_OBJECT)
        return W->err->add(
            o->req, ERR_VALIDATION_FAILED, order_path(o->req, where, ""), "A line is an object");
    id = order_text_read(o->req, e, "article_id", where, TEXT_MAX);
    k = order_article(o, id);
    if (k == o->n)
        return W->err->add(o->req, ERR_VALIDATION_FAILED, order_path(o->req, where, "article_id"),
            "%sarticle_id names no article of this fulfillment", where);
    line->article = k;
    line->layout_id = order_text_read(o->req, e, "layout_id", where, TEXT_MAX);
    line->lot_number = order_text_read(o->req, e, "lot_number", where, TEXT_MAX);
    line->reason_code_id = order_text_read(o->req, e, "reason_code_id", where, TEXT_MAX);
    line->comment = order_text_read(o->req, e, "comment", where, NOTE_MAX);
    s = read_quantities(l, e, line);
    if (s == WHARF_OK)
        s = settle_lot(l, line);
    if (s == WHARF_OK)
        s = fulfillment_returns_check_reason(o->req, line);
    l->n += s == WHARF_OK;
    return s;
}

/* ---- booking ---- */

static void fulfillment_returns_add_move(const struct lines *l, const struct line *line,
    wharf_stock *stock, uint32_t bucket, int64_t qty)
{
    const struct order *o = &l->r->order;
    const wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
        .item_id = o->articles[line->article].item_id,
        .location_id = o->location_id,
        .layout_id = line->layout_id,
        .lot_id = WHARF_S(""),
        .lot_number = line->lot_number,
        .bucket = bucket,
        .flags = WHARF_STOCK_ARCHIVED_TOO,
        .quantity = qty,
        .reason_code_id = line->reason_code_id,
        .note = line->comment,
        .unit_id = WHARF_S(""),
        .path = order_path(o->req, line->at, "received_qty"),
        .source_id = WHARF_S("")};

    if (qty)
        fulfillments_stock->move(stock, &m);
}

static wharf_status book_stock(const struct lines *l)
{
    const wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause),
        .reason = "receipt",
        .source_type = WHARF_S("fulfillment"),
        .source_id = l->r->order.id};
    wharf_stock *stock;
    wharf_status s = fulfillments_stock->begin(l->r->order.req, &cause, &stock);

    for (size_t i = 0; s == WHARF_OK && i < l->n; i++) {
        const struct line *line = &l->list[i];

        fulfillment_returns_add_move(
            l, line, stock, WHARF_STOCK_AVAILABLE, line->received - line->defective);
        fulfillment_returns_add_move(l, line, stock, WHARF_STOCK_DAMAGED, line->defective);
    }
    return s == WHARF_OK ? fulfillments_stock->apply(stock) : s;
}

static wharf_status book_articles(const struct lines *l)
{
    static const char sql[] =
        "UPDATE fulfillments.article a SET received = a.received + v.received,"
        " defective = a.defective + v.defective, version = a.version + 1"
        " FROM (SELECT x.article, sum(x.received) AS received, sum(x.defective) AS defective"
        " FROM jsonb_to_recordset($1::jsonb) x(article text, received numeric, defective numeric)"
        " GROUP BY x.article) v WHERE a.organization_id = $2::text AND a.id = v.article";
    const struct order *o = &l->r->order;
    wharf_out *out = W->json->writer(o->req);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < l->n; i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "article", val_text(o->articles[l->list[i].article].id));
        W->json->put(out, "received", quantity_val(l->list[i].received));
        W->json->put(out, "defective", quantity_val(l->list[i].defective));
        W->json->close(out);
    }
    W->json->close(out);
    return query_about(o->req, sql, W->json->result_text(out), NULL);
}

static wharf_status fulfillment_returns_note_lines(const struct lines *l)
{
    wharf_req *req = l->r->order.req;
    wharf_out *out = W->json->builder(req);

    W->json->open(out, NULL, '{');
    W->json->open(out, "lines", '[');
    for (size_t i = 0; i < l->n; i++) {
        const struct line *line = &l->list[i];

        W->json->open(out, NULL, '{');
        W->json->put(out, "article_id", val_text(l->r->order.articles[line->article].id));
        W->json->put(out, "received_qty", quantity_val(line->received));
        W->json->put(out, "defective_qty", quantity_val(line->defective));
        W->json->put(out, "layout_id", val_text_or_null(line->layout_id));
        W->json->put(out, "lot_number", val_text_or_null(line->lot_number));
        W->json->put(out, "reason_code_id", val_text_or_null(line->reason_code_id));
        W->json->put(out, "comment", val_text_or_null(line->comment));
        W->json->close(out);
    }
    W->json->close(out);
    W->json->close(out);
    return W->json->result(req, out, &l->r->lines);
}

/* ---- in the hooks of the fulfillment ---- */

wharf_status returns_run(struct returns *r, enum order_status status)
{
    struct lines *l = W->mem->alloc(r->order.req, sizeof(*l));
    const wharf_json *lines = W->json->get(r->body, "lines");
    size_t i = 0;
    wharf_status s;

    if (status != ORDER_COMPLETED)
        return W->err->fail(r->order.req, ERR_FULFILLMENT_NOT_COMPLETED, NULL, NULL);
    l->r = r;
    r->read = l;
    for (const wharf_json *e = W->json->at(lines, 0); e; e = W->json->next(e), i++)
        fulfillment_returns_read_line(l, e, W->mem->format(r->order.req, "lines.%zu.", i).p);
    s = W->err->current(r->order.req);
    return s == WHARF_OK ? fulfillment_returns_note_lines(l) : s;
}

wharf_status returns_write(struct returns *r)
{
    wharf_status s = book_articles(r->read);

    return s == WHARF_OK ? book_stock(r->read) : s;
}

wharf_status returns_post(wharf_req *req, void *arg)
{
    struct returns *r = W->mem->alloc(req, sizeof(*r));
    struct act act = {.kind = ACT_RETURN, .returns = r};
    const wharf_rec *rec;
    wharf_str id = WHARF_S("");
    wharf_status s = W->req->body(req, &r->body);

    (void)arg;
    W->req->param(req, "id", &id);
    if (s == WHARF_OK)
        s = fulfillment_act(req, id, &act, &rec);
    if (s == WHARF_OK)
        W->res->encode(req, W->req->respond(req, 200, "Return booked"), NULL, rec);
    return s;
}
