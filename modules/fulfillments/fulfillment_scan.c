/* fulfillment_scan.c - picks and packs (docs/spec/03-shipments-and-trackers.md sections 6.6 and
 * 6.7): one scan, or many lines that count together. Leaves what a line does to
 * fulfillment_pick.c and fulfillment_pack.c. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

enum { CODE_MAX = 100, GTIN_LEAST = 8, GTIN_MOST = 14 };
#define FACTOR_SCALE 10
#define FACTOR_ONE   INT64_C(10000000000)

/* ---- which article ---- */

/* Tells whether an article still asks for something of this scan. */
static bool is_wanting(const struct scan_request *r, const struct article *a, bool back)
{
    if (back)
        return (r->kind == SCAN_PICK ? a->picked : a->packed) > 0;
    return (r->kind == SCAN_PICK ? a->picked : a->packed) < a->requested;
}

/* Returns a code as items.codes_of has it: in lower case, and what may be a GTIN with as many zeros
 * in front as a GTIN-14 has. */
static wharf_str scanned_code(wharf_req *req, wharf_str said)
{
    wharf_str code = text_lower(req, said);
    size_t first = 0;

    if (code.n < GTIN_LEAST || code.n > GTIN_MOST || strspn(code.p, "0123456789") < code.n)
        return code;
    while (first < code.n && code.p[first] == '0')
        first++;
    return W->mem->format(
        req, "%.*s%s", (int)(GTIN_MOST - (code.n - first)), "00000000000000", code.p + first);
}

static bool has_code(const struct article *a, wharf_str code)
{
    for (const wharf_json *e = a->codes ? W->json->at(a->codes, 0) : NULL; e;
         e = W->json->next(e)) {
        wharf_str s;

        if (W->json->text(e, &s) && same(s, code))
            return true;
    }
    return false;
}

/* Returns how many base units the scanned barcode of a transactional unit means. */
static int64_t fulfillment_scan_factor_of(wharf_req *req, const struct article *a, wharf_str code)
{
    int64_t factor = FACTOR_ONE;

    for (const wharf_json *u = a->units ? W->json->at(a->units, 0) : NULL; u;
         u = W->json->next(u)) {
        wharf_str barcode = json_text(u, "barcode");

        if (barcode.n && json_truth(W->json->get(u, "active")) &&
            same(scanned_code(req, barcode), code) &&
            W->json->decimal(W->json->get(u, "conversion_factor"), FACTOR_SCALE, &factor))
            return factor;
    }
    return FACTOR_ONE;
}

/* Finds the article that a line names; of several the first that still asks for something, else
 * the first. back: the line puts back. */
static wharf_status find_article(const struct scan_request *r, const wharf_json *line,
    const char *where, bool back, struct scan *ret)
{
    wharf_req *req = r->order.req;
    wharf_str id = order_text_read(req, line, "article_id", where, TEXT_MAX),
              item = order_text_read(req, line, "item_id", where, TEXT_MAX),
              code = order_text_read(req, line, "code", where, CODE_MAX);
    const char *key = id.n ? "article_id" : item.n ? "item_id" : "code";
    bool known = false;

    if (!id.n && !item.n && !code.n)
        return W->err->add(req, ERR_VALIDATION_FAILED, order_path(req, where, "code"),
            "Send code, item_id or article_id");
    code = scanned_code(req, code);
    for (size_t i = 0; i < r->order.n; i++) {
        const struct article *a = &r->order.articles[i];

        if (!(id.n ? same(a->id, id) : item.n ? same(a->item_id, item) : has_code(a, code)))
            continue;
        if (!known || is_wanting(r, a, back))
            ret->article = i;
        known = true;
        if (is_wanting(r, a, back))
            break;
    }
    return known ? WHARF_OK
                 : W->err->add(req, ERR_FULFILLMENT_NOT_ORDERED, order_path(req, where, key), NULL);
}

/* ---- how many ---- */

/* Rounds half away from zero to ten-thousandths; what is something stays something. */
static int64_t times_factor(int64_t quantity, int64_t factor)
{
    __int128 product = (__int128)quantity * factor, half = FACTOR_ONE / 2;
    int64_t rounded = (int64_t)((product + (product < 0 ? -half : half)) / FACTOR_ONE);

    return rounded ? rounded : product < 0 ? -1 : product > 0;
}

/* Settles how many base units said of a line are. */
static wharf_status settle_quantity(const struct scan_request *r, const wharf_json *line,
    const char *where, int64_t said, struct scan *ret)
{
    wharf_req *req = r->order.req;
    const struct article *a = &r->order.articles[ret->article];
    wharf_str code = json_text(line, "code");
    int64_t factor = FACTOR_ONE;

    if (code.n && !json_text(line, "article_id").n && !json_text(line, "item_id").n)
        factor = fulfillment_scan_factor_of(req, a, scanned_code(req, code));
    if (!said)
        return W->err->add(req, ERR_VALIDATION_FAILED, order_path(req, where, "quantity"),
            "%squantity must be above 0, or below 0 to put back", where);
    if ((__int128)said * factor / FACTOR_ONE > QUANTITY_MAX ||
        (__int128)said * factor / FACTOR_ONE < -QUANTITY_MAX)
        return W->err->add(req, ERR_VALIDATION_FAILED, order_path(req, where, "quantity"),
            "%squantity must be at most 99999999999.9999 in base units", where);
    ret->quantity = times_factor(said, factor);
    if (a->is_asset && ret->quantity % WHARF_STOCK_ONE)
        return W->err->add(
            req, ERR_ITEM_FRACTIONAL_QUANTITY, order_path(req, where, "quantity"), NULL);
    return WHARF_OK;
}

/* ---- where ---- */

/* Returns a text of a line; empty when the line is no object. */
static wharf_str fulfillment_scan_line_text(const wharf_json *line, const char *key)
{
    return W->json->type(line) == WHARF_J_OBJECT ? json_text(line, key) : WHARF_S("");
}

static bool fulfillment_scan_names_place(const wharf_json *line)
{
    return fulfillment_scan_line_text(line, "layout_id").n ||
           fulfillment_scan_line_text(line, "layout_code").n ||
           fulfillment_scan_line_text(line, "lot_number").n;
}

/* Finds the layouts that the request names, with one statement. lines: NULL for a single scan. */
static wharf_status find_layouts(struct scan_request *r, const wharf_json *lines)
{
    wharf_req *req = r->order.req;
    size_t n = lines ? W->json->count(lines) : 1, n_ids = 0, n_codes = 0;
    wharf_str *ids = W->mem->alloc(req, 2 * (n + 1) * sizeof(*ids)), *codes = ids + n + 1;
    const wharf_json *e = lines ? W->json->at(lines, 0) : r->body;

    for (size_t i = 0; i < n; i++, e = i < n ? W->json->next(e) : NULL) {
        wharf_str id = fulfillment_scan_line_text(e, "layout_id"),
                  code = fulfillment_scan_line_text(e, "layout_code");

        if (id.n)
            ids[n_ids++] = id;
        else if (code.n)
            codes[n_codes++] = code;
    }
    r->layouts = NULL;
    return n_ids || n_codes ? order_find_layouts(&r->order, val_array(req, ids, n_ids),
                                  val_array(req, codes, n_codes), &r->layouts)
                            : WHARF_OK;
}

static wharf_status read_layout(
    const struct scan_request *r, const wharf_json *line, const char *where, struct scan *ret)
{
    wharf_req *req = r->order.req;
    wharf_str id = order_text_read(req, line, "layout_id", where, TEXT_MAX),
              code = order_text_read(req, line, "layout_code", where, TEXT_MAX);

    ret->layout_id = WHARF_S("");
    if (!id.n && !code.n)
        return WHARF_OK;
    for (size_t i = 0; r->layouts && i < W->db->count(r->layouts); i++) {
        if (same(row_text(r->layouts, i, id.n ? 0 : 1), id.n ? id : code)) {
            ret->layout_id = row_text(r->layouts, i, 0);
            return WHARF_OK;
        }
    }
    return W->err->add(req, ERR_VALIDATION_FAILED,
        order_path(req, where, id.n ? "layout_id" : "layout_code"),
        "There is no such layout in the location");
}

static wharf_status read_scan(
    const struct scan_request *r, const wharf_json *line, const char *where, struct scan *ret)
{
    wharf_req *req = r->order.req;
    const wharf_json *sent;
    int64_t said = WHARF_STOCK_ONE;
    wharf_status s = WHARF_OK;

    *ret = (struct scan){.at = where};
    if (W->json->type(line) != WHARF_J_OBJECT)
        return W->err->add(
            req, ERR_VALIDATION_FAILED, order_path(req, where, ""), "A line is an object");
    sent = W->json->get(line, "quantity");
    if (!json_is_null(sent))
        s = order_quantity_read(req, sent, false, order_path(req, where, "quantity"), &said);
    if (s == WHARF_OK)
        s = find_article(r, line, where, said < 0, ret);
    if (s == WHARF_OK)
        s = settle_quantity(r, line, where, said, ret);
    if (s == WHARF_OK)
        s = read_layout(r, line, where, ret);
    ret->lot_number = order_text_read(req, line, "lot_number", where, TEXT_MAX);
    ret->asset_id = order_text_read(req, line, "asset_id", where, TEXT_MAX);
    ret->serial_number = order_text_read(req, line, "serial_number", where, TEXT_MAX);
    ret->expired_too = json_truth(W->json->get(line, "allow_expired"));
    return s;
}

/* ---- running ---- */

bool scan_fits(const struct scan *s, const struct place *p)
{
    return p->article == s->article && (!s->layout_id.n || same(p->layout_id, s->layout_id)) &&
           (!s->lot_number.n || same(p->lot_number, s->lot_number));
}

bool scan_moves(const wharf_json *body)
{
    const wharf_json *lines = W->json->get(body, "lines");

    if (json_is_null(lines))
        return fulfillment_scan_names_place(body);
    for (const wharf_json *e = W->json->at(lines, 0); e; e = W->json->next(e)) {
        if (fulfillment_scan_names_place(e))
            return true;
    }
    return false;
}

static void touch_article(struct scan_request *r, size_t article)
{
    for (size_t i = 0; i < r->n_touched; i++) {
        if (r->touched[i] == article)
            return;
    }
    if (r->n_touched < LINES_MAX)
        r->touched[r->n_touched++] = article;
}

static wharf_status run_line(struct scan_request *r, const wharf_json *line, const char *where)
{
    struct scan scan;
    wharf_status s = read_scan(r, line, where, &scan);

    if (s != WHARF_OK)
        return s;
    touch_article(r, scan.article);
    s = r->kind == SCAN_PICK ? pick_line(&r->order, &scan) : pack_line(r, &scan);
    return s == WHARF_OK && (scan.asset_id.n || scan.serial_number.n) ? piece_take(&r->order, &scan)
                                                                      : s;
}

static wharf_status run_lines(struct scan_request *r, const wharf_json *lines)
{
    wharf_req *req = r->order.req;
    size_t i = 0;

    for (const wharf_json *e = W->json->at(lines, 0); e; e = W->json->next(e), i++)
        run_line(r, e, W->mem->format(req, "lines.%zu.", i).p);
    return W->err->current(req);
}

static wharf_status fulfillment_scan_check_status(
    const struct scan_request *r, enum order_status status)
{
    if (order_closed(status))
        return W->err->fail(r->order.req, ERR_FULFILLMENT_CLOSED, NULL, NULL);
    if (status > (r->kind == SCAN_PICK ? ORDER_PROCESSING : ORDER_PICKED))
        return W->err->fail(r->order.req, ERR_FULFILLMENT_INVALID_TRANSITION, NULL,
            r->kind == SCAN_PICK ? "The fulfillment is picked; set status processing first"
                                 : "The fulfillment is packed; set status picked first");
    return WHARF_OK;
}

wharf_status scan_run(struct scan_request *r, enum order_status status)
{
    const wharf_json *lines = W->json->get(r->body, "lines");
    bool all = json_truth(W->json->get(r->body, "all"));
    wharf_status s = fulfillment_scan_check_status(r, status);

    r->n_touched = 0; /* also when the request is tried again */
    r->parcel_id = WHARF_S("");
    if (s == WHARF_OK && r->kind == SCAN_PACK)
        s = pack_parcel(r);
    if (s != WHARF_OK)
        return s;
    if (all) {
        for (size_t i = 0; i < r->order.n; i++)
            touch_article(r, i);
        return r->kind == SCAN_PICK
                   ? pick_all(&r->order, json_truth(W->json->get(r->body, "allow_expired")))
                   : pack_all(r);
    }
    if (json_is_null(lines))
        lines = NULL;
    s = find_layouts(r, lines);
    if (s != WHARF_OK)
        return s;
    return lines ? run_lines(r, lines) : run_line(r, r->body, "");
}

/* ---- routes ---- */

static wharf_status post_scan(wharf_req *req, enum scan_kind kind)
{
    struct scan_request *r = W->mem->alloc(req, sizeof(*r));
    struct act act = {.kind = ACT_SCAN, .scan = r};
    const wharf_rec *rec;
    wharf_str id = WHARF_S("");
    wharf_status s = W->req->body(req, &r->body);

    r->kind = kind;
    W->req->param(req, "id", &id);
    if (s == WHARF_OK)
        s = fulfillment_act(req, id, &act, &rec);
    return s == WHARF_OK ? scan_answer(req, r, field_text(rec, FULFILLMENT_STATUS)) : s;
}

wharf_status picks_post(wharf_req *req, void *arg)
{
    (void)arg;
    return post_scan(req, SCAN_PICK);
}

wharf_status packs_post(wharf_req *req, void *arg)
{
    (void)arg;
    return post_scan(req, SCAN_PACK);
}
