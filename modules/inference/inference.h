/* inference.h - inside of the module inference: pictures of shipping labels become rows, and rows
 * become trackers (docs/spec/06-inference.md). What a label says is label.h's, whom it means is
 * the service contacts.match. */
#ifndef INFERENCE_H
#define INFERENCE_H

#define W inference_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/errors.h"
#include "wharf/ext/carriers.h"
#include "wharf/ext/contacts.h"
#include "wharf/ext/inference.h"
#include "wharf/ext/locations.h"
#include "wharf/ext/org.h"
#include "wharf/ext/trackers.h"
#include "wharf/inline.h"
#include "wharf/service/batch.h"
#include "wharf/service/blob.h"
#include "wharf/service/events.h"
#include "wharf/service/fetch.h"
#include "wharf/service/http.h"
#include "wharf/service/image.h"
#include "wharf/service/keys.h"
#include "wharf/service/text.h"
#include "label.h"

extern const wharf_carriers_detect_api *inference_carriers;
extern const wharf_org_directory_api *inference_org;
extern const wharf_batch_api *inference_acting;
extern const wharf_blob_api *inference_blob;
extern const wharf_events_api *inference_events;
extern const wharf_fetch_api *inference_fetch;
extern const wharf_http_api *inference_http;
extern const wharf_image_api *inference_image;
extern const wharf_keys_api *inference_keys;
extern const wharf_text_api *inference_text;
/* NULL where the module is not there */
extern const wharf_contacts_match_api *inference_contacts;
extern const wharf_locations_directory_api *inference_places;
extern const wharf_locations_layouts_api *inference_layouts;
extern const wharf_trackers_ops_api *inference_trackers;

#define RESOURCE      "shipping_label_inference"
#define ITEM_RESOURCE "item_label_inference"
#define IMAGE_MAX     10000000 /* bytes of an image, by URL or inline */
#define TRACK_TRIES   5 /* runs of the job that makes a tracker, after the first */
#define TRACK_MS      5000 /* what a request waits for its tracker */
#define READ_TRIES    20 /* the same of that which reads */
enum {
    IMAGES_MAX = 4, /* images of one request */
    GIVEN_MAX = 50, /* barcodes that are sent for an image */
    GIVEN_CHARS = 2000, /* letters of one of these */
    LINK_S = 900 /* a link to an image is good */
};

/* ---- inference_place.c: the place where a label is read ---- */

struct place { /* what a location says; all of it empty where there is none within reach */
    const wharf_json *settings; /* settings.inferences, or NULL */
    const wharf_json *address; /* or NULL */
    wharf_str country; /* of the address, or empty */
};

wharf_status place_read(wharf_req *req, wharf_str location, struct place *ret);
/* Refuses a location that is not there, or not within reach, and a layout that lies elsewhere. */
wharf_status place_check(wharf_req *req, wharf_str location, wharf_str layout);
/* Settles location and layout of an update: another location takes the layout away. */
wharf_status place_settle(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec);

/* ---- inference_wishes.c: options of a request, settled with the settings of the location and of
 * the organization ---- */

enum { RECIPIENT, SENDER, PARTIES }; /* in this order everywhere */
extern const char *const party_names[PARTIES];

struct wishes {
    uint32_t mode; /* enum label_mode */
    bool strict; /* on_ambiguity is error */
    bool barcodes_from_all;
    bool tracker, synchronously;
    wharf_str tracker_type;
    bool search[PARTIES], thrown[PARTIES]; /* thrown: its match problems block */
    bool at_location, exact, unique, store_images, learn;
    uint32_t threshold, tolerance, order, limit; /* as in wharf_match_label */
    const wharf_json *ignore; /* array of texts */
    wharf_str languages; /* joined by "+" */
    wharf_str country; /* of the location, else of the organization */
    bool parse[PARTIES]; /* its address is taken apart */
    bool legacy; /* candidates have _similarity */
    bool reroute; /* destination_location is told */
    const wharf_json *captions; /* array of texts: custom_attributes */
};

/* Settles the options of a body (or NULL), told as JSON that wishes_read takes. */
wharf_status wishes_settle(
    wharf_req *req, const wharf_json *options, wharf_str location, const wharf_json **ret);
void wishes_read(const wharf_json *settled, struct wishes *ret);
/* Reads what the settings say to a request that has no options. */
wharf_status wishes_of_settings(wharf_req *req, wharf_str location, struct wishes *ret);

/* ---- inference_images.c: images of a request, brought here ---- */

struct picture {
    const char *path; /* of the value in the body: "image.1" */
    wharf_str value;
    bool is_url;
    wharf_fetch *fetch;
    wharf_blob_writer *bytes; /* as they came; NULL: they are not here, or stored */
    wharf_str file; /* as they are stored before they are read, or empty */
    int fd; /* to read them; -1: they are not here */
    const char *error; /* code of section 12, or extraction_timeout, extraction_failed; or NULL */
    wharf_str reason; /* one sentence about "it", or empty */
    wharf_image_read *read; /* NULL: not read */
    struct label_given given; /* values that the client read */
    struct label *label; /* NULL: not extracted */
    const char *classification;
    uint32_t classifier, selection; /* per 10,000 */
    bool classified;
};

/* Collects the values of the body, at most `most`, and judges those that are URLs; nothing is
 * fetched. */
wharf_status images_collect(
    wharf_req *req, const wharf_json *body, size_t most, struct picture *list, size_t *ret_n);
/* Takes a list of what a scanner read (barcode_values). path: of the list. */
wharf_status images_take_values(
    wharf_req *req, const wharf_json *list, const char *path, struct label_given *ret);
/* Fetches and decodes those that are not here. Problems of one image are in its error; where all
 * have one, it is that of the first. */
wharf_status images_bring(wharf_req *req, struct picture *list, size_t n);
/* Decodes a data URI or base64. */
wharf_status images_decode(wharf_req *req, struct picture *p);
/* Tells whether there is no picture: it could not be fetched or decoded, or it is no image. The
 * codes of these errors have a dot. A picture that could not be read in time, or that ended the
 * process, is still one. */
bool picture_is_none(const struct picture *p);
/* Fails with the error of the picture. */
wharf_status images_fail(wharf_req *req, const struct picture *p);

/* ---- inference_read.c: pictures read, one selected ---- */

struct reading {
    struct picture pictures[IMAGES_MAX];
    size_t n;
    struct wishes wishes;
    const wharf_json *settled; /* wishes as JSON */
    const wharf_carriers_table *table; /* of carriers->open() */
    bool later; /* a job reads them */
    struct label_choice choice;
    struct label *label; /* of the selected picture, or NULL */
    int64_t duration_ms;
    const char *error; /* image_unreadable, extraction_timeout, extraction_failed, or NULL */
    const wharf_json *images; /* as images_kept */
    const wharf_json *custom; /* as custom_attributes, or NULL */
};

/* Makes what label.h asks of its caller: whose numbers are, the country, the day. */
void reading_env(
    wharf_req *req, const wharf_carriers_table *table, wharf_str country, struct label_env *ret);
/* Asks for one picture; what is wrong with it is in its error. */
wharf_status reading_ask(wharf_req *req, struct picture *p, const wharf_image_wish *wish);
/* Reads a picture. left: pictures that are still to be read, this one too. */
wharf_status picture_read(
    wharf_req *req, struct picture *p, uint32_t wants, wharf_str languages, size_t left);
/* Stores a picture, or erases the file that has it: when it is no picture, or is not to be
 * stored. *ret_file: empty: none is kept. */
wharf_status picture_keep(
    wharf_req *req, const struct picture *p, bool store, wharf_str name, wharf_str *ret_file);
/* Reads all pictures, and chooses one. */
wharf_status reading_run(wharf_req *req, struct reading *r);
/* Keeps the bytes of the pictures as files, and tells of each picture as JSON in r->images. */
wharf_status reading_keep(wharf_req *req, struct reading *r);

/* ---- inference_later.c: pictures that a job reads ---- */

/* Stores what was brought, makes the row and the job that reads it, and answers 202. */
wharf_status later_create(wharf_req *req, const wharf_json *body, struct reading *r);
/* Tells of a picture that is to be read: its file, or where it is fetched from. */
void later_put(wharf_out *out, const struct reading *r, const struct picture *p);
/* Asks for the job, which acts as the key. lost: it gives the reading up. */
wharf_status later_enqueue(wharf_req *req, wharf_str id, wharf_str key, bool lost);
wharf_status later_job(wharf_req *req, void *arg);

/* ---- inference_facts.c: what a label says, as fields of the row ---- */

void facts_set(wharf_req *req, const struct reading *r, wharf_rec *rec);
/* Makes values of fields; NULL: nothing was found. image: index of the picture that was read. */
const wharf_json *facts_weight(wharf_req *req, const struct label_measure *m);
const wharf_json *facts_dimensions(wharf_req *req, const struct label_dimensions *d);
const wharf_json *facts_barcodes(
    wharf_req *req, const struct label_code *codes, size_t n, int image);
const wharf_json *facts_engine(wharf_req *req, const wharf_image_read *read, wharf_str languages);
/* Returns as many bytes of a text as a field of texts holds, whole characters. */
wharf_str facts_cut(wharf_req *req, wharf_str s);
/* Tells the provider of the row's provider_id, and where its number is followed. */
wharf_status facts_provider(wharf_req *req, wharf_rec *rec);
/* Makes the hash of the row, and what searches look at. */
void facts_settle(wharf_req *req, wharf_rec *rec);

/* ---- inference_party.c: parties, and the contacts that they mean ---- */

/* Makes a party of what the label says; NULL: it says nothing of it. parse: its address is taken
 * apart. */
wharf_status party_of_label(
    wharf_req *req, const struct label_party *p, bool parse, const wharf_json **ret);
/* Looks for the contacts of the parties that nobody chose by hand, as the wishes say. */
wharf_status parties_match(wharf_req *req, const struct wishes *w, wharf_rec *rec);
/* Notes what a write sends of its parties, before missing members become null. */
void parties_note(const wharf_rec *rec);
/* Takes what an update sent of a party. */
wharf_status party_take(wharf_req *req, const struct wishes *w, const wharf_rec *old_rec,
    wharf_rec *new_rec, int which);
/* Looks for contacts for one party: {"searched_name", "searched_business", "matches", "decision"}
 * of contacts.match; NULL when it says nothing to look for. */
wharf_status party_find(wharf_req *req, const struct wishes *w, const wharf_json *party,
    wharf_str location, const wharf_json **ret);
/* Puts the members of section 3.1 that party_find tells. */
void party_put_found(wharf_out *out, const wharf_json *found);
wharf_status inference_contacts_merged(
    wharf_req *req, const wharf_str *from, size_t n, wharf_str to);
wharf_field party_field(int which);
wharf_field party_contact_field(int which);

/* ---- inference_similarity.c ---- */

/* Adds "_similarity" of names to the candidates of what was found. name: of the label. */
wharf_status similarity_add(
    wharf_req *req, wharf_str name, const wharf_json *found, const wharf_json **ret);

/* ---- inference_linked.c: shipments inside of it, where it goes, its tracker ---- */

/* Reads a row of another module as it is shown. flags: of res->fetch(). NULL in *ret: it is not
 * there, or not within reach. */
wharf_status linked_row(
    wharf_req *req, const char *resource, wharf_str id, uint32_t flags, const wharf_json **ret);
/* Refuses children that can't be. list: ids, or NULL. */
wharf_status children_check(
    wharf_req *req, const wharf_json *list, wharf_str tracker_type, wharf_str location);
/* Makes them children of the shipment. */
wharf_status children_join(wharf_req *req, const wharf_rec *rec, wharf_str shipment);
/* Says where the recipient is, when the wishes want it. */
wharf_status destination_set(wharf_req *req, const struct wishes *w, wharf_rec *rec);
/* Passes contacts that were changed on to the tracker, while nothing has happened to it. */
wharf_status linked_pass_on(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec);
extern const wharf_inference_ops_api linked_ops;

/* ---- inference_retain.c: images that have been kept long enough ---- */

/* Removes the files of a row. */
wharf_status retain_remove(wharf_req *req, const wharf_json *images);
wharf_status retain_job(wharf_req *req, void *arg);

/* ---- inference_state.c: errors and status (section 5) ---- */

enum { ERRORS_MAX = 15 };

struct state {
    const char *errors[ERRORS_MAX];
    size_t n;
    bool blocked; /* one of them blocks */
    bool tied; /* somebody has to choose: no tracker is made by itself */
};

void state_add(struct state *st, const char *error, bool blocking);
/* Judges the row as it will be. image_error: of the pictures, or NULL. */
wharf_status state_judge(wharf_req *req, const struct wishes *w, const wharf_rec *rec,
    const char *image_error, struct state *ret);
void state_set(wharf_req *req, const struct state *st, wharf_rec *rec, const char *status);
/* Says that the request keeps events of this row's status from webhooks: its body has
 * disable_webhooks. */
void state_quiet(wharf_req *req, wharf_str id);
/* Emits the event of the row's status, when it is another one than before. old_rec: NULL: new. */
wharf_status state_tell(wharf_req *req, const wharf_rec *old_rec, const wharf_rec *new_rec);
bool state_has(const wharf_rec *rec, const char *error);
/* Returns the error of the pictures that is still open, or NULL. */
const char *state_image_error(const wharf_rec *rec);
/* Returns why the tracker that was tried is not there, or NULL. */
const char *state_tracker_error(const wharf_rec *rec);

/* ---- inference_tracker.c ---- */

extern const char inference_inner_kind[]; /* context of a write that this module makes */
struct inner {
    const struct reading *reading; /* it was read: a create, or an update by the job */
    wharf_str tracker_id, shipment_id; /* an update that tells of the tracker */
    const char *error; /* or why there is none */
};

/* Makes a body of POST /v1/trackers of what the label says. sent: members of a client, which win;
 * or NULL. */
wharf_status tracker_body(
    wharf_req *req, const wharf_rec *rec, const wharf_json *sent, const wharf_json **ret);
/* Makes the tracker of a row, and tells the row of it. What goes wrong is in the row's errors. */
wharf_status tracker_make(wharf_req *req, wharf_str id);
/* Tells whether tracker_make() is making the tracker of that row just now. */
bool tracker_is_made(wharf_req *req, wharf_str id);
/* Enqueues the job that does so. */
wharf_status tracker_later(wharf_req *req, wharf_str id);
wharf_status tracker_job(wharf_req *req, void *arg);
/* Tells whether a tracker is wanted, and not there. */
bool tracker_missing(const struct wishes *w, const wharf_rec *rec);

/* ---- inference_batch.c: items of batches that create ---- */

/* Notes what a create sends that is no field. */
void batch_note_sent(const wharf_rec *rec);
/* Judges it, and makes a row that is processing. */
wharf_status batch_accept(wharf_req *req, wharf_rec *rec);
/* Stores the images of that row, and asks for the job that reads them. */
wharf_status batch_keep(wharf_req *req, const wharf_rec *rec);

/* ---- inference_create.c, inference_rules.c, inference_shown.c, inference_debug.c ---- */

/* Returns a link to a file of an image; empty: it is not kept. */
wharf_str shown_link(wharf_req *req, wharf_str file);
/* Makes a body of the members of another one that a row takes. */
wharf_status create_row_body(wharf_req *req, const wharf_json *body, const char *const *keys,
    size_t n, const wharf_json **ret);
struct create_words { /* of an answer to a create */
    const char *path; /* of the collection */
    wharf_field status;
    const char *open; /* said when the row's status is error */
};
/* Answers 201 with the row that was made. */
wharf_status create_answer(
    wharf_req *req, const char *resource, wharf_str id, const struct create_words *words);
/* Makes the row of a reading. */
wharf_status create_row(
    wharf_req *req, const wharf_json *body, struct reading *r, const wharf_rec **ret_rec);
/* Makes the tracker of a row that was read, or the job that does, when one is wanted. */
wharf_status create_tracker(wharf_req *req, const struct reading *r, const wharf_rec *rec);
wharf_status inference_create(wharf_req *req, void *arg);
/* Reads barcode_values of a body: one list for all images, or one for each. */
wharf_status create_take_given(wharf_req *req, const wharf_json *body, struct reading *r);
wharf_status inference_search(wharf_req *req, void *arg);
wharf_status inference_match(wharf_req *req, void *arg);
wharf_status inference_compare(wharf_req *req, void *arg);
wharf_status inference_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs);
extern const wharf_hooks inference_hooks;

/* ---- inference_item_create.c, inference_item_facts.c, inference_item_rules.c: labels of items
 * (section 11) ---- */

struct item_reading {
    struct picture picture;
    struct wishes wishes;
    const wharf_carriers_table *table; /* of carriers->open() */
    struct item_label *label; /* NULL: not read */
    struct label *page; /* the same read as a shipping label: what it is, who sends; or NULL */
    const wharf_json *supplier; /* or NULL */
    wharf_str file; /* of the image; empty: not kept */
};

extern const char item_label_inner_kind[]; /* context of a create: struct item_reading */
wharf_status item_label_create(wharf_req *req, void *arg);
/* Finds who supplies the item. */
wharf_status item_label_supplier(wharf_req *req, struct item_reading *r);
void item_label_set(wharf_req *req, const struct item_reading *r, wharf_rec *rec);
extern const wharf_hooks item_label_hooks;

#endif
