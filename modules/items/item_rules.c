/* item_rules.c - the rules of items (docs/spec/09-items-and-assembly.md sections 4, 6, 8, 11 and
 * 18). Leaves units to packing.c, stock to item_levels.c. */
#include "items.h"

#include "bom_rules.h"
#include "items.gen.h"
#include "wharf/errors.h"

/* ---- normalize ---- */

static void upper(wharf_req *req, wharf_rec *rec, const char *name, wharf_field field)
{
    const wharf_json *v = W->res->member(rec, name);
    wharf_str s;
    char *p;

    if (!v || W->json->type(v) != WHARF_J_STRING || !W->json->text(v, &s) || !s.n)
        return;
    s = W->mem->dup(req, s.p, s.n);
    p = (char *)s.p;
    for (size_t i = 0; i < s.n; i++)
        p[i] = (char)(p[i] >= 'a' && p[i] <= 'z' ? p[i] - 'a' + 'A' : p[i]);
    W->res->set(rec, field, val_text(s));
}

/* Puts a cell of a file: "[30]" is what shall be there, "30" is added. */
static void item_put_cell(wharf_req *req, wharf_out *out, const char *name, const wharf_json *v)
{
    wharf_str s;

    if (W->json->type(v) == WHARF_J_STRING && W->json->text(v, &s) && s.n > 2 && s.p[0] == '[' &&
        s.p[s.n - 1] == ']') {
        W->json->open(out, name, '[');
        W->json->put(out, NULL, val_text(W->mem->dup(req, s.p + 1, s.n - 2)));
        W->json->close(out);
    } else {
        W->json->put(out, name, val_json(v));
    }
}

/* Makes one entry of `levels` of the columns of a file's row. */
static wharf_status columns_to_level(wharf_req *req, wharf_rec *rec)
{
    static const char *const names[] = {"location_id", "layout_id", "lot_number", "available_qty"};
    wharf_out *out = W->json->builder(req);
    const wharf_json *list;
    wharf_status s;
    bool any = false;

    W->json->open(out, NULL, '[');
    W->json->open(out, NULL, '{');
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const wharf_json *v = W->res->member(rec, names[i]);

        if (!json_is_null(v)) {
            item_put_cell(req, out, names[i], v);
            any = true;
        }
        if (v)
            W->res->drop(rec, names[i]);
    }
    W->json->close(out);
    W->json->close(out);
    s = W->json->result(req, out, &list);
    if (s == WHARF_OK && any)
        W->res->set(rec, ITEM_LEVELS, val_json(list));
    return s;
}

static wharf_status item_normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
{
    upper(req, new_rec, "origin_country", ITEM_ORIGIN_COUNTRY);
    upper(req, new_rec, "currency", ITEM_CURRENCY);
    /* bills that go with the item are locked in the order in which their own writes do it */
    if (op == WHARF_UPDATE && W->res->member(new_rec, "status"))
        W->db->lock(req, BOM_GRAPH_LOCK, W->req->organization(req));
    return items_events->batch(req).n && !W->res->member(new_rec, "levels")
               ? columns_to_level(req, new_rec)
               : WHARF_OK;
}

/* ---- check ---- */

/* Tells whether the last digit of a GTIN-8, -12, -13 or -14 is that of the others. Numbers of
 * other lengths have none. */
static bool check_digit_fits(wharf_str s)
{
    int sum = 0;

    if (s.n != 8 && s.n != 12 && s.n != 13 && s.n != 14)
        return true;
    for (size_t i = 0; i < s.n; i++)
        sum += (s.p[i] - '0') * ((s.n - i) % 2 ? 1 : 3);
    return sum % 10 == 0;
}

static wharf_status check_numbers(wharf_req *req, const wharf_rec *rec)
{
    if (W->res->sent(rec, ITEM_GTIN) && !check_digit_fits(field_text(rec, ITEM_GTIN)))
        W->err->add(req, ERR_ITEM_GTIN_CHECK_DIGIT, "gtin", NULL);
    if (W->res->sent(rec, ITEM_UPC) && !check_digit_fits(field_text(rec, ITEM_UPC)))
        W->err->add(req, ERR_ITEM_GTIN_CHECK_DIGIT, "upc", NULL);
    return W->err->current(req);
}

/* Tells of levels of an item that are in the way: rows of a statement from the r-th on, n of them.
 * Names those at locations that the caller reaches, and the number of all. */
static void item_tell_levels(
    wharf_req *req, const char *code, const wharf_rows *rows, size_t r, size_t n)
{
    const wharf_caller *who = items_keys->caller(req);
    size_t told = 0;

    for (size_t i = r; i < r + n; i++) {
        wharf_str location = row_text(rows, i, 2);
        bool reached = who->all_locations;

        for (size_t k = 0; k < who->n_locations && !reached; k++)
            reached = same(who->locations[k], location);
        if (!reached)
            continue;
        W->err->add(req, code, row_text(rows, i, 1).p,
            "%zu levels of the item are in the way; change them first", n);
        told++;
    }
    if (!told)
        W->err->add(req, code, NULL, "%zu levels of the item are in the way; change them first", n);
}

/* Refuses with code the items of which sql finds levels: ($1 items, $2 organization) the item's
 * number, the level, its location. together: they are rows of a set. Returns in refused, or NULL,
 * which are. */
static wharf_status refuse_levels(wharf_req *req, const wharf_rec *const *recs, size_t n,
    const char *code, const char *sql, bool together, bool *refused)
{
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, val_rec_ids(req, recs, n).u.s, &rows);
    size_t all = s == WHARF_OK ? W->db->count(rows) : 0, next;

    for (size_t r = 0; r < all; r = next) {
        int64_t item = row_int(rows, r, 0);

        for (next = r; next < all && row_int(rows, next, 0) == item; next++)
            continue;
        if (together)
            items_many->at(req, (size_t)item - 1);
        if (refused)
            refused[item - 1] = true;
        item_tell_levels(req, code, rows, r, next - r);
    }
    return s == WHARF_OK && !together ? W->err->current(req) : s;
}

#define LEVELS_OF                                                                                  \
    "SELECT x.i, v.id, v.location_id FROM unnest((SELECT $1::text[])) WITH ORDINALITY x(id, i)"    \
    " JOIN items.level v ON v.organization_id = $2::text AND v.item_id = x.id"
#define LEVEL_HAS_STOCK                                                                            \
    " AND (v.available <> 0 OR v.reserved <> 0 OR v.damaged <> 0 OR v.manifested <> 0)"            \
    " ORDER BY x.i, v.id"

static wharf_status check_lots(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec)
{
    static const char untracked[] = LEVELS_OF " AND v.lot_id IS NULL" LEVEL_HAS_STOCK;
    static const char tracked[] = LEVELS_OF " AND v.lot_id IS NOT NULL" LEVEL_HAS_STOCK;
    wharf_str to = field_text(rec, ITEM_LOT_TRACKING);

    if (!W->res->changed(old_rec, rec, ITEM_LOT_TRACKING) || is(to, "optional"))
        return WHARF_OK;
    return refuse_levels(req, &old_rec, 1, ERR_ITEM_UNTRACKED_STOCK,
        is(to, "required") ? untracked : tracked, false, NULL);
}

/* Locks all levels of an item that becomes an asset, and looks for fractions. A receipt that
 * comes at the same time waits for the item's row. */
static wharf_status check_whole(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec)
{
    static const char sql[] =
        "SELECT 1, id, location_id FROM (SELECT * FROM items.level WHERE organization_id = $2::text"
        " AND item_id = ($1::text[])[1] ORDER BY location_id, layout_id, lot_id FOR UPDATE) v"
        " WHERE available <> trunc(available) OR reserved <> trunc(reserved)"
        " OR damaged <> trunc(damaged) OR manifested <> trunc(manifested) ORDER BY id";

    if (!W->res->changed(old_rec, rec, ITEM_IS_ASSET) || !field_int(rec, ITEM_IS_ASSET))
        return WHARF_OK;
    return refuse_levels(req, &old_rec, 1, ERR_ITEM_FRACTIONAL_LEVELS, sql, false, NULL);
}

/* Refuses to delete items with stock, or that bills of materials use. together: they are rows of a
 * set. */
static wharf_status check_deletes(
    wharf_req *req, const wharf_rec *const *recs, size_t n, bool together)
{
    static const char stock[] = LEVELS_OF LEVEL_HAS_STOCK;
    bool *refused = W->mem->alloc(req, n * sizeof(*refused));
    const wharf_rows *rows;
    wharf_status s;

    memset(refused, 0, n * sizeof(*refused));
    s = refuse_levels(req, recs, n, ERR_ITEM_HAS_STOCK, stock, together, refused);
    if (s == WHARF_OK)
        s = query_about(req, item_boms_using(), val_rec_ids(req, recs, n).u.s, &rows);
    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        size_t item = (size_t)row_int(rows, r, 0) - 1;

        if (refused[item])
            continue;
        if (together)
            items_many->at(req, item);
        W->err->add(req, ERR_ITEM_IN_USE, row_text(rows, r, 1).p, NULL);
    }
    return s == WHARF_OK && !together ? W->err->current(req) : s;
}

static void item_settle_status(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    bool archived = is(field_text(rec, ITEM_STATUS), "archived");

    if (old_rec ? W->res->changed(old_rec, rec, ITEM_STATUS) : archived)
        W->res->set(rec, ITEM_ARCHIVED_AT, archived ? val_time(W->req->now_us(req)) : val_null());
}

/* Checks a create or an update; what it books is read, and not written yet. */
static wharf_status item_check_data(wharf_req *req, uint32_t op, const wharf_rec *old_rec,
    wharf_rec *new_rec, struct booking *ret_booking)
{
    wharf_status s = check_numbers(req, new_rec);

    if (s == WHARF_OK)
        s = packing_settle(req, old_rec, new_rec);
    if (s == WHARF_OK && old_rec)
        s = check_lots(req, old_rec, new_rec);
    if (s == WHARF_OK && old_rec)
        s = item_boms_check(req, old_rec, new_rec);
    if (s != WHARF_OK)
        return s;
    item_settle_status(req, old_rec, new_rec);
    if (!old_rec) {
        W->res->set(new_rec, ITEM_STOCK_CHANGES, val_int(0));
        W->res->set(new_rec, ITEM_THRESHOLD_CHANGES, val_int(0));
    }
    return booking_read(req, op, new_rec, ret_booking);
}

static wharf_status item_rules_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    struct booking booking;
    wharf_status s;

    if (op == WHARF_DELETE)
        return check_deletes(req, &old_rec, 1, false);
    s = item_check_data(req, op, old_rec, new_rec, &booking);
    if (s == WHARF_OK)
        s = bookings_write(req, &booking, 1, false);
    return s == WHARF_OK && old_rec ? check_whole(req, old_rec, new_rec) : s;
}

static wharf_status check_creates(wharf_req *req, wharf_rec *const *recs, size_t n)
{
    struct booking *bookings = W->mem->alloc(req, (n + 1) * sizeof(*bookings));
    wharf_status s = WHARF_OK;
    size_t k = 0;

    for (size_t i = 0; s == WHARF_OK && i < n; i++) {
        items_many->at(req, i);
        s = item_check_data(req, WHARF_CREATE, NULL, recs[i], &bookings[k]);
        if (s == WHARF_OK)
            k += bookings[k].stock || bookings[k].thresholds.n;
        s = row_passed(req, s);
    }
    return s == WHARF_OK && k ? bookings_write(req, bookings, k, true) : s;
}

/* Updates come here to be looked at only: one after the other. */
static wharf_status item_rules_check_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, wharf_rec *const *new_recs, size_t n)
{
    if (op == WHARF_DELETE)
        return check_deletes(req, old_recs, n, true);
    return op == WHARF_CREATE
               ? check_creates(req, new_recs, n)
               : check_each(req, items_many, op, old_recs, new_recs, n, item_rules_check);
}

static wharf_status item_rules_written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_status s;

    if (op != WHARF_UPDATE)
        return op == WHARF_DELETE ? boms_deactivate(req, &old_rec, 1, "deleted", false) : WHARF_OK;
    s = item_boms_written(req, old_rec, new_rec);
    return s == WHARF_OK && W->res->changed(old_rec, new_rec, ITEM_STATUS) &&
                   is(field_text(new_rec, ITEM_STATUS), "archived")
               ? W->event->emit(req, "item.archived", "item", W->res->id(new_rec), NULL)
               : s;
}

/* Writes what follows the deletes of a set: updates are written one by one. */
static wharf_status item_rules_written_many(wharf_req *req, uint32_t op,
    const wharf_rec *const *old_recs, const wharf_rec *const *new_recs, size_t n)
{
    return op == WHARF_DELETE ? boms_deactivate(req, old_recs, n, "deleted", true) : WHARF_OK;
}

const wharf_hooks items_item_hooks = {.head = WHARF_HEAD(wharf_hooks),
    .normalize = item_normalize,
    .check = item_rules_check,
    .written = item_rules_written,
    .check_many = item_rules_check_many,
    .written_many = item_rules_written_many};
