/* file.c - see file.h. */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Brings the entry of the file in its folder to disk; where the folder can't be read or synced,
 * that is left to the file system. */
static bool sync_folder(const char *file, struct arena *a)
{
    const char *slash = strrchr(file, '/');
    const char *dir = slash ? arena_dup(a, file, (size_t)(slash - file) + 1).p : ".";
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd < 0 || fsync(fd) == 0 || errno == EINVAL;

    if (fd >= 0)
        close(fd);
    return good;
}

bool file_replace(
    const char *file, wharf_str text, unsigned mode, struct arena *a, wharf_str *ret_error)
{
    const char *fresh = arena_printf(a, "%s.new.%d", file, (int)getpid()).p;
    int fd;
    bool good;

    unlink(fresh);
    fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
    good = fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    good = good && rename(fresh, file) == 0 && sync_folder(file, a);
    if (!good) {
        *ret_error = arena_printf(a, "%s can't be written: %s", file, strerror(errno));
        unlink(fresh);
    }
    return good;
}

wharf_str file_read(const char *file, size_t limit, struct arena *a)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    wharf_str text = {NULL, 0};
    struct stat st;
    char *p;

    if (fd < 0)
        return text;
    if (fstat(fd, &st) == 0 && st.st_size >= 0 && (size_t)st.st_size <= limit) {
        p = arena_alloc(a, (size_t)st.st_size + 1);
        p[st.st_size] = 0;
        if (read(fd, p, (size_t)st.st_size) == st.st_size)
            text = (wharf_str){p, (size_t)st.st_size};
    }
    close(fd);
    return text;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

void file_remove_tree(const char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
