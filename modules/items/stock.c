/* stock.c - the service items.stock: moves are gathered, judged by their items, and written by one
 * call of items.stock_apply (sql/stock_apply.sql), which alone writes levels and ledger
 * (docs/spec/09-items-and-assembly.md sections 7 and 9). Leaves events to stock_told.c. */
#include <stdlib.h>

#include "items.h"

#include "items.gen.h"
#include "wharf/errors.h"

enum { FIRST_ROOM = 16 };

static const char *const buckets[] = {NULL, "available", "reserved", "damaged", "manifested"};

/* ---- gathering ---- */

static wharf_status stock_begin(
    wharf_req *req, const wharf_stock_cause *cause, wharf_stock **ret_stock)
{
    return stock_begin_of(req, cause, NULL, ret_stock);
}

wharf_status stock_begin_of(wharf_req *req, const wharf_stock_cause *cause,
    const struct stock_item *item, wharf_stock **ret_stock)
{
    wharf_stock *s = W->mem->alloc(req, sizeof(*s));

    *s = (wharf_stock){.req = req, .cause = *cause, .item = item};
    s->group = W->req->new_id(req, "mvg");
    s->room = FIRST_ROOM;
    s->list = W->mem->alloc(req, s->room * sizeof(*s->list));
    *ret_stock = s;
    return WHARF_OK;
}

static struct stock_entry *new_entry(wharf_stock *stock)
{
    if (stock->n == stock->room) {
        struct stock_entry *more = W->mem->alloc(stock->req, 2 * stock->room * sizeof(*more));

        memcpy(more, stock->list, stock->n * sizeof(*more));
        stock->list = more;
        stock->room *= 2;
    }
    return &stock->list[stock->n++];
}

static void stock_move(wharf_stock *stock, const wharf_stock_move *m)
{
    struct stock_entry *e = new_entry(stock);

    *e = (struct stock_entry){.move = {.source_id = WHARF_S("")}, .group = stock->group};
    memcpy(&e->move, m, m->head.size < sizeof(*m) ? m->head.size : sizeof(*m));
    if (!e->move.source_id.p)
        e->move.source_id = WHARF_S("");
    e->text = W->mem->format(stock->req, "%s", m->path ? m->path : "");
}

void stock_join(wharf_stock *all, const wharf_stock *stock)
{
    for (size_t i = 0; i < stock->n; i++)
        *new_entry(all) = stock->list[i];
}

static wharf_status stock_add_problem(
    const wharf_stock *stock, size_t i, const char *code, const char *message)
{
    return W->err->add(stock->req, code, stock->list[i].text.p, message ? "%s" : NULL, message);
}

/* ---- what the items say ---- */

/* Reads the items of the moves, locked against changes of what stock has to keep to, in the order
 * of their ids. */
static wharf_status stock_read_items(wharf_stock *stock, struct stock_item **ret, size_t *ret_n)
{
    static const char sql[] =
        "SELECT id, is_asset, status = 'archived', lot_tracking FROM items.item"
        " WHERE organization_id = $2::text AND id = ANY ((SELECT $1::text[])::text[])"
        " AND deleted_at IS NULL ORDER BY id FOR SHARE";
    wharf_str *ids = W->mem->alloc(stock->req, (stock->n + 1) * sizeof(*ids));
    const wharf_rows *rows;
    wharf_status s;

    for (size_t i = 0; i < stock->n; i++)
        ids[i] = stock->list[i].move.item_id;
    s = query_about(stock->req, sql, val_array(stock->req, ids, stock->n).u.s, &rows);
    if (s != WHARF_OK)
        return s;
    *ret_n = W->db->count(rows);
    *ret = W->mem->alloc(stock->req, (*ret_n + 1) * sizeof(**ret));
    for (size_t i = 0; i < *ret_n; i++) {
        wharf_str lots = row_text(rows, i, 3);

        (*ret)[i] = (struct stock_item){.id = row_text(rows, i, 0),
            .is_asset = row_bool(rows, i, 1),
            .archived = row_bool(rows, i, 2),
            .lots_needed = is(lots, "required"),
            .lots_allowed = !is(lots, "none")};
    }
    return WHARF_OK;
}

static int stock_by_id(const void *a, const void *b)
{
    const struct stock_item *x = a, *y = b;

    return wharf_str_order(&x->id, &y->id);
}

static void judge_move(wharf_stock *stock, size_t i, const struct stock_item *item)
{
    wharf_stock_move *m = &stock->list[i].move;
    bool lot = m->lot_id.n || m->lot_number.n;

    if (!item)
        stock_add_problem(stock, i, ERR_VALIDATION_FAILED, "There is no such item");
    else if (m->quantity > QUANTITY_MAX || m->quantity < -QUANTITY_MAX ||
             ((m->flags & WHARF_STOCK_SET) && m->quantity < 0))
        stock_add_problem(stock, i, ERR_VALIDATION_FAILED, "The quantity is out of range");
    else if (item->is_asset && !quantity_is_whole(m->quantity))
        stock_add_problem(stock, i, ERR_ITEM_FRACTIONAL_QUANTITY, NULL);
    else if (item->lots_needed && !lot && m->bucket != WHARF_STOCK_MANIFESTED)
        stock_add_problem(stock, i, ERR_ITEM_LOT_REQUIRED, NULL);
    else if (!item->lots_allowed && lot)
        stock_add_problem(stock, i, ERR_ITEM_LOT_NOT_ALLOWED, NULL);
    else if (!item->archived)
        m->flags |= WHARF_STOCK_ARCHIVED_TOO;
}

wharf_status stock_judge(wharf_stock *stock)
{
    struct stock_item *items = NULL;
    size_t n = 0;
    wharf_status s = stock->item ? WHARF_OK : stock_read_items(stock, &items, &n);

    for (size_t i = 0; s == WHARF_OK && i < stock->n; i++) {
        struct stock_item key = {.id = stock->list[i].move.item_id};

        judge_move(stock, i,
            stock->item ? stock->item : bsearch(&key, items, n, sizeof(key), stock_by_id));
    }
    return s == WHARF_OK ? W->err->current(stock->req) : s;
}

/* ---- writing ---- */

static wharf_str stock_facts_of(const wharf_stock *stock)
{
    wharf_req *req = stock->req;
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "now", val_time(W->req->now_us(req)));
    W->json->put(out, "actor", val_text(W->req->actor(req)));
    W->json->put(out, "batch", val_text_or_null(items_events->batch(req)));
    W->json->put(out, "reason", val_text(z(stock->cause.reason)));
    W->json->put(out, "source_type", val_text_or_null(stock->cause.source_type));
    W->json->put(out, "source_id", val_text_or_null(stock->cause.source_id));
    W->json->close(out);
    return W->json->result_text(out);
}

static void put_move(wharf_req *req, wharf_out *out, size_t i, const struct stock_entry *e)
{
    const wharf_stock_move *m = &e->move;

    W->json->open(out, NULL, '{');
    W->json->put(out, "n", val_int((int64_t)i));
    W->json->put(out, "together", val_text(e->group));
    W->json->put(out, "item", val_text(m->item_id));
    W->json->put(out, "location", val_text(m->location_id));
    W->json->put(out, "layout", val_text_or_null(m->layout_id));
    if (!m->layout_id.n && (m->flags & WHARF_STOCK_FIND_LAYOUT))
        W->json->put(out, "find", val_bool(true));
    if (m->lot_id.n)
        W->json->put(out, "lot", val_text(m->lot_id));
    if (!m->lot_id.n && m->lot_number.n) {
        W->json->put(out, "lot_number", val_text(m->lot_number));
        W->json->put(out, "new_lot", val_text(W->req->new_id(req, "lot")));
    }
    W->json->put(out, "bucket", val_text(z(buckets[m->bucket])));
    W->json->put(out, "quantity", val_decimal(m->quantity, QUANTITY_SCALE));
    W->json->put(out, "set", val_bool(m->flags & WHARF_STOCK_SET));
    W->json->put(out, "at_most", val_bool(m->flags & WHARF_STOCK_AT_MOST));
    W->json->put(out, "keep", val_bool(!(m->flags & WHARF_STOCK_ARCHIVED_TOO)));
    W->json->put(out, "id", val_text(W->req->new_id(req, "mov")));
    W->json->put(out, "level", val_text(W->req->new_id(req, "lvl")));
    if (m->reason)
        W->json->put(out, "reason", val_text(z(m->reason)));
    if (m->source_id.n)
        W->json->put(out, "source", val_text(m->source_id));
    if (m->reason_code_id.n)
        W->json->put(out, "reason_code", val_text(m->reason_code_id));
    if (m->note.n)
        W->json->put(out, "note", val_text(m->note));
    if (m->unit_id.n) {
        W->json->put(out, "unit", val_text(m->unit_id));
        W->json->put(out, "unit_quantity", val_decimal(m->unit_quantity, QUANTITY_SCALE));
    }
    W->json->close(out);
}

static void stock_tell_one(const wharf_stock *stock, size_t i, const wharf_json *p)
{
    wharf_str problem = json_text(p, "problem");
    const wharf_stock_move *m = &stock->list[i].move;

    if (is(problem, "location"))
        W->err->add(stock->req, ERR_VALIDATION_FAILED, stock->list[i].text.p,
            "There is no location %s", m->location_id.p);
    else if (is(problem, "layout"))
        W->err->add(stock->req, ERR_VALIDATION_FAILED, stock->list[i].text.p,
            "There is no layout %s", m->layout_id.p);
    else if (is(problem, "layout_location"))
        W->err->add(stock->req, ERR_VALIDATION_FAILED, stock->list[i].text.p,
            "The layout %s lies in another location", m->layout_id.p);
    else if (is(problem, "layout_required"))
        stock_add_problem(stock, i, ERR_ITEM_LAYOUT_REQUIRED, NULL);
    else if (is(problem, "archived"))
        stock_add_problem(stock, i, ERR_ITEM_ARCHIVED, NULL);
    else if (is(problem, "too_large"))
        stock_add_problem(
            stock, i, ERR_VALIDATION_FAILED, "The stock would be above 99999999999.9999");
    else
        W->err->add(stock->req, ERR_ITEM_INSUFFICIENT_STOCK, stock->list[i].text.p,
            "There are %s, and %s less are asked for; send a smaller quantity",
            number_text(stock->req, W->json->get(p, "available")).p,
            number_text(stock->req, W->json->get(p, "quantity")).p);
}

static wharf_status stock_tell_problems(const wharf_stock *stock, const wharf_json *problems)
{
    for (const wharf_json *p = W->json->at(problems, 0); p; p = W->json->next(p)) {
        int64_t n;

        if (W->json->integer(W->json->get(p, "n"), &n) && n >= 0 && (size_t)n < stock->n)
            stock_tell_one(stock, (size_t)n, p);
    }
    return W->err->current(stock->req);
}

static void note_moved(wharf_stock *stock, const wharf_json *moves)
{
    for (const wharf_json *m = W->json->at(moves, 0); m; m = W->json->next(m)) {
        struct stock_entry *e;
        int64_t n;

        if (!W->json->integer(W->json->get(m, "n"), &n) || n < 0 || (size_t)n >= stock->n)
            continue;
        e = &stock->list[n];
        e->moved.level_id = json_text(m, "level");
        e->moved.layout_id = json_text(m, "place");
        e->moved.movement_id = json_text(m, "id");
        e->reason = json_text(m, "reason");
        W->json->decimal(W->json->get(m, "delta"), QUANTITY_SCALE, &e->moved.delta);
        W->json->decimal(W->json->get(m, "balance"), QUANTITY_SCALE, &e->moved.balance);
    }
}

static wharf_status write_moves(wharf_stock *stock, const wharf_json **ret_answer)
{
    static const char sql[] = "SELECT items.stock_apply($1::jsonb, $2::jsonb)";
    wharf_out *out = W->json->writer(stock->req);
    wharf_val args[2] = {val_text(stock_facts_of(stock))};
    const wharf_rows *rows;
    wharf_status s;

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < stock->n; i++)
        put_move(stock->req, out, i, &stock->list[i]);
    W->json->close(out);
    args[1] = val_text(W->json->result_text(out));
    s = W->db->query(stock->req, sql, args, 2, &rows);
    *ret_answer = s == WHARF_OK ? row_json(rows, 0, 0) : NULL;
    return s == WHARF_OK && !*ret_answer ? W->err->fail(stock->req, ERR_INTERNAL, NULL, NULL) : s;
}

/* ---- listeners: levels that have more available ---- */

static wharf_stock_risen_fn **listeners; /* filled while modules start, read after */
static size_t n_listeners;

static void on_risen(wharf_stock_risen_fn *fn)
{
    wharf_stock_risen_fn **more = realloc(listeners, (n_listeners + 1) * sizeof(*more));

    if (!more)
        abort();
    listeners = more;
    listeners[n_listeners++] = fn;
}

static wharf_status tell_risen(const wharf_stock *stock)
{
    wharf_stock_rise *rises;
    size_t n = 0;
    wharf_status s = WHARF_OK;

    if (!n_listeners)
        return s;
    rises = W->mem->alloc(stock->req, (stock->n + 1) * sizeof(*rises));
    for (size_t i = 0; i < stock->n; i++) {
        const struct stock_entry *e = &stock->list[i];

        if (e->move.bucket == WHARF_STOCK_AVAILABLE && e->moved.delta > 0)
            rises[n++] = (wharf_stock_rise){
                e->move.item_id, e->move.location_id, e->moved.level_id};
    }
    for (size_t i = 0; n && i < n_listeners && s == WHARF_OK; i++)
        s = listeners[i](stock->req, rises, n);
    return s;
}

wharf_status stock_write(wharf_stock *stock)
{
    const wharf_json *answer, *problems;
    wharf_status s = stock->n ? write_moves(stock, &answer) : WHARF_OK;

    if (s != WHARF_OK || !stock->n)
        return s;
    problems = W->json->get(answer, "problems");
    if (!json_is_null(problems))
        return stock_tell_problems(stock, problems);
    note_moved(stock, W->json->get(answer, "moves"));
    s = stock_tell(stock, answer);
    return s == WHARF_OK ? tell_risen(stock) : s;
}

static wharf_status stock_apply_changes(wharf_stock *stock)
{
    wharf_status s = stock_judge(stock);

    return s == WHARF_OK ? stock_write(stock) : s;
}

static wharf_status stock_hold(wharf_req *req, const wharf_str *item_ids, size_t n)
{
    static const char sql[] = "SELECT 1 FROM items.item WHERE organization_id = $2::text"
                              " AND id = ANY ((SELECT $1::text[])::text[]) AND deleted_at IS NULL"
                              " ORDER BY id FOR NO KEY UPDATE";
    const wharf_rows *rows;

    return n ? query_about(req, sql, val_array(req, item_ids, n).u.s, &rows) : WHARF_OK;
}

static wharf_str group_id(const wharf_stock *stock)
{
    return stock->group;
}

static void stock_moved(const wharf_stock *stock, size_t i, wharf_stock_moved *ret)
{
    const wharf_stock_moved none = {
        .level_id = WHARF_S(""), .layout_id = WHARF_S(""), .movement_id = WHARF_S("")};
    wharf_stock_moved m = i < stock->n && stock->list[i].moved.level_id.p ? stock->list[i].moved
                                                                          : none;

    m.head = ret->head;
    *ret = m;
}

const wharf_items_stock_api items_stock = {WHARF_HEAD(wharf_items_stock_api), stock_begin,
    stock_move, stock_apply_changes, group_id, stock_moved, stock_hold, on_risen, quantity_take};
