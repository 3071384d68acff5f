/* item_levels.c - what an item's request says about stock: `levels` (docs/spec/
 * 09-items-and-assembly.md section 7) become moves of items.stock, and `low_stock_thresholds`
 * (section 7.1) are kept. */
#include "items.h"

#include "items.gen.h"
#include "wharf/errors.h"

enum {
    NOTE_MAX = 500, /* letters of a note */
    LOT_MAX = 100 /* letters of a lot number */
};

static const struct {
    const char *name, *former;
    uint32_t bucket;
} quantities[] = {{"available_qty", "verified_qty", WHARF_STOCK_AVAILABLE},
    {"damaged_qty", NULL, WHARF_STOCK_DAMAGED}, {"manifested_qty", NULL, WHARF_STOCK_MANIFESTED}};

struct changes {
    wharf_req *req;
    const wharf_rec *rec;
    wharf_stock *stock;
    struct stock_item item;
};

static wharf_status item_levels_bad(wharf_req *req, const char *path, const char *message)
{
    return W->err->add(req, ERR_VALIDATION_FAILED, path, "%s %s", path, message);
}

/* Reads a text of an entry of up to most bytes; absent or null: empty. */
static wharf_str entry_text(
    wharf_req *req, const wharf_json *e, wharf_str at, const char *key, size_t most, bool *ret_sent)
{
    const wharf_json *v = W->json->get(e, key);
    wharf_str s = WHARF_S("");

    if (ret_sent)
        *ret_sent = v != NULL;
    if (!json_is_null(v) && (!W->json->text(v, &s) || s.n > most)) {
        item_levels_bad(req, W->mem->format(req, "%s%s", at.p, key).p,
            W->mem->format(req, "must be text of up to %zu bytes", most).p);
        return WHARF_S("");
    }
    return s;
}

/* ---- one quantity ---- */

/* Turns a quantity that is said in a transactional unit into base units. */
static wharf_status to_base(
    const struct changes *c, const char *path, exact factor, int64_t said, int64_t *ret)
{
    if (c->item.is_asset && !product_is_whole(said, factor))
        return W->err->add(c->req, ERR_ITEM_FRACTIONAL_QUANTITY, path, NULL);
    return quantity_times(said, factor, ret)
               ? WHARF_OK
               : item_levels_bad(c->req, path, "must be at most 99999999999.9999 in the base unit");
}

static wharf_status take_quantity(
    struct changes *c, const wharf_json *v, const char *path, exact factor, wharf_stock_move *m)
{
    bool set = W->json->type(v) == WHARF_J_ARRAY;
    wharf_status s;

    if (set && W->json->count(v) != 1)
        return item_levels_bad(c->req, path, "must be a number, or an array of one number");
    m->flags = (m->flags & ~(uint32_t)WHARF_STOCK_SET) | (set ? WHARF_STOCK_SET : 0u);
    s = quantity_take(c->req, set ? W->json->at(v, 0) : v, path, &m->quantity);
    if (s == WHARF_OK && set && m->quantity < 0)
        return item_levels_bad(c->req, path, "must not be below 0 when it is set");
    if (s == WHARF_OK && m->unit_id.n) {
        m->unit_quantity = m->quantity;
        s = to_base(c, path, factor, m->unit_quantity, &m->quantity);
    }
    m->path = path;
    if (s == WHARF_OK)
        items_stock.move(c->stock, m);
    return s;
}

/* ---- one entry ---- */

static wharf_status item_levels_take_place(
    const struct changes *c, const wharf_json *e, wharf_str at, wharf_stock_move *m)
{
    const char *path = W->mem->format(c->req, "%slocation_id", at.p).p;
    bool named;

    m->location_id = entry_text(c->req, e, at, "location_id", 64, NULL);
    if (!m->location_id.n)
        return item_levels_bad(c->req, path, "is required");
    m->layout_id = entry_text(c->req, e, at, "layout_id", 64, &named);
    if (!named)
        m->flags |= WHARF_STOCK_FIND_LAYOUT;
    return W->req->need_location(c->req, m->location_id);
}

static wharf_status take_reason(
    const struct changes *c, const wharf_json *e, wharf_str at, wharf_stock_move *m)
{
    const char *path = W->mem->format(c->req, "%sreason_code_id", at.p).p;
    wharf_str code;

    m->note = entry_text(c->req, e, at, "note", NOTE_MAX, NULL);
    m->reason_code_id = entry_text(c->req, e, at, "reason_code_id", 64, NULL);
    if (!m->reason_code_id.n)
        return WHARF_OK;
    if (!items_reasons)
        return item_levels_bad(
            c->req, path, "names no reason code: the module reasons is not enabled");
    return items_reasons->check(c->req, m->reason_code_id, "item", path, &code);
}

/* Tells whether an entry is a level as answers show it, sent back: it is no change. */
static bool is_shown_level(const wharf_json *e)
{
    return is(json_text(e, "object"), "level");
}

static wharf_status take_entry(struct changes *c, const wharf_json *e, size_t i)
{
    wharf_str at = W->mem->format(c->req, "levels.%zu.", i);
    wharf_stock_move m = {
        .head = WHARF_HEAD(wharf_stock_move), .item_id = c->item.id, .lot_id = WHARF_S("")};
    exact factor = 0;
    wharf_status s;

    if (is_shown_level(e))
        return WHARF_OK;
    if (!json_is_null(W->json->get(e, "reserved_qty")))
        return item_levels_bad(c->req, W->mem->format(c->req, "%sreserved_qty", at.p).p,
            "can't be written; fulfillments reserve stock");
    s = item_levels_take_place(c, e, at, &m);
    if (s == WHARF_OK)
        s = take_reason(c, e, at, &m);
    m.lot_number = entry_text(c->req, e, at, "lot_number", LOT_MAX, NULL);
    m.unit_id = entry_text(c->req, e, at, "item_transactional_unit_id", 64, NULL);
    if (s == WHARF_OK && m.unit_id.n)
        s = packing_factor(c->req, field_json(c->rec, ITEM_TRANSACTIONAL_UNITS), m.unit_id,
            W->mem->format(c->req, "%sitem_transactional_unit_id", at.p).p, &factor);
    for (size_t k = 0; s == WHARF_OK && k < sizeof(quantities) / sizeof(quantities[0]); k++) {
        const char *name = quantities[k].name;
        const wharf_json *v = W->json->get(e, name);

        if (!v && quantities[k].former) {
            name = quantities[k].former;
            v = W->json->get(e, name);
        }
        m.bucket = quantities[k].bucket;
        if (!json_is_null(v))
            s = take_quantity(c, v, W->mem->format(c->req, "%s%s", at.p, name).p, factor, &m);
    }
    return s;
}

/* Reads `levels` of a create or an update. */
static wharf_status read_levels(
    wharf_req *req, uint32_t op, wharf_rec *rec, wharf_stock **ret_stock)
{
    const wharf_json *sent = W->res->input(rec, ITEM_LEVELS);
    wharf_str lots = field_text(rec, ITEM_LOT_TRACKING);
    struct changes c = {.req = req, .rec = rec};
    struct stock_item *item;
    wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause),
        .reason = items_events->batch(req).n ? "import"
                  : op == WHARF_CREATE       ? "opening"
                                             : "adjustment",
        .source_type = WHARF_S(""),
        .source_id = WHARF_S("")};
    wharf_status s;
    size_t i = 0, n = 0;

    for (const wharf_json *e = sent ? W->json->at(sent, 0) : NULL; e; e = W->json->next(e))
        n += !is_shown_level(e);
    if (!n)
        return WHARF_OK;
    item = W->mem->alloc(req, sizeof(*item));
    *item = (struct stock_item){.id = W->res->id(rec),
        .is_asset = field_int(rec, ITEM_IS_ASSET),
        .archived = is(field_text(rec, ITEM_STATUS), "archived"),
        .lots_needed = is(lots, "required"),
        .lots_allowed = !is(lots, "none")};
    c.item = *item;
    s = stock_begin_of(req, &cause, item, &c.stock);
    for (const wharf_json *e = W->json->at(sent, 0); e && s == WHARF_OK; e = W->json->next(e))
        take_entry(&c, e, i++);
    s = W->err->current(req);
    *ret_stock = c.stock;
    return s == WHARF_OK ? stock_judge(c.stock) : s;
}

/* ---- thresholds ---- */

static wharf_status take_threshold(
    wharf_req *req, const wharf_json *e, size_t i, wharf_str *ret_location, wharf_out *list)
{
    wharf_str at = W->mem->format(req, "low_stock_thresholds.%zu.", i);
    const char *path = W->mem->format(req, "%savailable_qty", at.p).p;
    const wharf_json *v = W->json->get(e, "available_qty");
    int64_t quantity = 0;
    wharf_status s;

    *ret_location = entry_text(req, e, at, "location_id", 64, NULL);
    if (!ret_location->n)
        return item_levels_bad(req, W->mem->format(req, "%slocation_id", at.p).p, "is required");
    s = W->req->need_location(req, *ret_location);
    if (s == WHARF_OK && json_is_null(v))
        return item_levels_bad(req, path, "is required");
    if (s == WHARF_OK)
        s = quantity_take(req, v, path, &quantity);
    if (s == WHARF_OK && quantity <= 0)
        return item_levels_bad(req, path, "must be above 0");
    if (s == WHARF_OK) {
        W->json->open(list, NULL, '{');
        W->json->put(list, "n", val_int((int64_t)i));
        W->json->put(list, "location", val_text(*ret_location));
        W->json->put(list, "quantity", val_decimal(quantity, QUANTITY_SCALE));
        W->json->put(list, "level", val_text(W->req->new_id(req, "lvl")));
        W->json->close(list);
    }
    return s;
}

/* Tells of what is low from the beginning. */
static wharf_status item_levels_tell_low(wharf_req *req, const wharf_rows *rows)
{
    size_t n = W->db->count(rows), k = 0;
    const char **types = W->mem->alloc(req, (n + 1) * sizeof(*types));
    wharf_str *ids = W->mem->alloc(req, (n + 1) * sizeof(*ids));
    const wharf_json **extras = W->mem->alloc(req, (n + 1) * sizeof(*extras));
    wharf_status s = WHARF_OK;

    for (size_t i = 0; i < n && s == WHARF_OK; i++) {
        wharf_out *out = W->json->builder(req);

        W->json->open(out, NULL, '{');
        W->json->put(out, "location_available_qty", val_json(row_json(rows, i, 1)));
        W->json->put(out, "threshold_qty", val_json(row_json(rows, i, 2)));
        W->json->close(out);
        types[k] = "inventory.low_stock";
        ids[k] = row_text(rows, i, 0);
        s = W->json->result(req, out, &extras[k++]);
    }
    return s == WHARF_OK && k ? W->event->emit_many(req, "level", types, ids, extras, k) : s;
}

/* Tells of locations that are not there. */
static wharf_status item_levels_tell_unknown(wharf_req *req, const wharf_rows *rows)
{
    for (size_t i = 0; i < W->db->count(rows); i++) {
        wharf_val n;

        if (W->db->value(rows, i, 3, WHARF_V_INT, &n))
            W->err->add(req, ERR_VALIDATION_FAILED,
                W->mem->format(req, "low_stock_thresholds.%lld.location_id", (long long)n.u.i).p,
                "There is no such location");
    }
    return W->err->current(req);
}

static wharf_status write_thresholds(wharf_req *req, wharf_str item, wharf_str list)
{
    static const char sql[] =
        "SELECT level_id, to_jsonb(available), to_jsonb(quantity), unknown FROM "
        "items.thresholds_set($1::text, $2::jsonb, $3::jsonb,"
        " to_timestamp($4::bigint / 1000 / 1000.0), $5::text)";
    const wharf_caller *who = items_keys->caller(req);
    wharf_val args[5] = {val_text(item), val_text(list),
        who->all_locations ? val_null() : val_ids(req, who->locations, who->n_locations),
        val_int(W->req->now_us(req)), val_text(W->req->actor(req))};
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql, args, 5, &rows);

    if (s == WHARF_OK)
        s = item_levels_tell_unknown(req, rows);
    return s == WHARF_OK ? item_levels_tell_low(req, rows) : s;
}

/* Reads `low_stock_thresholds`. */
static wharf_status read_thresholds(wharf_req *req, const wharf_rec *rec, wharf_str *ret_list)
{
    const wharf_json *sent = W->res->input(rec, ITEM_LOW_STOCK_THRESHOLDS);
    size_t n = sent ? W->json->count(sent) : 0, i = 0;
    wharf_str *places = W->mem->alloc(req, (n + 1) * sizeof(*places));
    wharf_out *out;

    if (!sent)
        return WHARF_OK;
    out = W->json->writer(req);
    W->json->open(out, NULL, '[');
    for (const wharf_json *e = W->json->at(sent, 0); e; e = W->json->next(e), i++) {
        take_threshold(req, e, i, &places[i], out);
        for (size_t k = 0; k < i; k++) {
            if (places[i].n && same(places[i], places[k]))
                item_levels_bad(req,
                    W->mem->format(req, "low_stock_thresholds.%zu.location_id", i).p,
                    "stands in the list twice");
        }
    }
    W->json->close(out);
    *ret_list = W->json->result_text(out);
    return W->err->current(req);
}

/* ---- both ---- */

wharf_status booking_read(wharf_req *req, uint32_t op, wharf_rec *rec, struct booking *ret)
{
    wharf_status s;

    ret->rec = rec;
    ret->stock = NULL;
    ret->thresholds = WHARF_S("");
    s = read_levels(req, op, rec, &ret->stock);
    return s == WHARF_OK ? read_thresholds(req, rec, &ret->thresholds) : s;
}

/* Writes stock of all together. What moves of several items are written with is the same for all;
 * only their groups differ. */
static wharf_status write_stock(wharf_req *req, const struct booking *list, size_t n)
{
    wharf_stock *all = NULL;

    for (size_t i = 0; i < n; i++) {
        if (!list[i].stock)
            continue;
        if (!all)
            all = list[i].stock;
        else
            stock_join(all, list[i].stock);
        /* so that the row changes: it is what versions and answers are about */
        W->res->set(list[i].rec, ITEM_STOCK_CHANGES,
            val_int(field_int(list[i].rec, ITEM_STOCK_CHANGES) + 1));
    }
    return all ? stock_write(all) : WHARF_OK;
}

wharf_status bookings_write(wharf_req *req, const struct booking *list, size_t n, bool together)
{
    wharf_status s = n ? write_stock(req, list, n) : WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        wharf_rec *rec = list[i].rec;

        if (!list[i].thresholds.n)
            continue;
        s = write_thresholds(req, W->res->id(rec), list[i].thresholds);
        W->res->set(
            rec, ITEM_THRESHOLD_CHANGES, val_int(field_int(rec, ITEM_THRESHOLD_CHANGES) + 1));
    }
    if (together && s != WHARF_OK)
        items_many->row_by_row(req);
    else if (together && n)
        items_many->wrote(req);
    return s;
}
