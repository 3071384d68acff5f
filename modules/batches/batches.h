/* batches.h - inside of the module batches (spec 10; docs/internals/batches.md).
 *
 * A batch is taken in (batch_request.c, batch_source.c), its items are kept by chunks (chunk.c),
 * shaped into writes of records (batch_shape.c), validated and processed (items.c), phase by
 * phase (batch_run.c). Leaves to others: what an item means for a resource (definitions and
 * their hooks), the
 * writes themselves (wharf.batch), reading files (wharf.import). */
#ifndef BATCHES_H
#define BATCHES_H

#include "wharf/ext/org.h"
#include "wharf/plugin.h"
#include "wharf/service/batch.h"
#include "wharf/service/blob.h"
#include "wharf/service/config.h"
#include "wharf/service/events.h"
#include "wharf/service/fetch.h"
#include "wharf/service/import.h"
#include "wharf/service/keys.h"
#include "wharf/service/metrics.h"
#include "wharf/service/text.h"

#define W batches_host

/* set once, before anything of this module runs; so are the others */
extern const wharf_host *batches_host;
extern const wharf_batch_api *batches_kernel;
extern const wharf_many_api *batches_many;
extern const wharf_events_api *batches_events;
extern const wharf_keys_api *batches_keys;
extern const wharf_import_api *batches_files;
extern const wharf_fetch_api *batches_web;
extern const wharf_blob_api *batches_blob;
extern const wharf_text_api *batches_text;
extern const wharf_org_directory_api *batches_org;
extern const wharf_config_api *batches_config;
extern const wharf_metrics_api *batches_metrics;

#include "wharf/inline.h"

enum {
    CHUNK_ITEMS = 400, /* items of one chunk */
    CHUNK_BYTES = 1 << 20, /* bytes of one chunk */
    ITEM_BYTES = 256 * 1024, /* bytes of one item */
    ITEM_DEPTH = 16, /* levels of one item */
    INLINE_PARSE_BYTES = 10 * 1024 * 1024, /* mixed: a larger file is parsed in the background */
    UPLOAD_HOURS = 24, /* a file is awaited */
    SHOWN_MAX = 1000, /* results and errors in an answer */
    LINK_SECONDS = 900, /* a link to a file is good */
    CHUNK_TRIES = 2, /* then its items run one by one */
};

/* Settings of the operator (spec 10 section 13), within the bounds of plugin.json. Read when the
 * worker starts. */
struct limits {
    int64_t array_items, items; /* of one batch: of an array; of a file or of filters */
    int64_t sync_items, mixed_items; /* taken in a request; processed in one */
    int64_t request_seconds; /* of work in a request: what is left then goes on in the background */
    int64_t queued; /* batches of an organization that wait */
    int64_t data_url_mib, file_mib;
    int64_t run_hours;
    int64_t keep_days, record_days; /* items and files; the batch itself */
};
extern struct limits batches_limits;

/* The words of all these are in batch_words.c. A status after BATCH_PROCESSING is an end. */
enum batch_status {
    BATCH_REQUESTED, /* waits for its file */
    BATCH_QUEUED,
    BATCH_PROCESSING,
    BATCH_COMPLETED,
    BATCH_FAILED,
    BATCH_TIMED_OUT,
    BATCH_EXPIRED,
    BATCH_CANCELED
};
enum batch_mode { MODE_SYNC, MODE_MIXED, MODE_ASYNC };
enum batch_action { ACTION_MERGE, ACTION_OVERWRITE, ACTION_DELETE };
enum batch_duplicates { DUPLICATES_USE_FIRST, DUPLICATES_IGNORE_ALL };
enum phase_name { FETCHING, RESOLVING, PARSING, VALIDATING, PROCESSING, PHASES };
enum phase_status { PHASE_PENDING, PHASE_RUNNING, PHASE_COMPLETED, PHASE_FAILED, PHASE_SKIPPED };

struct phase {
    bool there, async;
    enum phase_status status;
    int64_t started_us, finished_us; /* 0: not yet */
    /* fetching and resolving only: those of the others follow from the items */
    int64_t total, processed;
};

/* How many items are what; from the chunks, never counted beside them. */
struct counts {
    int64_t total, pending, created, updated, overwritten, deleted, unchanged, not_parsed,
        not_valid, not_done, ignored, skipped;
    /* items of chunks that were validated; those of them that were good */
    int64_t events, validated, valid_before;
};

/* At the processors that this process may use, and at the clients: counts since the machine and
 * the server began. */
struct look {
    int64_t at_us; /* monotonic; 0: none yet */
    uint64_t all, idle; /* of the processors, in ticks */
    int processors;
    uint64_t requests; /* but for those about batches */
    bool clients_ask; /* they did before it */
};

/* A helper's number, and whether there is room for it. */
struct help {
    int64_t nth, away_us; /* away: how long it stayed away before; 0: it did not */
    struct look look; /* the last one */
    int crowded_looks; /* in a row */
    bool crowded; /* nothing is to spare for it */
};

/* The request of the client, as the row has it. JSON members are NULL when absent. */
struct batch_request {
    wharf_str resource, match_by, location_id, dates, key_id, parent;
    enum batch_action action;
    enum batch_mode mode;
    enum batch_duplicates duplicates;
    const wharf_json *properties, *filters, *mapping, *file_options;
    bool save_upload, save_result, validate_only, quiet, silent, from_file;
};

/* Where the items come from. */
struct batch_source {
    wharf_str url, file; /* file: its id in the blob store */
    int fd; /* of the file, or -1 */
    wharf_str file_name;
    wharf_str bytes; /* of the file, when it came with the request */
    const wharf_json *array; /* data of the request */
};

/* The state of the work on a batch in this process. */
struct batch_run {
    int64_t lease, started_us, deadline_us; /* deadline: of work in a request; 0 in jobs */
    int64_t runs;
    int tries; /* how often its run was begun and did not end, while it is parsed */
    uint32_t steps;
    int64_t filling_us; /* monotonic: since when chunks are filled without a pause */
    bool in_request, helper; /* helper: works on chunks of a batch that another one leads */
    struct help help;
    /* another has taken it over; the worker ends; it ran too long */
    bool lost, stopping, timed_out;
    bool cancel_asked;
    struct look clients; /* the last one at them alone */
    bool clients_ask; /* they did before it */
    bool revoked; /* the key is no longer good */
    /* monotonic: when the key was last asked about, when the row was last written */
    int64_t asked_us, noted_us;
};

/* A batch in work. Texts live as long as the request. */
struct batch {
    wharf_req *req;
    wharf_str id;
    enum batch_status status;
    struct batch_request asked;
    struct batch_source source;
    struct batch_run run;
    /* of the resource, block: "batch" of it; NULL: its module is not there */
    const wharf_json *definition, *block;
    struct phase phases[PHASES];
    const char *reason; /* why it fails as a whole, or NULL */
};

/* ---- batch_words.c ---- */
/* Gives the words of rows, requests and answers, and reads them. An unknown word
 * is read as the default, of a phase's status as skipped. */
const char *status_word(enum batch_status status);
enum batch_status status_of(wharf_str word);
const char *mode_word(enum batch_mode mode);
enum batch_mode mode_of(wharf_str word);
const char *action_word(enum batch_action action);
enum batch_action action_of(wharf_str word);
const char *duplicates_word(enum batch_duplicates duplicates);
enum batch_duplicates duplicates_of(wharf_str word);
const char *phase_word(enum phase_name name);
enum phase_name phase_of(wharf_str word); /* or PHASES */
const char *phase_status_word(enum phase_status status);
enum phase_status phase_status_of(wharf_str word);

/* ---- batch_limits.c ---- */
void batches_limits_read(wharf_plugin *self);

/* ---- batches.c ---- */
wharf_val json_null_or(const wharf_json *v);

/* ---- batch_definition.c: what a resource says of its batches ---- */
/* Loads definition and block; a problem when the resource is no batch resource, or its module is
 * missing. */
wharf_status resource_find(wharf_req *req, wharf_str resource, const wharf_json **ret_definition,
    const wharf_json **ret_block);
/* Tells whether a list of actions of the block has this action. The short form is a list of
 * actions itself. */
bool block_has(const wharf_json *block, const char *list, enum batch_action action);
const wharf_json *block_member(
    const wharf_json *block /* or NULL */, const char *key); /* or NULL; of the short form too */
const wharf_json *definition_x(const wharf_json *definition);
const wharf_json *definition_property(const wharf_json *definition, wharf_str name); /* or NULL */
bool property_is_set(const wharf_json *property); /* takes {add, remove, set} */
/* Returns the one field of a definition that holds the location, or NULL. */
const char *location_field(const wharf_json *definition);

/* ---- batch_request.c ---- */
wharf_handler batches_post;
wharf_status batch_scope(struct batch *b); /* may the caller write records of this resource? */
/* Queues a batch unless `most` batches of its organization wait already. */
wharf_status batch_queue(wharf_req *req, int64_t most);

/* ---- batch_record.c: the row of a batch ---- */
wharf_status batch_load(wharf_req *req, wharf_str id, struct batch *b);
/* Loads the row without what the resource's definition says, so also where its module is not
 * there: enough to end a batch that has done nothing. */
wharf_status batch_load_row(wharf_req *req, wharf_str id, struct batch *b);
wharf_status batch_counts(const struct batch *b, struct counts *ret);
/* Begins a transaction of the work. In the background it ends by itself, with its locks, when its
 * worker sleeps in the middle of it. Not durable: its commit does not wait for the disk. What a
 * crash of the database takes back of it, effects and marks, is done again. */
wharf_status begin_briefly(wharf_req *req, bool durable);
/* Begins the same, or within a request a transaction of the usual kind. */
wharf_status batch_begin(struct batch *b, bool durable);
/* Notes phases, stats and progress as they are now. Fails with `conflict` when another has taken
 * the batch over. */
wharf_status batch_note(struct batch *b);
/* Tells whether the batch is still being worked on under this lease; fails with `conflict` when
 * not. Sees whether it was cancelled. */
wharf_status batch_look(struct batch *b);
/* Ends the batch: status, reason (or ""), the rest of the items skipped when it ends early, the
 * event. */
wharf_status batch_end(struct batch *b, enum batch_status status, wharf_str reason);
void phase_begin(struct batch *b, enum phase_name name);
void phase_end(struct batch *b, enum phase_name name, enum phase_status status);
wharf_val phases_json(struct batch *b, const struct counts *c);
wharf_val stats_json(wharf_req *req, const struct counts *c);

/* ---- chunk.c: items in the database ---- */
struct chunk {
    int number, first, size, stage, item, item_tries;
    const wharf_json *items; /* array */
    const wharf_json *lines; /* array of integers, or NULL */
    char *states;
    wharf_str *ids; /* of the records; "" */
    size_t events;
    wharf_out *problems; /* open array of lines to be written */
    size_t n_problems;
};
/* Loads the number-th chunk of at most size items; *ret_found false: there is none. */
wharf_status chunk_load(struct batch *b, int number, bool lock, struct chunk *c, bool *ret_found);
wharf_status chunk_save(struct batch *b, struct chunk *c);
/* Ends the i-th item of the chunk with a problem. many: all problems of a row of it. */
void chunk_problem(struct batch *b, struct chunk *c, int i, char state, enum phase_name phase,
    wharf_str code, wharf_str path, wharf_str rule, wharf_str message);
void repeat_problem(struct batch *b, struct chunk *c, int i, int64_t of);
wharf_status lines_save(struct batch *b, struct chunk *c); /* the problems alone */
void chunk_problems(struct batch *b, struct chunk *c, int i, char state, enum phase_name phase,
    const wharf_many *many, size_t row);

/* ---- intake.c: items become chunks ---- */
/* Returns a key as it is compared: "fold", "phone", "code" of the definition; else as it is,
 * without outer white space. */
wharf_str intake_compared(struct batch *b, wharf_str country, wharf_str field, wharf_str value);
struct intake;
struct intake *intake_begin(struct batch *b);
/* Adds an item. item NULL: a row that could not be read, whose problem is code, path and
 * message. */
wharf_status intake_add(struct intake *in, const wharf_json *item, int64_t line, wharf_str code,
    wharf_str path, wharf_str message);
size_t intake_count(const struct intake *in);
size_t json_weight(const wharf_json *v); /* bytes of memory, about */
bool intake_full(const struct intake *in); /* the chunk is to be written before the next item */
/* Writes the chunk. Whoever adds items opens a memory scope before the first of a chunk and ends
 * it after this. */
wharf_status intake_flush(struct intake *in);
wharf_status intake_end(struct intake *in); /* duplicates are told */
void intake_free(struct intake *in);

/* ---- batch_keys.c: keys of items that must differ inside a batch ---- */
struct keys;
struct keys *keys_new(void);
void keys_free(struct keys *k);
/* Tells whether it is the first item with this key. Returns -1 when it is; else the index of the
 * first; -2 when there is no memory. kind: keys of different kinds never meet. */
int64_t keys_meet(struct keys *k, int kind, wharf_str key, uint32_t index);

/* ---- batch_shape.c: an item as the write it asks for ---- */
struct shaped {
    wharf_str id; /* of the record that is meant; "": a create */
    const wharf_json *body;
    const char *code; /* NULL, or why it is no item: with path and message */
    wharf_str path, message;
};
/* Shapes the items of a chunk together: keys are looked up with few questions. */
wharf_status shape_items(
    struct batch *b, const wharf_json *const *items, size_t n, struct shaped *ret);
/* Checks `properties` of a request, once. */
wharf_status shape_check_properties(struct batch *b);

/* ---- items.c: phases over chunks ---- */
wharf_status validate_chunk(struct batch *b, struct chunk *c);
/* Processes the pending items of the chunk. only: one item of it; -1: all that are pending. */
wharf_status process_chunk(struct batch *b, struct chunk *c, int only);

/* ---- batch_run.c ---- */
/* Runs the phases that run where it is called, from the first that is not over. *ret_rest: it is
 * to be gone on with in the background. */
wharf_status run_in_request(struct batch *b, bool *ret_rest);

struct taken { /* a chunk that is to be run; number -1: there is none */
    int number, tries;
};
/* Returns the stage a chunk has when the phase is over for it. */
int stage_after(enum phase_name phase);
/* Runs one chunk, in a transaction; only: one item of it, or -1. Runs it again some times when a
 * race was lost. next, or NULL: takes the next one. */
wharf_status run_chunk(
    struct batch *b, int number, enum phase_name phase, int only, struct taken *next);
/* Runs a chunk that crashed its worker, or always loses its race: each item in a transaction, so
 * that the one to blame is alone. */
wharf_status run_one_by_one(struct batch *b, int number);

/* ---- walk.c ---- */
int64_t monotonic_us(void);
/* Takes the first chunk behind `after` that has not reached the stage and that nobody has. */
wharf_status chunk_take(struct batch *b, int stage, int after, struct taken *ret);
/* Runs all chunks of a phase, in the background. *ret_rest: some are left, for a reason that b
 * tells. */
wharf_status walk(struct batch *b, enum phase_name phase, bool *ret_rest);
/* arguments {"batch": id, "lease": number, "phase": word, "nth": number, "away_us": number} */
wharf_handler batches_help;

/* ---- idle_processors.c ---- */
/* Computes how many processors had nothing to do since the look *since, which becomes that of now,
 * beyond what is left to clients. Returns false when nobody tells. */
bool processors_idle(wharf_req *req, struct look *since, double *ret_idle);
/* Rests after a chunk that took worked_us, with nothing held: half of that time, while clients
 * ask. */
void give_way(wharf_req *req, struct batch_run *run, int64_t worked_us);

/* ---- batch_job.c ---- */
wharf_handler batches_run; /* arguments {"batch": id} */
wharf_handler batches_uploaded; /* arguments {"file": id}: what an upload link was for is there */
wharf_handler batches_sweep;
wharf_status batch_enqueue(struct batch *b);
/* Finds out what the key may now; *ret_revoked: it is no longer good. */
wharf_status batch_act(struct batch *b, bool *ret_revoked);

/* ---- batch_source.c: where items come from ---- */
/* Tells that the source is wrong as a whole: a problem of the request, or the reason of a batch in
 * the background. */
wharf_status source_wrong(struct batch *b, const char *code, const char *path, wharf_str message);
/* Items of the chunk that is filled: everything that is made for them goes when it is written. */
struct filling {
    struct intake *in;
    wharf_scope *scope;
};
void filling_open(wharf_req *req, struct filling *f);
wharf_status filling_close(struct batch *b, struct filling *f); /* writes the chunk */
/* Commits what is parsed so far and shows that the worker lives. In the background only. */
wharf_status source_pause(struct batch *b);
/* Rows of a file that wait together, for what their names stand for. */
struct rows {
    const wharf_json *items[CHUNK_ITEMS];
    int64_t lines[CHUNK_ITEMS];
    /* what is wrong with them; "": nothing */
    wharf_str codes[CHUNK_ITEMS], paths[CHUNK_ITEMS], messages[CHUNK_ITEMS];
    size_t n, weight;
};
bool rows_full(const struct rows *rows);
/* Reads the next rows of a file; rows->n tells how many came. */
wharf_status rows_read(wharf_req *req, wharf_import *file, struct rows *rows);
wharf_status source_parse(struct batch *b);
wharf_status source_resolve(struct batch *b);
wharf_status source_read(struct batch *b, wharf_import **ret); /* its file from the beginning */
void source_close(struct batch_source *source);

/* ---- batch_fetch.c ---- */
wharf_status source_fetch(struct batch *b);
wharf_status source_describe(struct batch *b, wharf_import *file);
wharf_status upload_keep_bytes(struct batch *b);
wharf_status upload_check_url(wharf_req *req, wharf_str url);
wharf_status upload_take_data_url(struct batch *b, wharf_str url);
wharf_status upload_await(struct batch *b);

/* ---- batch_names.c: names that stand for ids in files ---- */
wharf_status names_resolve(struct batch *b, const wharf_json **items, size_t n, wharf_str *codes,
    wharf_str *paths, wharf_str *messages);

/* ---- groups.c: rows of a file that are one item together ---- */
wharf_status groups_take(
    struct batch *b, struct filling *f, wharf_import *file, uint32_t *ret_event);
/* Goes the other way: returns the rows that a file would have for an item; of a resource without
 * groups the item itself. */
wharf_status groups_rows(
    struct batch *b, const wharf_json *item, const wharf_json ***ret_rows, size_t *ret_n);

/* ---- batch_routes.c ---- */
wharf_handler batches_cancel, batches_retry;

/* ---- batch_csv.c ---- */
enum {
    TEXT_BYTES = 32 * 1024,
    COLUMNS_MAX = 512 /* columns of a file */
};
struct text { /* on its way into the blob store */
    wharf_req *req;
    wharf_blob_writer *writer;
    wharf_status status;
    size_t n;
    char bytes[TEXT_BYTES];
};
wharf_status text_begin(wharf_req *req, struct text *t);
void text_put(struct text *t, const char *p, size_t n);
wharf_status text_end(
    wharf_req *req, struct text *t, const char *name, const char *type, wharf_str *ret_id);
struct columns { /* dotted paths of members */
    wharf_str paths[COLUMNS_MAX];
    size_t n, used;
    char room[64 * 1024];
};
void columns_of(struct batch *b, struct columns *c, const wharf_json *object, wharf_str base);
void csv_cell(struct text *t, wharf_str s, bool first);
void csv_object(struct batch *b, struct text *t, const struct columns *c, const wharf_json *object);
void csv_end(struct text *t);

/* ---- files.c: files of errors, results and uploads ---- */
enum file_kind { UPLOAD_CSV, UPLOAD_JSON, ERRORS_CSV, ERRORS_JSON, RESULT_JSON, FILE_KIND_COUNT };
wharf_status files_make(struct batch *b);

/* ---- links.c: links to them ---- */
extern const char *const FILE_KINDS[FILE_KIND_COUNT];
/* Judges whether the caller may have what the batch of this key holds. Items are of any location
 * that the key reaches, whatever location the batch itself has: so only with that key, or one of
 * all locations. */
wharf_status check_reach(wharf_req *req, wharf_str key_id);
/* Judges whether the caller may know what became of the batch's items. What they are is records:
 * with the scope to read them, and with that reach. Returns WHARF_NOT_FOUND, without a problem,
 * when the module of the resource is gone. */
wharf_status check_reader(wharf_req *req, const wharf_rec *rec);
extern const wharf_hooks batches_hooks;

/* ---- batch_answer.c ---- */
wharf_status answer_batch(struct batch *b, uint32_t status, const char *message);
wharf_handler batches_items;

#endif
