/* dir.c - the directory driver: objects/ab/abcdef..., written beside and renamed into place. See
 * blob.h.
 *
 * The order is what makes a put safe: bytes to disk, rename, folder to disk, folder's folder to
 * disk when it is new; only then the answer. An object that is already there is replaced by the
 * same bytes: that repairs one that was damaged, and makes it young again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "blob/blob_store.h"
#include "util/log.h"

static int open_part(struct blob_store *s, const char *hash)
{
    char part[3] = {hash[0], hash[1], 0};

    return openat(s->objects_fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_part(struct blob_store *s, const char *hash)
{
    char part[3] = {hash[0], hash[1], 0};

    if (mkdirat(s->objects_fd, part, 0700) != 0 && errno != EEXIST)
        return -1;
    /* Also when somebody else made it a moment ago: his fsync may be still to come. */
    if (fsync(s->objects_fd) != 0)
        return -1;
    fault_point("blob.part_made");
    return open_part(s, hash);
}

static enum blob_status dir_place(struct blob_put *p)
{
    struct blob_store *s = p->store;
    int part = open_part(s, p->id.hash);
    enum blob_status status = BLOB_OK;

    if (part < 0 && errno == ENOENT)
        part = make_part(s, p->id.hash);
    if (part < 0) {
        status = blob_errno(errno, "a folder of objects can't be made");
        return status == BLOB_ABSENT ? BLOB_TROUBLE : status;
    }
    if (renameat(s->tmp_fd, p->name, part, p->id.hash) != 0) {
        status = blob_errno(errno, "an object can't be placed");
    } else {
        p->name[0] = 0;
        fault_point("blob.renamed");
        if (fsync(part) != 0)
            status = blob_errno(errno, "a folder of objects can't be written to disk");
    }
    close(part);
    return status == BLOB_ABSENT ? BLOB_TROUBLE : status;
}

static enum blob_status open_object(
    struct blob_store *s, const char *hash, int *ret_fd, uint64_t *ret_size)
{
    int part = open_part(s, hash),
        fd = part >= 0 ? openat(part, hash, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    int error = errno;
    struct stat st;

    if (part >= 0)
        close(part);
    if (fd < 0)
        return blob_errno(error, "an object can't be opened");
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return BLOB_TROUBLE;
    }
    *ret_fd = fd;
    *ret_size = (uint64_t)st.st_size;
    return BLOB_OK;
}

static enum blob_status dir_get(struct blob_store *s, const char *hash, uint64_t offset,
    uint64_t length, int *ret_fd, uint64_t *ret_at)
{
    uint64_t size = 0;
    int fd = -1;
    enum blob_status status = open_object(s, hash, &fd, &size);

    if (status != BLOB_OK)
        return status;
    if (offset > size || length > size - offset) {
        log_error("blob.short", "object %s has %llu bytes, fewer than were stored", hash,
            (unsigned long long)size);
        close(fd);
        return BLOB_DAMAGED;
    }
    *ret_fd = fd;
    *ret_at = offset;
    return BLOB_OK;
}

static enum blob_status dir_size(struct blob_store *s, const char *hash, uint64_t *ret_size)
{
    int fd = -1;
    enum blob_status status = open_object(s, hash, &fd, ret_size);

    if (status == BLOB_OK)
        close(fd);
    return status;
}

static enum blob_status dir_erase(struct blob_store *s, const char *hash)
{
    int part = open_part(s, hash);
    enum blob_status status = BLOB_OK;

    if (part < 0)
        return errno == ENOENT ? BLOB_OK : blob_errno(errno, "a folder of objects can't be opened");
    if (unlinkat(part, hash, 0) != 0 && errno != ENOENT)
        status = blob_errno(errno, "an object can't be erased");
    close(part);
    return status;
}

static bool walk_part(
    struct blob_store *s, const char *name, int64_t before, blob_walk_fn *fn, void *arg)
{
    int fd = openat(s->objects_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    bool on = true;
    struct dirent *e;
    struct stat st;

    while (on && d && (e = readdir(d))) {
        if (blob_hash_shape(e->d_name) && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            st.st_mtime <= before)
            on = fn(arg, e->d_name);
    }
    if (d)
        closedir(d);
    return on;
}

static enum blob_status dir_walk(struct blob_store *s, int64_t age_s, blob_walk_fn *fn, void *arg)
{
    int64_t before = time(NULL) - age_s;
    char name[3];

    for (unsigned i = 0; i < 256; i++) {
        snprintf(name, sizeof(name), "%02x", i);
        if (!walk_part(s, name, before, fn, arg))
            break;
    }
    return BLOB_OK;
}

static bool dir_link(struct blob_store *s, const char *hash, int dir_fd, const char *name)
{
    int part = open_part(s, hash);
    bool good = part >= 0 && linkat(part, hash, dir_fd, name, 0) == 0;

    if (part >= 0)
        close(part);
    return good;
}

const struct blob_driver blob_dir = {dir_place, dir_get, dir_size, dir_erase, dir_walk, dir_link};
