/* bom_read.h - a version of a bill of materials as builds need it
 * (docs/spec/09-items-and-assembly.md sections 10 and 12). */
#ifndef BOM_READ_H
#define BOM_READ_H

#include "items.h"

#include "bom_need.h"

struct bom_part { /* a component */
    wharf_str id, item_id, unit_id; /* unit_id empty: quantity is in base units */
    int64_t quantity; /* of the unit */
    exact factor; /* base units in one of it */
    int64_t base_quantity;
    int64_t position;
    wharf_str reference, notes; /* empty: null */
    struct bom_use use;
    /* the item, as it is now; archived: or deleted */
    bool is_asset, archived, lots_needed, lots_allowed;
    const wharf_json *item; /* as components show it; NULL before it is stored */
};

struct bom_made { /* a version, and the assembly as it is now */
    wharf_str id, item_id;
    int64_t version, current; /* the version read; the newest one */
    int64_t output_qty, min_build_qty; /* min_build_qty 0: none */
    int64_t step; /* 0: no quantity can be built */
    bool active; /* the bill */
    /* the assembly; archived: or deleted */
    bool archived, is_asset, counted, lots_needed, lots_allowed;
    struct bom_part *parts; /* in their order */
    size_t n;
};

/* Reads a version of a bill; 0: the newest one. 404 when there is no such bill or version. Does
 * not lock: the rows that a build has to hold are items and levels, by items.stock. */
wharf_status bom_read(wharf_req *req, wharf_str bom_id, int64_t version, struct bom_made *ret);
/* Reads one version of each of n bills with one statement; versions NULL: the newest ones. What is
 * not there has no parts: n is 0. */
wharf_status bom_read_many(wharf_req *req, const wharf_str *ids, const int64_t *versions, size_t n,
    struct bom_made **ret);

#endif
