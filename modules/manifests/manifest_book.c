/* manifest_book.c - what receipts, completions and reversals book: stock, what is expected, assets,
 * dates of lots (docs/spec/03-shipments-and-trackers.md section 7.3). One group of the ledger, one
 * statement for all moves, whatever their number. */
#include "manifests.h"

#include "manifests.gen.h"
#include "wharf/errors.h"

static int64_t quantity_of(const wharf_json *part, const char *key)
{
    int64_t q = 0;

    W->json->decimal(W->json->get(part, key), QUANTITY_SCALE, &q);
    return q;
}

static const char *manifest_book_part_path(
    const struct booking *b, const wharf_json *part, const char *member)
{
    int64_t n = 0;

    W->json->integer(W->json->get(part, "n"), &n);
    return b->lines ? W->mem->format(b->req, "lines.%lld.%s", (long long)n, member).p : member;
}

/* ---- moves ---- */

static wharf_stock *manifest_book_begin(wharf_req *req, wharf_str manifest, const char *reason)
{
    const wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause),
        .reason = reason,
        .source_type = WHARF_S("manifest"),
        .source_id = manifest};
    wharf_stock *stock;

    manifests_stock->begin(req, &cause, &stock);
    return stock;
}

/* Adds the moves of a part: good units, then defective ones. Returns how many. */
static size_t manifest_book_add_part(
    const struct booking *b, wharf_stock *stock, const wharf_json *part)
{
    int64_t sign = b->reversed ? -1 : 1, all = quantity_of(part, "received"),
            bad = quantity_of(part, "defective");
    wharf_str reason = json_text(part, "reason"), note = json_text(part, "comment");
    wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
        .item_id = json_text(part, "item"),
        .location_id = b->location,
        .layout_id = json_text(part, "layout"),
        .lot_id = WHARF_S(""),
        .lot_number = json_text(part, "lot"),
        .bucket = WHARF_STOCK_AVAILABLE,
        .quantity = sign * (all - bad),
        .reason_code_id = reason.n ? reason : b->reason,
        .note = note.n ? note : b->comment,
        .unit_id = json_text(part, "unit"),
        .path = manifest_book_part_path(b, part, "received_qty")};
    size_t n = 0;

    W->json->decimal(W->json->get(part, "unit_quantity"), QUANTITY_SCALE, &m.unit_quantity);
    if (!m.unit_quantity || bad)
        m.unit_id = WHARF_S("");
    if (m.quantity) {
        manifests_stock->move(stock, &m);
        n++;
    }
    m.bucket = WHARF_STOCK_DAMAGED;
    m.quantity = sign * bad;
    m.path = manifest_book_part_path(b, part, "defective_qty");
    if (m.quantity) {
        manifests_stock->move(stock, &m);
        n++;
    }
    return n;
}

static const char *manifest_book_article_path(
    wharf_req *req, const struct article_paths *paths, wharf_str article)
{
    for (size_t i = 0; paths && i < paths->n; i++) {
        if (same(paths->ids[i], article))
            return W->mem->format(req, "%spacked_qty", paths->paths[i].p).p;
    }
    return article.p;
}

/* Settles what is expected, and adds its moves. *ret_n: how many. */
static wharf_status add_expected(const struct booking *b, wharf_stock *stock,
    const struct article_paths *paths, wharf_val only, size_t *ret_n)
{
    wharf_req *req = b->req;
    static const char sql[] = "SELECT article, item, layout, to_jsonb(quantity)"
                              " FROM manifests.expect($1::text, $2::boolean, $3::text[])";
    const wharf_rows *rows;
    wharf_status s = W->db->query(
        req, sql, (const wharf_val[]){val_text(b->manifest), val_bool(b->open), only}, 3, &rows);

    *ret_n = s == WHARF_OK ? W->db->count(rows) : 0;
    for (size_t i = 0; i < *ret_n; i++) {
        wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
            .item_id = row_text(rows, i, 1),
            .location_id = b->location,
            .layout_id = row_text(rows, i, 2),
            .lot_id = WHARF_S(""),
            .lot_number = WHARF_S(""),
            .bucket = WHARF_STOCK_MANIFESTED,
            .flags = WHARF_STOCK_AT_MOST,
            .reason_code_id = WHARF_S(""),
            .note = WHARF_S(""),
            .unit_id = WHARF_S(""),
            .path = manifest_book_article_path(req, paths, row_text(rows, i, 0))};

        W->json->decimal(row_json(rows, i, 3), QUANTITY_SCALE, &m.quantity);
        manifests_stock->move(stock, &m);
    }
    return s;
}

wharf_status booking_expect(wharf_req *req, wharf_str manifest, wharf_str location, bool open,
    const char *why, const struct article_paths *paths)
{
    const struct booking b = {.req = req, .manifest = manifest, .location = location, .open = open};
    wharf_stock *stock = manifest_book_begin(req, manifest, why);
    size_t n;
    wharf_status s = add_expected(&b, stock, paths, val_null(), &n);

    return s == WHARF_OK && n ? manifests_stock->apply(stock) : s;
}

/* ---- lots ---- */

/* Sets expires_at of the lots of parts that have none yet. */
static wharf_status date_lots(const struct booking *b)
{
    static const char sql[] =
        "SELECT DISTINCT l.id, to_jsonb(v.expires) FROM jsonb_to_recordset($1::jsonb)"
        " v(item text, lot text, expires timestamptz)"
        " JOIN items.lot l ON l.organization_id = $2::text AND l.item_id = v.item"
        " AND l.lot_number = v.lot WHERE v.expires IS NOT NULL AND l.expires_at IS NULL"
        " ORDER BY l.id";
    const wharf_rows *rows;
    wharf_status s = W->db->query(b->req, sql,
        (const wharf_val[]){val_json(b->parts), val_text(W->req->organization(b->req))}, 2, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        wharf_out *out = W->json->builder(b->req);
        const wharf_json *body;
        const wharf_rec *rec;

        W->json->open(out, NULL, '{');
        W->json->put(out, "expires_at", val_json(row_json(rows, i, 1)));
        W->json->close(out);
        s = W->json->result(b->req, out, &body);
        if (s == WHARF_OK)
            s = W->res->update(b->req, "lot", row_text(rows, i, 0), body, &rec);
    }
    return s;
}

static bool any_dates(const struct booking *b)
{
    for (const wharf_json *p = W->json->at(b->parts, 0); p; p = W->json->next(p)) {
        if (!json_is_null(W->json->get(p, "expires")))
            return true;
    }
    return false;
}

/* ---- what is shown ---- */

static void manifest_book_put_line(const struct booking *b, wharf_out *out, const wharf_json *part,
    wharf_str layout, const wharf_json *assets)
{
    static const struct {
        const char *name, *key;
    } members[] = {{"article_id", "article"}, {"item_id", "item"}, {"received_qty", "received"},
        {"defective_qty", "defective"}, {"over_qty", "over"}, {"lot_number", "lot"},
        {"serial_numbers", "serials"}};
    wharf_str reason = json_text(part, "reason");

    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        W->json->put(out, members[i].name, val_json(W->json->get(part, members[i].key)));
    W->json->put(out, "layout_id", val_text_or_null(layout));
    W->json->put(out, "parcel_id", val_json(W->json->get(part, "parcel")));
    if (assets) {
        W->json->put(out, "asset_ids", val_json(assets));
    } else {
        W->json->open(out, "asset_ids", '[');
        W->json->close(out);
    }
    W->json->put(out, "reason_code_id", val_text_or_null(reason.n ? reason : b->reason));
    W->json->put(out, "comment", val_json(W->json->get(part, "comment")));
    W->json->close(out);
}

/* Makes the assets of all parts, or takes them back, and tells what the receipt shows. firsts: of
 * each part its first move; layouts are where these went. */
static wharf_status manifest_book_show(
    struct booking *b, const wharf_stock *stock, const size_t *firsts)
{
    wharf_out *lines = W->json->builder(b->req), *items = W->json->builder(b->req);
    bool assets = assets_are_there(b->req);
    wharf_status s = WHARF_OK;
    size_t i = 0;

    W->json->open(lines, NULL, '[');
    W->json->open(items, NULL, '[');
    for (const wharf_json *p = W->json->at(b->parts, 0); p && s == WHARF_OK;
         p = W->json->next(p), i++) {
        wharf_stock_moved moved = {.head = WHARF_HEAD(wharf_stock_moved)};
        const wharf_json *ids = NULL;

        manifests_stock->moved(stock, firsts[i], &moved);
        if (b->reversed)
            s = assets_take_back(b, p);
        else if (assets && json_truth(W->json->get(p, "asset")))
            s = assets_make(
                b, p, moved.layout_id, manifest_book_part_path(b, p, "serial_numbers"), &ids);
        manifest_book_put_line(
            b, lines, p, moved.layout_id, b->reversed ? W->json->get(p, "assets") : ids);
        W->json->put(items, NULL, val_json(W->json->get(p, "item")));
    }
    W->json->close(lines);
    W->json->close(items);
    if (s == WHARF_OK)
        s = W->json->result(b->req, lines, &b->lines_shown);
    return s == WHARF_OK ? W->json->result(b->req, items, &b->item_ids) : s;
}

wharf_status booking_make(struct booking *b)
{
    size_t n = W->json->count(b->parts), i = 0, moves = 0, expected = 0;
    size_t *firsts = W->mem->alloc(b->req, (n + 1) * sizeof(*firsts));
    wharf_str *articles = W->mem->alloc(b->req, (n + 1) * sizeof(*articles));
    wharf_stock *stock = manifest_book_begin(b->req, b->manifest, "receipt");
    wharf_status s;

    for (const wharf_json *p = W->json->at(b->parts, 0); p; p = W->json->next(p), i++) {
        firsts[i] = moves;
        moves += manifest_book_add_part(b, stock, p);
        articles[i] = json_text(p, "article");
    }
    /* of a manifest that is closed nothing is expected any more */
    s = add_expected(
        b, stock, NULL, b->open ? val_array(b->req, articles, n) : val_null(), &expected);
    if (s == WHARF_OK && moves + expected)
        s = manifests_stock->apply(stock);
    b->group = moves + expected ? manifests_stock->group_id(stock) : WHARF_S("");
    if (s == WHARF_OK && any_dates(b))
        s = date_lots(b);
    return s == WHARF_OK ? manifest_book_show(b, stock, firsts) : s;
}
