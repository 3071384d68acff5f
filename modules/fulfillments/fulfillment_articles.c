/* fulfillment_articles.c - the articles of a request (docs/spec/03-shipments-and-trackers.md
 * section 6.2): lines with an id are changed or taken out, others are new. */
#include "fulfillments.h"

#include "fulfillments.gen.h"

enum {
    LIST_MAX = 20,
    WORD_MAX = 50,
    NAME_MAX = 255, /* letters of a name */
    CODE_MAX = 20,
    ID_MAX = 64,
    LOT_MAX = 100 /* letters of a lot number */
};

static const char *fulfillment_articles_article_path(wharf_req *req, size_t i, const char *member)
{
    return W->mem->format(req, "articles.%zu%s%s", i, *member ? "." : "", member).p;
}

static wharf_status refuse_article(
    wharf_req *req, size_t i, const char *member, const char *message)
{
    const char *path = fulfillment_articles_article_path(req, i, member);

    return W->err->add(req, ERR_VALIDATION_FAILED, path, "%s %s", path, message);
}

/* ---- one line ---- */

static wharf_str fulfillment_articles_line_text(
    wharf_req *req, const wharf_json *line, size_t i, const char *key, size_t most)
{
    return order_text_read(req, line, key, W->mem->format(req, "articles.%zu.", i).p, most);
}

/* Takes a text of the line, when it says it. */
static void fulfillment_articles_take_text(
    wharf_req *req, const wharf_json *line, size_t i, const char *key, size_t most, wharf_str *ret)
{
    if (W->json->get(line, key))
        *ret = fulfillment_articles_line_text(req, line, i, key, most);
}

static void take_words(
    wharf_req *req, const wharf_json *line, size_t i, const char *key, const wharf_json **ret)
{
    const wharf_json *v = W->json->get(line, key);
    wharf_str s;

    if (json_is_null(v))
        return;
    if (W->json->type(v) != WHARF_J_ARRAY || W->json->count(v) > LIST_MAX) {
        refuse_article(req, i, key, "must be an array of up to 20 words");
        return;
    }
    for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e)) {
        if (!W->json->text(e, &s) || !s.n || s.n > WORD_MAX) {
            refuse_article(req, i, key, "must have words of up to 50 bytes");
            return;
        }
    }
    *ret = v;
}

static void take_value(wharf_req *req, const wharf_json *line, size_t i, const wharf_json **ret)
{
    const wharf_json *v = W->json->get(line, "value");
    int64_t n = 0;

    if (!v)
        return;
    if (!json_is_null(v) && (!W->json->integer(v, &n) || n < 0 || n > INT64_C(1000000000000)))
        refuse_article(req, i, "value", "must be a whole number from 0, in cents");
    *ret = json_is_null(v) ? NULL : v;
}

static bool is_country(wharf_str s)
{
    return !s.n || (s.n == 2 && s.p[0] >= 'A' && s.p[0] <= 'Z' && s.p[1] >= 'A' && s.p[1] <= 'Z');
}

/* Takes what a line says of its article. */
static void fulfillment_articles_take_line(
    struct order *o, const wharf_json *line, size_t i, struct article *a)
{
    wharf_req *req = o->req;
    const wharf_json *quantity = W->json->get(line, "requested_qty");
    wharf_str name = fulfillment_articles_line_text(req, line, i, "name", NAME_MAX);

    if (quantity || a->made) {
        wharf_status s = order_quantity_read(req, quantity, a->is_asset,
            fulfillment_articles_article_path(req, i, "requested_qty"), &a->requested);

        if (s == WHARF_OK && a->requested <= 0)
            refuse_article(req, i, "requested_qty", "must be above 0");
    }
    if (name.n)
        a->name = name;
    fulfillment_articles_take_text(req, line, i, "layout_id", ID_MAX, &a->layout_id);
    fulfillment_articles_take_text(req, line, i, "lot_number", LOT_MAX, &a->lot_number);
    fulfillment_articles_take_text(req, line, i, "comment", COMMENT_MAX, &a->comment);
    fulfillment_articles_take_text(req, line, i, "harmonized_code", CODE_MAX, &a->harmonized_code);
    fulfillment_articles_take_text(req, line, i, "origin_country", ID_MAX, &a->origin_country);
    if (!is_country(a->origin_country))
        refuse_article(req, i, "origin_country", "must be two capital letters");
    take_words(req, line, i, "attributes", &a->attributes);
    take_words(req, line, i, "special_handling_tags", &a->tags);
    take_value(req, line, i, &a->value);
}

/* ---- items of new lines ---- */

/* Facts about the items that lines name: by the place of the line. */
struct found {
    const wharf_rows *rows;
    size_t *row; /* of each line, from 1; 0: there is none */
};

/* Writes which items the lines without an id name. */
static void put_wanted(wharf_req *req, wharf_out *out, const wharf_json *sent)
{
    static const char *const keys[] = {"item_id", "sku", "gtin"};
    size_t i = 0;

    W->json->open(out, NULL, '[');
    for (const wharf_json *e = W->json->at(sent, 0); e; e = W->json->next(e), i++) {
        if (W->json->type(e) != WHARF_J_OBJECT) {
            refuse_article(req, i, "", "must be an object");
            continue;
        }
        if (json_text(e, "id").n)
            continue;
        W->json->open(out, NULL, '{');
        W->json->put(out, "n", val_int((int64_t)i));
        for (size_t k = 0; k < 3; k++)
            W->json->put(out, keys[k],
                val_text_or_null(fulfillment_articles_line_text(req, e, i, keys[k], TEXT_MAX)));
        W->json->close(out);
    }
    W->json->close(out);
}

static wharf_status find_items(struct order *o, const wharf_json *sent, bool old, struct found *ret)
{
    static const char sql[] = QUERY_ITEMS_FIND;
    wharf_out *out = W->json->writer(o->req);
    wharf_val args[3];
    wharf_status s;

    put_wanted(o->req, out, sent);
    s = W->err->current(o->req);
    args[0] = val_text(W->json->result_text(out));
    args[1] = val_text(W->req->organization(o->req));
    args[2] = old ? val_text(o->id) : val_null();
    if (s == WHARF_OK)
        s = W->db->query(o->req, sql, args, 3, &ret->rows);
    ret->row = W->mem->alloc(o->req, (W->json->count(sent) + 1) * sizeof(*ret->row));
    for (size_t k = 0; s == WHARF_OK && k < W->db->count(ret->rows); k++) {
        const wharf_json *lines = row_json(ret->rows, k, 0);
        int64_t n;

        for (const wharf_json *e = lines ? W->json->at(lines, 0) : NULL; e; e = W->json->next(e)) {
            if (W->json->integer(e, &n))
                ret->row[n] = k + 1;
        }
    }
    return s;
}

/* ---- new lines ---- */

static const wharf_json *list_or_empty(wharf_req *req, const wharf_json *v)
{
    const wharf_json *empty;

    if (!json_is_null(v))
        return v;
    return W->json->parse(req, WHARF_S("[]"), &empty) == WHARF_OK ? empty : NULL;
}

static void fulfillment_articles_add_line(
    struct order *o, const wharf_json *line, size_t i, const struct found *found)
{
    const wharf_rows *rows = found->rows;
    int64_t position = o->n ? o->articles[o->n - 1].position + 1 : 1;
    struct article *a;
    size_t k;

    if (!found->row[i]) {
        refuse_article(o->req, i, "item_id", "names no item; send item_id, sku or gtin of one");
        return;
    }
    k = found->row[i] - 1;
    if (row_bool(rows, k, 6)) {
        W->err->add(o->req, ERR_ITEM_ARCHIVED,
            fulfillment_articles_article_path(o->req, i, "item_id"),
            "The item is archived; activate it before it is ordered");
        return;
    }
    a = order_add_article(o);
    *a = (struct article){.id = W->req->new_id(o->req, "art"),
        .made = true,
        .item_id = row_text(rows, k, 1),
        .name = row_text(rows, k, 2),
        .sku = row_text(rows, k, 3),
        .gtin = row_text(rows, k, 4),
        .is_asset = row_bool(rows, k, 5),
        .position = position,
        .attributes = list_or_empty(o->req, row_json(rows, k, 7)),
        .tags = list_or_empty(o->req, NULL),
        .value = row_json(rows, k, 8),
        .harmonized_code = row_text(rows, k, 9),
        .origin_country = row_text(rows, k, 10),
        .layout_id = WHARF_S(""),
        .lot_number = WHARF_S(""),
        .comment = WHARF_S("")};
    fulfillment_articles_take_line(o, line, i, a);
}

/* ---- lines that are there ---- */

static bool wish_changed(const struct article *a, const struct article *was)
{
    return !same(a->layout_id, was->layout_id) || !same(a->lot_number, was->lot_number);
}

static void change_line(struct order *o, const wharf_json *line, size_t i, size_t k)
{
    const struct article was = o->articles[k];
    struct article *a = &o->articles[k];
    int64_t excess;

    if (json_truth(W->json->get(line, "_delete"))) {
        if (a->picked)
            W->err->add(o->req, ERR_FULFILLMENT_PICKED,
                fulfillment_articles_article_path(o->req, i, ""), NULL);
        a->removed = true;
        order_release(o, k, a->reserved);
        return;
    }
    a->changed = true;
    fulfillment_articles_take_line(o, line, i, a);
    if (a->requested < a->picked) {
        W->err->add(o->req, ERR_FULFILLMENT_PICKED,
            fulfillment_articles_article_path(o->req, i, "requested_qty"), NULL);
        return;
    }
    excess = wish_changed(a, &was) ? a->reserved - a->picked : a->reserved - a->requested;
    if (excess > 0)
        order_release(o, k, excess);
}

/* ---- the list ---- */

static void take_known(struct order *o, const wharf_json *line, size_t i, bool *seen)
{
    size_t k = order_article(o, json_text(line, "id"));

    if (k == o->n)
        refuse_article(o->req, i, "id", "names no article of this fulfillment");
    else if (seen[k])
        refuse_article(o->req, i, "id", "stands in the list twice");
    else
        change_line(o, line, i, k);
    if (k < o->n)
        seen[k] = true;
}

static wharf_status fulfillment_articles_check_layouts(struct order *o)
{
    wharf_str *ids = W->mem->alloc(o->req, (o->n + 1) * sizeof(*ids));
    const wharf_rows *rows;
    size_t n = 0, k;
    wharf_status s;

    for (size_t i = 0; i < o->n; i++) {
        if (o->articles[i].layout_id.n && (o->articles[i].made || o->articles[i].changed))
            ids[n++] = o->articles[i].layout_id;
    }
    if (!n)
        return WHARF_OK;
    s = order_find_layouts(o, val_array(o->req, ids, n), val_array(o->req, NULL, 0), &rows);
    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        for (k = 0; k < W->db->count(rows) && !same(row_text(rows, k, 0), ids[i]); k++)
            continue;
        if (k == W->db->count(rows))
            W->err->add(o->req, ERR_VALIDATION_FAILED, "articles",
                "There is no layout %s in the location", ids[i].p);
    }
    return s == WHARF_OK ? W->err->current(o->req) : s;
}

static wharf_status fulfillment_articles_check_count(const struct order *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->n; i++)
        n += !o->articles[i].removed;
    return n && n <= LINES_MAX ? WHARF_OK
                               : W->err->fail(o->req, ERR_VALIDATION_FAILED, "articles",
                                     "articles must have 1 to 500 lines");
}

wharf_status articles_take(struct order *o, const wharf_json *sent, bool old)
{
    struct found found;
    size_t i = 0;
    bool *seen;
    wharf_status s = find_items(o, sent, old, &found);

    if (s == WHARF_OK && old)
        s = order_load(o->req, o->id, o->location_id, false, o);
    if (s != WHARF_OK)
        return s;
    seen = W->mem->alloc(o->req, (o->n + 1) * sizeof(*seen));
    for (const wharf_json *e = W->json->at(sent, 0); e; e = W->json->next(e), i++) {
        if (!json_text(e, "id").n)
            fulfillment_articles_add_line(o, e, i, &found);
        else if (old)
            take_known(o, e, i, seen);
        else
            refuse_article(o->req, i, "id", "names no article of this fulfillment");
    }
    s = W->err->current(o->req);
    if (s == WHARF_OK)
        s = fulfillment_articles_check_count(o);
    return s == WHARF_OK ? fulfillment_articles_check_layouts(o) : s;
}
