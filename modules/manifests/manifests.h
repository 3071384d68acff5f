/* manifests.h - incoming goods, inside of the module (docs/spec/03-shipments-and-trackers.md
 * section 7). */
#ifndef MANIFESTS_H
#define MANIFESTS_H

#define W manifests_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/ext/contacts.h"
#include "wharf/ext/items.h"
#include "wharf/ext/locations.h"
#include "wharf/ext/org.h"
#include "wharf/ext/parcels.h"
#include "wharf/ext/reasons.h"
#include "wharf/inline.h"
#include "wharf/service/keys.h"
#include "wharf/sets.h"

extern const wharf_items_stock_api *manifests_stock;
extern const wharf_reasons_lookup_api *manifests_reasons;
extern const wharf_locations_directory_api *manifests_places;
extern const wharf_locations_layouts_api *manifests_layouts;
extern const wharf_org_directory_api *manifests_org;
extern const wharf_keys_api *manifests_keys;
extern const wharf_many_api *manifests_many;
extern const wharf_contacts_match_api *manifests_contacts; /* or NULL */
extern const wharf_parcels_ops_api *manifests_parcels; /* or NULL */

enum {
    QUANTITY_SCALE = 4,
    LINES_MAX = 2000, /* articles of a manifest */
    CONTAINERS_MAX = 200, /* parcels of a manifest */
    CONTAINER_LINES_MAX = 500 /* articles of a parcel */
};

/* ---- manifest_status.c ---- */
enum manifest_status {
    MANIFEST_IS_CREATED,
    MANIFEST_IS_ACCEPTED,
    MANIFEST_IS_PROCESSING,
    MANIFEST_IS_COMPLETED,
    MANIFEST_IS_VOID,
    MANIFEST_STATUSES
};
enum manifest_status manifest_status_of(const wharf_rec *rec);
static inline bool manifest_is_open(enum manifest_status s)
{
    return s < MANIFEST_IS_COMPLETED;
}
/* Judges a step: 409 manifest.not_accepted, manifest.closed, 400 manifest.status_invalid. */
wharf_status manifest_step(wharf_req *req, enum manifest_status from, enum manifest_status to);

struct manifest_write { /* a write of a manifest, its row locked */
    wharf_req *req;
    const wharf_rec *old_rec; /* NULL on create */
    wharf_rec *rec; /* NULL on delete */
    wharf_str id, location;
};

/* ---- manifest_rules.c ---- */
extern const wharf_hooks manifest_hooks;
/* Writes the manifest after something was booked on it. */
wharf_status manifest_touch(wharf_req *req, wharf_str id);
/* Checks that a reason code may be linked; empty is good. */
wharf_status manifest_reason_check(wharf_req *req, wharf_str id, const char *path);
/* Begins the object of facts with now and actor; the caller closes it. */
void manifest_put_facts(wharf_req *req, wharf_out *out);

/* ---- manifest_parties.c: sender and recipient ---- */
wharf_status manifest_take_parties(wharf_req *req, wharf_rec *rec);
/* Sets whose they are, for filters; refuses contacts that are not there. */
wharf_status manifest_settle_parties(wharf_req *req, wharf_rec *rec);
wharf_status manifest_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to);

/* ---- manifest_members.c: members of lines, as they are sent ---- */
enum member_kind {
    MEMBER_TEXT,
    MEMBER_BOOL,
    MEMBER_MOMENT,
    MEMBER_TEXTS, /* an array of texts */
    MEMBER_WHOLE, /* a whole number */
    MEMBER_REASON, /* id of a reason code */
    MEMBER_QUANTITY,
    MEMBER_SOME /* a quantity above 0; 1 when it is not sent */
};
struct line_member {
    const char *name;
    enum member_kind kind;
    size_t most; /* bytes of a text, elements of an array; of a whole number 0: no limit */
    const char *former; /* of a quantity: an older name, or NULL */
    const char *as; /* of a quantity: its key */
};
/* Reads the members of an object that are sent: puts quantities as numbers by their keys, then all
 * others into the object "j". Problems are told at at + name. */
void members_read(wharf_req *req, const wharf_json *e, wharf_str at,
    const struct line_member *members, size_t n, wharf_out *out);
/* Reads a quantity: 0 or more, with some above 0. */
wharf_status manifest_quantity(
    wharf_req *req, const wharf_json *v, const char *path, bool some, int64_t *ret_quantity);

/* ---- manifest_problems.c ---- */
/* Tells a problem that a function of sql/ found, by its word. */
wharf_status manifest_tell(wharf_req *req, wharf_str word, const char *path);

/* ---- manifest_articles.c ---- */
/* Writes the lines and parcels that a request sends. */
wharf_status manifest_articles_take(struct manifest_write *w);
/* Counts the articles, and those of which something is to come, into the row. */
wharf_status manifest_count(struct manifest_write *w);

/* ---- manifest_book.c: what is booked ---- */
struct booking {
    wharf_req *req;
    wharf_str manifest, location;
    bool open; /* what did not come is still expected */
    bool reversed; /* the parts are taken back */
    bool lines; /* problems of parts are told at "lines.0.", of their numbers */
    wharf_str reason, comment; /* of all parts, or empty */
    const wharf_json *parts; /* of receive.sql, close.sql, reverse.sql */
    const wharf_json *lines_shown, *item_ids; /* these are set: what the receipt shows */
    wharf_str group; /* empty: nothing changed */
};
/* Books parts and what they change of the expected stock, makes their assets, and sets when their
 * lots expire. */
wharf_status booking_make(struct booking *b);
struct article_paths { /* where problems of articles are told: "articles.2." */
    const wharf_str *ids, *paths;
    size_t n;
};
/* Books what is expected now of all articles; why: "expected" or "receipt". paths: of articles of
 * the request, or NULL. */
wharf_status booking_expect(wharf_req *req, wharf_str manifest, wharf_str location, bool open,
    const char *why, const struct article_paths *paths);

/* ---- manifest_assets.c ---- */
/* Makes an asset of each unit of a part. ret_ids: a JSON array. */
wharf_status assets_make(const struct booking *b, const wharf_json *part, wharf_str layout,
    const char *path, const wharf_json **ret_ids);
/* Archives the assets of a part that is taken back. */
wharf_status assets_take_back(const struct booking *b, const wharf_json *part);
bool assets_are_there(wharf_req *req);

/* ---- manifest_parcels.c ---- */
/* Writes the row of the module parcels as its manifest knows the parcel. made: there is one. */
wharf_status parcel_write(
    wharf_req *req, wharf_str manifest, wharf_str location, wharf_str parcel, bool made);
extern const wharf_hooks manifest_parcel_hooks;

/* ---- manifest_close.c ---- */
/* Completes it: 409 manifest.over_receipt, manifest.under_receipt, manifest.lot_expiry. */
wharf_status manifest_complete(struct manifest_write *w);
/* Takes off what was expected: 409 manifest.received. */
wharf_status manifest_void(struct manifest_write *w);
/* Puts over and under: the percentages of the settings, or null. */
wharf_status manifest_put_tolerance(wharf_req *req, wharf_out *out);

/* ---- manifest_receipts.c ---- */
extern const wharf_hooks receipt_hooks;
/* Writes the receipt of a completion. */
wharf_status receipt_of_completion(wharf_req *req, const struct booking *b);

/* ---- manifest_places.c ---- */
extern const wharf_hooks manifest_location_hooks, manifest_layout_hooks;
wharf_handler manifest_stow_post; /* POST /v1/manifests/:manifest/put-aways */

#endif
