/* build_unmake.c - POST …/boms/:bom/unbuild (docs/spec/09-items-and-assembly.md section 12): takes
 * an assembly apart. Linked to a build, its parts go back where they came from, without drift over
 * any number of steps (section 2). See build.h. */
#include "build.h"
#include "items.gen.h"
#include "wharf/errors.h"

struct linked { /* the build that is taken back */
    wharf_str location;
    int64_t version, built, before, after; /* before, after: how much is taken apart */
    const wharf_json *lines;
};

static int64_t linked_quantity(const wharf_rows *rows, size_t column)
{
    wharf_str s = row_text(rows, 0, column);
    exact v = 0;

    exact_read(s.p, s.n, QUANTITY_SCALE, &v);
    return (int64_t)v;
}

/* ---- the build ---- */

/* Finds by which version the build was made, which does not change. */
static wharf_status linked_version(const struct build_request *ask, int64_t *ret)
{
    static const char sql[] = "SELECT bom_version FROM items.assembly_order"
                              " WHERE organization_id = $2::text AND id = $1::text"
                              " AND item_id = $3::text AND bom_id = $4::text AND type = 'build'";
    wharf_req *req = ask->req;
    const wharf_rows *rows;
    wharf_status s;

    *ret = ask->version;
    if (!ask->build_order.n)
        return WHARF_OK;
    s = W->db->query(req, sql,
        (const wharf_val[]){val_text(ask->build_order), val_text(W->req->organization(req)),
            val_text(ask->item), val_text(ask->bom)},
        4, &rows);
    if (s == WHARF_OK && !W->db->count(rows))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "build_order_id",
            "build_order_id names no build by this bill of materials");
    if (s != WHARF_OK)
        return s;
    *ret = row_int(rows, 0, 0);
    return ask->version && ask->version != *ret
               ? W->err->fail(req, ERR_VALIDATION_FAILED, "version",
                     "The build was made by version %lld; leave version out", (long long)*ret)
               : WHARF_OK;
}

static wharf_status read_linked(const struct build_request *ask, struct linked *ret)
{
    static const char sql[] = QUERY_ORDER_LINKED;
    wharf_req *req = ask->req;
    const wharf_rows *rows;
    wharf_status s = query_about(req, sql, ask->build_order, &rows);

    if (s == WHARF_OK && !W->db->count(rows))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    if (s != WHARF_OK)
        return s;
    *ret = (struct linked){.location = row_text(rows, 0, 3),
        .version = row_int(rows, 0, 4),
        .built = linked_quantity(rows, 5),
        .before = linked_quantity(rows, 6),
        .lines = row_json(rows, 0, 7)};
    s = W->req->need_location(req, ret->location);
    if (s == WHARF_OK && !same(ret->location, ask->location) && !ask->other_location)
        return W->err->fail(req, ERR_VALIDATION_FAILED, "location_id",
            "It was built at another location; send that one, or allow_other_location");
    return s;
}

static wharf_status check_linked(const struct build_request *ask, struct linked *l)
{
    if (ask->quantity > l->built - l->before)
        return W->err->fail(ask->req, ERR_ASSEMBLY_ORDER_EXCEEDS_BUILT, "quantity", NULL);
    l->after = l->before + ask->quantity;
    return WHARF_OK;
}

static wharf_status write_linked(const struct build_request *ask, const struct linked *l)
{
    static const char sql[] =
        "UPDATE items.assembly_order SET unbuilt_qty = $3::numeric, reversal = $4::text,"
        " version = version + 1, updated_at = to_timestamp($5::bigint / 1000 / 1000.0),"
        " updated_by = $6::text WHERE organization_id = $2::text AND id = $1::text";
    wharf_req *req = ask->req;

    return W->db->exec(req, sql,
        (const wharf_val[]){val_text(ask->build_order), val_text(W->req->organization(req)),
            val_decimal(l->after, QUANTITY_SCALE),
            val_text(z(l->after == l->built ? "full" : "partial")), val_int(W->req->now_us(req)),
            val_text(W->req->actor(req))},
        6, NULL);
}

/* ---- what goes back ---- */

/* Reckons what is back of a component when quantity of what was built is taken apart: rounded half
 * away from zero. */
static int64_t returned_of(int64_t consumed, int64_t quantity, int64_t built, bool *ret_whole)
{
    exact rest, back = exact_share(consumed, quantity, built, &rest);

    *ret_whole = !rest && back % QUANTITY_ONE == 0;
    return (int64_t)(back + (rest >= built - rest));
}

/* Gives a step's part of what was consumed back to the levels that it came from, the last one
 * first: over all steps the tail of what was drawn is back. layouts: those that are still there. */
static void return_tail(wharf_req *req, const wharf_json *picks, int64_t from, int64_t to,
    const wharf_json *layouts, struct build_draws *draws)
{
    int64_t at = 0;

    for (const wharf_json *p = W->json->at(picks, 0); p; p = W->json->next(p)) {
        wharf_str layout = json_text(p, "layout_id");
        int64_t quantity = 0, low, high;

        W->json->decimal(W->json->get(p, "quantity"), QUANTITY_SCALE, &quantity);
        low = at > from ? at : from;
        high = at + quantity < to ? at + quantity : to;
        at += quantity;
        if (high <= low)
            continue;
        if (!W->json->get(layouts, layout.p))
            layout = WHARF_S("");
        build_draws_add(req, draws,
            (struct build_draw){
                layout, json_text(p, "lot_id"), json_text(p, "lot_number"), high - low});
    }
}

/* Reads which layouts of the location are there: an object with their ids. */
static wharf_status read_layouts(
    struct build_run *run, const wharf_json *lines, const wharf_json **ret)
{
    static const char sql[] =
        "SELECT coalesce(json_object_agg(y.id, true), '{}') FROM locations.layout y"
        " WHERE y.organization_id = $2::text AND y.location_id = $3::text AND y.deleted_at IS NULL"
        " AND y.id IN (SELECT p ->> 'layout_id' FROM jsonb_array_elements($1::jsonb) l"
        " CROSS JOIN LATERAL jsonb_array_elements(l -> 'picks') p)";
    wharf_req *req = run->ask->req;
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql,
        (const wharf_val[]){
            val_json(lines), val_text(W->req->organization(req)), val_text(run->ask->location)},
        3, &rows);

    *ret = s == WHARF_OK ? row_json(rows, 0, 0) : NULL;
    return s;
}

static bool is_asset_part(const struct build_run *run, wharf_str item)
{
    for (size_t k = 0; k < run->made.n; k++) {
        if (same(run->made.parts[k].item_id, item))
            return run->made.parts[k].is_asset;
    }
    return false;
}

/* Makes the lines of a linked unbuild. */
static wharf_status linked_lines(
    struct build_run *run, const struct linked *l, struct build_order *o)
{
    wharf_req *req = run->ask->req;
    const wharf_json *layouts;
    wharf_status s = read_layouts(run, l->lines, &layouts);

    o->lines = W->mem->alloc(req, (W->json->count(l->lines) + 1) * sizeof(*o->lines));
    for (const wharf_json *e = s == WHARF_OK ? W->json->at(l->lines, 0) : NULL; e;
         e = W->json->next(e)) {
        struct build_line *line = &o->lines[o->n_lines];
        int64_t consumed = 0, before, after;
        bool whole, ignored;

        line->item = json_text(e, "item");
        W->json->decimal(W->json->get(e, "required"), QUANTITY_SCALE, &consumed);
        before = returned_of(consumed, l->before, l->built, &ignored);
        after = returned_of(consumed, l->after, l->built, &whole);
        if (!whole && is_asset_part(run, line->item))
            W->err->add(req, ERR_BOM_FRACTIONAL_COMPONENT, line->item.p, NULL);
        line->required = after - before;
        if (!line->required)
            continue;
        return_tail(req, W->json->get(e, "picks"), consumed - after, consumed - before, layouts,
            &line->draws);
        o->n_lines++;
    }
    return s == WHARF_OK ? W->err->current(req) : s;
}

/* Puts what goes back of a component into the layouts that the body names: into the first one when
 * they have no quantities. */
static wharf_status return_named(
    struct build_run *run, struct build_line *line, const wharf_json *layouts, size_t at)
{
    wharf_req *req = run->ask->req;
    const char *path = W->mem->format(req, "components.%zu.layouts", at).p;
    int64_t *named = W->mem->alloc(req, (W->json->count(layouts) + 1) * sizeof(*named));
    wharf_status s = build_take_named(run, line->item, layouts, path, line->required, named);
    size_t i = 0;

    line->draws = (struct build_draws){.n = 0};
    for (const wharf_json *e = W->json->at(layouts, 0); e && s == WHARF_OK;
         e = W->json->next(e), i++) {
        if (!named[i] && i)
            break;
        build_draws_add(req, &line->draws,
            (struct build_draw){json_text(e, "layout_id"), WHARF_S(""), json_text(e, "lot_number"),
                named[i] ? named[i] : line->required});
    }
    return s;
}

/* Settles where components go that are not named and not linked: where they are, else the default
 * layout. */
static wharf_status return_lines(struct build_run *run, struct build_order *o, bool linked)
{
    wharf_status s = WHARF_OK;

    for (size_t k = 0; s == WHARF_OK && k < o->n_lines; k++) {
        struct build_line *line = &o->lines[k];
        size_t at = 0;
        const wharf_json *layouts = build_picks_of(run->ask, line->item, &at);

        if (layouts)
            s = return_named(run, line, layouts, at);
        else if (!linked)
            build_draws_add(run->ask->req, &line->draws,
                (struct build_draw){build_levels_only_layout(&run->levels, line->item), WHARF_S(""),
                    WHARF_S(""), line->required});
    }
    return s;
}

/* ---- the assembly ---- */

static wharf_status draw_assembly(struct build_run *run, struct build_order *o)
{
    const struct build_request *ask = run->ask;
    bool expired_too = ask->lot_number.n && ask->allow_expired;
    const struct build_level *expired;

    if (ask->assembly_layouts && W->json->count(ask->assembly_layouts))
        return build_draw(
            run, ask->item, ask->assembly_layouts, "assembly_layouts", ask->quantity, &o->assembly);
    if (!ask->layout.n && !ask->lot_number.n)
        return build_draw(run, ask->item, NULL, "", ask->quantity, &o->assembly);
    expired = ask->lot_number.n && !ask->allow_expired
                  ? build_levels_expired(&run->levels, ask->item, ask->layout, ask->lot_number)
                  : NULL;
    if (expired)
        return W->err->fail(ask->req, ERR_LOT_EXPIRED, expired->lot_id.p, NULL);
    build_levels_draw(&run->levels, ask->item, ask->layout, ask->lot_number, expired_too,
        ask->quantity, &o->assembly);
    if (o->assembly.total < ask->quantity)
        build_note_short(run, ask->item, ask->quantity, o->assembly.total);
    return WHARF_OK;
}

/* Tells from where, and of which lot, the assembly came, when that is one place. */
static void settle_source(struct build_order *o)
{
    for (size_t i = 0; i < o->assembly.n; i++) {
        const struct build_draw *d = &o->assembly.list[i];

        if (!i) {
            o->layout = d->layout;
            o->lot_number = d->lot_number;
        }
        if (!same(o->layout, d->layout))
            o->layout = WHARF_S("");
        if (!same(o->lot_number, d->lot_number))
            o->lot_number = WHARF_S("");
    }
}

static wharf_status unmake_order(struct build_run *run, const struct linked *l)
{
    const struct build_request *ask = run->ask;
    struct build_order *o = &run->orders[run->n_orders++];
    wharf_status s;

    *o = (struct build_order){.id = W->req->new_id(ask->req, "asm"),
        .item = ask->item,
        .bom = ask->bom,
        .version = run->made.version,
        .quantity = ask->quantity,
        .unit = ask->unit,
        .unit_quantity = ask->unit_quantity,
        .layout = WHARF_S(""),
        .lot_number = WHARF_S(""),
        .parent = WHARF_S(""),
        .build_order = ask->build_order};
    s = l->built ? linked_lines(run, l, o) : build_needs(ask->req, &run->made, ask->quantity, o);
    if (s == WHARF_OK)
        s = return_lines(run, o, l->built != 0);
    if (s == WHARF_OK)
        s = draw_assembly(run, o);
    settle_source(o);
    return s == WHARF_OK ? build_refuse_shorts(run, ERR_ITEM_INSUFFICIENT_STOCK) : s;
}

static wharf_status unmake_stock(struct build_run *run, struct build_order *o)
{
    wharf_stock *stock;
    wharf_stock_moved moved = {.head = WHARF_HEAD(wharf_stock_moved)};
    size_t n = o->assembly.n;
    wharf_status s = build_stock_begin(run, o, &stock);

    if (s != WHARF_OK)
        return s;
    build_stock_move(run, stock, o->item, &o->assembly, "unbuild_consume", false);
    for (size_t k = 0; k < o->n_lines; k++)
        build_stock_move(run, stock, o->lines[k].item, &o->lines[k].draws, NULL, true);
    s = items_stock.apply(stock);
    /* the layouts that were found */
    for (size_t k = 0; s == WHARF_OK && k < o->n_lines; k++) {
        for (size_t i = 0; i < o->lines[k].draws.n; i++) {
            items_stock.moved(stock, n++, &moved);
            o->lines[k].draws.list[i].layout = moved.layout_id;
        }
    }
    return s;
}

wharf_status unbuild_handler(wharf_req *req, void *arg)
{
    struct build_run *run = W->mem->alloc(req, sizeof(*run));
    struct linked linked = {.built = 0};
    wharf_str *items;
    size_t n = 0;
    int64_t version;
    wharf_status s;

    run->ask = W->mem->alloc(req, sizeof(*run->ask));
    run->orders = W->mem->alloc(req, sizeof(*run->orders));
    s = build_take_request(req, true, run->ask);
    if (s == WHARF_OK)
        s = linked_version(run->ask, &version);
    if (s == WHARF_OK)
        s = build_begin(run, version);
    if (s == WHARF_OK && run->ask->build_order.n)
        s = read_linked(run->ask, &linked);
    if (s != WHARF_OK)
        return s;
    items = W->mem->alloc(req, (run->made.n + 1) * sizeof(*items));
    for (; n < run->made.n; n++)
        items[n] = run->made.parts[n].item_id;
    items[n++] = run->ask->item;
    s = build_hold(run, items, n);
    if (s == WHARF_OK && linked.built)
        s = check_linked(run->ask, &linked);
    if (s == WHARF_OK)
        s = unmake_order(run, &linked);
    if (s == WHARF_OK && !run->ask->dry_run)
        s = unmake_stock(run, run->orders);
    if (s == WHARF_OK && !run->ask->dry_run && linked.built)
        s = write_linked(run->ask, &linked);
    return s == WHARF_OK ? build_end(run) : s;
}
