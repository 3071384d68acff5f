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
};

struct blob_store {
    const struct blob_driver *driver;
    const struct config *config;
    struct net_client *net;
    char *dir; /* the folder, by its name */
    int root_fd, tmp_fd, objects_fd; /* folders; objects only with the directory driver */
    /* S3: "https://host/bucket/", "aws:amz:region:s3", "key:secret" */
    char *endpoint, *sigv4, *credentials;
};

struct blob_put {
    struct blob_store *store;
    int fd;
    char name[40]; /* in tmp; empty: moved away */
    uint64_t max;
    EVP_MD_CTX *digest;
    struct blob_id id;
    bool hashed;
    bool resumed; /* the temporary file stays unless it is placed (blob_resume.c) */
    enum blob_status failed; /* the first failure; it stays */
};

extern const struct blob_driver blob_dir, blob_s3;

enum blob_status blob_errno(int error, const char *what); /* logs what is not a matter of room */

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
/* Computes the digest of the bytes from `from` on; out has room for it. False: they can't be
 * read. */
bool blob_resume_digest(
    const struct blob_put *p, const EVP_MD *kind, uint64_t from, unsigned char *out);

/* Opens a file without a name beside the temporary ones. */
int blob_nameless(const struct blob_store *s);
bool blob_s3_setup(struct blob_store *s, struct arena *err, wharf_str *ret_problem);

/* Tests kill the process, or let a step fail, at a named point: WHARF_FAULT="blob.synced=kill".
 * Nothing in other builds. */
#ifdef WHARF_FAULTS
void fault_point(const char *name);
#else
static inline void fault_point(const char *name)
{
    (void)name;
}
#endif

#endif
