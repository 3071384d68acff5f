/* blob_store.c - what both drivers share: settings, the temporary file of a put, hashes. See
 * blob.h. */
#include "blob/blob_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "blob/blob_digest.h"
#include "util/disk.h"
#include "util/id.h"
#include "util/log.h"
#include "util/str.h"
#include <sodium.h>

enum { PROBE_BYTES = 4096, BESIDE_FROM = 1 << 20, MD5_BYTES = 16 };

#ifdef WHARF_FAULTS
void fault_point(const char *name)
{
    const char *fault = getenv("WHARF_FAULT"), *halt = getenv("WHARF_PAUSE");

    if (fault && strcmp(fault, name) == 0)
        raise(SIGKILL);
    if (halt && strcmp(halt, name) == 0)
        raise(SIGSTOP);
}
#endif

enum blob_status blob_errno(int error, const char *what)
{
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
        if (disk_lost(DISK_STORAGE, 1, error))
            log_error("storage.full", "%s: %s", what, strerror(error));
        return BLOB_NO_ROOM;
    }
    if (error == ENOENT)
        return BLOB_ABSENT;
    log_error("blob.trouble", "%s: %s", what, strerror(error));
    return BLOB_TROUBLE;
}

bool blob_hash_shape(const char *hash)
{
    return strspn(hash, "0123456789abcdef") == BLOB_HASH && !hash[BLOB_HASH];
}

/* ---- the store ---- */

static int folder(int parent, const char *name)
{
    if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
        return -1;
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool open_folders(struct blob_store *s, struct arena *err, wharf_str *ret_problem)
{
    const char *root = s->config->blob_dir[0] ? s->config->blob_dir
                                              : arena_printf(err, "%s/blobs", s->config->data).p;

    s->dir = strdup(root);
    if (!s->dir)
        abort();
    mkdir(root, 0700);
    s->root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->root_fd >= 0)
        s->tmp_fd = folder(s->root_fd, "tmp");
    if (s->tmp_fd >= 0 && s->driver == &blob_dir)
        s->objects_fd = folder(s->root_fd, "objects");
    if (s->tmp_fd >= 0 && (s->objects_fd >= 0 || s->driver != &blob_dir) && fsync(s->root_fd) == 0)
        return true;
    *ret_problem = arena_printf(
        err, "the folder of files, %s (blob.dir), can't be used: %s", root, strerror(errno));
    return false;
}

struct blob_store *blob_open(
    const struct config *config, struct net_client *net, struct arena *err, wharf_str *ret_problem)
{
    struct blob_store *s = calloc(1, sizeof(*s));

    if (!s)
        abort();
    s->config = config;
    s->net = net;
    s->root_fd = s->tmp_fd = s->objects_fd = -1;
    s->driver = strcmp(config->blob_driver, "s3") == 0 ? &blob_s3 : &blob_dir;
    if (open_folders(s, err, ret_problem) &&
        (s->driver == &blob_dir || blob_s3_setup(s, err, ret_problem)))
        return s;
    blob_close(s);
    return NULL;
}

void blob_close(struct blob_store *s)
{
    if (!s)
        return;
    for (int i = 0; i < 3; i++) {
        int fd = i == 0 ? s->root_fd : i == 1 ? s->tmp_fd : s->objects_fd;

        if (fd >= 0)
            close(fd);
    }
    free(s->dir);
    free(s->endpoint);
    free(s->sigv4);
    free(s->credentials);
    free(s->client_url);
    free(s);
}

int blob_nameless(const struct blob_store *s)
{
    return openat(s->tmp_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int blob_probe(const struct blob_store *s)
{
    static const char zeros[PROBE_BYTES];
    const char *dir = s->dir;
    struct stat open_one, named;
    int fd, error = 0;

    /* the folder may have been removed, or another file system be mounted there, since it was
     * opened */
    if (fstat(s->root_fd, &open_one) != 0 || stat(dir, &named) != 0 ||
        open_one.st_ino != named.st_ino || open_one.st_dev != named.st_dev)
        return ENOENT;
    fd = blob_nameless(s);
    if (fd < 0)
        return errno;
    if (write(fd, zeros, sizeof(zeros)) != (ssize_t)sizeof(zeros))
        error = errno ? errno : ENOSPC;
    close(fd);
    return error;
}

/* ---- put ---- */

enum blob_status blob_put_begin(struct blob_store *s, uint64_t max, struct blob_put **ret_put)
{
    struct blob_put *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    p->store = s;
    p->max = max;
    random_base62(p->name, sizeof(p->name) - 1);
    p->digests[BLOB_SHA256] = blob_digest_new(EVP_sha256());
    p->fd = openat(s->tmp_fd, p->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (p->fd < 0) {
        enum blob_status status = blob_errno(errno, "a temporary file can't be made");

        p->name[0] = 0;
        blob_put_abort(p);
        return status == BLOB_ABSENT ? BLOB_TROUBLE : status;
    }
    fault_point("blob.begun");
    *ret_put = p;
    return BLOB_OK;
}

enum blob_status blob_put_write(struct blob_put *p, const void *bytes, size_t n)
{
    const char *from = bytes;

    if (p->failed == BLOB_OK && p->max && p->id.size + n > p->max)
        p->failed = BLOB_TOO_LARGE;
    for (int i = 0; i < BLOB_DIGESTS && !p->hasher && !p->resumed && p->failed == BLOB_OK; i++) {
        if (p->digests[i] && EVP_DigestUpdate(p->digests[i], bytes, n) != 1)
            p->failed = BLOB_TROUBLE;
    }
    while (n && p->failed == BLOB_OK) {
        ssize_t w = write(p->fd, from, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0) {
            p->failed = blob_errno(w < 0 ? errno : ENOSPC, "a temporary file can't be written");
            break;
        }
        from += w;
        n -= (size_t)w;
        p->id.size += (uint64_t)w;
    }
    if (p->hasher)
        blob_hasher_written(p->hasher, p->id.size);
    else if (p->beside && p->id.size >= BESIDE_FROM && p->failed == BLOB_OK)
        p->hasher = blob_hasher_new(p->fd, p->id.size, p->digests, BLOB_DIGESTS);
    fault_point("blob.written");
    return p->failed;
}

void blob_put_beside(struct blob_put *p, const char *md5)
{
    p->beside = true;
    if (!md5)
        return;
    snprintf(p->sent_md5, sizeof(p->sent_md5), "%s", md5);
    p->digests[BLOB_MD5] = blob_digest_new(EVP_md5());
}

bool blob_put_is_as_sent(const struct blob_put *p)
{
    return !p->digests[BLOB_MD5] || !strcmp(p->md5, p->sent_md5);
}

bool blob_put_md5(const struct blob_put *p, char out[BLOB_MD5_TEXT + 1])
{
    if (!p->md5[0])
        return false;
    memcpy(out, p->md5, sizeof(p->md5));
    return true;
}

/* Makes sure that the digests have all bytes. */
static bool digests_complete(struct blob_put *p)
{
    struct blob_hasher *h = p->hasher;

    p->hasher = NULL;
    if (p->resumed)
        return blob_digest_add(p->fd, 0, p->id.size, p->digests, BLOB_DIGESTS);
    return !h || blob_hasher_finish(h);
}

enum blob_status blob_put_hash(struct blob_put *p, struct blob_id *ret_id)
{
    unsigned char raw[EVP_MAX_MD_SIZE];

    if (p->failed == BLOB_OK && !p->hashed) {
        if (!digests_complete(p) || EVP_DigestFinal_ex(p->digests[BLOB_SHA256], raw, NULL) != 1)
            p->failed = BLOB_TROUBLE;
        sodium_bin2hex(p->id.hash, BLOB_HASH + 1, raw, BLOB_HASH / 2);
        if (p->digests[BLOB_MD5] && EVP_DigestFinal_ex(p->digests[BLOB_MD5], raw, NULL) == 1)
            sodium_bin2base64(
                p->md5, sizeof(p->md5), raw, MD5_BYTES, sodium_base64_VARIANT_ORIGINAL);
        p->hashed = true;
    }
    if (p->failed == BLOB_OK)
        *ret_id = p->id;
    return p->failed;
}

void blob_put_again(struct blob_put *p)
{
    p->again = true;
}

enum blob_status blob_put_finish(struct blob_put *p)
{
    enum blob_status status = p->failed;

    if (status == BLOB_OK && fsync(p->fd) != 0)
        status = blob_errno(errno, "a temporary file can't be written to disk");
    fault_point("blob.synced");
    if (status == BLOB_OK)
        status = p->store->driver->place(p);
    if (status == BLOB_OK)
        p->resumed = false; /* a copy was placed: the temporary file goes */
    fault_point("blob.placed");
    blob_put_abort(p);
    return status;
}

void blob_put_abort(struct blob_put *p)
{
    if (!p)
        return;
    blob_hasher_abort(p->hasher);
    if (p->name[0] && !p->resumed)
        unlinkat(p->store->tmp_fd, p->name, 0);
    if (p->fd >= 0)
        close(p->fd);
    for (int i = 0; i < BLOB_DIGESTS; i++)
        EVP_MD_CTX_free(p->digests[i]);
    free(p);
}

int blob_put_file(const struct blob_put *p)
{
    return p->fd;
}

/* ---- the rest ---- */

enum blob_status blob_get(struct blob_store *s, const char *hash, uint64_t offset, uint64_t length,
    int *ret_fd, uint64_t *ret_at)
{
    return blob_hash_shape(hash) ? s->driver->get(s, hash, offset, length, ret_fd, ret_at)
                                 : BLOB_ABSENT;
}

bool blob_second_name(struct blob_store *s, const char *hash, int dir_fd, const char *name)
{
    return s->driver->link && blob_hash_shape(hash) && s->driver->link(s, hash, dir_fd, name);
}

enum blob_status blob_size(struct blob_store *s, const char *hash, uint64_t *ret_size)
{
    return blob_hash_shape(hash) ? s->driver->size(s, hash, ret_size) : BLOB_ABSENT;
}

enum blob_status blob_erase(struct blob_store *s, const char *hash)
{
    return blob_hash_shape(hash) ? s->driver->erase(s, hash) : BLOB_ABSENT;
}

enum blob_status blob_walk(struct blob_store *s, int64_t age_s, blob_walk_fn *fn, void *arg)
{
    return s->driver->walk(s, age_s, fn, arg);
}

static enum blob_status blob_store_compare(int fd, uint64_t at, uint64_t size, const char *hash)
{
    unsigned char raw[EVP_MAX_MD_SIZE];
    char hex[BLOB_HASH + 1];

    if (!blob_digest_of(EVP_sha256(), fd, at, size, raw))
        return errno ? BLOB_TROUBLE : BLOB_DAMAGED;
    sodium_bin2hex(hex, BLOB_HASH + 1, raw, BLOB_HASH / 2);
    return strcmp(hex, hash) == 0 ? BLOB_OK : BLOB_DAMAGED;
}

enum blob_status blob_verify(struct blob_store *s, const char *hash)
{
    uint64_t size, at;
    enum blob_status status = blob_size(s, hash, &size);
    int fd;

    if (status == BLOB_OK)
        status = blob_get(s, hash, 0, size, &fd, &at);
    if (status != BLOB_OK)
        return status;
    status = blob_store_compare(fd, at, size, hash);
    close(fd);
    return status;
}

unsigned blob_sweep(struct blob_store *s, int64_t age_s)
{
    int fd = openat(s->tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    unsigned removed = 0;
    struct dirent *e;
    struct stat st;

    while (d && (e = readdir(d))) {
        if (e->d_name[0] != '.' && fstatat(s->tmp_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && time(NULL) - st.st_mtime >= age_s)
            removed += unlinkat(s->tmp_fd, e->d_name, 0) == 0;
    }
    if (d)
        closedir(d);
    return removed;
}
