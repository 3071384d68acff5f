/* items.h - inside of the module items. */
#ifndef ITEMS_H
#define ITEMS_H

#define W items_host
#include "wharf/plugin.h"
#include "wharf/service/events.h"
#include "wharf/service/keys.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/ext/exports.h"
#include "wharf/ext/items.h"
#include "wharf/ext/locations.h"
#include "wharf/ext/org.h"
#include "wharf/ext/reasons.h"
#include "wharf/inline.h"
#include "wharf/sets.h"

#include "exact.h"

extern const wharf_events_api *items_events;
extern const wharf_keys_api *items_keys;
extern const wharf_many_api *items_many;
extern const wharf_locations_directory_api *items_places;
extern const wharf_locations_layouts_api *items_layouts;
extern const wharf_org_directory_api *items_org;
extern const wharf_reasons_lookup_api *items_reasons; /* NULL: the module reasons is not there */
extern wharf_str items_shipped_units; /* JSON: schemas/units.json */

extern const wharf_hooks items_uom_hooks, items_item_hooks, items_level_hooks, items_lot_hooks,
    items_bom_hooks;
extern const wharf_hooks items_location_hooks, items_layout_hooks;
extern const wharf_items_stock_api items_stock;
extern const wharf_items_catalog_api items_catalog;

/* ---- units.c: units of measure ---- */
struct unit {
    wharf_str code, category;
    exact size; /* of UNIT_SCALE; 0: it has no fixed size */
};
/* Finds units by their codes; ret[i].code is empty where there is none of codes[i]. rec: the row
 * that it is for; rows of a set ask once for each code. */
wharf_status unit_find(
    wharf_req *req, const wharf_rec *rec, const wharf_str *codes, size_t n, struct unit *ret);

/* ---- packing.c: transactional units of an item ---- */
/* Checks the base unit and the transactional units of an item and writes what follows from them.
 * old_rec: NULL on create. */
wharf_status packing_settle(wharf_req *req, const wharf_rec *old_rec, wharf_rec *rec);
/* Finds a transactional unit of an item for a quantity that names it: 400 item.unit_not_found or
 * item.unit_inactive at path. *ret_factor: base units in one of it. */
wharf_status packing_factor(
    wharf_req *req, const wharf_json *units, wharf_str id, const char *path, exact *ret_factor);

/* ---- quantity.c ---- */
/* Reads a quantity that a client sent, a number or a decimal text; what is wrong is told at
 * path. */
wharf_status quantity_take(
    wharf_req *req, const wharf_json *v, const char *path, int64_t *ret_quantity);
/* Returns the text of a JSON number or string; empty: it is neither. */
wharf_str number_text(wharf_req *req, const wharf_json *v);
/* Makes the JSON number of a decimal. */
const wharf_json *exact_json(wharf_req *req, exact v, unsigned scale);

/* ---- item_levels.c: changes of stock and thresholds that an item's request carries ---- */
struct booking {
    wharf_rec *rec;
    wharf_stock *stock; /* `levels`, judged; NULL: none were sent */
    wharf_str thresholds; /* `low_stock_thresholds`, JSON; empty: none were sent */
};
/* Reads what a create or an update books. */
wharf_status booking_read(wharf_req *req, uint32_t op, wharf_rec *rec, struct booking *ret);
/* Writes what n items book: stock with the same statements whatever their number. together: they
 * are rows of a set; when one of them is refused, they go one by one. */
wharf_status bookings_write(wharf_req *req, const struct booking *list, size_t n, bool together);

/* ---- item_boms.c: what bills of materials ask of an item ---- */
/* Checks an update: item.has_active_boms, item.fractional_bom, with the ids of the bills. */
wharf_status item_boms_check(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec);
/* Returns the statement that finds the bills that use the items $1 (text[]) of the organization
 * $2, with the number of the item among them: they are in the way of a delete (item.in_use). */
const char *item_boms_using(void);
/* Makes the bills of an item that is archived inactive. */
wharf_status item_boms_written(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *rec);
/* Checks that no bill uses a transactional unit that is changed: item.unit_in_use at path. */
wharf_status item_unit_unused(wharf_req *req, wharf_str item, wharf_str unit, const char *path);

/* ---- stock.c ---- */
struct stock_item { /* what the stock of an item has to keep to */
    wharf_str id;
    bool is_asset, archived;
    bool lots_needed, lots_allowed;
};
/* Begins as begin() of the service does, for moves of one item whose row the caller has locked
 * already, or which is only being made. */
wharf_status stock_begin_of(wharf_req *req, const wharf_stock_cause *cause,
    const struct stock_item *item, wharf_stock **ret_stock);

/* Judges the moves by their items. */
wharf_status stock_judge(wharf_stock *stock);
/* Writes moves that are judged, and tells of them. */
wharf_status stock_write(wharf_stock *stock);
/* Adds the moves of another one, which keep their group. */
void stock_join(wharf_stock *all, const wharf_stock *stock);

struct stock_entry {
    wharf_stock_move move;
    wharf_str group;
    wharf_str text; /* path, of the request */
    wharf_stock_moved moved;
    wharf_str reason; /* as it was written */
};
struct wharf_stock {
    wharf_req *req;
    wharf_stock_cause cause;
    wharf_str group;
    const struct stock_item *item; /* NULL: they are read */
    struct stock_entry *list;
    size_t n, room;
};
/* Emits the events of moves (stock_told.c). answer: of items.stock_apply. */
wharf_status stock_tell(wharf_stock *stock, const wharf_json *answer);

#endif
