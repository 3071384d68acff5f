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
    /* S3: "https://host/bucket/", "aws:amz:region:s3", "key:secret"; the first one as clients
     * reach it */
    char *endpoint, *sigv4, *credentials, *client_url;
    _Atomic int64_t quiet_until_us; /* requests of clients do not ask it before; monotonic */
};

struct blob_put {
    struct blob_store *store;
    int fd;
    char name[40]; /* in tmp; empty: moved away */
    uint64_t max;
    EVP_MD_CTX *digest;
    struct blob_id id;
    bool hashed;
    enum blob_status failed; /* the first failure; it stays */
};

extern const struct blob_driver blob_dir, blob_s3;

enum blob_status blob_errno(int error, const char *what); /* logs what is not a matter of room */
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
