/* fulfillment_order.c - a fulfillment in memory: read with two statements, changed by the rules,
 * written with a few (docs/spec/03-shipments-and-trackers.md section 6). Leaves who gets what
 * to fulfillment_reserve.c. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

const char *const order_status_words[ORDER_STATUSES] = {
    "created", "processing", "picked", "packed", "shipping", "completed", "canceled"};

enum order_status order_status_of(wharf_str word)
{
    return (enum order_status)word_place(word, order_status_words, ORDER_STATUSES);
}

/* ---- growing ---- */

/* Returns a list with room for one more. */
static void *with_room(wharf_req *req, void *list, size_t n, size_t *room, size_t bytes)
{
    void *more;

    if (n < *room)
        return list;
    *room = *room ? 2 * *room : 16;
    more = W->mem->alloc(req, *room * bytes);
    if (n)
        memcpy(more, list, n * bytes);
    return more;
}

struct article *order_add_article(struct order *o)
{
    o->articles = with_room(o->req, o->articles, o->n, &o->article_room, sizeof(*o->articles));
    o->articles[o->n] = (struct article){0};
    return &o->articles[o->n++];
}

static struct place *fulfillment_order_add_place(struct order *o)
{
    o->places = with_room(o->req, o->places, o->n_places, &o->place_room, sizeof(*o->places));
    o->places[o->n_places] = (struct place){.expires_at = val_null()};
    return &o->places[o->n_places++];
}

static struct content *add_content(struct order *o)
{
    o->contents = with_room(
        o->req, o->contents, o->n_contents, &o->content_room, sizeof(*o->contents));
    o->contents[o->n_contents] = (struct content){0};
    return &o->contents[o->n_contents++];
}

struct place *order_place(struct order *o, size_t article, wharf_str layout_id, wharf_str lot_id)
{
    struct place *p;

    for (size_t i = 0; i < o->n_places; i++) {
        p = &o->places[i];
        if (p->article == article && same(p->layout_id, layout_id) && same(p->lot_id, lot_id))
            return p;
    }
    p = fulfillment_order_add_place(o);
    p->article = article;
    p->layout_id = layout_id;
    p->lot_id = lot_id;
    p->layout_name = p->layout_code = p->lot_number = WHARF_S("");
    return p;
}

struct content *order_content(
    struct order *o, wharf_str parcel_id, size_t article, wharf_str lot_id)
{
    struct content *c;

    for (size_t i = 0; i < o->n_contents; i++) {
        c = &o->contents[i];
        if (c->article == article && same(c->parcel_id, parcel_id) && same(c->lot_id, lot_id))
            return c;
    }
    c = add_content(o);
    c->parcel_id = parcel_id;
    c->article = article;
    c->lot_id = lot_id;
    c->lot_number = WHARF_S("");
    return c;
}

/* ---- reading ---- */

static void read_article(const wharf_rows *rows, size_t i, struct article *a)
{
    a->id = row_text(rows, i, 0);
    a->item_id = row_text(rows, i, 1);
    a->name = row_text(rows, i, 2);
    a->sku = row_text(rows, i, 3);
    a->gtin = row_text(rows, i, 4);
    a->is_asset = row_bool(rows, i, 5);
    a->position = row_int(rows, i, 6);
    a->requested = row_int(rows, i, 7);
    a->reserved = row_int(rows, i, 8);
    a->picked = row_int(rows, i, 9);
    a->packed = row_int(rows, i, 10);
    a->shipped = row_int(rows, i, 11);
    a->received = row_int(rows, i, 12);
    a->defective = row_int(rows, i, 13);
    a->layout_id = row_text(rows, i, 14);
    a->lot_number = row_text(rows, i, 15);
    a->comment = row_text(rows, i, 16);
    a->attributes = row_json(rows, i, 17);
    a->tags = row_json(rows, i, 18);
    a->value = row_json(rows, i, 19);
    a->harmonized_code = row_text(rows, i, 20);
    a->origin_country = row_text(rows, i, 21);
    a->base_uom = row_text(rows, i, 22);
    a->codes = row_json(rows, i, 23);
    a->units = row_json(rows, i, 24);
}

size_t order_article(const struct order *o, wharf_str id)
{
    size_t i = 0;

    while (i < o->n && !same(o->articles[i].id, id))
        i++;
    return i;
}

static wharf_status fulfillment_order_read_places(struct order *o)
{
    static const char sql[] = QUERY_ORDER_PLACES;
    const wharf_val args[3] = {
        val_text(o->id), val_text(W->req->organization(o->req)), val_time(W->req->now_us(o->req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(o->req, sql, args, 3, &rows);

    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        struct place *p = fulfillment_order_add_place(o);
        wharf_val v;

        p->article = order_article(o, row_text(rows, i, 0));
        p->layout_id = row_text(rows, i, 1);
        p->layout_name = row_text(rows, i, 2);
        p->layout_code = row_text(rows, i, 3);
        p->lot_id = row_text(rows, i, 4);
        p->lot_number = row_text(rows, i, 5);
        if (W->db->value(rows, i, 6, WHARF_V_TIME_US, &v))
            p->expires_at = v;
        p->expired = row_bool(rows, i, 7);
        p->is = p->was = (struct portions){
            row_int(rows, i, 8), row_int(rows, i, 9), row_int(rows, i, 10), row_int(rows, i, 11)};
    }
    return s;
}

wharf_status order_find_layouts(
    const struct order *o, wharf_val ids, wharf_val codes, const wharf_rows **ret_rows)
{
    static const char sql[] = QUERY_LAYOUTS_FIND;
    const wharf_val args[4] = {
        ids, val_text(W->req->organization(o->req)), val_text(o->location_id), codes};

    return W->db->query(o->req, sql, args, 4, ret_rows);
}

static wharf_status hold_items(wharf_req *req, wharf_str id)
{
    static const char sql[] =
        "SELECT DISTINCT item_id FROM fulfillments.article WHERE organization_id = $2::text"
        " AND fulfillment_id = $1::text";
    const wharf_rows *rows;
    wharf_str *items;
    wharf_status s = query_about(req, sql, id, &rows);
    size_t n = s == WHARF_OK ? W->db->count(rows) : 0;

    items = W->mem->alloc(req, (n + 1) * sizeof(*items));
    for (size_t i = 0; i < n; i++)
        items[i] = row_text(rows, i, 0);
    return s == WHARF_OK ? fulfillments_stock->hold(req, items, n) : s;
}

wharf_status order_load(
    wharf_req *req, wharf_str id, wharf_str location_id, bool hold, struct order *ret)
{
    static const char sql[] = QUERY_ORDER_ARTICLES;
    const wharf_rows *rows;
    wharf_status s = hold ? hold_items(req, id) : WHARF_OK;

    *ret = (struct order){.req = req, .id = id, .location_id = location_id};
    if (s == WHARF_OK)
        s = query_about(req, sql, id, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++)
        read_article(rows, i, order_add_article(ret));
    return s == WHARF_OK ? fulfillment_order_read_places(ret) : s;
}

wharf_status order_load_contents(struct order *o)
{
    static const char sql[] = QUERY_ORDER_CONTENTS;
    const wharf_rows *rows;
    wharf_status s;

    if (o->contents_read)
        return WHARF_OK;
    s = query_about(o->req, sql, o->id, &rows);
    for (size_t i = 0; s == WHARF_OK && i < W->db->count(rows); i++) {
        struct content *c = add_content(o);

        c->parcel_id = row_text(rows, i, 0);
        c->article = order_article(o, row_text(rows, i, 1));
        c->lot_id = row_text(rows, i, 2);
        c->lot_number = row_text(rows, i, 3);
        c->quantity = c->was = row_int(rows, i, 4);
    }
    o->contents_read = s == WHARF_OK;
    return s;
}

/* ---- changing ---- */

void order_count(struct order *o, size_t article)
{
    struct article *a = &o->articles[article];

    a->reserved = a->picked = a->packed = a->shipped = 0;
    for (size_t i = 0; i < o->n_places; i++) {
        const struct place *p = &o->places[i];

        if (p->article != article)
            continue;
        a->reserved += p->is.quantity;
        a->picked += p->is.picked;
        a->packed += p->is.packed;
        a->shipped += p->is.shipped;
    }
}

int64_t order_release(struct order *o, size_t article, int64_t quantity)
{
    for (size_t i = o->n_places; i-- > 0 && quantity > 0;) {
        struct place *p = &o->places[i];
        int64_t take = p->is.quantity - p->is.picked;

        if (p->article != article || take <= 0)
            continue;
        take = take < quantity ? take : quantity;
        p->is.quantity -= take;
        quantity -= take;
    }
    order_count(o, article);
    return quantity;
}

/* ---- writing ---- */

static bool place_differs(const struct place *p)
{
    return p->is.quantity != p->was.quantity || p->is.picked != p->was.picked ||
           p->is.packed != p->was.packed || p->is.shipped != p->was.shipped;
}

static wharf_status write_places(const struct order *o)
{
    static const char sql[] = "SELECT fulfillments.book($1::jsonb)";
    wharf_out *out = W->json->writer(o->req);
    const wharf_rows *rows;
    wharf_val text;
    size_t n = 0;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < o->n_places; i++) {
        const struct place *p = &o->places[i];

        if (!place_differs(p))
            continue;
        n++;
        W->json->open(out, NULL, '{');
        W->json->put(out, "fulfillment", val_text(o->id));
        W->json->put(out, "article", val_text(o->articles[p->article].id));
        W->json->put(out, "layout", val_text(p->layout_id));
        W->json->put(out, "lot", val_text_or_null(p->lot_id));
        W->json->put(out, "quantity", quantity_val(p->is.quantity - p->was.quantity));
        W->json->put(out, "picked", quantity_val(p->is.picked - p->was.picked));
        W->json->put(out, "packed", quantity_val(p->is.packed - p->was.packed));
        W->json->put(out, "shipped", quantity_val(p->is.shipped - p->was.shipped));
        W->json->close(out);
    }
    W->json->close(out);
    text = val_text(W->json->result_text(out));
    return n ? W->db->query(o->req, sql, &text, 1, &rows) : WHARF_OK;
}

static void fulfillment_order_put_article(
    const struct order *o, wharf_out *out, const struct article *a)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(a->id));
    W->json->put(out, "fulfillment", val_text(o->id));
    W->json->put(out, "location", val_text(o->location_id));
    W->json->put(out, "item", val_text(a->item_id));
    W->json->put(out, "position", val_int(a->position));
    W->json->put(out, "name", val_text(a->name));
    W->json->put(out, "sku", val_text_or_null(a->sku));
    W->json->put(out, "gtin", val_text_or_null(a->gtin));
    W->json->put(out, "is_asset", val_bool(a->is_asset));
    W->json->put(out, "requested", quantity_val(a->requested));
    W->json->put(out, "layout", val_text_or_null(a->layout_id));
    W->json->put(out, "lot_number", val_text_or_null(a->lot_number));
    W->json->put(out, "comment", val_text_or_null(a->comment));
    W->json->put(out, "attributes", val_json(a->attributes));
    W->json->put(out, "tags", val_json(a->tags));
    W->json->put(out, "value", val_json(a->value));
    W->json->put(out, "harmonized_code", val_text_or_null(a->harmonized_code));
    W->json->put(out, "origin_country", val_text_or_null(a->origin_country));
    W->json->close(out);
}

static wharf_status write_articles(const struct order *o)
{
    static const char sql[] = "SELECT fulfillments.articles_write($1::jsonb, $2::text[],"
                              " $3::timestamptz, $4::text)";
    wharf_str *removed = W->mem->alloc(o->req, (o->n + 1) * sizeof(*removed));
    wharf_out *out = W->json->writer(o->req);
    size_t n = 0, n_removed = 0;
    const wharf_rows *rows;
    wharf_val args[4];

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < o->n; i++) {
        const struct article *a = &o->articles[i];

        if (a->removed && !a->made)
            removed[n_removed++] = a->id;
        if (a->removed || !(a->made || a->changed))
            continue;
        fulfillment_order_put_article(o, out, a);
        n++;
    }
    W->json->close(out);
    if (!n && !n_removed)
        return WHARF_OK;
    args[0] = val_text(W->json->result_text(out));
    args[1] = val_array(o->req, removed, n_removed);
    args[2] = val_time(W->req->now_us(o->req));
    args[3] = val_text(W->req->actor(o->req));
    return W->db->query(o->req, sql, args, 4, &rows);
}

static wharf_status write_contents(const struct order *o)
{
    static const char sql[] = QUERY_CONTENTS_WRITE;
    wharf_out *out = W->json->writer(o->req);
    size_t n = 0;
    wharf_val args[3];

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < o->n_contents; i++) {
        const struct content *c = &o->contents[i];

        if (c->quantity == c->was)
            continue;
        n++;
        W->json->open(out, NULL, '{');
        W->json->put(out, "parcel", val_text(c->parcel_id));
        W->json->put(out, "article", val_text(o->articles[c->article].id));
        W->json->put(out, "lot", val_text_or_null(c->lot_id));
        W->json->put(out, "quantity", quantity_val(c->quantity));
        W->json->close(out);
    }
    W->json->close(out);
    args[0] = val_text(W->json->result_text(out));
    args[1] = val_text(W->req->organization(o->req));
    args[2] = val_text(o->id);
    return n ? W->db->exec(o->req, sql, args, 3, NULL) : WHARF_OK;
}

/* ---- stock ---- */

static void fulfillment_order_add_move(const struct order *o, wharf_stock *stock,
    const struct place *p, uint32_t bucket, int64_t quantity, const char *reason)
{
    const wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
        .item_id = o->articles[p->article].item_id,
        .location_id = o->location_id,
        .layout_id = p->layout_id,
        .lot_id = p->lot_id,
        .lot_number = WHARF_S(""),
        .bucket = bucket,
        .flags = WHARF_STOCK_ARCHIVED_TOO,
        .quantity = quantity,
        .reason = reason,
        .reason_code_id = WHARF_S(""),
        .note = WHARF_S(""),
        .unit_id = WHARF_S(""),
        .path = p->path ? p->path : "articles",
        .source_id = WHARF_S("")};

    if (quantity)
        fulfillments_stock->move(stock, &m);
}

static wharf_status move_stock(const struct order *o)
{
    const wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause),
        .reason = "reservation",
        .source_type = WHARF_S("fulfillment"),
        .source_id = o->id};
    wharf_stock *stock;
    bool any = false;
    wharf_status s = fulfillments_stock->begin(o->req, &cause, &stock);

    for (size_t i = 0; s == WHARF_OK && i < o->n_places; i++) {
        const struct place *p = &o->places[i];
        int64_t left = p->is.shipped - p->was.shipped,
                more = p->is.quantity - p->was.quantity + left;

        if (!left && !more)
            continue;
        any = true;
        fulfillment_order_add_move(o, stock, p, WHARF_STOCK_RESERVED, -left, "shipment");
        fulfillment_order_add_move(
            o, stock, p, WHARF_STOCK_AVAILABLE, -more, more > 0 ? "reservation" : "release");
        fulfillment_order_add_move(
            o, stock, p, WHARF_STOCK_RESERVED, more, more > 0 ? "reservation" : "release");
    }
    return s == WHARF_OK && any ? fulfillments_stock->apply(stock) : s;
}

/* Looks for stock for articles that ask for more than before. */
static wharf_status fill_up(const struct order *o)
{
    wharf_str *items = W->mem->alloc(o->req, (o->n + 1) * sizeof(*items));
    size_t n = 0;

    for (size_t i = 0; i < o->n; i++) {
        const struct article *a = &o->articles[i];

        if ((a->made || a->changed) && !a->removed && a->requested > a->reserved)
            items[n++] = a->item_id;
    }
    return n ? reserve_waiting(o->req, items, n, o->location_id, o->id) : WHARF_OK;
}

wharf_status order_write(struct order *o)
{
    wharf_status s = write_places(o);

    if (s == WHARF_OK)
        s = write_articles(o);
    if (s == WHARF_OK)
        s = write_contents(o);
    if (s == WHARF_OK)
        s = pack_write(o);
    if (s == WHARF_OK)
        s = move_stock(o);
    return s == WHARF_OK ? fill_up(o) : s;
}
