/* blob_file.h - files of organizations: rows that name objects of the blob store, their signed
 * links, and erasing what no row names.
 *
 * A row is written in the caller's transaction, and a lock on the object's hash is held from
 * before the object is placed until that transaction ends; the collection takes the same lock,
 * exclusively, before it looks for rows and erases. So an object that a committed row names is
 * never erased, whoever is faster. docs/spec/01-platform.md section 16 'Signed links';
 * docs/reference/files.md. */
#ifndef WHARF_BLOB_BLOB_FILE_H
#define WHARF_BLOB_BLOB_FILE_H

#include "blob/blob.h"
#include "db/transaction.h"
#include "resource/request.h"

enum { FILE_SIGNATURE = 43 }; /* base64url characters of an HMAC-SHA-256 */

struct file_row {
    wharf_str organization, id, name, type, hash;
    wharf_str md5; /* base64; empty: not known */
    bool stored;
    int64_t size, want_size, max_size; /* the last two of uploads, -1: none */
    int64_t expires_us, stored_us; /* 0: none */
};

/* Stores a file with these bytes. p is gone in any case. expires_us 0: for ever. Problems:
 * storage.unavailable. */
wharf_status file_store(struct wharf_req *req, struct blob_put *p, wharf_str name, wharf_str type,
    int64_t expires_us, struct file_row *ret_row);
/* Makes a file whose bytes somebody will bring; want_size and max_size -1: any. */
wharf_status file_await(struct wharf_req *req, wharf_str name, wharf_str type, int64_t want_size,
    int64_t max_size, int64_t expires_us, struct file_row *ret_row);
/* Finds a file of the request's organization, alive; problem not_found. */
wharf_status file_find(struct wharf_req *req, wharf_str id, struct file_row *ret_row);
/* Returns how many bytes an awaited file may have. */
int64_t file_limit(const struct wharf_req *req, const struct file_row *row);
/* Finds a file of any organization, alive; WHARF_NOT_FOUND without a problem. */
wharf_status file_find_of(
    struct wharf_req *req, wharf_str organization, wharf_str id, struct file_row *ret_row);
/* Removes a file; its bytes die with the next collection. Returns WHARF_NOT_FOUND without a
 * problem when there is none, or when a client uploads its bytes at this moment and a plugin waits
 * to be told: waiting for that upload here could deadlock. Problem: storage.unavailable, when
 * links that lead past this server can't be ended (file_direct.h). */
wharf_status file_remove(struct wharf_req *req, wharf_str id);
/* Removes a file, and has its bytes erased as soon as that is committed, unless another file has
 * the same. Returns and problems as file_remove(). */
wharf_status file_erase(struct wharf_req *req, wharf_str id);
/* Sets which job is told of the arrival ("support.mail"). */
wharf_status file_announce(struct wharf_req *req, wharf_str id, wharf_str job);
/* Ends all links to a file now, and the file then. WHARF_NOT_FOUND as file_remove(). */
wharf_status file_retire(struct wharf_req *req, wharf_str id, int64_t expires_us);
/* Sets the type that the file is said to have from now on. */
wharf_status file_set_type(struct wharf_req *req, wharf_str id, wharf_str type);
/* Takes the bytes of an upload that have come, once, and tells the plugin (blob/arrival.h).
 * ret_refused: why it does not want them, or empty; that is kept, too. Problems: conflict,
 * storage.unavailable, not_found, and the plugin's. p is gone in any case. */
wharf_status file_arrived(struct wharf_req *req, const struct file_row *row, struct blob_put *p,
    struct blob_id *ret_id, wharf_str *ret_refused);

/* Makes "{base_url}/v1/files/file_...?op=get&exp=...&sig=...", good for `seconds`. op: "get" or
 * "put". */
wharf_status file_link(struct wharf_req *req, const struct file_row *row, const char *op,
    int64_t seconds, wharf_str *ret_url);
/* Look up a file link: its organization, and whether the signature is good (codes
 * signature.invalid, signature.expired, not_found). Runs on the event loop; the caller does the
 * look-up with this SQL, which takes the id. */
extern const char file_lookup_sql[];
bool file_link_check(
    struct wharf_req *req, PGresult *looked_up, const char *op, struct file_row *ret_row);
void file_sign(const char *key, const char *op, wharf_str id, int64_t expires_s, wharf_str name,
    char out[FILE_SIGNATURE + 1]);

/* Opens [offset, offset+length); problems storage.unavailable, not_found. */
wharf_status file_open(struct wharf_req *req, const struct file_row *row, uint64_t offset,
    uint64_t length, int *ret_fd, uint64_t *ret_at);
/* Adds the code and Retry-After of a failed store. */
wharf_status file_problem(struct wharf_req *req, enum blob_status status);

/* Erases expired rows, objects that no row names and were placed more than grace_s ago, and
 * temporary files that nobody writes any more. False: the database or the store failed; what was
 * done is done. */
struct file_collected {
    unsigned rows, objects, temporary;
    bool held; /* a backup runs: no object is erased until it has ended */
};
/* The advisory lock (hashtextextended) that a backup holds, and that erasing an object shares. */
#define FILE_BACKUP_LOCK "wharf.backup"
/* Runs a statement with a parameter. Returns the number of rows, -1 when it
 * failed. */
typedef int64_t file_rows_fn(void *arg, const char *sql, const char *value);
/* Begins a transaction (TX_BEGIN), commits it, or rolls it back. */
typedef bool file_step_fn(void *arg, enum tx_step step);
struct file_database {
    file_rows_fn *rows;
    file_step_fn *step;
    void *arg; /* of both */
};
bool file_collect(const struct file_database *db, struct blob_store *store, int64_t now_us,
    int64_t grace_s, struct file_collected *ret);

/* Erases an object now that no row names. ret->held: a backup runs, it stays for now. */
bool file_erase_object(const struct file_database *db, struct blob_store *store, const char *hash,
    struct file_collected *ret);
/* Runs the job that does so: file_erase() asks for it, and it is run again until it is done. */
wharf_status file_erase_job(struct wharf_req *req, void *arg);
extern const char file_erase_policy[];

/* Runs the kernel's job that collects each hour (kernel/worker/kernel_part.c). */
wharf_status file_collect_job(struct wharf_req *req, void *arg);
extern const char file_collect_policy[];
/* Runs the kernel's job that reads stored objects now and then, and tells of damaged ones
 * (scrub_job.c). */
wharf_status file_scrub_job(struct wharf_req *req, void *arg);
extern const char file_scrub_policy[];

#endif
