/* shipments.h - inside of the module shipments. */
#ifndef SHIPMENTS_H
#define SHIPMENTS_H

#define W shipments_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/ext/carriers.h"
#include "wharf/ext/contacts.h"
#include "wharf/ext/fulfillments.h"
#include "wharf/ext/locations.h"
#include "wharf/ext/org.h"
#include "wharf/ext/shipments.h"
#include "wharf/inline.h"
#include "wharf/service/batch.h"
#include "wharf/service/config.h"
#include "wharf/service/events.h"
#include "wharf/service/keys.h"
#include "wharf/service/logs.h"
#include "wharf/service/many.h"

extern const wharf_carriers_detect_api *shipments_carriers;
extern const wharf_batch_api *shipments_batch;
extern const wharf_many_api *shipments_many;
extern const wharf_org_directory_api *shipments_org;
extern const wharf_logs_api *shipments_logs;
extern const wharf_keys_api *shipments_keys;
extern const wharf_config_api *shipments_config;
extern const wharf_events_api *shipments_events;
extern const wharf_locations_directory_api *shipments_places; /* or NULL */
extern const wharf_contacts_match_api *shipments_contacts; /* or NULL */
extern const wharf_locations_layouts_api *shipments_layouts; /* or NULL */
extern const wharf_fulfillments_shipping_api *shipments_orders; /* or NULL */
extern wharf_plugin *shipments_self;

enum {
    HISTORY_SHOWN = 100, /* newest lines that a shipment shows */
    HISTORY_MOST = 1000, /* lines of a shipment */
    UPDATES_MOST = 100 /* updates of one request */
};
#define MINUTE_US 60000000LL
#define DAY_US    (24 * 60 * MINUTE_US)

extern const wharf_hooks shipments_hooks, shipments_location_hooks, shipments_layout_hooks;
extern const wharf_shipments_ops_api shipments_ops;

/* ---- status.c ---- */
wharf_str shipments_canonical(wharf_str status);
uint32_t shipments_group(wharf_str status);
wharf_status shipments_filters(wharf_req *req, wharf_str status, const wharf_json **ret);
static inline bool shipments_completed(wharf_str status)
{
    return shipments_group(status) >= WHARF_GROUP_GOOD;
}

/* ---- shipment_updates.c: tracking updates as they are sent ---- */
wharf_status shipments_read_update(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *ret);
/* Judges the rows that it names: there is none of this id (400), or the caller does not see it
 * (403). vehicle_id is the client's own text. */
wharf_status shipments_check_update(
    wharf_req *req, const wharf_tracking_update *u, const char *path);
/* Reads and judges an update. */
wharf_status shipments_take_update(
    wharf_req *req, const wharf_json *input, const char *path, wharf_tracking_update *ret);
/* Reads all of an input that is one update or an array of them, by time. */
wharf_status shipments_read_updates(
    wharf_req *req, const wharf_json *input, wharf_tracking_update **ret, size_t *ret_n);

/* ---- shipment_history.c: applying them ---- */
struct history { /* of a shipment while it is written */
    wharf_req *req;
    wharf_rec *rec;
    wharf_str id, status;
    int64_t newest_us, count; /* count: of lines and comments ever; newest_us 0: no line yet */
    bool force, creating, quiet; /* quiet: nobody is told of its status */
    const char *source;
};
wharf_status shipments_history_open(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec, struct history *ret);
/* Applies one update by the rules 1 to 4 and 6 of section 4; what the row gets is set on it. path:
 * in front of problems. */
wharf_status shipments_apply(struct history *h, const wharf_tracking_update *u, const char *path);
/* Enters a status of our own making: no rule asks whether it is allowed. */
wharf_status shipments_enter(struct history *h, const char *status, const char *comment);
/* Reads lines skip to skip + limit, oldest or newest first. */
wharf_status shipments_history_page(
    wharf_req *req, wharf_str id, bool newest, int64_t skip, int64_t limit, const wharf_rows **ret);

/* ---- parties.c: sender and recipient ---- */
/* Follows contacts that became one: a wharf_contacts_move_fn. */
wharf_status shipments_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to);
wharf_status shipments_take_parties(wharf_req *req, wharf_rec *rec);
/* Makes a party of another module's row. */
wharf_status shipments_party(wharf_req *req, const wharf_json *input, const char *name,
    const wharf_json **ret_party, wharf_str *ret_contact);
/* Asks for all rows of a set what shipments_take_parties would ask for each. */
wharf_status shipments_look_ahead(
    wharf_req *req, uint32_t op, const wharf_rec *const *recs, size_t n);
/* Remembers the addresses that the writes of n rows took. */
wharf_status shipments_remember(wharf_req *req, const wharf_rec *const *recs, size_t n);
/* Sets what follows from sender, recipient and numbers: ids of addresses, the text that is
 * searched. */
void shipments_settle_parties(wharf_req *req, wharf_rec *rec);
/* Checks what a quote needs of both: problems at recipient.address ... */
void shipments_check_parties(wharf_req *req, const wharf_rec *rec);

/* ---- rates.c ---- */
wharf_status shipments_quote(wharf_req *req, wharf_rec *rec);
wharf_status shipments_purchase(struct history *h, const wharf_rec *old_rec, wharf_str rate_id);
/* Reads the rate that the options of a quote buy at once; empty: none. */
wharf_status shipments_wanted_rate(wharf_req *req, const wharf_rec *rec, wharf_str *ret_rate);
wharf_status shipments_settle_refund(struct history *h, const wharf_rec *old_rec);

/* ---- shipment_set.c: shipments that are written together ---- */

/* The values of one line of a history, as QUERY_TRACKING_UPDATE_ADD takes them. */
enum { LINE_ARGS = 24 };
struct line {
    wharf_val args[LINE_ARGS];
};
/* The memory that the rows of a set have in common; a row that is written alone has one of its
 * own. */
struct shipments_shared {
    const wharf_carriers_table *carriers; /* NULL: nobody has asked for it yet */
    bool collecting; /* lines are kept here, and written together */
    struct line *lines;
    size_t n, room;
    /* of a set, asked before its rows are read: the contacts that they name, by id, and the
     * organization's country when a row has an address */
    struct party_contact *contacts;
    size_t n_contacts;
    bool looked;
    wharf_str country;
};
struct party_contact {
    wharf_str id;
    const wharf_json *who; /* NULL: nobody, or not for the caller to see */
};
/* Returns NULL for a record that belongs to no write. */
struct shipments_shared *shipments_shared(const wharf_rec *rec);
/* Returns the providers that the organization knows; the database is asked once for a write. */
wharf_status shipments_providers(
    wharf_req *req, const wharf_rec *rec, const wharf_carriers_table **ret);
/* Keeps a line; *ret_new: the shipment, which is new, has no such one yet. */
void shipments_keep_line(
    wharf_req *req, struct shipments_shared *set, const wharf_val *args, bool *ret_new);
wharf_status shipments_check_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    wharf_rec *const *new_recs, size_t n);
wharf_status shipments_written_many(wharf_req *req, uint32_t op, const wharf_rec *const *old_recs,
    const wharf_rec *const *new_recs, size_t n);
wharf_status shipments_batch_items(
    wharf_req *req, const char *action, const wharf_json *const *items, size_t n);

/* ---- shipment_rules.c ---- */
wharf_status shipments_check(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, wharf_rec *new_rec);
/* Runs what follows from a shipment that was written. */
wharf_status shipments_follow(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec);

/* ---- shipment_service.c: what the module itself says beside a body ---- */
/* Returns what was said beside the body of the record's write, or NULL. */
const wharf_shipment_write *shipments_write_of(const wharf_rec *rec);
bool shipments_recounted(const wharf_rec *rec); /* the parent's children are counted anew */
wharf_status shipments_recount(wharf_req *req, wharf_str parent_id);
wharf_status shipments_make(
    wharf_req *req, const wharf_json *body, const wharf_rec **ret_rec, bool *ret_known);
wharf_status shipments_batch_item(wharf_req *req, const char *action, const wharf_json *item);

/* ---- shipment_routes.c ---- */
wharf_handler shipments_post, shipments_purchase_post, shipments_refund_post,
    shipments_updates_post, shipments_updates_get;

/* ---- simulator.c ---- */
wharf_handler shipments_simulate; /* the job */
wharf_status shipments_simulator_begin(wharf_req *req, const wharf_rec *rec);

#endif
