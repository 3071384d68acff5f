/* printing.h - print jobs inside of the module stations (docs/spec/04-printing.md sections 6 to
 * 9, docs/guide/printing.md).
 *
 * A job's row is written through its resource only: by requests, by the station's reports, and
 * by the server itself (job_write). So each change has its line of history, its event and its
 * change-log line. */
#ifndef PRINTING_H
#define PRINTING_H

#include "stations.h"
#include "wharf/ext/documents.h"
#include "wharf/ext/templates.h"
#include "wharf/service/blob.h"
#include "wharf/service/channel.h"
#include "wharf/service/config.h"
#include "wharf/service/crypto.h"
#include "wharf/service/events.h"
#include "wharf/service/fetch.h"
#include "wharf/service/render.h"

#define SECOND_US 1000000LL
#define QUEUE_MAX 10000 /* jobs that may wait at a station */

enum {
    DOCUMENT_MAX = 25 << 20, /* bytes of a document */
    IMAGE_MAX = 10000000, /* bytes of an image that is fetched */
    QUEUE_NEAR = QUEUE_MAX - 1000,
    LEASE_S = 120, /* a claim holds a job */
    HEARTBEAT_S = 30, /* between two heartbeats of a station */
    LATE_S = 86400, /* a late report is taken */
    EXPIRE_S = 86400, /* a job expires, when it does not say */
};

extern const wharf_blob_api *print_blob;
extern const wharf_documents_files_api *print_documents; /* NULL: the module is not there */
extern const wharf_templates_render_api *print_templates; /* NULL: the module is not there */
extern const wharf_fetch_api *print_fetch;
extern const wharf_render_api *print_render;
extern const wharf_events_api *print_events;
extern const wharf_channel_api *print_channel;
extern const wharf_config_api *print_config;
extern wharf_plugin *print_self;
extern const wharf_str *print_sizes; /* the table of paper sizes as JSON */

/* Returns a setting of the configuration's table stations in seconds or hours; plugin.json says
 * what it may be. */
int64_t print_setting(const char *name);

/* ---- paper_sizes.c: the table of section 4 ---- */

struct paper {
    wharf_str name; /* "label_4x6"; "custom" */
    double width, height; /* inches */
};
enum { PAPERS_MAX = 64 };
struct papers {
    struct paper list[PAPERS_MAX];
    size_t n;
};
wharf_status papers_load(wharf_req *req, struct papers *ret);
/* Finds a paper by its name, with or without "page_size_"; NULL when there is none. */
const struct paper *paper_find(const struct papers *all, wharf_str name);
/* Returns the paper with swapped sides, or NULL. */
const struct paper *paper_twin(const struct papers *all, const struct paper *p);

/* ---- station_source.c: the document ---- */

struct document {
    wharf_blob_writer *writer; /* the bytes, not finished */
    wharf_str type, language; /* language: of raw documents */
    int64_t size;
    wharf_render *render; /* NULL: raw */
    wharf_render_info info;
};
/* Takes the one source of the body; problems are told. */
wharf_status document_take(wharf_req *req, const wharf_rec *job, struct document *ret);
/* Returns the printer language of a raw document; empty when none is known. */
wharf_str document_language(wharf_str content_type);
/* Reads the bytes of another job's source. */
wharf_status document_again(
    wharf_req *req, wharf_str file, bool raw, wharf_str content_type, struct document *ret);

/* ---- routing.c: which printer ---- */

struct printer_at {
    wharf_str id, name, model, status, station_id, station_status;
    const wharf_json *page_size, *languages;
    bool color, double_sided, spooling, pooled;
    int64_t priority, load, last_us;
};
struct printers {
    struct printer_at *list;
    size_t n;
};
struct wish { /* what a job asks of a printer */
    const struct papers *papers;
    const struct paper *paper; /* NULL: custom */
    wharf_str language; /* of a raw document */
    bool color, double_sided;
    bool *landscape_by_twin; /* set when only the twin of the size is there */
};
/* Loads the live printers of the stations at the location that the actor sees, of one station when
 * it is named. */
wharf_status printers_load(
    wharf_req *req, wharf_str actor, wharf_str location, wharf_str station, struct printers *ret);
bool printer_has(const struct printer_at *p, wharf_str size);
/* Tells why a printer can't print it ("configuration.paper_size" ...): at most four fields.
 * Returns 0 when it can. */
size_t printer_lacks(const struct printer_at *p, const struct wish *w, const char *ret_fields[4]);
/* Chooses the best of the printers that can; NULL: none. ret_n: how many can. ret_reason: why this
 * one. */
const struct printer_at *printer_choose(
    const struct printers *all, const struct wish *w, size_t *ret_n, const char **ret_reason);
bool printer_reachable(const struct printer_at *p);
/* Keeps the printer, or where id is empty one of the model, until the transaction ends: who
 * removes it waits, and then finds what was written for it. ret_gone: NULL, or the reason_code
 * why it is not there any more. Taken before a job's row where both are. */
wharf_status printer_hold(
    wharf_req *req, wharf_str station, wharf_str id, wharf_str model, const char **ret_gone);

/* ---- print_job_create.c ---- */

wharf_status job_create_check(wharf_req *req, wharf_rec *job);
/* A reprint: the body of the request, and the job it is made of. */
struct reprint {
    wharf_str of, source_file, content_type;
    const wharf_json *configuration;
};
const struct reprint *job_reprint(const wharf_rec *job); /* as which it is being made, or NULL */

/* ---- jobs.c: the resource ---- */

extern const wharf_hooks print_job_hooks;

struct job_set { /* a field that the server writes */
    wharf_field field;
    wharf_val value;
};
/* Writes fields of a job through its resource, as the server: none of the rules for clients are
 * asked. */
wharf_status job_write(wharf_req *req, wharf_str id, const struct job_set *sets, size_t n);

/* ---- states.c: section 8 ---- */

wharf_status job_update_check(wharf_req *req, const wharf_rec *old_rec, wharf_rec *new_rec);
enum job_status {
    JOB_QUEUED,
    JOB_PROCESSING,
    JOB_COMPLETED,
    JOB_FAILED,
    JOB_CANCELED,
    JOB_ABORTED,
    JOB_UNREPORTED,
    JOB_TIMED_OUT
};
enum job_status job_status(const wharf_rec *job);
wharf_val job_status_value(enum job_status status); /* its word, as the row has it */
bool job_status_final(enum job_status status);
bool job_stage_submitted(wharf_str stage); /* from submitting on */
/* Writes history and events of a change. */
wharf_status job_tell(
    wharf_req *req, uint32_t op, const wharf_rec *old_rec, const wharf_rec *new_rec);

/* ---- sessions.c, claim.c: section 9 ---- */

struct station_row {
    wharf_str id, location_id, status, device_id, device_token, session_id, push_driver,
        push_status;
    const wharf_json *printers;
    bool managed, draining, pooling;
    int64_t max_inflight;
};
/* Reads a station, locked (for_update) or not. Problems: not_found, location_access. */
wharf_status station_read(wharf_req *req, wharf_str id, bool for_update, struct station_row *ret);
/* Tells whether the caller may speak for the station (section 8.2). */
bool station_is_caller(wharf_req *req, const struct station_row *s);
/* Reads the station that the path names, for its own calls: 403 scope_access for others, 409 when
 * the session is not the open one. */
wharf_status station_enter(wharf_req *req, wharf_str session_id, struct station_row *ret);
wharf_status session_open(wharf_req *req, void *arg);
wharf_status session_close(wharf_req *req, void *arg);
wharf_status session_heartbeat(wharf_req *req, void *arg);
wharf_status station_stream(wharf_req *req, void *arg);
wharf_status job_claim(wharf_req *req, void *arg);
wharf_status job_release(wharf_req *req, void *arg);
/* Gives a job back that no byte of was sent to a device: queued again, or failed when its
 * attempts are used up. */
wharf_status job_give_back(wharf_req *req, wharf_str id, const char *reason);
/* Holds the station of a job that is being processed: it stays as it is until the transaction
 * ends. */
wharf_status station_hold_of(wharf_req *req, wharf_str job);
/* Sets the station online again by its own word, unless a client drains it. */
wharf_status station_comes_online(wharf_req *req, wharf_str id);
/* Sends a signal to the station: "print_job.available" ... job: may be empty. */
wharf_status station_signal(wharf_req *req, wharf_str station_id, const char *type, wharf_str job);
/* Ends the sessions of a station that is deleted: nobody is connected to it any more. */
wharf_status station_end_sessions(wharf_req *req, wharf_str station_id);
/* Sets the status online or offline, as the server found; cause: session, heartbeat_missed. Does
 * nothing when it is so already. */
wharf_status station_set_status(
    wharf_req *req, wharf_str id, const char *status, const char *cause);
/* Writes why the server changes a station's status. False: a client asked for it. */
bool station_status_cause(const wharf_rec *rec, const char **ret_cause);

/* ---- routes.c ---- */

wharf_status job_reprint_route(wharf_req *req, void *arg);
wharf_status job_document_route(wharf_req *req, void *arg);
wharf_status printer_test_page(wharf_req *req, void *arg);

/* ---- push.c, push_engine.c: section 9.2 ---- */

/* Reads the settings stations.push; problem: what is missing in them. */
wharf_status push_start(wharf_req *req);
bool push_has(wharf_str driver); /* configured: fcm, pushy, webhook */
wharf_str push_first(void); /* the driver of stations that name none */
/* Queues a push of the signal where the station is to have one. */
wharf_status push_signal(
    wharf_req *req, wharf_str station_id, const char *type, wharf_str job, int64_t seq);
/* Computes the field push_deliveries of print jobs. */
wharf_status push_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_out *const *outs);
wharf_status push_run(wharf_req *req, void *arg); /* the resident that sends */

/* ---- station_watch.c ---- */

wharf_status print_watch(wharf_req *req, void *arg);

#endif
