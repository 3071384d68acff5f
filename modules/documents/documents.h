/* documents.h - inside of the module documents. */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#define W documents_host
#include "wharf/plugin.h"
extern const wharf_host *W; /* these are set once, before anything of this module runs */
#include "wharf/errors.h"
#include "wharf/ext/documents.h"
#include "wharf/inline.h"
#include "wharf/service/blob.h"
#include "wharf/service/config.h"
#include "wharf/service/many.h"
#include "wharf/service/events.h"
#include "wharf/service/http.h"
#include "wharf/service/image.h"
#include "wharf/service/logs.h"
#include "wharf/service/preview.h"
#include "wharf/service/render.h"
#include "wharf/service/text.h"
#include "wharf/service/token.h"

extern const wharf_blob_api *documents_blob;
extern const wharf_config_api *documents_config;
extern const wharf_events_api *documents_events;
extern const wharf_http_api *documents_http;
extern const wharf_image_api *documents_image;
extern const wharf_logs_api *documents_logs;
extern const wharf_preview_api *documents_preview;
extern const wharf_render_api *documents_render;
extern const wharf_text_api *documents_text;
extern const wharf_token_api *documents_token;

extern const wharf_many_api *documents_many;
extern const wharf_hooks documents_document_hooks;

#define INLINE_MAX   (40 * 1024 * 1024) /* bytes of a file inside a request */
#define SECOND_US    1000000LL
#define PUBLIC_NAMES "document" /* names of public documents in paths (wharf.token) */
enum {
    UPLOAD_S = 3600, /* an upload_url is good for */
    REQUEST_S = 86400, /* bytes are awaited for; then the document is expired */
    KEPT_S = 30 * 86400, /* bytes of a deleted document are kept for */
    VERSIONS_MAX = 50 /* versions of a document */
};

/* Bytes that were stored, with all that a version says of them. */
struct stored {
    wharf_str file, filename, type, md5, sha256;
    int64_t size;
    int64_t pages; /* 0: not known, as the measures */
    double width, height; /* inches of a PDF, pixels of an image */
};

/* A write of the server because a file came. */
struct arrived {
    struct stored stored;
    const char *reason; /* out: why it is not taken, or NULL; in: known already */
    bool late; /* out: the document awaits another file, or none */
};
extern const char document_arrived_kind[];

/* Facts about what this request made of a document, for its answer. */
struct made {
    wharf_str id;
    wharf_str upload, type; /* the file that is awaited, and its type; p NULL: none */
    wharf_str duplicate; /* id of the oldest document with the same bytes; p NULL: none */
    bool first; /* what was announced holds for it */
};

/* ---- document_upload.c ---- */
struct made *document_made(wharf_req *req);
/* Makes the row await a file, instead of the one that it awaits. */
wharf_status upload_request(wharf_req *req, wharf_rec *rec);
wharf_status upload_cancel(wharf_req *req, wharf_rec *rec);
/* Compares the file that came with what was announced. got->file is known, the rest is filled.
 * ret_reason: a failure_reason, or NULL. */
wharf_status upload_look(
    wharf_req *req, const wharf_rec *rec, struct stored *got, const char **ret_reason);
/* Takes a file that was awaited: what wharf.blob calls. */
wharf_status document_arrived(wharf_req *req, wharf_str file, wharf_str *ret_refused);
/* Notes that the bytes of an awaited file are not taken: what wharf.blob calls. */
wharf_status document_refused(wharf_req *req, wharf_str file, const char *reason);
/* Takes what was brought past this server for a document, before it is read or written. */
wharf_status document_fetch(wharf_req *req, wharf_str id);

/* ---- document_tus.c ---- */
wharf_status document_tus_create(wharf_req *req, void *arg);

/* ---- document_files.c ---- */
/* Ends what a document that is deleted has of files: nobody reads them from now on. */
wharf_status files_close(wharf_req *req, const wharf_rec *rec);

/* ---- document_content.c ---- */
/* Stores the content that the request sent, after comparing it with what is wanted of it: members
 * that are empty or 0 want nothing. own: the document's id, empty on create. */
wharf_status content_store(wharf_req *req, const wharf_rec *rec, wharf_str own,
    const struct stored *wanted, struct stored *ret);

/* ---- document_names.c ---- */
/* Removes path parts, control and reserved characters of a file name; may leave nothing. */
wharf_str filename_clean(wharf_req *req, wharf_str sent);
/* Makes a file name of a document's name and its type's extension. */
wharf_str filename_of(wharf_req *req, wharf_str name, wharf_str type);
/* Returns the text with what may not stand in a path of a URL as %XX. */
wharf_str path_part(wharf_req *req, wharf_str text);

/* ---- document_links.c ---- */
/* The lock of resources that are linked or removed, by their ids. */
#define LINKED_LOCK "documents.linked"
extern const wharf_hooks documents_links_hooks;
/* Removes links, each with its event. */
wharf_status links_remove(wharf_req *req, const wharf_str *ids, size_t n);

/* ---- document_linked.c ---- */
/* Declares links, and all hooks about them. */
void links_declare(wharf_decl *d, const wharf_decl_api *api);

/* ---- document_types.c ---- */
/* Tells whether bytes that look like `seen` may be called `said`. seen: as type_seen() says. */
bool type_fits(wharf_str said, wharf_str seen);
/* Returns the type that bytes look like, "" when they look like nothing known. p: the first bytes
 * of them, 1 KiB is enough; all: these are all. */
wharf_str type_seen(const void *p, size_t n, bool all);

/* ---- document_reads.c ---- */
/* Tells whether the request asks for an older version, and as it says which. */
bool version_asked(wharf_req *req, wharf_str *ret);
/* Reads that number: 0 when none is asked for. */
wharf_status document_version_read(wharf_req *req, wharf_str *ret, int64_t *ret_number);
/* Refuses to show a document of this status, which has no bytes. */
wharf_status document_not_ready(wharf_req *req, wharf_str status);
wharf_status document_rows(wharf_req *req, wharf_where *where);
wharf_status document_content(wharf_req *req, void *arg);
wharf_status document_public_content(wharf_req *req, void *arg);
wharf_status document_versions(wharf_req *req, void *arg);
extern const wharf_documents_files_api document_files_table;

/* ---- document_preview.c ---- */
wharf_status document_preview(wharf_req *req, void *arg);
/* Removes the pictures of a document's versions up to a number, with their files; 0: of all. */
wharf_status previews_drop(wharf_req *req, wharf_str document, int64_t last);

/* ---- document_times.c ---- */
extern const char document_overdue_kind[]; /* context of a write: the bytes did not come in time */
wharf_status documents_sweep(wharf_req *req, void *arg);

/* ---- document_words.c ---- */
void document_words_start(wharf_plugin *self);
/* Reads the words of new files, a job. */
wharf_status documents_read_words(wharf_req *req, void *arg);

/* ---- document_limits.c ---- */
void limits_start(wharf_plugin *self);
/* Checks that the category is one, or empty. */
wharf_status check_category(wharf_req *req, wharf_str category);
/* Takes a create off what the caller's address, user and organization have in a minute. */
wharf_status check_creates(wharf_req *req);
/* Checks that the organization may have so many bytes more. */
wharf_status check_quota(wharf_req *req, int64_t more);

/* ---- document_measure.c ---- */
/* Fills in pages and measures of got->size bytes, where they tell. seen: as type_seen() says. */
void document_measure(wharf_req *req, int fd, int64_t at, wharf_str seen, struct stored *got);

/* ---- document_retention.c ---- */
extern const wharf_hooks documents_rule_hooks;
bool on_hold(const wharf_rec *rec);
/* Checks that the document may be deleted: it is not on legal hold. */
wharf_status hold_check_delete(wharf_req *req, const wharf_rec *rec);
/* Checks that one more version drops none of a document on legal hold. */
wharf_status hold_check_version(wharf_req *req, const wharf_rec *rec);
/* Deletes what retention rules say, a job. */
wharf_status documents_retire(wharf_req *req, void *arg);

/* ---- document_scan.c ---- */
extern const wharf_documents_scan_api document_scan_table;
/* Asks the scanners. ret_rejected: why the file is not wanted, or empty. */
wharf_status document_scan(
    wharf_req *req, const wharf_document_file *file, wharf_str *ret_rejected);

/* ---- document_damage.c ---- */
extern const char document_damage_kind[]; /* context of a write: struct damage */
struct damage {
    wharf_str file;
    const char *reason; /* a failure_reason; NULL: the bytes are whole again */
};
/* Writes what became of the file, if it is that of the current version. */
void damage_settle(wharf_rec *rec, const struct damage *damage);
/* Hears that stored bytes are damaged, lost or whole again: what wharf.blob calls. */
wharf_status document_damaged(wharf_req *req, wharf_str file, uint32_t state);

/* ---- document_clamd.c ---- */
/* Reads the settings of the virus scanner. Problem: they can't be read. */
wharf_status clamd_start(wharf_plugin *self, wharf_req *req);
/* Asks the virus scanner, if there is one; as document_scan(). Problems:
 * document.scanner_unavailable, document.scanner_limit. */
wharf_status clamd_scan(wharf_req *req, const wharf_document_file *file, wharf_str *ret_rejected);

/* ---- document_shown.c ---- */
wharf_status document_compute(
    wharf_req *req, const wharf_rec *const *recs, size_t n, wharf_field f, wharf_out *const *outs);

#endif
