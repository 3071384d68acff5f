/* wharf/ext/items.h - services of the module items: stock, and what an item is.
 *
 * Same rules as wharf/plugin.h. Calls run in the caller's request and transaction. Source:
 * docs/spec/09-items-and-assembly.md sections 2, 6, 7 and 9. */
#ifndef WHARF_EXT_ITEMS_H
#define WHARF_EXT_ITEMS_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Codes of this module that others answer with. */
#define ERR_ITEM_ARCHIVED "item.archived"
#define ERR_ITEM_HAS_ASSETS "item.has_assets"
#define ERR_ITEM_FRACTIONAL_QUANTITY "item.fractional_quantity"
#define ERR_ITEM_INSUFFICIENT_STOCK "item.insufficient_stock"
#define ERR_ITEM_LOT_REQUIRED "item.lot_required"
#define ERR_ITEM_QUANTITY_PRECISION "item.quantity_precision"
#define ERR_ITEM_UNIT_INACTIVE "item.unit_inactive"
#define ERR_ITEM_UNIT_NOT_FOUND "item.unit_not_found"
#define ERR_LOT_EXPIRED "lot.expired"

/* Quantities are whole ten-thousandths of the item's base unit: 25000 is 2.5. At most
 * 99,999,999,999.9999. */
enum { WHARF_STOCK_ONE = 10000 };

enum wharf_stock_bucket {
    WHARF_STOCK_AVAILABLE = 1,
    WHARF_STOCK_RESERVED,
    WHARF_STOCK_DAMAGED,
    WHARF_STOCK_MANIFESTED
};

enum wharf_stock_flag {
    /* quantity is what shall be there, and not what is added; translated under the lock */
    WHARF_STOCK_SET = 1,
    /* without layout_id: the layout with the only stock of the item at the location, else, when
     * there is none, the default one; several are item.layout_required. Without this flag and
     * without layout_id: the default layout. */
    WHARF_STOCK_FIND_LAYOUT = 2,
    /* may raise the stock of an archived item (returns of an unbuild) */
    WHARF_STOCK_ARCHIVED_TOO = 4,
    /* 1.1: of a negative quantity no more is taken than is there (what was announced) */
    WHARF_STOCK_AT_MOST = 8
};

/* Why stock changes. The caller sets head; texts live until apply() returns. */
typedef struct wharf_stock_cause {
    wharf_head head;
    /* of the ledger: "opening", "adjustment" (told as "transfer" for an item whose moves are zero
     * together), "receipt", "reservation" ... */
    const char *reason;
    wharf_str source_type, source_id; /* the row that it is done for ("manifest"), or empty */
} wharf_stock_cause;

/* One change of one bucket of a level. The caller sets head; texts live until apply() returns. */
typedef struct wharf_stock_move {
    wharf_head head;
    wharf_str item_id, location_id, layout_id;
    wharf_str lot_id, lot_number; /* one of them, or none; an unknown number makes the lot */
    uint32_t bucket; /* enum wharf_stock_bucket */
    uint32_t flags; /* enum wharf_stock_flag */
    int64_t quantity;
    const char *reason; /* instead of the group's, or NULL */
    wharf_str reason_code_id, note; /* or empty */
    wharf_str unit_id; /* in which unit it was said, or empty; */
    int64_t unit_quantity; /* and how many of them */
    const char *path; /* where problems are told: "levels.0.available_qty" */
    /* 1.1: the row that it is done for, of the group's source_type, instead of the group's; or
     * empty */
    wharf_str source_id;
} wharf_stock_move;

/* The outcome of a move. The caller sets head. */
typedef struct wharf_stock_moved {
    wharf_head head;
    wharf_str level_id, layout_id, movement_id; /* movement_id empty: nothing was to do */
    int64_t delta, balance;
} wharf_stock_moved;

/* Moves that take effect together, under one group id of the ledger. Lives in the request. */
typedef struct wharf_stock wharf_stock;

/* A level of which more is available than before. */
typedef struct wharf_stock_rise {
    wharf_str item_id, location_id, level_id;
} wharf_stock_rise;

/* Hears which levels have more available than before: in the transaction of the moves, after they
 * and their events are written. The items are held as apply() holds them, the levels are locked.
 * When it fails, apply() fails with the same problem. */
typedef wharf_status wharf_stock_risen_fn(wharf_req *req, const wharf_stock_rise *rises, size_t n);

/* Service "items.stock", version 1.1: the only writer of levels and ledger. */
typedef struct wharf_items_stock_api {
    wharf_head head;
    wharf_status (*begin)(wharf_req *req, const wharf_stock_cause *cause, wharf_stock **ret_stock);
    /* Adds a move; nothing is written yet. Moves of one bucket take effect in their order, and
     * what counts is the balance at the end: a transfer is two moves. */
    void (*move)(wharf_stock *stock, const wharf_stock_move *move);
    /* Writes all moves or none, whatever their number with two statements, and tells the events
     * of section 16. Locks the items, then the levels, in the order of section 7.4: two that
     * change the same levels don't wait for each other in a circle, if each does it in one call.
     * Problems, at the path of each move: validation.failed (an item, location or layout that
     * is not there, a quantity out of range), item.archived, item.fractional_quantity,
     * item.layout_required, item.lot_required (not of what is only expected),
     * item.lot_not_allowed, item.insufficient_stock.
     * Access to the locations is the caller's to check (req->need_location). */
    wharf_status (*apply)(wharf_stock *stock);
    wharf_str (*group_id)(const wharf_stock *stock);
    /* After apply(): of the i-th move, counted from 0 in the order of move(). */
    void (*moved)(const wharf_stock *stock, size_t i, wharf_stock_moved *ret);
    /* 1.1 */
    /* Holds items alone: until the transaction ends nobody else changes stock of them, so what is
     * read of their levels afterwards is what there is. Those that are not there are left out.
     * Comes before locks of layouts and levels; one call for all items. */
    wharf_status (*hold)(wharf_req *req, const wharf_str *item_ids, size_t n);
    void (*on_risen)(wharf_stock_risen_fn *fn); /* start() */
    /* Reads a quantity that a client sent: a number, or a decimal text. Problems, at path:
     * validation.failed, item.quantity_precision. */
    wharf_status (*quantity)(
        wharf_req *req, const wharf_json *v, const char *path, int64_t *ret_quantity);
} wharf_items_stock_api;

enum wharf_item_flag {
    WHARF_ITEM_KNOWN = 1, /* there is such an item, not deleted */
    WHARF_ITEM_ASSET = 2, /* is_asset */
    WHARF_ITEM_ARCHIVED = 4
};

/* Properties of an item that others go by. The caller sets head. */
typedef struct wharf_item {
    wharf_head head;
    uint32_t flags; /* enum wharf_item_flag */
    uint32_t reserved;
    wharf_str name, sku; /* sku empty: none */
} wharf_item;

/* Service "items.catalog", version 1.1: for modules whose rows are of an item. */
typedef struct wharf_items_catalog_api {
    wharf_head head;
    /* Locks the item so that it stays what it is until the transaction ends: who changes or
     * deletes it waits (and others hold it meanwhile as well). flags 0: it is not there; no
     * problem is told. Comes before locks of layouts and levels. */
    wharf_status (*hold)(wharf_req *req, wharf_str item_id, wharf_item *ret_item);
    /* 1.1: hold of n items; the caller sets heads. */
    wharf_status (*hold_many)(
        wharf_req *req, const wharf_str *item_ids, size_t n, wharf_item *ret_items);
} wharf_items_catalog_api;

#ifdef __cplusplus
}
#endif
#endif
