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
static void put_cell(wharf_req *req, wharf_out *out, const char *name, const wharf_json *v)
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
            put_cell(req, out, names[i], v);
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

static wharf_status normalize(wharf_req *req, uint32_t op, wharf_rec *new_rec)
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

/* Refuses with code if sql finds levels of the item $1 in the organization $2: their ids, their
 * locations. Of those at locations that the caller does not reach only the number is told. */
static wharf_status refuse_levels(
    wharf_req *req, const wharf_rec *rec, const char *code, const char *sql)
{
    const wharf_caller *who = items_keys->caller(req);
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, W->res->id(rec), &rows);
    size_t n = s == WHARF_OK ? W->db->count(rows) : 0, told = 0;

    for (size_t i = 0; i < n; i++) {
        wharf_str location = row_text(rows, i, 1);
        bool reached = who->all_locations;

        for (size_t k = 0; k < who->n_locations && !reached; k++)
            reached = same(who->locations[k], location);
        if (!reached)
            continue;
        W->err->add(req, code, row_text(rows, i, 0).p,
            "%zu levels of the item are in the way; change them first", n);
        told++;
    }
    if (n && !told)
        return W->err->fail(
            req, code, NULL, "%zu levels of the item are in the way; change them first", n);
    return s == WHARF_OK ? W->err->current(req) : s;
}

static wharf_status check_lots(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec)
{
    static const char untracked[] =
        "SELECT id, location_id FROM items.level WHERE organization_id = $2::text"
        " AND item_id = $1::text AND lot_id IS NULL"
        " AND (available <> 0 OR reserved <> 0 OR damaged <> 0 OR manifested <> 0) ORDER BY id";
    static const char tracked[] =
        "SELECT id, location_id FROM items.level WHERE organization_id = $2::text"
        " AND item_id = $1::text AND lot_id IS NOT NULL"
        " AND (available <> 0 OR reserved <> 0 OR damaged <> 0 OR manifested <> 0) ORDER BY id";
    wharf_str to = field_text(rec, ITEM_LOT_TRACKING);

    if (!W->res->changed(old_rec, rec, ITEM_LOT_TRACKING) || is(to, "optional"))
        return WHARF_OK;
    return refuse_levels(
        req, old_rec, ERR_ITEM_UNTRACKED_STOCK, is(to, "required") ? untracked : tracked);
}

/* Locks all levels of an item that becomes an asset, and looks for fractions. A receipt that
 * comes at the same time waits for the item's row. */
static wharf_status check_whole(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec)
{
    static const char sql[] =
        "SELECT id, location_id FROM (SELECT * FROM items.level WHERE organization_id = $2::text"
        " AND item_id = $1::text ORDER BY location_id, layout_id, lot_id FOR UPDATE) v"
        " WHERE available <> trunc(available) OR reserved <> trunc(reserved)"
        " OR damaged <> trunc(damaged) OR manifested <> trunc(manifested) ORDER BY id";

    if (!W->res->changed(old_rec, rec, ITEM_IS_ASSET) || !field_int(rec, ITEM_IS_ASSET))
        return WHARF_OK;
    return refuse_levels(req, old_rec, ERR_ITEM_FRACTIONAL_LEVELS, sql);
}

static wharf_status has_stock(wharf_req *req, const wharf_rec *old_rec)
{
    static const char sql[] =
        "SELECT id, location_id FROM items.level WHERE organization_id = $2::text"
        " AND item_id = $1::text"
        " AND (available <> 0 OR reserved <> 0 OR damaged <> 0 OR manifested <> 0) ORDER BY id";

    return refuse_levels(req, old_rec, ERR_ITEM_HAS_STOCK, sql);
}

static void settle_status(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec)
{
    bool archived = is(field_text(rec, ITEM_STATUS), "archived");

    if (old_rec ? W->res->changed(old_rec, rec, ITEM_STATUS) : archived)
        W->res->set(rec, ITEM_ARCHIVED_AT, archived ? val_time(W->req->now_us(req)) : val_null());
}

static wharf_status check(wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec)
{
    wharf_status s;

    if (op == WHARF_DELETE) {
        s = has_stock(req, old_rec);
        return s == WHARF_OK ? item_boms_check_delete(req, W->res->id(old_rec)) : s;
    }
    s = check_numbers(req, new_rec);
    if (s == WHARF_OK)
        s = packing_settle(req, old_rec, new_rec);
    if (s == WHARF_OK && old_rec)
        s = check_lots(req, old_rec, new_rec);
    if (s == WHARF_OK && old_rec)
        s = item_boms_check(req, old_rec, new_rec);
    if (s != WHARF_OK)
        return s;
    settle_status(req, old_rec, new_rec);
    if (!old_rec) {
        W->res->set(new_rec, ITEM_STOCK_CHANGES, val_int(0));
        W->res->set(new_rec, ITEM_THRESHOLD_CHANGES, val_int(0));
    }
    s = item_levels_apply(req, op, new_rec);
    if (s == WHARF_OK)
        s = item_thresholds_apply(req, new_rec);
    return s == WHARF_OK && old_rec ? check_whole(req, old_rec, new_rec) : s;
}

static wharf_status written(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec)
{
    wharf_status s = op == WHARF_CREATE ? WHARF_OK : item_boms_written(req, op, old_rec, new_rec);

    return s == WHARF_OK && op == WHARF_UPDATE && W->res->changed(old_rec, new_rec, ITEM_STATUS) &&
                   is(field_text(new_rec, ITEM_STATUS), "archived")
               ? W->event->emit(req, "item.archived", "item", W->res->id(new_rec), NULL)
               : s;
}

const wharf_hooks items_item_hooks = {
    .head = WHARF_HEAD(wharf_hooks), .normalize = normalize, .check = check, .written = written};
