/* blob_store.h - a store and its driver, as the files of this folder see them. See blob.h. */
#ifndef WHARF_BLOB_BLOB_STORE_H
#define WHARF_BLOB_BLOB_STORE_H

#include <openssl/evp.h>

#include "blob/blob.h"

struct blob_driver {
    /* The temporary file is complete and on disk. It may be moved away: then *p->name is 0. */
    enum blob_status (*place)(struct blob_put *p);
    enum blob_status (*get)(struct blob_store *s, const char *hash, uint64_t offset,
        uint64_t length, int *ret_fd, uint64_t *ret_at);
    enum blob_status (*size)(struct blob_store *s, const char *hash, uint64_t *ret_size);
    enum blob_status (*erase)(struct blob_store *s, const char *hash);
    enum blob_status (*walk)(struct blob_store *s, int64_t age_s, blob_walk_fn *fn, void *arg);
    /* or NULL */
    bool (*link)(struct blob_store *s, const char *hash, int dir_fd, const char *name);
};

struct blob_store {
    const struct blob_driver *driver;
    const struct config *config;
    struct net_client *net;
    char *dir; /* the folder, by its name */
    int root_fd, tmp_fd, objects_fd; /* folders; objects only with the directory driver */
    /* S3: "https://host/bucket/", "aws:amz:region:s3", "key:secret"; the first one as clients
     * reach it */
    char *endpoint, *sigv4, *credentials, *client_url;
    _Atomic bool sampled; /* this process has looked for some of the objects */
    _Atomic int64_t quiet_until_us; /* requests of clients do not ask it before; monotonic */
};

enum { BLOB_SHA256, BLOB_MD5, BLOB_DIGESTS };
struct blob_hasher;

struct blob_put {
    struct blob_store *store;
    int fd;
    char name[40]; /* in tmp; empty: moved away */
    uint64_t max;
    EVP_MD_CTX *digests[BLOB_DIGESTS]; /* SHA-256; MD5 or NULL */
    struct blob_hasher *hasher; /* computes them from now on, or NULL */
    bool beside; /* a large one gets a hasher */
    struct blob_id id;
    bool hashed;
    char md5[BLOB_MD5_TEXT + 1]; /* base64; empty: not wanted */
    char sent_md5[BLOB_MD5_TEXT + 2]; /* as its sender says; longer ones are cut, and differ */
    bool resumed; /* the temporary file stays unless it is placed (blob_resume.c) */
    bool again; /* what is there is damaged */
    enum blob_status failed; /* the first failure; it stays */
};

extern const struct blob_driver blob_dir, blob_s3;

enum blob_status blob_errno(int error, const char *what); /* logs what is not a matter of room */

/* ---- blob_hasher.c: digests that are computed by a thread beside the writing ---- */
/* Begins behind `hashed` bytes, which the digests have. Borrows both until it is finished or
 * aborted. NULL: there are as many as there may be. */
struct blob_hasher *blob_hasher_new(
    int fd, uint64_t hashed, EVP_MD_CTX *const *digests, size_t n_digests);
void blob_hasher_written(struct blob_hasher *h, uint64_t written); /* so many bytes lie there */
/* Waits until the digests have all bytes. False: some can't be read. h is gone. */
bool blob_hasher_finish(struct blob_hasher *h);
void blob_hasher_abort(struct blob_hasher *h); /* NULL is accepted */

/* ---- blob_resume.c: puts that go on after an interruption ---- */
enum { RESUME_NAME = 40 };
/* Returns how many bytes of the upload are here; 0 when nothing came. upload: the file's id.
 * BLOB_BUSY: somebody brings some at this moment. */
enum blob_status blob_resume_size(
    const struct blob_store *s, const char *upload, uint64_t *ret_size);
/* Continues a put, whose bytes stay when it is aborted; it is for one writer at a time
 * (BLOB_BUSY). The hash is computed from the whole file by blob_put_hash(). */
enum blob_status blob_resume(
    struct blob_store *s, const char *upload, uint64_t max, struct blob_put **ret_put);
uint64_t blob_resumed(const struct blob_put *p); /* bytes that are here */
/* Forgets what is behind that size; writing goes on there. */
enum blob_status blob_resume_cut(struct blob_put *p, uint64_t size);
/* Returns when the bytes would survive the death of the machine. */
enum blob_status blob_resume_sync(struct blob_put *p);

/* Opens a file without a name beside the temporary ones. */
int blob_nameless(const struct blob_store *s);
bool blob_s3_setup(struct blob_store *s, struct arena *err, wharf_str *ret_problem);

/* Tests kill the process at a named point (WHARF_FAULT=blob.synced), or stop it there until it is
 * told to go on (WHARF_PAUSE). Nothing in other builds. */
#ifdef WHARF_FAULTS
void fault_point(const char *name);
#else
static inline void fault_point(const char *name)
{
    (void)name;
}
#endif

#endif
