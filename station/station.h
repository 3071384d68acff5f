/* station.h - inside of wharf-station, the print agent (docs/spec/04-printing.md section 10,
 * docs/guide/printing.md).
 *
 * station_main.c commands · station_config.c settings · api.c calls to the server · stream.c
 * signals · printers.c what printers there are and what they can · session.c the loop ·
 * station_job.c one job from claim to report · ipp_job.c submitting and watching by IPP · raw.c
 * sockets · raster.c PDF to PWG raster · journal.c what survives a crash · member.c look-ups in
 * JSON. Each job has a thread; the loop has the main one. JSON is read and written by cJSON; its
 * cJSON_GetErrorPtr() is shared by all threads, so never call it. */
#ifndef WHARF_STATION_H
#define WHARF_STATION_H

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdatomic.h>

#include "util/buf.h"
#include "util/str.h"

#define AGENT_VERSION "0.1.0"
#define SECOND_US     1000000LL

enum {
    PRINTERS_MAX = 100, /* printers of a station */
    SIZES_MAX = 64,
    JOBS_MAX = 64, /* jobs under way */
    ID_TEXT = 48,
    PATH_TEXT = 600,
    URI_TEXT = 1024,
    REASON_TEXT = 256
};

/* ---- station_config.c ---- */

struct printer_config { /* of the configuration file; "" and 0: nothing is said */
    char name[192], uri[URI_TEXT], model[192];
    const cJSON *sizes, *languages;
    bool assume_completed;
};
struct settings {
    char file[PATH_TEXT];
    char server[URI_TEXT], key[200], station_id[ID_TEXT], location_id[ID_TEXT], name[192],
        spool[PATH_TEXT], pdftoppm[PATH_TEXT], ca_file[PATH_TEXT];
    struct printer_config printers[PRINTERS_MAX];
    size_t n_printers;
    bool dry_run, verbose;
};
extern struct settings settings; /* read before any thread; never changed after */

bool settings_read(const char *file); /* false: told on stderr */
/* Writes it (0600), by rename. */
bool settings_write(const char *file);

/* ---- member.c ---- */

const cJSON *member(const cJSON *object, const char *key); /* or NULL */
/* Returns the text of a member, or fallback when it is absent or of another type. */
const char *member_text(const cJSON *object, const char *key, const char *fallback);
bool member_bool(const cJSON *object, const char *key, bool fallback);
/* Returns a number cut to a whole one; what no int holds comes as the nearest int. */
int member_int(const cJSON *object, const char *key, int fallback);

/* ---- station_log.c ---- */

/* Prints one line for a person: time, what it is about (or NULL), text. */
void say(const char *about, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints a line with --verbose only. */
void say_more(const char *about, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int64_t now_us(void); /* monotonic */
void nap_ms(int ms);
/* Returns a random number from low to high: agents of one site shall not come back at once. */
int between(int low, int high);

/* ---- api.c ---- */

struct answer {
    long status; /* 0: no answer */
    cJSON *data; /* of the envelope, or NULL; answer_done() frees it */
    char code[80], message[300];
};
void api_start(void);
/* Calls the API. method: "GET", "POST", "DELETE". body: it takes ownership; NULL: none. */
void api_call(const char *method, const char *path, cJSON *body, int timeout_s, struct answer *ret);
void answer_done(struct answer *a);
/* Downloads a document into a file; resumes, and compares its SHA-256. */
bool api_download(const char *url, const char *file, const char *sha256, char reason[REASON_TEXT]);
size_t api_collect(char *p, size_t size, size_t n, void *buf); /* a curl write function */
struct curl_slist;
void *api_handle(const char *path, struct curl_slist **ret_headers); /* a CURL of this thread */

/* ---- stream.c ---- */

/* Starts a thread that holds the station's stream open. */
void stream_start(void);

/* ---- media.c ---- */

struct medium {
    const char *name; /* "label_4x6" */
    double width, height; /* inches */
    const char *pwg;
};
extern const struct medium media[];
extern const size_t n_media;
const struct medium *medium_named(const char *name); /* with or without page_size_ */

/* ---- printers.c ---- */

enum route { ROUTE_IPP, ROUTE_SOCKET };
struct printer {
    const struct printer_config *config;
    char name[192], model[192], id[ID_TEXT], uri[URI_TEXT], status[12];
    enum route route;
    char host[256], resource[512]; /* of IPP */
    int port;
    bool tls, found; /* found: it was asked, and answered once */
    bool color, double_sided, takes_pdf, takes_pwg, takes_urf, create_job, keeps_history,
        backend_is_ipp;
    bool takes_resolution, takes_orientation, takes_uncollated; /* may be asked for */
    int dpi_x, dpi_y, copies; /* copies: the most of one job */
    char raster_type[24];
    bool sizes[SIZES_MAX];
    char languages[7][12];
    size_t n_languages;
    char reasons[16][64];
    size_t n_reasons;
    bool telling; /* printer_trouble() said something new */
};
struct printers {
    struct printer list[PRINTERS_MAX];
    size_t n;
};
/* found at start; status and reasons are written by the loop only, under the lock */
extern struct printers printers;
extern pthread_mutex_t printers_lock;
void printers_find(void);
/* Asks all again. True: some status or reason is another one. */
bool printers_refresh(void);
const struct printer *printer_named(const char *name);
/* Notes that the printer did not answer: nothing is claimed for it until it does. */
void printer_away(const struct printer *p);
/* Notes what the printer says itself is wrong with it, as IPP keywords; n 0: nothing. */
void printer_trouble(const struct printer *p, const char *const *reasons, size_t n);
bool printers_reported(void); /* did it, since the last call? */
/* Makes the element of the API's array `printers`, for the caller to free; whole: as it is
 * registered, else what a report says. */
cJSON *printer_json(const struct printer *p, bool whole);

/* ---- journal.c ---- */

enum step { STEP_NONE, STEP_CLAIMED, STEP_SUBMITTING, STEP_SUBMITTED, STEP_FINAL, STEP_REPORTED };
struct record { /* what the journal knows of a job */
    char id[ID_TEXT], printer[192];
    int attempt, device_job;
    enum step step;
    char outcome[16], confidence[16], code[32], reason[REASON_TEXT];
};
/* Takes the lock of the spool folder, reads and shortens the file; false: the reason was said. */
bool journal_open(void);
/* Writes a record to the journal. It is on disk when this returns; the process ends when that
 * can't be. */
void journal_write(const struct record *r);
/* Returns the jobs that are not over, as they were when the agent started. */
size_t journal_left(struct record **ret_list);
/* Marks a point where tests kill the agent (WHARF_STATION_DIE=name) or stop it once
 * (WHARF_STATION_STOP). */
void fault_point(const char *name);

/* ---- station_job.c ---- */

struct job {
    struct record record;
    const struct printer *printer;
    cJSON *claim; /* what the claim said, freed with the job; NULL: from the journal */
    char file[PATH_TEXT];
    char stage[16]; /* as last told */
    int pages_done;
    atomic_bool cancel;
    bool used;
};
extern pthread_mutex_t jobs_lock;
/* guarded by the lock, but for what the thread of a used one has to itself */
extern struct job jobs[JOBS_MAX];
/* Begins with what a claim returned: it takes ownership. False: no room. */
bool job_begin(cJSON *claim);
/* Goes on with what was left by a crash. */
void job_resume(const struct record *r);
/* Adds the job to a list of the API's: its id and attempt. */
void job_refer(cJSON *list, const struct record *r);
size_t jobs_running(void);
void job_cancel(const char *id);

/* How a submission or a watch ended. */
struct outcome {
    /* completed, failed, canceled, unreported; NULL: nothing was submitted, the job may be given
     * back */
    const char *status;
    const char *confidence; /* or NULL */
    const char *code; /* reason_code, or NULL */
    char reason[REASON_TEXT];
};
/* Makes of what a printer said, in whatever encoding and cut anywhere, well-formed text of one
 * line that the server takes; it does not grow. */
void text_tidy(char *text);
void outcome_set(struct outcome *o, const char *status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Tells the server the stage; false: the job is not ours any more. */
bool job_tell_stage(struct job *j, const char *stage);

/* ---- ipp_job.c, raw.c, raster.c ---- */

/* Journals and tells the server, right before the first byte goes out. Returns false when the job
 * must not be printed. */
bool job_may_submit(struct job *j);
void job_submitted(struct job *j, int device_job);
bool ipp_submit(struct job *j, struct outcome *ret); /* false: ret tells */
void ipp_watch(struct job *j, struct outcome *ret);
/* Tells whether the job is at the printer. Returns 1: yes (its number), 0: surely not, -1: can't
 * be told. */
int ipp_search(struct job *j, int *ret_device_job);
void socket_print(struct job *j, struct outcome *ret);
/* Waits, before a document, until a printer of ZPL has paper and ribbon and is closed.
 * ret_answers: it says how it is. Returns false when the job was canceled, the agent ends, or the
 * printer went away. */
bool zebra_ready(struct job *j, int fd, bool *ret_answers);
/* And after it, until nothing is left to print. */
enum zebra_end { ZEBRA_SILENT, ZEBRA_IDLE, ZEBRA_GONE, ZEBRA_LEFT /* the agent ends */ };
enum zebra_end zebra_watch(struct job *j, int fd);
bool socket_answers(const struct printer *p);
bool raster_make(const struct job *j, const char *pdf, const char *to, char reason[REASON_TEXT]);
/* Writes the document so many times in one file: of a PDF all pages each time. For printers that
 * take no such number of copies. */
bool document_repeat(
    const char *file, bool pdf, int times, const char *to, char reason[REASON_TEXT]);
/* Asks a printer by IPP, as printers.c does it. Returns NULL when it does not answer. */
struct _ipp_s;
struct _ipp_s *ipp_ask_printer(const struct printer *p);

/* ---- session.c ---- */

extern char session_id[ID_TEXT]; /* guarded by session_lock */
extern pthread_mutex_t session_lock;
void session_copy(char to[ID_TEXT]);
/* Tells the loop to look: something may have changed at the server. [any thread] */
void session_poke(void);
void session_superseded(void); /* another agent took over */
bool session_ending(void);
int session_run(bool once);

#endif
