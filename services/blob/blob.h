/* blob.h - big bytes, found by their SHA-256: a directory, or an S3-compatible server.
 *
 * A put is acknowledged when its object would survive the death of process and machine; before
 * that nothing of it can be seen. Objects never change, so readers need no locks. Who refers to
 * an object is not known here: that is blob_file.h's, which also says when one may be erased.
 * docs/spec/05-documents-and-templates.md section 6; docs/reference/files.md. */
#ifndef WHARF_BLOB_BLOB_H
#define WHARF_BLOB_BLOB_H

#include "config/config.h"

struct net_client;
struct blob_store;
struct blob_put;

enum { BLOB_HASH = 64 /* hex digits */, BLOB_MD5_TEXT = 24 };

enum blob_status {
    BLOB_OK,
    BLOB_ABSENT,
    BLOB_TOO_LARGE,
    BLOB_NO_ROOM, /* disk full, quota */
    BLOB_TROUBLE, /* the store can't be reached or answers nonsense; logged */
    BLOB_DAMAGED, /* the bytes are not those of the hash */
    BLOB_BUSY, /* another request brings bytes of the same upload */
};

struct blob_id {
    char hash[BLOB_HASH + 1];
    uint64_t size;
};

/* Makes the folders that are missing. NULL and a problem (in err) when the settings do not fit
 * or the folder can't be used. net may be NULL for the directory. */
struct blob_store *blob_open(
    const struct config *config, struct net_client *net, struct arena *err, wharf_str *ret_problem);
void blob_close(struct blob_store *s);

/* Begins to put an object. Bytes come in pieces of any size; from one thread at a time. max in
 * bytes, 0: none. */
enum blob_status blob_put_begin(struct blob_store *s, uint64_t max, struct blob_put **ret_put);
enum blob_status blob_put_write(struct blob_put *p, const void *bytes, size_t n);
/* Wants digests computed beside the writing when there are many bytes: for what comes from a
 * socket. md5: what the sender says that the MD5 is, in base64; it is computed, too, then. NULL: it
 * says nothing. Before the first write. */
void blob_put_beside(struct blob_put *p, const char *md5);
/* Writes the MD5 in base64, after blob_put_hash(). Returns false when nobody asked for it. */
bool blob_put_md5(const struct blob_put *p, char out[BLOB_MD5_TEXT + 1]);
/* Tells, after blob_put_hash(), whether the MD5 is what the sender says; true when it says
 * nothing. */
bool blob_put_is_as_sent(const struct blob_put *p);
/* Says that the object may be there and is damaged: its bytes are stored again all the same. */
void blob_put_again(struct blob_put *p);
/* Computes the hash when all bytes have come; nothing can be seen yet. */
enum blob_status blob_put_hash(struct blob_put *p, struct blob_id *ret_id);
/* Places the object, after blob_put_hash(). It is there for good when this returns BLOB_OK; p is
 * gone in any case. */
enum blob_status blob_put_finish(struct blob_put *p);
void blob_put_abort(struct blob_put *p); /* NULL is accepted */
/* Returns a descriptor on what was written so far (borrowed), for looking into it before it is
 * finished. */
int blob_put_file(const struct blob_put *p);

/* Opens bytes [offset, offset+length) of the object; the caller closes *ret_fd and finds them from
 * *ret_at on. The range must lie inside. */
enum blob_status blob_get(struct blob_store *s, const char *hash, uint64_t offset, uint64_t length,
    int *ret_fd, uint64_t *ret_at);
/* Gives the object a second name in another folder, so that its bytes stay when it is erased here.
 * False: it can't have one (S3, another file system, somebody else's file); copy it. */
bool blob_second_name(struct blob_store *s, const char *hash, int dir_fd, const char *name);
enum blob_status blob_size(struct blob_store *s, const char *hash, uint64_t *ret_size);
/* Reads all of it and compares: BLOB_OK or BLOB_DAMAGED. */
enum blob_status blob_verify(struct blob_store *s, const char *hash);
/* Erases a blob; BLOB_OK too when it was not there. */
enum blob_status blob_erase(struct blob_store *s, const char *hash);
/* Walks over all objects last placed more than age_s seconds ago, in no order. fn returns false to
 * end the walk. */
typedef bool blob_walk_fn(void *arg, const char *hash);
enum blob_status blob_walk(struct blob_store *s, int64_t age_s, blob_walk_fn *fn, void *arg);
/* Removes temporary files that a killed process left behind, older than age_s. Returns how many
 * were removed. */
unsigned blob_sweep(struct blob_store *s, int64_t age_s);

/* Tells whether a file can be written now. Returns 0, or an errno: ENOENT when the folder is gone.
 * Of an S3-compatible server it looks at the temporary folder only. */
int blob_probe(const struct blob_store *s);
bool blob_hash_shape(const char *hash); /* 64 lower-case hex digits */

#endif
