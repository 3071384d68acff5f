/* fulfillments.h - inside of the module fulfillments. */
#ifndef FULFILLMENTS_H
#define FULFILLMENTS_H

#define W fulfillments_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/errors.h"
#include "wharf/ext/fulfillments.h"
#include "wharf/ext/items.h"
#include "wharf/ext/locations.h"
#include "wharf/ext/parcels.h"
#include "wharf/ext/reasons.h"
#include "wharf/ext/shipments.h"
#include "wharf/inline.h"
#include "wharf/sets.h"
#include "wharf/service/crypto.h"

extern const wharf_items_stock_api *fulfillments_stock;
extern const wharf_many_api *fulfillments_many;
extern const wharf_locations_directory_api *fulfillments_places;
extern const wharf_locations_layouts_api *fulfillments_layouts;
extern const wharf_parcels_ops_api *fulfillments_parcels;
extern const wharf_shipments_ops_api *fulfillments_shipments;
extern const wharf_crypto_api *fulfillments_crypto;
extern bool fulfillments_draw_slips; /* the module templates is there */
extern const wharf_reasons_lookup_api *fulfillments_reasons; /* NULL: the module is not there */

extern const wharf_hooks fulfillments_hooks, fulfillments_location_hooks, fulfillments_layout_hooks,
    fulfillments_item_hooks, fulfillments_shipment_hooks;
extern const wharf_fulfillments_shipping_api fulfillments_shipping;

/* 99,999,999,999.9999 */
#define QUANTITY_MAX INT64_C(999999999999999)

enum {
    LINES_MAX = 500, /* articles of one request, lines of a scan */
    QTY_SCALE = 4,
    TEXT_MAX = 191,
    COMMENT_MAX = 2000 /* letters of a comment */
};

enum order_status {
    ORDER_CREATED,
    ORDER_PROCESSING,
    ORDER_PICKED,
    ORDER_PACKED,
    ORDER_SHIPPING,
    ORDER_COMPLETED,
    ORDER_CANCELED,
    ORDER_STATUSES
};
extern const char *const order_status_words[ORDER_STATUSES];
enum order_status order_status_of(wharf_str word);
static inline bool order_closed(enum order_status s)
{
    return s == ORDER_COMPLETED || s == ORDER_CANCELED;
}

/* ---- fulfillment_order.c: a fulfillment in memory, changed by rules and then written with a few
 * statements ---- */

/* Quantities are whole ten-thousandths of base units, as in wharf/ext/items.h. */
struct article {
    wharf_str id, item_id, name, sku, gtin, layout_id, lot_number, comment, harmonized_code,
        origin_country, base_uom;
    bool is_asset, made, changed, removed;
    int64_t position, requested, reserved, picked, packed, shipped, received, defective;
    const wharf_json *attributes, *tags, *value, *codes, *units;
};

/* One promise to an article, at one level. was: as the tables have it. */
struct place {
    size_t article;
    wharf_str layout_id, layout_name, layout_code, lot_id, lot_number;
    wharf_val expires_at;
    bool expired;
    struct portions {
        int64_t quantity, picked, packed, shipped;
    } is, was;
    const char *path; /* of the request, where a lack is told; or NULL */
};

/* Part of an article in a parcel. */
struct content {
    wharf_str parcel_id, lot_id, lot_number;
    size_t article;
    int64_t quantity, was;
};

struct order {
    wharf_req *req;
    wharf_str id, location_id;
    struct article *articles;
    struct place *places; /* in the order of the pick list; new ones behind */
    struct content *contents;
    size_t n, article_room, n_places, place_room, n_contents, content_room;
    bool contents_read;
};

/* Reads a fulfillment. hold: its items are held alone first, so that nobody else changes what is
 * promised to it. */
wharf_status order_load(
    wharf_req *req, wharf_str id, wharf_str location_id, bool hold, struct order *ret);
wharf_status order_load_contents(struct order *o);
struct article *order_add_article(struct order *o);
/* Returns the place of the article with this id; their number when there is none. */
size_t order_article(const struct order *o, wharf_str id);
/* Finds layouts of the order's location. ids, codes: arrays of texts. Columns: id, and for those
 * that were found by it the code as it was sent. */
wharf_status order_find_layouts(
    const struct order *o, wharf_val ids, wharf_val codes, const wharf_rows **ret_rows);
/* Returns the place of an article at a level; a new one when there is none. */
struct place *order_place(struct order *o, size_t article, wharf_str layout_id, wharf_str lot_id);
struct content *order_content(
    struct order *o, wharf_str parcel_id, size_t article, wharf_str lot_id);
/* Sums up what the places of an article have. */
void order_count(struct order *o, size_t article);
/* Takes back quantity of what is promised to an article and not picked, from the end of the pick
 * list on; returns what of it could not be taken. */
int64_t order_release(struct order *o, size_t article, int64_t quantity);
/* Writes what differs from the tables: reservations, articles, contents, and the stock. What is
 * available afterwards is promised to whoever waits for it. */
wharf_status order_write(struct order *o);

/* ---- fulfillment_reserve.c ---- */
/* Promises what is available of items at a location to the articles that wait for it. own: a
 * fulfillment that is being written, which is not told of. */
wharf_status reserve_waiting(
    wharf_req *req, const wharf_str *items, size_t n, wharf_str location_id, wharf_str own);
/* Serves who waits when levels have more: a wharf_stock_risen_fn. */
wharf_status reserve_risen(wharf_req *req, const wharf_stock_rise *rises, size_t n);
/* Serves who is left, as a job. */
wharf_status serve_run(wharf_req *req, void *arg);

/* ---- fulfillment_articles.c ---- */
/* Reads `articles` of a request into the order, and holds the items of all its articles. old: the
 * fulfillment is there, and is read first; else o has its ids only. */
wharf_status articles_take(struct order *o, const wharf_json *sent, bool old);

/* ---- fulfillment_quantity.c ---- */
/* Reads a quantity, a number or a decimal text; what is wrong is told at path. */
wharf_status order_quantity_read(
    wharf_req *req, const wharf_json *v, bool whole, const char *path, int64_t *ret);
wharf_val quantity_val(int64_t quantity);
/* Returns the path of a member. at: "" or "lines.2.", in front of it. */
const char *order_path(wharf_req *req, const char *at, const char *member);
/* Reads a text of up to most bytes; absent or null: empty. */
wharf_str order_text_read(
    wharf_req *req, const wharf_json *object, const char *key, const char *at, size_t most);

/* ---- fulfillment_scan.c: picks and packs ---- */
enum scan_kind { SCAN_PICK, SCAN_PACK };

/* One line of a request. */
struct scan {
    const char *at; /* "" or "lines.2.": in front of problems */
    size_t article;
    int64_t quantity;
    wharf_str layout_id, lot_number, asset_id, serial_number;
    bool expired_too;
};

/* A request of picks or packs, on its way through the hooks of the fulfillment. */
struct scan_request {
    enum scan_kind kind;
    const wharf_json *body;
    struct order order;
    size_t touched[LINES_MAX]; /* articles */
    size_t n_touched;
    wharf_str parcel_id; /* packs */
    const wharf_rows *layouts; /* those that lines name; NULL: none is named */
};
wharf_status scan_run(struct scan_request *r, enum order_status status);
/* Tells whether a place is the scan's article's, and where the scan says. */
bool scan_fits(const struct scan *s, const struct place *p);
/* Tells whether the request names places, so that it may change what is promised where. */
bool scan_moves(const wharf_json *body);

/* ---- fulfillment_pick.c, fulfillment_pack.c ---- */
wharf_status pick_line(struct order *o, const struct scan *s);
/* Picks all that is promised; of expired lots only with expired_too. */
wharf_status pick_all(struct order *o, bool expired_too);
wharf_status pack_line(struct scan_request *r, const struct scan *s);
wharf_status pack_all(struct scan_request *r);
/* Makes a parcel of a fulfillment, its number-th from 0. sent: NULL, or what a request says of it;
 * ret_id: or NULL. */
wharf_status parcel_make(wharf_req *req, wharf_str fulfillment_id, wharf_str location_id,
    const wharf_json *sent, size_t number, wharf_str *ret_id);
/* Finds or makes the parcel of packs. */
wharf_status pack_parcel(struct scan_request *r);
/* Writes the contents of the parcels that changed. */
wharf_status pack_write(struct order *o);

/* ---- fulfillment_pieces.c: assets ---- */
wharf_status piece_take(struct order *o, const struct scan *s);
wharf_status pieces_close(wharf_req *req, wharf_str fulfillment_id, bool canceled);

/* ---- fulfillment_steps.c ---- */
/* Settles what a new status asks and does; the status may change on its way. */
wharf_status step_check(
    struct order *o, enum order_status from, enum order_status *to, bool may_lack);
wharf_status step_written(struct order *o, enum order_status to);

/* ---- fulfillment_next.c ---- */
wharf_status scan_answer(wharf_req *req, const struct scan_request *r, wharf_str status);
wharf_status pick_list_get(wharf_req *req, void *arg);

/* ---- routes ---- */
wharf_status picks_post(wharf_req *req, void *arg);
wharf_status packs_post(wharf_req *req, void *arg);
wharf_status returns_post(wharf_req *req, void *arg);
wharf_status print_post(wharf_req *req, void *arg);
wharf_status cancel_delete(wharf_req *req, void *arg);
/* Moves fulfillments on behind their shipments, as a job. */
wharf_status follow_run(wharf_req *req, void *arg);

/* ---- fulfillment_rules.c: what its own writes carry ---- */
enum act_kind { ACT_SCAN, ACT_RETURN, ACT_FOLLOW };
struct act {
    enum act_kind kind;
    struct scan_request *scan;
    struct returns *returns;
    enum order_status to; /* ACT_FOLLOW */
};
wharf_status fulfillment_act(
    wharf_req *req, wharf_str id, struct act *act, const wharf_rec **ret_rec);

/* ---- fulfillment_returns.c ---- */
struct lines;
struct returns {
    const wharf_json *body, *lines; /* lines: as they were booked, for the event */
    struct order order;
    struct lines *read;
};
wharf_status returns_run(struct returns *r, enum order_status status);
wharf_status returns_write(struct returns *r);

/* ---- fulfillment_beside.c: places, contacts, items ---- */
wharf_status fulfillments_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to);

#endif
