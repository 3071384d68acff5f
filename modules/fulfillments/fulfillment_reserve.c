/* fulfillment_reserve.c - who gets what is available (docs/spec/03-shipments-and-trackers.md
 * section 6.4): back-ordered articles are served in one order, whoever brought the stock. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

/* Columns of fulfillments.reserve_plan. */
enum { PLAN_FULFILLMENT, PLAN_ARTICLE, PLAN_ITEM, PLAN_LOCATION, PLAN_LAYOUT, PLAN_LOT, PLAN_QTY };

static void add_moves(const wharf_rows *rows, size_t i, wharf_stock *stock)
{
    wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
        .item_id = row_text(rows, i, PLAN_ITEM),
        .location_id = row_text(rows, i, PLAN_LOCATION),
        .layout_id = row_text(rows, i, PLAN_LAYOUT),
        .lot_id = row_text(rows, i, PLAN_LOT),
        .lot_number = WHARF_S(""),
        .bucket = WHARF_STOCK_AVAILABLE,
        .flags = WHARF_STOCK_ARCHIVED_TOO,
        .quantity = -row_int(rows, i, PLAN_QTY),
        .reason_code_id = WHARF_S(""),
        .note = WHARF_S(""),
        .unit_id = WHARF_S(""),
        .path = "articles",
        .source_id = row_text(rows, i, PLAN_FULFILLMENT)};

    fulfillments_stock->move(stock, &m);
    m.bucket = WHARF_STOCK_RESERVED;
    m.quantity = -m.quantity;
    fulfillments_stock->move(stock, &m);
}

static wharf_status book_promises(wharf_req *req, const wharf_rows *rows)
{
    static const char sql[] = "SELECT fulfillments.book($1::jsonb)";
    wharf_out *out = W->json->writer(req);
    const wharf_rows *none;
    wharf_val text;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < W->db->count(rows); i++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "fulfillment", val_text(row_text(rows, i, PLAN_FULFILLMENT)));
        W->json->put(out, "article", val_text(row_text(rows, i, PLAN_ARTICLE)));
        W->json->put(out, "layout", val_text(row_text(rows, i, PLAN_LAYOUT)));
        W->json->put(out, "lot", val_text_or_null(row_text(rows, i, PLAN_LOT)));
        W->json->put(out, "quantity", quantity_val(row_int(rows, i, PLAN_QTY)));
        W->json->put(out, "picked", val_int(0));
        W->json->put(out, "packed", val_int(0));
        W->json->put(out, "shipped", val_int(0));
        W->json->close(out);
    }
    W->json->close(out);
    text = val_text(W->json->result_text(out));
    return W->db->query(req, sql, &text, 1, &none);
}

/* ---- events ---- */

static const wharf_json *fulfillment_reserve_told_of(
    wharf_req *req, const wharf_rows *rows, wharf_str fulfillment)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *extra = NULL;

    W->json->open(out, NULL, '{');
    W->json->open(out, "reserved", '[');
    for (size_t i = 0; i < W->db->count(rows); i++) {
        if (!same(row_text(rows, i, PLAN_FULFILLMENT), fulfillment))
            continue;
        W->json->open(out, NULL, '{');
        W->json->put(out, "article_id", val_text(row_text(rows, i, PLAN_ARTICLE)));
        W->json->put(out, "item_id", val_text(row_text(rows, i, PLAN_ITEM)));
        W->json->put(out, "layout_id", val_text(row_text(rows, i, PLAN_LAYOUT)));
        W->json->put(out, "quantity", quantity_val(row_int(rows, i, PLAN_QTY)));
        W->json->close(out);
    }
    W->json->close(out);
    W->json->close(out);
    W->json->result(req, out, &extra);
    return extra;
}

/* Tells the fulfillments that got something, those of the plan's order first. */
static wharf_status tell_reserved(wharf_req *req, const wharf_rows *rows, wharf_str own)
{
    size_t room = W->db->count(rows) + 1, n = 0, k;
    const char **types = W->mem->alloc(req, room * sizeof(*types));
    wharf_str *ids = W->mem->alloc(req, room * sizeof(*ids));
    const wharf_json **extras = W->mem->alloc(req, room * sizeof(*extras));

    for (size_t i = 0; i + 1 < room; i++) {
        wharf_str id = row_text(rows, i, PLAN_FULFILLMENT);

        for (k = 0; k < n && !same(ids[k], id); k++)
            continue;
        if (k < n || same(id, own))
            continue;
        types[n] = "fulfillment.reserved";
        ids[n] = id;
        extras[n++] = fulfillment_reserve_told_of(req, rows, id);
    }
    return n ? W->event->emit_many(req, "fulfillment", types, ids, extras, n) : WHARF_OK;
}

/* ---- promising ---- */

static wharf_status make_promises(wharf_req *req, const wharf_rows *rows, wharf_str own)
{
    const wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause),
        .reason = "reservation",
        .source_type = WHARF_S("fulfillment"),
        .source_id = WHARF_S("")};
    wharf_stock *stock;
    wharf_status s = fulfillments_stock->begin(req, &cause, &stock);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        add_moves(rows, i, stock);
    if (s == WHARF_OK)
        s = book_promises(req, rows);
    if (s == WHARF_OK)
        s = fulfillments_stock->apply(stock);
    return s == WHARF_OK ? tell_reserved(req, rows, own) : s;
}

/* ---- asking ---- */

/* Most promises of one request: a receipt that a thousand orders wait for is no longer than that.
 * A job goes on with the others, in the same order. */
enum { PROMISES_MOST = 500 }; /* promises of one request; a job makes the others */

/* Leaves the rest to a job behind the request. */
static wharf_status serve_later(
    wharf_req *req, const wharf_str *items, size_t n, wharf_str location_id)
{
    wharf_out *out = W->json->builder(req);
    const wharf_json *args;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, "location", val_text(location_id));
    W->json->open(out, "items", '[');
    for (size_t i = 0; i < n; i++)
        W->json->put(out, NULL, val_text(items[i]));
    W->json->close(out);
    W->json->close(out);
    s = W->json->result(req, out, &args);
    return s == WHARF_OK ? W->event->enqueue(req, "fulfillments.serve", location_id, args, 0) : s;
}

/* Makes the promises that args lead to; *ret_more: there may be others. */
static wharf_status serve_plan(wharf_req *req, const wharf_val *args, wharf_str own, bool *ret_more)
{
    static const char sql[] =
        "SELECT fulfillment_id, article_id, item_id, location_id, layout_id, lot_id,"
        " (quantity * 10000)::bigint FROM fulfillments.reserve_plan($1::text[], $2::text,"
        " $3::text[], $4::timestamptz, $5::integer)";
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 5, &rows);

    *ret_more = s == WHARF_OK && W->db->count(rows) == PROMISES_MOST;
    return s == WHARF_OK && W->db->count(rows) ? make_promises(req, rows, own) : s;
}

wharf_status reserve_waiting(
    wharf_req *req, const wharf_str *items, size_t n, wharf_str location_id, wharf_str own)
{
    const wharf_val args[5] = {val_array(req, items, n), val_text(location_id), val_null(),
        val_time(W->req->now_us(req)), val_int(PROMISES_MOST)};
    bool more;
    wharf_status s = serve_plan(req, args, own, &more);

    return s == WHARF_OK && more ? serve_later(req, items, n, location_id) : s;
}

/* Leaves the rest to jobs, one for each of the locations where there is more. */
static wharf_status serve_all_later(
    wharf_req *req, const wharf_str *items, const wharf_str *locations, size_t n)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n && s == WHARF_OK; i++) {
        size_t k = 0;

        while (k < i && !same(locations[k], locations[i]))
            k++;
        if (k == i)
            s = serve_later(req, items, n, locations[i]);
    }
    return s;
}

wharf_status reserve_risen(wharf_req *req, const wharf_stock_rise *rises, size_t n)
{
    static const char sql[] =
        "SELECT EXISTS (SELECT 1"
        " FROM unnest((SELECT $1::text[]), (SELECT $3::text[])) v(item, location)"
        " JOIN fulfillments.article a ON a.organization_id = $2::text AND a.item_id = v.item"
        " AND a.location_id = v.location AND a.waiting > 0)";
    wharf_str *items = W->mem->alloc(req, 3 * n * sizeof(*items)), *locations = items + n,
              *levels = items + 2 * n;
    const wharf_rows *rows;
    wharf_val args[5];
    bool more;
    wharf_status s;

    for (size_t i = 0; i < n; i++) {
        items[i] = rises[i].item_id;
        locations[i] = rises[i].location_id;
        levels[i] = rises[i].level_id;
    }
    args[0] = val_array(req, items, n);
    args[1] = val_text(W->req->organization(req));
    args[2] = val_array(req, locations, n);
    s = W->db->query(req, sql, args, 3, &rows);
    if (s != WHARF_OK || !row_bool(rows, 0, 0))
        return s;
    args[0] = args[1] = val_null();
    args[2] = val_array(req, levels, n);
    args[3] = val_time(W->req->now_us(req));
    args[4] = val_int(PROMISES_MOST);
    s = serve_plan(req, args, WHARF_S(""), &more);
    return s == WHARF_OK && more ? serve_all_later(req, items, locations, n) : s;
}

wharf_status serve_run(wharf_req *req, void *arg)
{
    const wharf_json *args, *list = NULL;
    wharf_str *items;
    size_t n = 0;
    wharf_status s = W->req->body(req, &args);

    (void)arg;
    if (s == WHARF_OK)
        list = W->json->get(args, "items");
    if (json_is_null(list))
        return s;
    items = W->mem->alloc(req, (W->json->count(list) + 1) * sizeof(*items));
    for (const wharf_json *e = W->json->at(list, 0); e; e = W->json->next(e))
        n += W->json->text(e, &items[n]);
    s = fulfillments_stock->hold(req, items, n);
    return s == WHARF_OK ? reserve_waiting(req, items, n, json_text(args, "location"), WHARF_S(""))
                         : s;
}
