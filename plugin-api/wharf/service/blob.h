/* wharf/service/blob.h - files: big bytes with a name and a type, kept outside the database:
 * service "wharf.blob", version 1.4.
 *
 * A file belongs to the request's organization. Its row is part of the request's transaction;
 * the bytes are safe before the row is. When a file is removed or expires its bytes are erased
 * later, unless another file has the same. Codes of problems: storage.unavailable (503),
 * file.too_large, file.upload_invalid, file.already_uploaded, not_found (docs/reference/files.md).
 * Rules of this header: wharf/plugin.h. All functions are [worker]. */
#ifndef WHARF_SERVICE_BLOB_H
#define WHARF_SERVICE_BLOB_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bytes on their way; ends with the request at the latest */
typedef struct wharf_blob_writer wharf_blob_writer;

enum wharf_blob_link {
    WHARF_BLOB_GET = 1,
    WHARF_BLOB_PUT = 2,
    /* PUT, or pieces by the protocol tus 1.0; the bytes always come to this server. Since 1.3. */
    WHARF_BLOB_RESUME = 3
};

/* Facts about the stored bytes of a file, since 1.3. Damaged: they do not have the hash that they
 * were stored with. */
enum wharf_blob_state { WHARF_BLOB_WHOLE = 0, WHARF_BLOB_DAMAGED = 1, WHARF_BLOB_LOST = 2 };

/* Facts about a file. The caller sets head; members that its size does not reach are left out. */
typedef struct wharf_blob_info {
    wharf_head head;
    wharf_str id, name, type;
    wharf_str sha256;        /* hex; empty while the bytes are awaited */
    int64_t size;            /* -1 while the bytes are awaited */
    int64_t expires_us;      /* 0: never */
    wharf_str md5;           /* base64; empty: not known without reading them. Since 1.3 */
} wharf_blob_info;

typedef struct wharf_blob_api {
    wharf_head head;
    /* In pieces; max_bytes 0: none. finish() makes the file and answers its id; the writer is
     * gone then, also after a problem. */
    wharf_status (*begin)(wharf_req *req, int64_t max_bytes, wharf_blob_writer **ret_writer);
    wharf_status (*write)(wharf_req *req, wharf_blob_writer *w, const void *bytes, size_t n);
    /* a descriptor on what was written, for pread(); borrowed */
    int (*written)(const wharf_blob_writer *w);
    wharf_status (*finish)(wharf_req *req, wharf_blob_writer *w, wharf_str name,
        wharf_str type /* or empty */, int64_t expires_us /* 0: never */, wharf_str *ret_id);
    void (*abort)(wharf_req *req, wharf_blob_writer *w);

    /* A file that somebody will bring through a link of kind WHARF_BLOB_PUT: once, of exactly
     * that type (empty: of any), and of that size (-1: any up to max_bytes; -1: up to
     * blob.upload_limit). Nothing has come by expires_us: it is gone. */
    wharf_status (*await)(wharf_req *req, wharf_str name, wharf_str type, int64_t size,
        int64_t max_bytes, int64_t expires_us, wharf_str *ret_id);
    wharf_status (*info)(wharf_req *req, wharf_str id, wharf_blob_info *info);
    /* A descriptor for pread() of length bytes (-1: to the end) from *ret_at on; the caller
     * closes it. */
    wharf_status (*open)(wharf_req *req, wharf_str id, int64_t offset, int64_t length, int *ret_fd,
        int64_t *ret_at, int64_t *ret_length);
    /* WHARF_NOT_FOUND without a problem when there is none */
    wharf_status (*remove)(wharf_req *req, wharf_str id);
    /* A URL that needs no key. seconds: 900 where nothing else is said. */
    wharf_status (*link)(
        wharf_req *req, wharf_str id, uint32_t kind, int64_t seconds, wharf_str *ret_url);
    /* The file is the answer of this request: ranges, conditions, safe headers. cache: of
     * Cache-Control, or empty: private, no-cache. */
    wharf_status (*respond)(wharf_req *req, wharf_str id, wharf_str cache, bool attachment);
    /* When the bytes of an awaited file have come, this plugin's job runs: arguments {"file":
     * id}. Since 1.1. */
    wharf_status (*announce)(wharf_req *req, wharf_str id, const char *job);

    /* ---- 1.2 ---- */
    /* Writes what a text holds: a data URI, or bare base64 (both alphabets; white space and
     * missing padding do no harm). ret_type: the URI's type as it is written, or "". When the text
     * is neither, *ret_fault is a sentence about "it" and the status WHARF_INVALID without a
     * problem; else it is NULL. */
    wharf_status (*write_text)(wharf_req *req, wharf_blob_writer *w, wharf_str text,
        wharf_str *ret_type, const char **ret_fault);
    /* MD5, in base64, of length bytes of a descriptor of written() or open(), from `at` on. */
    wharf_status (*md5)(
        wharf_req *req, int fd, int64_t at, int64_t length, wharf_str *ret_base64);
    /* start() only. fn is called when the bytes of a file that this plugin awaits have come: in
     * the request that brings them and in its transaction, for the file's organization, as the
     * system. So what fn writes and the file change together; a problem of it keeps the bytes from
     * coming. When they are not wanted it says why in *ret_refused, which the sender is told (400
     * file.upload_invalid), and removes the file. remove() does not wait for an upload of
     * the file that runs at the same moment. So fn must lock the row that the caller of remove()
     * locks, look there whether the file is still awaited, and refuse the bytes if it is not. */
    void (*on_arrival)(wharf_plugin *self,
        wharf_status (*fn)(wharf_req *req, wharf_str id, wharf_str *ret_refused));
    /* Changes the type of a file. */
    wharf_status (*set_type)(wharf_req *req, wharf_str id, wharf_str type);
    /* Ends all links to a file now, and the file at expires_us. WHARF_NOT_FOUND without a problem
     * when there is none. */
    wharf_status (*retire)(wharf_req *req, wharf_str id, int64_t expires_us);

    /* ---- 1.3 ---- */
    /* start() only. fn is called when stored bytes of a file of this plugin are found to be
     * damaged or lost, and when they are found whole again (enum wharf_blob_state): in a job, in
     * a transaction of its own, for the file's organization, as the system. The file may have
     * been removed meanwhile. A problem of fn is told again within ten minutes. */
    void (*on_damage)(wharf_plugin *self,
        wharf_status (*fn)(wharf_req *req, wharf_str id, uint32_t state));
    /* Tells whether direct_link() leads past this server (blob.s3.direct). */
    bool (*direct)(wharf_req *req);
    /* As link(); where direct() it leads straight to the S3-compatible server, which asks nobody.
     * WHARF_BLOB_PUT: the client sends Content-Type, the file's type, and Content-MD5, the base64
     * of md5, unless that is empty. What it brings is taken by fetch(), or within a minute.
     * WHARF_BLOB_GET: GET only. Links end with remove() and retire(), which are 503
     * storage.unavailable while the server does not answer. */
    wharf_status (*direct_link)(wharf_req *req, wharf_str id, uint32_t kind, wharf_str md5,
        int64_t seconds, wharf_str *ret_url);
    /* Takes now what was brought through a direct link for an awaited file, if it is there and has
     * at most 64 MiB: hence what on_arrival() says runs in here. No problem when nothing came, or
     * the server does not answer. */
    wharf_status (*fetch)(wharf_req *req, wharf_str id);
    /* start() only. fn is called as that of on_arrival(), when bytes that came through a direct
     * link are not taken: reason is "size_mismatch", "too_large", "missing" (nothing in it), or
     * "rejected" (on_arrival() had a problem of status 400). */
    void (*on_refusal)(wharf_plugin *self,
        wharf_status (*fn)(wharf_req *req, wharf_str id, const char *reason));

    /* ---- 1.4 ---- */
    /* As remove(), and the bytes are erased as soon as that is committed, unless another file has
     * the same; while a backup runs, when it has ended. For what has to be gone, not only out of
     * reach. */
    wharf_status (*erase)(wharf_req *req, wharf_str id);
} wharf_blob_api;

#ifdef __cplusplus
}
#endif
#endif
