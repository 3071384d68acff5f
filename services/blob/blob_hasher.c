/* blob_hasher.c - digests of an upload, computed beside it: a thread reads behind what was written,
 * and asks the disk to begin with it. See blob_store.h. Leaves to others: writing (blob_store.c).
 *
 * SHA-256 of a large file takes as long as to receive it, MD5 longer. Beside the event loop they
 * cost an upload nothing but their last bytes, and the flush finds most bytes on disk. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "blob/blob_digest.h"
#include "blob/blob_store.h"

enum { HASHER_CHUNK = 256 * 1024, HASHER_FLUSH = 8 << 20, HASHERS_MAX = 4 };

struct blob_hasher {
    int fd;
    EVP_MD_CTX *const *digests; /* the put's; NULL members are left out */
    size_t n_digests;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    uint64_t written, hashed; /* bytes; written and the flags are guarded by the lock */
    bool whole, stop, good;
};

/* Counts those of this process: each is a thread. */
static _Atomic int hashers;

/* Waits for bytes. Returns how many lie behind those that were hashed, 0: there come no more. */
static uint64_t hasher_wait(struct blob_hasher *h)
{
    uint64_t n;

    pthread_mutex_lock(&h->lock);
    while (h->written == h->hashed && !h->whole && !h->stop)
        pthread_cond_wait(&h->more, &h->lock);
    n = h->stop ? 0 : h->written - h->hashed;
    pthread_mutex_unlock(&h->lock);
    return n;
}

static void *hasher_run(void *arg)
{
    struct blob_hasher *h = arg;
    uint64_t n, flushed = 0;

    while (h->good && (n = hasher_wait(h)) > 0) {
        n = n < HASHER_CHUNK ? n : HASHER_CHUNK;
        h->good = blob_digest_add(h->fd, h->hashed, n, h->digests, h->n_digests);
        h->hashed += n;
        if (h->hashed - flushed >= HASHER_FLUSH) {
            sync_file_range(
                h->fd, (off64_t)flushed, (off64_t)(h->hashed - flushed), SYNC_FILE_RANGE_WRITE);
            flushed = h->hashed;
        }
    }
    return NULL;
}

static void hasher_free(struct blob_hasher *h)
{
    pthread_cond_destroy(&h->more);
    pthread_mutex_destroy(&h->lock);
    free(h);
    atomic_fetch_sub(&hashers, 1);
}

struct blob_hasher *blob_hasher_new(
    int fd, uint64_t hashed, EVP_MD_CTX *const *digests, size_t n_digests)
{
    struct blob_hasher *h;

    if (atomic_fetch_add(&hashers, 1) >= HASHERS_MAX) {
        atomic_fetch_sub(&hashers, 1);
        return NULL;
    }
    h = calloc(1, sizeof(*h));
    if (!h)
        abort();
    *h = (struct blob_hasher){.fd = fd,
        .digests = digests,
        .n_digests = n_digests,
        .written = hashed,
        .hashed = hashed,
        .good = true};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->more, NULL);
    if (pthread_create(&h->thread, NULL, hasher_run, h) == 0)
        return h;
    hasher_free(h);
    return NULL;
}

void blob_hasher_written(struct blob_hasher *h, uint64_t written)
{
    pthread_mutex_lock(&h->lock);
    h->written = written;
    pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&h->lock);
}

/* Ends the thread: behind all bytes, or at once. */
static bool hasher_end(struct blob_hasher *h, bool at_once)
{
    bool good;

    pthread_mutex_lock(&h->lock);
    h->whole = true;
    h->stop |= at_once;
    pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    good = h->good;
    hasher_free(h);
    return good;
}

bool blob_hasher_finish(struct blob_hasher *h)
{
    return hasher_end(h, false);
}

void blob_hasher_abort(struct blob_hasher *h)
{
    if (h)
        hasher_end(h, true);
}
