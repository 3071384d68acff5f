/* trackers.h - inside of the module trackers. */
#ifndef TRACKERS_H
#define TRACKERS_H

#define W trackers_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/ext/carriers.h"
#include "wharf/ext/inference.h"
#include "wharf/ext/locations.h"
#include "wharf/ext/shipments.h"
#include "wharf/ext/trackers.h"
#include "wharf/inline.h"
#include "wharf/service/batch.h"
#include "wharf/service/keys.h"
#include "wharf/service/logs.h"
#include "wharf/sets.h"

extern const wharf_carriers_detect_api *trackers_carriers;
extern const wharf_batch_api *trackers_batch;
extern const wharf_many_api *trackers_many;
extern const wharf_shipments_ops_api *trackers_shipments;
extern const wharf_logs_api *trackers_logs;
extern const wharf_keys_api *trackers_keys;
extern const wharf_inference_ops_api *trackers_inference; /* or NULL */
extern const wharf_locations_layouts_api *trackers_layouts; /* or NULL */

enum {
    LEGS_MAX = 25, /* legs of a tracker */
    SHOWN = 100, /* newest updates that a tracker shows */
    LOGS_MOST = 1000 /* rows of a page of its log */
};

extern const wharf_hooks trackers_hooks, trackers_shipment_hooks, trackers_layout_hooks;
extern const wharf_trackers_ops_api trackers_ops;
wharf_status trackers_batch_item(wharf_req *req, const char *action, const wharf_json *item);
wharf_status trackers_batch_items(
    wharf_req *req, const char *action, const wharf_json *const *items, size_t n);

/* ---- chain.c: legs ---- */

struct leg {
    wharf_str id, status, scratch;
    uint32_t group;
    bool started; /* has a status beyond created */
    const wharf_json *row; /* what the tracker shows of it */
};
struct chain {
    struct leg legs[LEGS_MAX + 1];
    size_t n;
};
wharf_status trackers_load(wharf_req *req, wharf_str tracker_id, struct chain *ret);
/* Loads the legs of n trackers into ret[0] to ret[n - 1]. */
wharf_status trackers_load_many(
    wharf_req *req, const wharf_str *tracker_ids, size_t n, struct chain *ret);
/* Returns the leg that is current: the pinned one if it is one, else the last that has started,
 * else the first. Returns NULL when there are no legs. */
const struct leg *trackers_current(const struct chain *c, wharf_str pinned);
/* Closes earlier legs that are over because of later ones: they get their last update. added:
 * behind how many of them a leg was put. *ret_any: one got it. */
wharf_status trackers_auto_close(
    wharf_req *req, const struct chain *c, wharf_str option, size_t added, bool *ret_any);
/* Sets on the tracker's row what it shows of its legs. */
wharf_status trackers_derive(wharf_req *req, wharf_rec *rec, const struct chain *c);

/* ---- leg_changes.c: {add, remove} ---- */

struct chaining {
    bool any;
    wharf_str touched[2 * LEGS_MAX]; /* legs that came or went: their shipment.updated is told */
    size_t n_touched;
    wharf_str gone[LEGS_MAX]; /* legs that get trackers of their own */
    size_t n_gone;
};
/* Locks the trackers of everything that the input names, and this one, in the order of their
 * ids. */
wharf_status trackers_lock(wharf_req *req, wharf_str tracker_id, const wharf_json *chaining);
wharf_status trackers_chain(
    wharf_req *req, wharf_rec *rec, const wharf_json *input, struct chaining *ret);

/* ---- tracker_rules.c ---- */

enum { ORPHAN = -1 }; /* place of a leg whose tracker was deleted */

/* The context of creates: every tracker is made around a shipment. */
extern const char trackers_seed_kind[];
struct seed {
    wharf_str shipment_id;
    const wharf_json *candidates;
    bool entered; /* the shipment names the tracker already */
};
/* Lets a tracker that is created stand in its layout. */
wharf_status trackers_settle_place(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *rec);
/* Sets what a new tracker has of its legs, and of the seed. */
wharf_status trackers_begin(
    wharf_req *req, wharf_rec *rec, const struct seed *seed, const struct chain *c);

struct leg_row { /* what is asked of a shipment that was written */
    wharf_str tracker, number, status;
    bool deleted;
    int64_t place;
};
wharf_status trackers_read_legs(
    wharf_req *req, const wharf_str *ids, size_t n, struct leg_row *ret);
/* Tells whether a shipment gets a tracker of its own, now that it was written. */
bool trackers_lacks_one(const struct leg_row *leg);

/* Tells whether this module itself writes legs of the tracker now: what they tell is looked at
 * when all is done. */
bool trackers_busy(wharf_req *req, wharf_str tracker_id);
/* Makes a tracker around the shipment of a seed. id: the tracker's, or empty; options: fields of
 * it, or NULL. */
wharf_status trackers_around(wharf_req *req, struct seed *seed, wharf_str id,
    const wharf_json *options, const wharf_rec **ret_rec);
/* Checks a shipment that is created, by which it may enter a tracker; returns the id of that
 * tracker later, empty: none. */
wharf_status trackers_leg_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec);
wharf_str trackers_entered(const wharf_rec *shipment);

/* ---- shown.c ---- */
/* Reads the ids of all that the logs of n trackers tell of: themselves, the trackers merged into
 * them, and their legs that the caller may see. *ret_groups: a JSON array of n arrays, as
 * wharf.logs takes them. */
wharf_status trackers_reported_of(
    wharf_req *req, const wharf_str *ids, size_t n, wharf_str *ret_groups);
wharf_status trackers_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs);
wharf_status trackers_restrict(wharf_req *req, wharf_where *where);

/* ---- tracker_routes.c ---- */
wharf_handler trackers_post, trackers_logs_get;
/* The context of shipments that POST /v1/trackers creates: what the tracker around it is to be. */
struct wanted {
    const wharf_json *options, *candidates;
    wharf_str tracker_id; /* the tracker, when it was made */
};
/* Returns it; NULL: something else creates the shipment. */
struct wanted *trackers_wanted(const wharf_rec *shipment);

struct order { /* what POST /v1/trackers asks for */
    wharf_req *req;
    const wharf_json *body;
    wharf_str number, provider;
    struct wanted wanted;
};
/* Reads the number as it is kept. */
wharf_status trackers_read_number(wharf_req *req, const wharf_json *body, struct order *ret);
/* Reads the rest, when the number is locked. table: the providers that there are. */
wharf_status trackers_read_order(struct order *o, const wharf_carriers_table *table);
/* Makes the body of the shipment, and its write with the order as its context. */
wharf_status trackers_leg_body(const struct order *o, const wharf_json **ret_body);
extern const char trackers_wanted_kind[];

/* ---- tracker_set.c: trackers that are written together ---- */
wharf_status trackers_check_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n);
wharf_status trackers_written_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n);
wharf_status trackers_legs_check(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n);
wharf_status trackers_legs_written(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n);

/* Follows contacts that became one: a wharf_contacts_move_fn (chain.c). */
wharf_status trackers_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to);

#endif
