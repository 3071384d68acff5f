/* build_make.c - POST …/boms/:bom/build, with the parts that are built first
 * (docs/spec/09-items-and-assembly.md section 12); see build.h. */
#include "build.h"
#include "items.gen.h"
#include "wharf/errors.h"

/* ---- the bills below ---- */

/* Holds the bills by which parts may be built. They are read before that, to know which they are,
 * and behind it; ret is what they are while they are held. */
static wharf_status hold_tree(struct build_run *run, struct bom_tree *ret)
{
    static const char sql[] = "SELECT items.boms_hold($1::text[])";
    wharf_req *req = run->ask->req;
    wharf_status s = bom_tree_read(req, &run->made, ret);

    for (int round = 0; s == WHARF_OK; round++) {
        wharf_str *boms = W->mem->alloc(req, (ret->n + 1) * sizeof(*boms));
        size_t n = 0, now = 0, held = 0;
        const wharf_rows *rows;
        wharf_val arg;

        for (size_t i = 0; i < ret->n; i++) {
            if (ret->nodes[i].bom.n)
                boms[n++] = ret->nodes[i].bom;
        }
        arg = val_array(req, boms, n);
        s = W->db->query(req, sql, &arg, 1, &rows);
        if (s == WHARF_OK)
            s = bom_tree_read(req, &run->made, ret);
        /* both are in the order of the items */
        for (size_t i = 0; s == WHARF_OK && i < ret->n; i++) {
            if (!ret->nodes[i].bom.n)
                continue;
            held += now < n && same(boms[now], ret->nodes[i].bom);
            now++;
        }
        if (s == WHARF_OK && held == n && now == n)
            return WHARF_OK;
        if (s == WHARF_OK && round == 2)
            return W->err->fail(req, ERR_CONFLICT, NULL,
                "Bills of materials below this one were changed meanwhile; send the request again");
    }
    return s;
}

/* ---- what is built first ---- */

static wharf_status make_sub_lines(
    struct build_run *run, const struct bom_tree *tree, size_t i, struct build_order *o)
{
    const struct bom_node *node = &tree->nodes[i];
    wharf_status s = WHARF_OK;

    o->lines = W->mem->alloc(run->ask->req, (node->n_links + 1) * sizeof(*o->lines));
    o->n_lines = node->n_links;
    for (size_t k = 0; s == WHARF_OK && k < node->n_links; k++) {
        struct build_line *line = &o->lines[k];

        line->item = tree->nodes[node->links[k].to].item;
        bom_need(&node->links[k].use, o->quantity, &line->required);
        s = build_draw(run, line->item, NULL, "", line->required, &line->draws);
    }
    return s;
}

/* Makes the order of a part: it goes where it is, and is taken from there. */
static wharf_status make_sub(struct build_run *run, const struct bom_tree *tree, size_t i,
    int64_t quantity, wharf_str default_layout)
{
    const struct bom_node *node = &tree->nodes[i];
    struct build_order *o = &run->orders[run->n_orders++];
    wharf_status s;

    *o = (struct build_order){.id = W->req->new_id(run->ask->req, "asm"),
        .item = node->item,
        .bom = node->bom,
        .version = node->version,
        .quantity = quantity,
        .parent = run->orders_own,
        .lot_number = WHARF_S(""),
        .unit = WHARF_S(""),
        .build_order = WHARF_S("")};
    o->layout = build_levels_only_layout(&run->levels, node->item);
    if (!o->layout.n)
        o->layout = default_layout;
    s = make_sub_lines(run, tree, i, o);
    if (s == WHARF_OK)
        build_levels_put(&run->levels, node->item, o->layout, WHARF_S(""), quantity);
    return s;
}

/* Leaves out of the tree what the request draws by itself. */
static void drop_named(struct build_run *run, struct bom_tree *tree)
{
    size_t n = 0, at;

    for (size_t k = 0; k < tree->n_links; k++) {
        if (!build_picks_of(run->ask, tree->nodes[tree->links[k].to].item, &at))
            tree->links[n++] = tree->links[k];
    }
    tree->n_links = n;
}

/* Plans what has to be built first, and makes the orders, those of the deepest parts first. */
static wharf_status make_subs(struct build_run *run, struct bom_tree *tree)
{
    wharf_req *req = run->ask->req;
    int64_t *need = W->mem->alloc(req, 3 * (tree->n + 1) * sizeof(*need));
    int64_t *build = need + tree->n + 1, *missing = build + tree->n + 1;
    wharf_str layout;
    wharf_status s = build_default_layout(run, &layout);

    drop_named(run, tree);
    for (size_t i = 0; i < tree->n; i++)
        tree->nodes[i].available = build_levels_total(&run->levels, tree->nodes[i].item);
    if (!bom_tree_plan(tree, run->ask->quantity, need, build, missing)) {
        for (size_t i = 0; i < tree->n; i++) {
            if (missing[i])
                build_note_short(run, tree->nodes[i].item, need[i], tree->nodes[i].available);
        }
        if (!run->n_shorts)
            return W->err->fail(req, ERR_BOM_FRACTIONAL_COMPONENT, "quantity",
                "A part can't be built in the quantity that is missing");
        return s;
    }
    for (size_t k = tree->n; s == WHARF_OK && k-- > 0;) {
        size_t i = tree->order[k];

        if (build[i])
            s = make_sub(run, tree, i, build[i], layout);
    }
    return s;
}

/* ---- the order itself ---- */

static wharf_status draw_lines(struct build_run *run, struct build_order *o, bool named)
{
    wharf_status s = WHARF_OK;

    for (size_t k = 0; s == WHARF_OK && k < o->n_lines; k++) {
        struct build_line *line = &o->lines[k];
        size_t at = 0;
        const wharf_json *layouts = build_picks_of(run->ask, line->item, &at);

        if (named == (layouts != NULL))
            s = build_draw(run, line->item, layouts,
                W->mem->format(run->ask->req, "components.%zu.layouts", at).p, line->required,
                &line->draws);
    }
    return s;
}

static wharf_status set_lot_expiry(struct build_run *run)
{
    static const char sql[] =
        "SELECT id, created_at = to_timestamp($4::bigint / 1000 / 1000.0) FROM items.lot"
        " WHERE organization_id = $2::text AND item_id = $1::text AND lot_number = $3::text";
    const struct build_request *ask = run->ask;
    wharf_req *req = ask->req;
    wharf_out *out = W->json->builder(req);
    const wharf_json *body;
    const wharf_rec *rec;
    const wharf_rows *rows;
    wharf_status s;

    if (!ask->lot_expires_at)
        return WHARF_OK;
    s = W->db->query(req, sql,
        (const wharf_val[]){val_text(ask->item), val_text(W->req->organization(req)),
            val_text(ask->lot_number), val_int(W->req->now_us(req))},
        4, &rows);
    if (s == WHARF_OK && (!W->db->count(rows) || !row_bool(rows, 0, 1)))
        return W->err->fail(req, ERR_VALIDATION_FAILED, "lot_expires_at",
            "lot_expires_at is for a lot_number that is new; change the dates of others by their "
            "lot");
    W->json->open(out, NULL, '{');
    W->json->put(out, "expires_at", val_json(ask->lot_expires_at));
    W->json->close(out);
    if (s == WHARF_OK)
        s = W->json->result(req, out, &body);
    return s == WHARF_OK ? W->res->update(req, "lot", row_text(rows, 0, 0), body, &rec) : s;
}

/* Moves the stock of one order: its components, and what is built of them. */
static wharf_status move_order(struct build_run *run, struct build_order *o)
{
    const struct build_request *ask = run->ask;
    bool own = o == &run->orders[run->n_orders - 1];
    wharf_stock *stock;
    wharf_stock_moved moved = {.head = WHARF_HEAD(wharf_stock_moved)};
    size_t n = 0;
    wharf_status s = build_stock_begin(run, o, &stock);

    for (size_t k = 0; s == WHARF_OK && k < o->n_lines; k++) {
        build_stock_move(run, stock, o->lines[k].item, &o->lines[k].draws, NULL, false);
        n += o->lines[k].draws.n;
    }
    if (s != WHARF_OK)
        return s;
    items_stock.move(stock, &(const wharf_stock_move){.head = WHARF_HEAD(wharf_stock_move),
                                .item_id = o->item,
                                .location_id = ask->location,
                                .layout_id = o->layout,
                                .lot_id = WHARF_S(""),
                                .lot_number = o->lot_number,
                                .bucket = WHARF_STOCK_AVAILABLE,
                                .quantity = o->quantity,
                                .reason = "build_produce",
                                .reason_code_id = WHARF_S(""),
                                .note = own ? ask->note : WHARF_S(""),
                                .unit_id = own ? ask->unit : WHARF_S(""),
                                .unit_quantity = own ? ask->unit_quantity : 0,
                                .path = !own              ? "build_subassemblies"
                                        : o->lot_number.n ? "lot_number"
                                                          : "layout_id"});
    s = items_stock.apply(stock);
    items_stock.moved(stock, n, &moved);
    o->layout = moved.layout_id;
    return s == WHARF_OK && own ? set_lot_expiry(run) : s;
}

static wharf_str target_layout(const struct build_run *run)
{
    return run->ask->layout.n ? run->ask->layout
                              : build_levels_only_layout(&run->levels, run->ask->item);
}

static wharf_status make_orders(struct build_run *run, struct bom_tree *tree)
{
    const struct build_request *ask = run->ask;
    struct build_order own = {.id = W->req->new_id(ask->req, "asm"),
        .item = ask->item,
        .bom = ask->bom,
        .version = run->made.version,
        .quantity = ask->quantity,
        .unit = ask->unit,
        .unit_quantity = ask->unit_quantity,
        .lot_number = ask->lot_number,
        .layout = target_layout(run),
        .parent = WHARF_S(""),
        .build_order = WHARF_S("")};
    wharf_status s = build_needs(ask->req, &run->made, ask->quantity, &own);

    run->orders_own = own.id;
    if (s == WHARF_OK)
        s = draw_lines(run, &own, true);
    if (s == WHARF_OK && tree)
        s = make_subs(run, tree);
    if (s == WHARF_OK && !(tree && run->n_shorts))
        s = draw_lines(run, &own, false);
    run->orders[run->n_orders++] = own;
    if (s == WHARF_OK && !own.layout.n && ask->dry_run)
        s = build_default_layout(run, &run->orders[run->n_orders - 1].layout);
    return s == WHARF_OK ? build_refuse_shorts(run, ERR_BOM_INSUFFICIENT_STOCK) : s;
}

wharf_status build_handler(wharf_req *req, void *arg)
{
    struct build_run *run = W->mem->alloc(req, sizeof(*run));
    struct bom_tree *tree = NULL;
    wharf_str *items;
    size_t n;
    wharf_status s;

    run->ask = W->mem->alloc(req, sizeof(*run->ask));
    s = build_take_request(req, false, run->ask);
    if (s == WHARF_OK && run->ask->lot_expires_at && !run->ask->lot_number.n)
        return W->err->fail(
            req, ERR_VALIDATION_FAILED, "lot_expires_at", "lot_expires_at needs a lot_number");
    if (s == WHARF_OK)
        s = build_begin(run, 0);
    if (s == WHARF_OK && run->ask->subassemblies) {
        tree = W->mem->alloc(req, sizeof(*tree));
        s = hold_tree(run, tree);
    }
    if (s != WHARF_OK)
        return s;
    n = tree ? tree->n : run->made.n;
    items = W->mem->alloc(req, (n + 1) * sizeof(*items));
    for (size_t i = 0; i < n; i++)
        items[i] = tree ? tree->nodes[i].item : run->made.parts[i].item_id;
    items[n++] = run->ask->item;
    run->orders = W->mem->alloc(req, n * sizeof(*run->orders));
    s = build_hold(run, items, n);
    if (s == WHARF_OK)
        s = make_orders(run, tree);
    for (size_t i = 0; s == WHARF_OK && !run->ask->dry_run && i < run->n_orders; i++)
        s = move_order(run, &run->orders[i]);
    return s == WHARF_OK ? build_end(run) : s;
}
