/* build_run.c - what builds and unbuilds do alike: which bill, items and stock a run works on, what
 * is short and refused for it, the orders it leaves; see build.h. Leaves what is done first and
 * what then to build_make.c and build_unmake.c, writing of stock to stock.c. */
#include "build.h"
#include "items.gen.h"
#include "wharf/errors.h"

/* ---- the bill and the items ---- */

static wharf_status check_bill(const struct build_run *run)
{
    const struct build_request *ask = run->ask;
    const struct bom_made *m = &run->made;
    wharf_req *req = ask->req;

    if (!same(m->item_id, ask->item))
        return W->err->fail(req, ERR_NOT_FOUND, NULL, NULL);
    if (ask->expected_version && ask->expected_version != m->current)
        return W->err->fail(req, ERR_BOM_VERSION_CONFLICT, "expected_version",
            "The bill of materials has version %lld; read it again", (long long)m->current);
    if (ask->unbuild)
        return WHARF_OK;
    if (m->archived)
        W->err->add(req, ERR_ITEM_ARCHIVED, m->item_id.p,
            "The item is archived; activate it before it is built");
    for (size_t k = 0; k < m->n; k++) {
        if (m->parts[k].archived)
            W->err->add(req, ERR_ITEM_ARCHIVED, m->parts[k].item_id.p,
                "The component is archived; activate it, or take it out of the bill");
    }
    if (W->err->current(req) == WHARF_OK && !m->active)
        return W->err->fail(req, ERR_BOM_INACTIVE, NULL, NULL);
    return W->err->current(req);
}

wharf_status build_begin(struct build_run *run, int64_t version)
{
    static const char hold[] = "SELECT items.boms_hold($1::text[])";
    wharf_req *req = run->ask->req;
    const wharf_rows *rows;
    const wharf_val boms = val_array(req, &run->ask->bom, 1);
    wharf_status s = W->db->query(req, hold, &boms, 1, &rows);

    if (s == WHARF_OK)
        s = bom_read(req, run->ask->bom, version, &run->made);
    if (s == WHARF_OK)
        s = check_bill(run);
    return s == WHARF_OK ? build_check_picks(run->ask, &run->made) : s;
}

wharf_status build_hold(struct build_run *run, const wharf_str *items, size_t n)
{
    static const char sql[] = QUERY_BOM_ITEMS;
    struct build_request *ask = run->ask;
    const wharf_rows *rows;
    const wharf_json *units = NULL;
    wharf_status s = query_about(ask->req, sql, val_array(ask->req, items, n).u.s, &rows);

    if (s != WHARF_OK)
        return s;
    for (size_t i = 0; i < W->db->count(rows); i++) {
        if (same(row_text(rows, i, 0), ask->item))
            units = row_json(rows, i, 3);
    }
    run->shorts = W->mem->alloc(ask->req, (n + run->made.n + 1) * sizeof(*run->shorts));
    s = build_take_quantity(ask, units, &run->made);
    return s == WHARF_OK ? build_levels_lock(ask->req, items, n, ask->location, &run->levels) : s;
}

wharf_status build_needs(
    wharf_req *req, const struct bom_made *m, int64_t quantity, struct build_order *order)
{
    order->lines = W->mem->alloc(req, (m->n + 1) * sizeof(*order->lines));
    order->n_lines = m->n;
    for (size_t k = 0; k < m->n; k++) {
        struct build_line *line = &order->lines[k];

        line->item = m->parts[k].item_id;
        switch (bom_need(&m->parts[k].use, quantity, &line->required)) {
        case BOM_NEED_OK:
            break;
        case BOM_NEED_FRACTION:
            W->err->add(req, ERR_BOM_FRACTIONAL_COMPONENT, line->item.p, NULL);
            break;
        case BOM_NEED_LARGE:
            W->err->add(req, ERR_VALIDATION_FAILED, "quantity",
                "More than 99999999999.9999 of a component would be needed; send a smaller "
                "quantity");
            break;
        }
    }
    return W->err->current(req);
}

/* ---- drawing ---- */

void build_note_short(struct build_run *run, wharf_str item, int64_t required, int64_t available)
{
    run->shorts[run->n_shorts++] = (struct build_short){item, required, available};
}

wharf_status build_take_named(const struct build_run *run, wharf_str item,
    const wharf_json *layouts, const char *path, int64_t quantity, int64_t *ret)
{
    wharf_req *req = run->ask->req;
    size_t i = 0, n = 0;
    int64_t sum = 0;

    for (const wharf_json *e = W->json->at(layouts, 0); e; e = W->json->next(e), i++) {
        const wharf_json *v = W->json->get(e, "quantity");
        const char *at = W->mem->format(req, "%s.%zu.quantity", path, i).p;

        ret[i] = 0;
        if (json_is_null(v))
            continue;
        n++;
        if (quantity_take(req, v, at, &ret[i]) == WHARF_OK && ret[i] <= 0)
            W->err->add(req, ERR_VALIDATION_FAILED, at, "%s must be above 0", at);
        sum = ret[i] > QUANTITY_MAX - sum ? QUANTITY_MAX : sum + ret[i];
    }
    if (W->err->current(req) != WHARF_OK)
        return W->err->current(req);
    if (n && n != i)
        return W->err->add(
            req, ERR_VALIDATION_FAILED, path, "%s: all layouts have a quantity, or none has", path);
    return n && sum != quantity ? W->err->add(req, ERR_BOM_LAYOUT_QUANTITY_MISMATCH, item.p, NULL)
                                : WHARF_OK;
}

static wharf_status draw_named(struct build_run *run, wharf_str item, const wharf_json *layouts,
    const char *path, int64_t quantity, struct build_draws *draws)
{
    wharf_req *req = run->ask->req;
    int64_t *named = W->mem->alloc(req, (W->json->count(layouts) + 1) * sizeof(*named));
    wharf_status s = build_take_named(run, item, layouts, path, quantity, named);
    size_t i = 0;

    for (const wharf_json *e = W->json->at(layouts, 0); e && s == WHARF_OK;
         e = W->json->next(e), i++) {
        wharf_str layout = json_text(e, "layout_id"), lot = json_text(e, "lot_number");
        const struct build_level *expired = lot.n && !run->ask->allow_expired
                                                ? build_levels_expired(
                                                      &run->levels, item, layout, lot)
                                                : NULL;

        if (expired)
            W->err->add(req, ERR_LOT_EXPIRED, expired->lot_id.p, NULL);
        else
            build_levels_draw(&run->levels, item, layout, lot, lot.n && run->ask->allow_expired,
                named[i] ? named[i] : quantity - draws->total, draws);
    }
    return s == WHARF_OK ? W->err->current(req) : s;
}

static wharf_status draw_found(
    struct build_run *run, wharf_str item, int64_t quantity, struct build_draws *draws)
{
    enum { CANDIDATES_MAX = 50 };
    wharf_str layouts[CANDIDATES_MAX];
    size_t n = run->ask->auto_layouts
                   ? 0
                   : build_levels_layouts(&run->levels, item, layouts, CANDIDATES_MAX);

    for (size_t i = 0; n > 1 && i < n; i++)
        W->err->add(run->ask->req, ERR_BOM_LAYOUT_REQUIRED, layouts[i].p, NULL);
    build_levels_draw(&run->levels, item, WHARF_S(""), WHARF_S(""), false, quantity, draws);
    return W->err->current(run->ask->req);
}

wharf_status build_draw(struct build_run *run, wharf_str item, const wharf_json *layouts,
    const char *path, int64_t quantity, struct build_draws *draws)
{
    wharf_status s = layouts ? draw_named(run, item, layouts, path, quantity, draws)
                             : draw_found(run, item, quantity, draws);

    if (s == WHARF_OK && draws->total < quantity)
        build_note_short(run, item, quantity, draws->total);
    return s;
}

static const char *build_run_quantity_text(wharf_req *req, int64_t quantity)
{
    wharf_out *out = W->json->writer(req);

    W->json->put(out, NULL, val_decimal(quantity, QUANTITY_SCALE));
    return W->json->result_text(out).p;
}

wharf_status build_refuse_shorts(struct build_run *run, const char *code)
{
    wharf_req *req = run->ask->req;

    if (run->ask->dry_run)
        return WHARF_OK;
    for (size_t i = 0; i < run->n_shorts; i++) {
        const struct build_short *x = &run->shorts[i];

        W->err->add(req, code, x->item.p, "%s are needed, and %s are available: %s are missing",
            build_run_quantity_text(req, x->required), build_run_quantity_text(req, x->available),
            build_run_quantity_text(req, x->required - x->available));
    }
    return W->err->current(req);
}

/* ---- stock ---- */

wharf_status build_stock_begin(
    struct build_run *run, struct build_order *order, wharf_stock **ret_stock)
{
    const wharf_stock_cause cause = {.head = WHARF_HEAD(wharf_stock_cause),
        .reason = run->ask->unbuild ? "unbuild_return" : "build_consume",
        .source_type = WHARF_S("assembly_order"),
        .source_id = order->id};
    wharf_status s = items_stock.begin(run->ask->req, &cause, ret_stock);

    if (s == WHARF_OK)
        order->group = items_stock.group_id(*ret_stock);
    return s;
}

void build_stock_move(const struct build_run *run, wharf_stock *stock, wharf_str item,
    const struct build_draws *draws, const char *reason, bool returned)
{
    for (size_t i = 0; i < draws->n; i++) {
        const struct build_draw *d = &draws->list[i];
        const wharf_stock_move m = {.head = WHARF_HEAD(wharf_stock_move),
            .item_id = item,
            .location_id = run->ask->location,
            .layout_id = d->layout,
            .lot_id = d->lot_id,
            .lot_number = d->lot_number,
            .bucket = WHARF_STOCK_AVAILABLE,
            .flags = returned ? WHARF_STOCK_ARCHIVED_TOO : 0u,
            .quantity = returned ? d->quantity : -d->quantity,
            .reason = reason,
            .reason_code_id = WHARF_S(""),
            .note = run->ask->note,
            .unit_id = WHARF_S(""),
            .path = same(item, run->ask->item) ? "layout_id" : "components"};

        items_stock.move(stock, &m);
    }
}

wharf_status build_default_layout(struct build_run *run, wharf_str *ret)
{
    static const char sql[] = "SELECT default_layout_id FROM locations.location"
                              " WHERE organization_id = $2::text AND id = $1::text";
    const wharf_rows *rows;
    wharf_status s = query_about(run->ask->req, sql, run->ask->location, &rows);

    *ret = s == WHARF_OK && W->db->count(rows) ? row_text(rows, 0, 0) : WHARF_S("");
    return s;
}

/* ---- the end ---- */

static void put_draws(wharf_out *out, const char *key, const struct build_draws *draws)
{
    W->json->open(out, key, '[');
    for (size_t i = 0; i < draws->n; i++) {
        const struct build_draw *d = &draws->list[i];

        W->json->open(out, NULL, '{');
        W->json->put(out, "layout_id", val_text_or_null(d->layout));
        W->json->put(out, "lot_id", val_text_or_null(d->lot_id));
        W->json->put(out, "lot_number", val_text_or_null(d->lot_number));
        W->json->put(out, "quantity", val_decimal(d->quantity, QUANTITY_SCALE));
        W->json->close(out);
    }
    W->json->close(out);
}

static void build_run_put_lines(wharf_out *out, const struct build_order *o)
{
    W->json->open(out, "lines", '[');
    for (size_t k = 0; k < o->n_lines; k++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "place", val_int((int64_t)k));
        W->json->put(out, "item", val_text(o->lines[k].item));
        W->json->put(out, "required", val_decimal(o->lines[k].required, QUANTITY_SCALE));
        put_draws(out, "picks", &o->lines[k].draws);
        W->json->close(out);
    }
    W->json->close(out);
}

/* Writes an order as items.orders_write() takes it. */
static void put_written(wharf_out *out, const struct build_run *run, const struct build_order *o)
{
    const struct build_request *ask = run->ask;
    bool own = o == &run->orders[run->n_orders - 1];

    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(o->id));
    W->json->put(out, "type", val_text(z(ask->unbuild ? "unbuild" : "build")));
    W->json->put(out, "item", val_text(o->item));
    W->json->put(out, "bom", val_text(o->bom));
    W->json->put(out, "version", val_int(o->version));
    W->json->put(out, "location", val_text(ask->location));
    W->json->put(out, "quantity", val_decimal(o->quantity, QUANTITY_SCALE));
    W->json->put(out, "unit", val_text_or_null(o->unit));
    if (o->unit.n)
        W->json->put(out, "unit_quantity", val_decimal(o->unit_quantity, QUANTITY_SCALE));
    W->json->put(out, "layout", val_text_or_null(o->layout));
    W->json->put(out, "lot_number", val_text_or_null(o->lot_number));
    put_draws(out, "assembly_picks", &o->assembly);
    W->json->put(out, "build_order", val_text_or_null(o->build_order));
    W->json->put(out, "parent", val_text_or_null(o->parent));
    W->json->put(out, "group", val_text(o->group));
    W->json->put(out, "note", val_text_or_null(own ? ask->note : WHARF_S("")));
    W->json->put(out, "metadata", val_json(own ? ask->metadata : NULL));
    build_run_put_lines(out, o);
    W->json->close(out);
}

static wharf_status write_orders(struct build_run *run)
{
    static const char sql[] = "SELECT items.orders_write($1::jsonb,"
                              " to_timestamp($2::bigint / 1000 / 1000.0), $3::text)";
    wharf_req *req = run->ask->req;
    wharf_out *out = W->json->writer(req);
    const char **types = W->mem->alloc(req, (run->n_orders + 1) * sizeof(*types));
    wharf_str *ids = W->mem->alloc(req, (run->n_orders + 1) * sizeof(*ids));
    const wharf_rows *rows;
    wharf_status s;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < run->n_orders; i++) {
        put_written(out, run, &run->orders[i]);
        types[i] = run->ask->unbuild ? "assembly_order.unbuilt" : "assembly_order.built";
        ids[i] = run->orders[i].id;
    }
    W->json->close(out);
    s = W->db->query(req, sql,
        (const wharf_val[]){val_text(W->json->result_text(out)), val_int(W->req->now_us(req)),
            val_text(W->req->actor(req))},
        3, &rows);
    return s == WHARF_OK
               ? W->event->emit_many(req, "assembly_order", types, ids, NULL, run->n_orders)
               : s;
}

/* Answers what would be done: the order without what it would get. */
static wharf_status answer_dry(const struct build_run *run)
{
    const struct build_request *ask = run->ask;
    const struct build_order *o = &run->orders[run->n_orders - 1];
    wharf_out *out = W->req->respond(ask->req, 200, "Nothing is written: this was a dry run");

    W->json->open(out, NULL, '{');
    W->json->put(out, "object", val_text(WHARF_S("assembly_order")));
    W->json->put(out, "id", val_null());
    W->json->put(out, "number", val_null());
    W->json->put(out, "type", val_text(z(ask->unbuild ? "unbuild" : "build")));
    W->json->put(out, "status", val_text(WHARF_S("completed")));
    W->json->put(out, "item_id", val_text(o->item));
    W->json->put(out, "bom_id", val_text(o->bom));
    W->json->put(out, "bom_version", val_int(o->version));
    W->json->put(out, "location_id", val_text(ask->location));
    W->json->put(out, "quantity", val_decimal(o->quantity, QUANTITY_SCALE));
    W->json->put(out, "layout_id", val_text_or_null(o->layout));
    W->json->put(out, "lot_number", val_text_or_null(o->lot_number));
    W->json->put(out, "unbuilt_qty", val_int(0));
    W->json->put(out, "reversal", val_text(WHARF_S("none")));
    W->json->put(out, "build_order_id", val_text_or_null(o->build_order));
    W->json->put(out, "parent_order_id", val_null());
    W->json->open(out, "components", '[');
    for (size_t k = 0; k < o->n_lines; k++) {
        W->json->open(out, NULL, '{');
        W->json->put(out, "item_id", val_text(o->lines[k].item));
        W->json->put(out, "required_qty", val_decimal(o->lines[k].required, QUANTITY_SCALE));
        put_draws(out, "picks", &o->lines[k].draws);
        W->json->close(out);
    }
    W->json->close(out);
    W->json->put(out, "group_id", val_null());
    W->json->put(out, "can_build", val_bool(!run->n_shorts));
    W->json->open(out, "shortages", '[');
    for (size_t i = 0; i < run->n_shorts; i++) {
        const struct build_short *x = &run->shorts[i];

        W->json->open(out, NULL, '{');
        W->json->put(out, "item_id", val_text(x->item));
        W->json->put(out, "required", val_decimal(x->required, QUANTITY_SCALE));
        W->json->put(out, "available", val_decimal(x->available, QUANTITY_SCALE));
        W->json->put(out, "shortage", val_decimal(x->required - x->available, QUANTITY_SCALE));
        W->json->close(out);
    }
    W->json->close(out);
    W->json->put(out, "note", val_text_or_null(ask->note));
    W->json->put(out, "metadata", val_json(ask->metadata));
    W->json->close(out);
    return WHARF_OK;
}

wharf_status build_end(struct build_run *run)
{
    wharf_req *req = run->ask->req;
    const struct build_order *own = &run->orders[run->n_orders - 1];
    const wharf_rec *rec;
    wharf_status s;

    if (run->ask->dry_run)
        return answer_dry(run);
    s = write_orders(run);
    if (s == WHARF_OK)
        s = W->res->fetch(req, "assembly_order", own->id, WHARF_SHOWN, &rec);
    if (s != WHARF_OK)
        return s;
    W->res->encode(req,
        W->req->respond(req, 201, run->ask->unbuild ? "Assembly taken apart" : "Assembly built"),
        NULL, rec);
    W->req->created(
        req, W->mem->format(req, "/v1/items/%s/assembly-orders/%s", own->item.p, own->id.p));
    return WHARF_OK;
}
