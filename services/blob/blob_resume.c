/* blob_resume.c - puts that go on after an interruption: their bytes stay in a temporary file that
 * has the upload's name. See blob_store.h. Leaves to others: who may bring them and how
 * (tus_route.c), and removing what nobody continues (blob_sweep()). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blob/blob_digest.h"
#include "blob/blob_store.h"
#include "util/log.h"
#include "util/str.h"

static void resume_name(const char *upload, char out[RESUME_NAME])
{
    snprintf(out, RESUME_NAME, "part-%s", upload);
}

/* Tells whether the name still means the open file: whoever finishes an upload moves it away. */
static bool resume_is_named(const struct blob_store *s, int fd, const char *name)
{
    struct stat open_one, named;

    return fstat(fd, &open_one) == 0 &&
           fstatat(s->tmp_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

/* Opens the file and locks it for one writer. Returns -1 and errno: EWOULDBLOCK when somebody
 * else has it, ENOENT when there is none and none shall be made. */
static int resume_open(const struct blob_store *s, const char *name, int flags)
{
    for (;;) {
        int fd = openat(s->tmp_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600), error;

        if (fd < 0)
            return -1;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            if (resume_is_named(s, fd, name))
                return fd;
            close(fd);
            continue;
        }
        error = errno;
        close(fd);
        errno = error;
        return -1;
    }
}

enum blob_status blob_resume_size(
    const struct blob_store *s, const char *upload, uint64_t *ret_size)
{
    char name[RESUME_NAME];
    struct stat st;
    int fd;

    *ret_size = 0;
    resume_name(upload, name);
    fd = resume_open(s, name, O_RDWR);
    if (fd < 0)
        return errno == ENOENT        ? BLOB_OK
               : errno == EWOULDBLOCK ? BLOB_BUSY
                                      : blob_errno(errno, "an upload can't be looked at");
    if (fstat(fd, &st) == 0)
        *ret_size = (uint64_t)st.st_size;
    close(fd);
    return BLOB_OK;
}

enum blob_status blob_resume(
    struct blob_store *s, const char *upload, uint64_t max, struct blob_put **ret_put)
{
    struct blob_put *p = calloc(1, sizeof(*p));
    enum blob_status status = BLOB_OK;
    struct stat st = {0};

    if (!p)
        abort();
    p->store = s;
    p->max = max;
    p->resumed = true;
    resume_name(upload, p->name);
    p->digests[BLOB_SHA256] = blob_digest_new(EVP_sha256());
    p->fd = resume_open(s, p->name, O_RDWR | O_CREAT);
    if (p->fd < 0 && errno == EWOULDBLOCK)
        status = BLOB_BUSY;
    else if (p->fd < 0 || fstat(p->fd, &st) != 0)
        status = blob_errno(errno, "an upload can't be continued");
    if (status != BLOB_OK) {
        blob_put_abort(p);
        return status == BLOB_ABSENT ? BLOB_TROUBLE : status;
    }
    p->id.size = (uint64_t)st.st_size;
    *ret_put = p;
    return BLOB_OK;
}

uint64_t blob_resumed(const struct blob_put *p)
{
    return p->id.size;
}

enum blob_status blob_resume_cut(struct blob_put *p, uint64_t size)
{
    if (p->failed == BLOB_OK &&
        (ftruncate(p->fd, (off_t)size) != 0 || lseek(p->fd, (off_t)size, SEEK_SET) != (off_t)size))
        p->failed = blob_errno(errno, "an upload can't be continued");
    if (p->failed == BLOB_OK)
        p->id.size = size;
    return p->failed;
}

enum blob_status blob_resume_sync(struct blob_put *p)
{
    if (p->failed == BLOB_OK && fsync(p->fd) != 0)
        p->failed = blob_errno(errno, "an upload can't be written to disk");
    fault_point("blob.resume_synced");
    return p->failed;
}
