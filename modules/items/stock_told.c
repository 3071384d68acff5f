/* stock_told.c - events of stock (docs/spec/09-items-and-assembly.md section 16): all of one call
 * with two statements, whatever their number. */
#include <stdlib.h>

#include "items.h"

#include "items.gen.h"

enum { MOVEMENTS_TOLD = 100 }; /* movements that an event has */

struct group_of {
    wharf_str item, group;
};

struct telling {
    wharf_stock *stock;
    struct group_of *groups; /* of the moves, in the order of the items */
    const char **types;
    wharf_str *ids;
    const wharf_json **extras;
    size_t n;
    size_t *following; /* of each move the next one of its item and location, or stock->n */
    bool *first; /* it is the first of them */
};

static wharf_status stock_told_add(
    struct telling *t, const char *type, wharf_str level, wharf_out *out)
{
    t->types[t->n] = type;
    t->ids[t->n] = level;
    return W->json->result(t->stock->req, out, &t->extras[t->n++]);
}

static wharf_out *stock_told_begin(const struct telling *t, wharf_str group)
{
    wharf_out *out = W->json->builder(t->stock->req);

    W->json->open(out, NULL, '{');
    W->json->put(out, "group_id", val_text(group));
    return out;
}

/* ---- groups ---- */

static int stock_told_by_item(const void *a, const void *b)
{
    const struct group_of *x = a, *y = b;

    return wharf_str_order(&x->item, &y->item);
}

/* Notes the group of each item: moves of one call that have several are of items of their own. */
static void list_groups(struct telling *t)
{
    const struct wharf_stock *stock = t->stock;

    t->groups = W->mem->alloc(stock->req, (stock->n + 1) * sizeof(*t->groups));
    for (size_t i = 0; i < stock->n; i++)
        t->groups[i] = (struct group_of){stock->list[i].move.item_id, stock->list[i].group};
    qsort(t->groups, stock->n, sizeof(*t->groups), stock_told_by_item);
}

static wharf_str stock_told_group_of(const struct telling *t, wharf_str item)
{
    const struct group_of key = {.item = item}, *found = bsearch(&key, t->groups, t->stock->n,
                                                    sizeof(key), stock_told_by_item);

    return found ? found->group : t->stock->group;
}

static wharf_status stock_told_tell_levels(struct telling *t, const wharf_json *levels)
{
    wharf_status s = WHARF_OK;

    for (const wharf_json *l = W->json->at(levels, 0); l && s == WHARF_OK; l = W->json->next(l)) {
        wharf_out *out = stock_told_begin(t, stock_told_group_of(t, json_text(l, "item")));

        W->json->close(out);
        s = stock_told_add(t, "inventory.level_updated", json_text(l, "id"), out);
    }
    return s;
}

/* ---- adjusted ---- */

static bool is_adjusting(wharf_str reason)
{
    static const char *const words[] = {"opening", "adjustment", "transfer", "import", "audit"};
    const size_t n = sizeof(words) / sizeof(words[0]);

    return word_place(reason, words, n) < n;
}

static void put_movement(wharf_out *out, const struct stock_entry *e)
{
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_text(e->moved.movement_id));
    W->json->put(out, "level_id", val_text(e->moved.level_id));
    W->json->put(out, "layout_id", val_text(e->moved.layout_id));
    W->json->put(out, "bucket",
        val_text(z(e->move.bucket == WHARF_STOCK_AVAILABLE  ? "available"
                   : e->move.bucket == WHARF_STOCK_RESERVED ? "reserved"
                   : e->move.bucket == WHARF_STOCK_DAMAGED  ? "damaged"
                                                            : "manifested")));
    W->json->put(out, "delta", val_decimal(e->moved.delta, QUANTITY_SCALE));
    W->json->put(out, "balance_after", val_decimal(e->moved.balance, QUANTITY_SCALE));
    W->json->put(out, "reason", val_text(e->reason));
    W->json->close(out);
}

struct place_of { /* a move that changed something, by its item and location */
    const struct stock_entry *entry;
    size_t at;
};

static int stock_told_by_place(const void *a, const void *b)
{
    const struct place_of *x = a, *y = b;
    int c = wharf_str_order(&x->entry->move.item_id, &y->entry->move.item_id);

    if (!c)
        c = wharf_str_order(&x->entry->move.location_id, &y->entry->move.location_id);
    return c ? c : (x->at > y->at) - (x->at < y->at);
}

/* Links the moves of each item and location, in their order. */
static void stock_told_link_places(struct telling *t)
{
    const struct wharf_stock *stock = t->stock;
    struct place_of *places = W->mem->alloc(stock->req, (stock->n + 1) * sizeof(*places));
    size_t n = 0;

    t->following = W->mem->alloc(stock->req, (stock->n + 1) * sizeof(*t->following));
    t->first = W->mem->alloc(stock->req, (stock->n + 1) * sizeof(*t->first));
    for (size_t i = 0; i < stock->n; i++) {
        t->following[i] = stock->n;
        if (stock->list[i].reason.n)
            places[n++] = (struct place_of){&stock->list[i], i};
    }
    qsort(places, n, sizeof(*places), stock_told_by_place);
    for (size_t k = 0; k < n; k++) {
        const wharf_stock_move *m = &places[k].entry->move;
        const wharf_stock_move *before = k ? &places[k - 1].entry->move : NULL;

        t->first[places[k].at] = !before || !same(before->item_id, m->item_id) ||
                                 !same(before->location_id, m->location_id);
        if (!t->first[places[k].at])
            t->following[places[k - 1].at] = places[k].at;
    }
}

/* Tells the movements of one item at one location, those from the first one on. */
static wharf_status tell_adjusted(struct telling *t, size_t first)
{
    const wharf_stock *stock = t->stock;
    wharf_out *out = stock_told_begin(t, stock->list[first].group);
    size_t n = 0;

    W->json->put(out, "reason", val_text(stock->list[first].reason));
    W->json->open(out, "movements", '[');
    for (size_t i = first; i < stock->n; i = t->following[i]) {
        if (n++ < MOVEMENTS_TOLD)
            put_movement(out, &stock->list[i]);
    }
    W->json->close(out);
    if (n > MOVEMENTS_TOLD)
        W->json->put(out, "movements_truncated", val_bool(true));
    W->json->close(out);
    return stock_told_add(t, "inventory.adjusted", stock->list[first].moved.level_id, out);
}

/* ---- low ---- */

static wharf_status stock_told_tell_low(
    struct telling *t, const wharf_json *low, const wharf_json *levels)
{
    const wharf_json *l = W->json->at(levels, 0);
    wharf_out *out;

    while (l && !(same(json_text(l, "item"), json_text(low, "item")) &&
                    same(json_text(l, "location"), json_text(low, "location"))))
        l = W->json->next(l);
    if (!l)
        return WHARF_OK;
    out = stock_told_begin(t, stock_told_group_of(t, json_text(low, "item")));
    W->json->put(out, "location_available_qty", val_json(W->json->get(low, "available")));
    W->json->put(out, "threshold_qty", val_json(W->json->get(low, "quantity")));
    W->json->close(out);
    return stock_told_add(t, "inventory.low_stock", json_text(l, "id"), out);
}

static wharf_status tell_lots(wharf_stock *stock, const wharf_json *lots)
{
    size_t n = json_is_null(lots) ? 0 : W->json->count(lots), i = 0;
    const char **types = W->mem->alloc(stock->req, (n + 1) * sizeof(*types));
    wharf_str *ids = W->mem->alloc(stock->req, (n + 1) * sizeof(*ids));

    for (const wharf_json *l = n ? W->json->at(lots, 0) : NULL; l; l = W->json->next(l)) {
        types[i] = "lot.created";
        W->json->text(l, &ids[i++]);
    }
    return n ? W->event->emit_many(stock->req, "lot", types, ids, NULL, n) : WHARF_OK;
}

wharf_status stock_tell(wharf_stock *stock, const wharf_json *answer)
{
    const wharf_json *levels = W->json->get(answer, "levels"), *low = W->json->get(answer, "low");
    size_t room = W->json->count(levels) + stock->n +
                  (json_is_null(low) ? 0 : W->json->count(low)) + 1;
    struct telling t = {.stock = stock,
        .types = W->mem->alloc(stock->req, room * sizeof(*t.types)),
        .ids = W->mem->alloc(stock->req, room * sizeof(*t.ids)),
        .extras = W->mem->alloc(stock->req, room * sizeof(*t.extras))};
    wharf_status s = tell_lots(stock, W->json->get(answer, "lots"));

    stock_told_link_places(&t);
    list_groups(&t);
    if (s == WHARF_OK)
        s = stock_told_tell_levels(&t, levels);
    for (size_t i = 0; s == WHARF_OK && i < stock->n; i++) {
        if (t.first[i] && is_adjusting(stock->list[i].reason))
            s = tell_adjusted(&t, i);
    }
    for (const wharf_json *l = json_is_null(low) ? NULL : W->json->at(low, 0); l && s == WHARF_OK;
         l = W->json->next(l))
        s = stock_told_tell_low(&t, l, levels);
    return s == WHARF_OK && t.n
               ? W->event->emit_many(stock->req, "level", t.types, t.ids, t.extras, t.n)
               : s;
}
