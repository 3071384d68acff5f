/* build.h - builds and unbuilds of assemblies (docs/spec/09-items-and-assembly.md sections 12 and
 * 13), inside of the module. */
#ifndef BUILD_H
#define BUILD_H

#include "bom_levels.h"
#include "build_levels.h"

struct build_request { /* a body, and what the path names */
    wharf_req *req;
    wharf_str item, bom, location;
    bool unbuild, dry_run, subassemblies, auto_layouts, allow_expired, other_location;
    wharf_str layout, lot_number; /* of the assembly; empty: not sent */
    const wharf_json *lot_expires_at; /* or NULL */
    const wharf_json *components, *assembly_layouts, *metadata; /* or NULL */
    wharf_str note, unit, build_order;
    const wharf_json *said; /* quantity as it was sent; */
    int64_t quantity, unit_quantity; /* in base units, and, with unit, in that */
    int64_t expected_version, version; /* 0: not sent */
};

struct build_line { /* a component of an order */
    wharf_str item;
    int64_t required;
    struct build_draws draws;
};

struct build_order { /* an order that is being made */
    wharf_str id, item, bom, parent, build_order, group, unit;
    int64_t version, quantity, unit_quantity;
    wharf_str layout, lot_number;
    struct build_draws assembly; /* of an unbuild: where the assembly comes from */
    struct build_line *lines;
    size_t n_lines;
};

struct build_short { /* an item of which there is not enough */
    wharf_str item;
    int64_t required, available;
};

struct build_run { /* one request that builds or takes apart */
    struct build_request *ask;
    struct bom_made made; /* the version by which it is done */
    struct build_levels levels;
    struct build_order *orders; /* children before parents; the last one is the request's */
    size_t n_orders;
    wharf_str orders_own; /* the id of the request's order */
    struct build_short *shorts;
    size_t n_shorts;
};

/* ---- build_request.c ---- */
/* Reads and checks the body; the quantity is read by build_take_quantity. */
wharf_status build_take_request(wharf_req *req, bool unbuild, struct build_request *ret);
/* Reads quantity into base units of the assembly. units: its transactional_units. */
wharf_status build_take_quantity(
    struct build_request *ask, const wharf_json *units, const struct bom_made *m);
/* Returns the layouts that the body names for a component, or NULL; *ret_at: its place there. */
const wharf_json *build_picks_of(
    const struct build_request *ask, wharf_str item, size_t *ret_at);
/* Checks that all components that the body names are in the version. */
wharf_status build_check_picks(const struct build_request *ask, const struct bom_made *m);

/* ---- build_run.c: what builds and unbuilds do alike ---- */
/* Holds the bill, reads a version (0: the newest), and checks both. */
wharf_status build_begin(struct build_run *run, int64_t version);
/* Holds items as they are, and locks their levels at the location. */
wharf_status build_hold(struct build_run *run, const wharf_str *items, size_t n);
/* Reckons what the quantity takes of each component: lines of the order. 400
 * bom.fractional_component with the items. */
wharf_status build_needs(
    wharf_req *req, const struct bom_made *m, int64_t quantity, struct build_order *order);
/* Reads the quantities of layouts that the body names into ret: all of them have one, and together
 * they are quantity, or none has (0). */
wharf_status build_take_named(const struct build_run *run, wharf_str item,
    const wharf_json *layouts, const char *path, int64_t quantity, int64_t *ret);
/* Draws quantity of an item: from layouts that were named, else by the order of section 12. What is
 * missing is noted in run->shorts. */
wharf_status build_draw(struct build_run *run, wharf_str item, const wharf_json *layouts,
    const char *path, int64_t quantity, struct build_draws *draws);
/* Notes that there is not enough of an item. */
void build_note_short(
    struct build_run *run, wharf_str item, int64_t required, int64_t available);
/* Refuses with 409 code when something is missing; a dry run goes on. */
wharf_status build_refuse_shorts(struct build_run *run, const char *code);
/* Begins the moves of an order. */
wharf_status build_stock_begin(
    struct build_run *run, struct build_order *order, wharf_stock **ret_stock);
/* Adds moves of what is drawn (or, returned, put back) of an item. */
void build_stock_move(const struct build_run *run, wharf_stock *stock, wharf_str item,
    const struct build_draws *draws, const char *reason, bool returned);
/* Returns the layout of the location that is taken where none is named. */
wharf_status build_default_layout(struct build_run *run, wharf_str *ret);
/* Writes the orders, tells of them and answers: 201, or 200 for a dry run, which writes nothing. */
wharf_status build_end(struct build_run *run);

wharf_handler build_handler, unbuild_handler; /* build_make.c, build_unmake.c */

#endif
