/* bom_levels.h - bills of materials over all levels, and the stock they are set against
 * (docs/spec/09-items-and-assembly.md section 10.3). */
#ifndef BOM_LEVELS_H
#define BOM_LEVELS_H

#include "bom_read.h"

/* ---- bom_shown.c: stock at a location, and parameters that ask for it ---- */

struct bom_stock_item {
    wharf_str id;
    int64_t available; /* without expired lots */
    const wharf_json *layouts; /* where it is, in the order in which builds take it */
};
struct bom_stock { /* sorted by id */
    struct bom_stock_item *items;
    size_t n;
};

/* Reads what is available of items at a location; an item may be named twice. */
wharf_status bom_stock_read(
    wharf_req *req, const wharf_str *items, size_t n, wharf_str location, struct bom_stock *ret);
/* Returns what is there of an item; one without stock that is not in the list. */
const struct bom_stock_item *bom_stock_of(const struct bom_stock *stock, wharf_str item);
/* Returns the most that can be built of a version with its components as they are there. */
int64_t bom_most_of(const struct bom_made *m, const struct bom_stock *stock);
/* Writes the components of a version, without stock. */
void bom_put_parts(wharf_out *out, const char *key, const struct bom_made *m);
/* Judges a location whose stock is asked for: 403 location_access, 400 param.invalid at path. */
wharf_status bom_judge_location(wharf_req *req, wharf_str location, const char *path);
/* Takes the parameter location_id, empty when it is not sent: 403 location_access, 400
 * param.invalid. */
wharf_status bom_take_location(wharf_req *req, wharf_str *ret);
/* Reads a quantity above 0 from a text: 400 param.invalid at path. */
wharf_status bom_judge_quantity(
    wharf_req *req, wharf_str text, const char *path, int64_t *ret_quantity);
/* Takes the parameter quantity. */
wharf_status bom_take_quantity(wharf_req *req, int64_t absent, int64_t *ret);

/* ---- bom_levels.c: what a version is made of, over all levels ---- */

enum { BOM_ITEMS_MAX = 20000 }; /* items of one explosion */

struct bom_link { /* a component in the tree */
    size_t to; /* node */
    struct bom_use use;
};

/* An item that is used somewhere below the version. Items with an active default bill are built by
 * it. */
struct bom_node {
    wharf_str item, name, sku, base_uom;
    bool is_asset, counted, archived;
    wharf_str bom; /* empty: it is not built */
    int64_t version, output_qty, min_build_qty, step; /* of the bill */
    bool valued; /* value, in cents of one base unit; currency empty: the organization's */
    int64_t value;
    wharf_str currency;
    wharf_str components; /* of the bill, as items.bom_reach returns them */
    struct bom_link *links;
    size_t n_links, n_parents;
    int64_t level; /* the longest way from the version, from 1 */
    int64_t available;
};

struct bom_tree {
    const struct bom_made *made;
    struct bom_link *links; /* of the version itself */
    size_t n_links;
    struct bom_node *nodes; /* sorted by item */
    size_t n;
    size_t *order; /* nodes, each behind all that use it */
    size_t n_ordered;
};

/* Reads the tree of a version, with one statement. 400 bom.too_large above BOM_ITEMS_MAX items. */
wharf_status bom_tree_read(wharf_req *req, const struct bom_made *m, struct bom_tree *ret);
/* Fills available of all nodes: what is there at the location. */
wharf_status bom_tree_stock(wharf_req *req, struct bom_tree *tree, wharf_str location);
/* Finds how much of each node has to be built so that quantity of the version can be, when stock is
 * used first (section 10.3). need[i] is what is used of a node, build[i] what is built of it, 0 or
 * more; both have room for tree->n. Returns false when it is not possible; then missing[i], if it
 * is not NULL, is what a node lacks that can't be built. */
bool bom_tree_plan(
    const struct bom_tree *tree, int64_t quantity, int64_t *need, int64_t *build, int64_t *missing);
/* Reckons the most that can be built at a location when parts that have an active default bill
 * are built first. */
wharf_status bom_levels_most(
    wharf_req *req, const struct bom_made *m, wharf_str location, int64_t *ret);

#endif
