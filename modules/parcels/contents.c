/* contents.c - what is in a parcel (docs/spec/02-places-and-people.md section 7): lines are
 * changed by their id, added without one, removed by {id, _delete}. Items are rows of the module
 * items; without it no line names a known one. */
#include <stdlib.h>

#include "parcels.h"
#include "parcels.gen.h"
#include "wharf/errors.h"

enum {
    LINES_MAX = 500, /* lines of a parcel */
    QTY_SCALE = 4,
    COMMENT_MAX = 2000 /* letters of a comment */
};

static const char *const texts[] = {"sku", "gtin", "name", "comment"};
static const struct {
    const char *name, *legacy;
} quantities[] = {{"packed_qty", NULL}, {"requested_qty", NULL}, {"received_qty", "verified_qty"},
    {"defective_qty", "damaged_qty"}};

struct items_known { /* ids of items that are there, in their order */
    wharf_str *ids;
    size_t n;
};

struct lines {
    wharf_req *req;
    const struct items_known *known;
    wharf_out *out, *items;
    size_t n;
};

static wharf_status contents_bad(wharf_req *req, size_t i, const char *member, const char *message)
{
    const char *path = W->mem->format(req, "contents.%zu%s%s", i, *member ? "." : "", member).p;

    return W->err->add(req, ERR_VALIDATION_FAILED, path, "%s %s", path, message);
}

/* Returns what was sent, else what is stored. */
static const wharf_json *contents_either(
    const wharf_json *sent, const wharf_json *stored, const char *key, const char *legacy)
{
    const wharf_json *v = sent ? W->json->get(sent, key) : NULL;

    if (!v && sent && legacy)
        v = W->json->get(sent, legacy);
    return v ? v : stored ? W->json->get(stored, key) : NULL;
}

/* ---- items ---- */

static wharf_status contents_find_by(
    wharf_req *req, const char *key, wharf_str value, wharf_str *ret_id)
{
    wharf_out *out = W->json->builder(req);
    const wharf_rec *const *recs;
    const wharf_json *query;
    size_t n = 0;
    wharf_status s;

    W->json->open(out, NULL, '{');
    W->json->put(out, key, val_text(value));
    W->json->close(out);
    s = W->json->result(req, out, &query);
    if (s == WHARF_OK)
        s = W->res->list(req, "item", query, &recs, &n);
    *ret_id = s == WHARF_OK && n ? W->res->id(recs[0]) : WHARF_S("");
    return s;
}

static struct items_known *contents_known_of(const wharf_rec *rec)
{
    static const char kind[] = "parcels.items";

    return W->res->shared(rec, kind, sizeof(struct items_known));
}

static wharf_status there_is(wharf_req *req, const struct items_known *known, wharf_str id)
{
    const wharf_rec *item;

    return known && known->n && bsearch(&id, known->ids, known->n, sizeof(id), wharf_str_order)
               ? WHARF_OK
               : W->res->fetch(req, "item", id, 0, &item);
}

/* Adds the ids that the lines of a list name; ids NULL: counts them. */
static size_t named_items(const wharf_json *list, wharf_str *ids)
{
    size_t n = 0;

    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e; e = W->json->next(e)) {
        wharf_str id = W->json->type(e) == WHARF_J_OBJECT ? json_text(e, "item_id") : WHARF_S("");

        if (id.n && ids)
            ids[n] = id;
        n += id.n > 0;
    }
    return n;
}

wharf_status parcels_contents_ahead(wharf_req *req, const wharf_rec *const *recs, size_t n)
{
    static const char sql[] =
        "SELECT x.id FROM (SELECT DISTINCT id FROM unnest((SELECT $1::text[])) y(id)) x"
        " CROSS JOIN LATERAL (SELECT 1 FROM items.item i WHERE i.organization_id = $2::text"
        " AND i.id = x.id AND i.deleted_at IS NULL OFFSET 0) i";
    struct items_known *known;
    const wharf_rows *rows;
    wharf_str *ids;
    size_t k = 0;
    wharf_status s;

    for (size_t i = 0; i < n; i++)
        k += named_items(W->res->input(recs[i], PARCEL_CONTENTS), NULL);
    if (!k || !parcels_items)
        return WHARF_OK;
    ids = W->mem->alloc(req, k * sizeof(*ids));
    k = 0;
    for (size_t i = 0; i < n; i++)
        k += named_items(W->res->input(recs[i], PARCEL_CONTENTS), ids + k);
    s = query_about(req, sql, val_array(req, ids, k).u.s, &rows);
    known = contents_known_of(recs[0]);
    known->ids = ids;
    known->n = s == WHARF_OK ? W->db->count(rows) : 0;
    for (size_t i = 0; i < known->n; i++)
        ids[i] = row_text(rows, i, 0);
    qsort(ids, known->n, sizeof(*ids), wharf_str_order);
    return s;
}

static wharf_status find_item(const struct lines *l, const wharf_json *sent,
    const wharf_json *stored, size_t i, wharf_str *ret_id)
{
    static const char *const keys[] = {"item_id", "sku", "gtin"};
    wharf_req *req = l->req;
    wharf_str known = stored ? json_text(stored, "item_id") : WHARF_S("");
    wharf_status s = WHARF_OK;

    *ret_id = known;
    for (size_t k = 0; k < 3; k++) {
        wharf_str v = sent ? json_text(sent, keys[k]) : WHARF_S("");

        if (!v.n || (k == 0 && same(v, known)))
            continue;
        if (!parcels_items)
            return contents_bad(req, i, keys[k], "names no item: the module items is not enabled");
        if (k == 0)
            s = there_is(req, l->known, v);
        else
            s = contents_find_by(req, keys[k], v, ret_id);
        if (s == WHARF_NOT_FOUND || (s == WHARF_OK && k && !ret_id->n)) {
            W->err->clear(req);
            return contents_bad(req, i, keys[k], "names no item");
        }
        if (s == WHARF_OK && k == 0)
            *ret_id = v;
        return s;
    }
    return known.n ? WHARF_OK : contents_bad(req, i, "item_id", "is required, or sku or gtin");
}

/* ---- one line ---- */

static void contents_put_members(
    struct lines *l, const wharf_json *sent, const wharf_json *stored, size_t i)
{
    const wharf_json *tags = contents_either(sent, stored, "special_handling_tags", NULL),
                     *asset = contents_either(sent, stored, "is_asset", NULL);
    int64_t qty;
    wharf_str s;

    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
        const wharf_json *v = contents_either(sent, stored, texts[k], NULL);

        if (!json_is_null(v) && (!W->json->text(v, &s) || s.n > COMMENT_MAX))
            contents_bad(l->req, i, texts[k], "must be text of up to 2,000 bytes");
        W->json->put(l->out, texts[k], val_json(json_is_null(v) ? NULL : v));
    }
    for (size_t k = 0; k < sizeof(quantities) / sizeof(quantities[0]); k++) {
        const wharf_json *v = contents_either(
            sent, stored, quantities[k].name, quantities[k].legacy);

        if (!json_is_null(v) && (!W->json->decimal(v, QTY_SCALE, &qty) || qty < 0))
            contents_bad(l->req, i, quantities[k].name,
                "must be a number from 0 with at most 4 digits after the point");
        W->json->put(l->out, quantities[k].name, json_is_null(v) ? val_int(0) : val_json(v));
    }
    if (!json_is_null(tags) && W->json->type(tags) != WHARF_J_ARRAY)
        contents_bad(l->req, i, "special_handling_tags", "must be an array");
    if (json_is_null(tags)) {
        W->json->open(l->out, "special_handling_tags", '[');
        W->json->close(l->out);
    } else {
        W->json->put(l->out, "special_handling_tags", val_json(tags));
    }
    W->json->put(l->out, "is_asset", val_bool(json_truth(asset)));
}

static wharf_status contents_put_line(
    struct lines *l, wharf_str id, const wharf_json *sent, const wharf_json *stored, size_t i)
{
    wharf_str item;
    wharf_status s = find_item(l, sent, stored, i, &item);

    if (s != WHARF_OK)
        return s;
    W->json->open(l->out, NULL, '{');
    W->json->put(l->out, "id", val_text(id));
    W->json->put(l->out, "item_id", val_text_or_null(item));
    contents_put_members(l, sent, stored, i);
    W->json->close(l->out);
    if (item.n)
        W->json->put(l->items, NULL, val_text(item));
    l->n++;
    return WHARF_OK;
}

/* ---- the list ---- */

static const wharf_json *contents_by_id(const wharf_json *list, wharf_str id, size_t *ret_i)
{
    *ret_i = 0;
    for (const wharf_json *e = list ? W->json->at(list, 0) : NULL; e;
         e = W->json->next(e), (*ret_i)++) {
        if (W->json->type(e) == WHARF_J_OBJECT && same(json_text(e, "id"), id))
            return e;
    }
    return NULL;
}

static wharf_status add_new(struct lines *l, const wharf_json *stored, const wharf_json *sent)
{
    size_t i = 0, at;

    for (const wharf_json *e = W->json->at(sent, 0); e; e = W->json->next(e), i++) {
        wharf_str id = json_text(e, "id");

        if (!id.n)
            contents_put_line(l, W->req->new_id(l->req, "art"), e, NULL, i);
        else if (!contents_by_id(stored, id, &at))
            contents_bad(l->req, i, "id", "names no line of this parcel");
    }
    return W->err->current(l->req);
}

wharf_status parcels_contents(wharf_req *req, const wharf_rec *rec, const wharf_json *stored,
    const wharf_json *sent, const wharf_json **ret_contents, const wharf_json **ret_item_ids)
{
    struct lines l = {.req = req,
        .known = contents_known_of(rec),
        .out = W->json->builder(req),
        .items = W->json->builder(req)};
    wharf_status s;

    W->json->open(l.out, NULL, '[');
    W->json->open(l.items, NULL, '[');
    for (const wharf_json *e = stored ? W->json->at(stored, 0) : NULL; e; e = W->json->next(e)) {
        size_t i;
        const wharf_json *change = contents_by_id(sent, json_text(e, "id"), &i);

        if (!change || !json_truth(W->json->get(change, "_delete")))
            contents_put_line(&l, json_text(e, "id"), change, e, i);
    }
    s = add_new(&l, stored, sent);
    W->json->close(l.out);
    W->json->close(l.items);
    if (s == WHARF_OK && l.n > LINES_MAX)
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "contents", "contents must have at most 500 lines");
    if (s == WHARF_OK)
        s = W->json->result(req, l.out, ret_contents);
    return s == WHARF_OK ? W->json->result(req, l.items, ret_item_ids) : s;
}
