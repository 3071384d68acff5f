/* build_levels.h - the stock of a location that a build works on, and what it takes of it
 * (docs/spec/09-items-and-assembly.md section 12). */
#ifndef BUILD_LEVELS_H
#define BUILD_LEVELS_H

#include "items.h"

struct build_level { /* a level as it will be: what is drawn is taken away at once */
    wharf_str item, layout, lot_id, lot_number; /* lot_*: empty without lot */
    int64_t available;
    bool expired; /* its lot */
    bool held; /* some bucket is not zero */
};

struct build_levels {
    wharf_req *req;
    struct build_level *list; /* by item, then in the order in which builds take them */
    size_t n;
    struct build_level *made; /* where something was put that had no level */
    size_t n_made, made_room;
};

struct build_draw { /* what is taken of one level, or put into it */
    wharf_str layout, lot_id, lot_number;
    int64_t quantity;
};
struct build_draws {
    struct build_draw *list;
    size_t n, room;
    int64_t total;
};

/* Locks the levels of items at a location until the transaction ends, and reads them. */
wharf_status build_levels_lock(wharf_req *req, const wharf_str *items, size_t n,
    wharf_str location, struct build_levels *ret);
/* Sums what builds may take of an item: without expired lots. */
int64_t build_levels_total(const struct build_levels *levels, wharf_str item);
/* Returns the layout with the only stock of the item, of any bucket; empty: there is none, or
 * there are several. */
wharf_str build_levels_only_layout(const struct build_levels *levels, wharf_str item);
/* Takes quantity of an item by the order of section 12: expired lots never, earliest lots first;
 * of one lot the smallest level that is enough, else the largest. Takes less when there is less.
 * layout: of this one alone, or empty; lot_number: of this lot alone, or empty. */
void build_levels_draw(struct build_levels *levels, wharf_str item, wharf_str layout,
    wharf_str lot_number, bool expired_too, int64_t quantity, struct build_draws *draws);
/* Puts what was built into a level. */
void build_levels_put(struct build_levels *levels, wharf_str item, wharf_str layout,
    wharf_str lot_number, int64_t quantity);
/* Returns the layouts with stock that builds may take of an item, each once. */
size_t build_levels_layouts(
    const struct build_levels *levels, wharf_str item, wharf_str *ret, size_t room);
/* Finds an expired lot among the levels of an item that have this layout and lot (empty: any). */
const struct build_level *build_levels_expired(
    const struct build_levels *levels, wharf_str item, wharf_str layout, wharf_str lot_number);
/* Adds a draw. */
void build_draws_add(wharf_req *req, struct build_draws *draws, struct build_draw draw);

#endif
