/* build_levels.c - the stock that a build works on; see build_levels.h. Leaves writing to the
 * service items.stock. */
#include "build_levels.h"

#include "items.gen.h"

/* ---- reading ---- */

wharf_status build_levels_lock(
    wharf_req *req, const wharf_str *items, size_t n, wharf_str location, struct build_levels *ret)
{
    static const char sql[] = QUERY_BUILD_LEVELS;
    const wharf_rows *rows;
    wharf_status s = W->db->query(req, sql,
        (const wharf_val[]){val_array(req, items, n), val_text(W->req->organization(req)),
            val_text(location), val_time(W->req->now_us(req))},
        4, &rows);

    if (s != WHARF_OK)
        return s;
    *ret = (struct build_levels){.req = req, .n = W->db->count(rows)};
    ret->list = W->mem->alloc(req, (ret->n + 1) * sizeof(*ret->list));
    for (size_t i = 0; i < ret->n; i++) {
        wharf_str text = row_text(rows, i, 4);
        exact available = 0;

        exact_read(text.p, text.n, QUANTITY_SCALE, &available);
        ret->list[i] = (struct build_level){.item = row_text(rows, i, 0),
            .layout = row_text(rows, i, 1),
            .lot_id = row_text(rows, i, 2),
            .lot_number = row_text(rows, i, 3),
            .available = (int64_t)available,
            .expired = row_bool(rows, i, 5),
            .held = row_bool(rows, i, 6)};
    }
    return WHARF_OK;
}

/* Returns the place of the first level of an item, or of what follows where it would stand. */
static size_t first_level(const struct build_levels *levels, wharf_str item)
{
    size_t low = 0, high = levels->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(levels->list[middle].item.p, item.p) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A walk over the levels of one item: those that were read, then those that were made. */
struct level_walk {
    const struct build_levels *levels;
    wharf_str item;
    size_t at, made;
};

static struct level_walk walk_of(const struct build_levels *levels, wharf_str item)
{
    return (struct level_walk){levels, item, first_level(levels, item), 0};
}

static struct build_level *walk_next(struct level_walk *w)
{
    const struct build_levels *l = w->levels;

    if (w->at < l->n && same(l->list[w->at].item, w->item))
        return &l->list[w->at++];
    while (w->made < l->n_made) {
        struct build_level *level = &l->made[w->made++];

        if (same(level->item, w->item))
            return level;
    }
    return NULL;
}

int64_t build_levels_total(const struct build_levels *levels, wharf_str item)
{
    struct level_walk w = walk_of(levels, item);
    int64_t total = 0;

    for (const struct build_level *l = walk_next(&w); l; l = walk_next(&w)) {
        if (!l->expired)
            total = l->available > QUANTITY_MAX - total ? QUANTITY_MAX : total + l->available;
    }
    return total;
}

wharf_str build_levels_only_layout(const struct build_levels *levels, wharf_str item)
{
    struct level_walk w = walk_of(levels, item);
    wharf_str only = WHARF_S("");

    for (const struct build_level *l = walk_next(&w); l; l = walk_next(&w)) {
        if (!l->held)
            continue;
        if (only.n && !same(only, l->layout))
            return WHARF_S("");
        only = l->layout;
    }
    return only;
}

size_t build_levels_layouts(
    const struct build_levels *levels, wharf_str item, wharf_str *ret, size_t room)
{
    struct level_walk w = walk_of(levels, item);
    size_t n = 0;

    for (const struct build_level *l = walk_next(&w); l; l = walk_next(&w)) {
        size_t k = 0;

        while (k < n && !same(ret[k], l->layout))
            k++;
        if (k == n && n < room && l->available > 0 && !l->expired)
            ret[n++] = l->layout;
    }
    return n;
}

const struct build_level *build_levels_expired(
    const struct build_levels *levels, wharf_str item, wharf_str layout, wharf_str lot_number)
{
    struct level_walk w = walk_of(levels, item);

    for (const struct build_level *l = walk_next(&w); l; l = walk_next(&w)) {
        if (l->expired && l->available > 0 && same(l->lot_number, lot_number) &&
            (!layout.n || same(l->layout, layout)))
            return l;
    }
    return NULL;
}

/* ---- drawing ---- */

void build_draws_add(wharf_req *req, struct build_draws *draws, struct build_draw draw)
{
    if (draws->n == draws->room) {
        size_t room = draws->room ? 2 * draws->room : 4;
        struct build_draw *more = W->mem->alloc(req, room * sizeof(*more));

        if (draws->n)
            memcpy(more, draws->list, draws->n * sizeof(*more));
        draws->list = more;
        draws->room = room;
    }
    draws->list[draws->n++] = draw;
    draws->total += draw.quantity;
}

/* The levels that may be drawn from. */
struct level_wish {
    wharf_str layout, lot_number; /* empty: any */
    bool expired_too;
};

static bool build_levels_wanted(const struct build_level *l, const struct level_wish *wish)
{
    return l->available > 0 && (wish->expired_too || !l->expired) &&
           (!wish->layout.n || same(l->layout, wish->layout)) &&
           (!wish->lot_number.n || same(l->lot_number, wish->lot_number));
}

/* Picks, among the levels of the earliest lot that has some, the smallest one that is enough, else
 * the largest. Levels of one lot stand together, in the order of their layouts. */
static struct build_level *next_level(
    const struct build_levels *levels, wharf_str item, const struct level_wish *wish, int64_t rest)
{
    struct level_walk w = walk_of(levels, item);
    struct build_level *best = NULL;

    for (struct build_level *l = walk_next(&w); l; l = walk_next(&w)) {
        bool enough = l->available >= rest;

        if (!build_levels_wanted(l, wish))
            continue;
        if (best && !same(best->lot_id, l->lot_id))
            break;
        if (!best || (enough && (best->available < rest || l->available < best->available)) ||
            (!enough && best->available < rest && l->available > best->available))
            best = l;
    }
    return best;
}

void build_levels_draw(struct build_levels *levels, wharf_str item, wharf_str layout,
    wharf_str lot_number, bool expired_too, int64_t quantity, struct build_draws *draws)
{
    const struct level_wish wish = {layout, lot_number, expired_too};

    while (quantity > 0) {
        struct build_level *l = next_level(levels, item, &wish, quantity);
        int64_t take;

        if (!l)
            return;
        take = l->available < quantity ? l->available : quantity;
        l->available -= take;
        quantity -= take;
        build_draws_add(
            levels->req, draws, (struct build_draw){l->layout, l->lot_id, l->lot_number, take});
    }
}

/* ---- putting ---- */

void build_levels_put(struct build_levels *levels, wharf_str item, wharf_str layout,
    wharf_str lot_number, int64_t quantity)
{
    struct level_walk w = walk_of(levels, item);
    struct build_level *l = walk_next(&w);

    while (l && !(same(l->layout, layout) && same(l->lot_number, lot_number)))
        l = walk_next(&w);
    if (!l && levels->n_made == levels->made_room) {
        size_t room = levels->made_room ? 2 * levels->made_room : 8;
        struct build_level *more = W->mem->alloc(levels->req, room * sizeof(*more));

        if (levels->n_made)
            memcpy(more, levels->made, levels->n_made * sizeof(*more));
        levels->made = more;
        levels->made_room = room;
    }
    if (!l) {
        l = &levels->made[levels->n_made++];
        *l = (struct build_level){
            .item = item, .layout = layout, .lot_id = WHARF_S(""), .lot_number = lot_number};
    }
    l->available += quantity;
    l->held = true;
}
