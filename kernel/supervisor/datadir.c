/* datadir.c - see datadir.h. */
#include "supervisor/datadir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char control_name[] = "control.sock";

static bool datadir_make_one(const char *dir)
{
    struct stat st;

    if (mkdir(dir, 0711) == 0)
        return chmod(dir, 0711) == 0;
    return errno == EEXIST && stat(dir, &st) == 0 && S_ISDIR(st.st_mode);
}

bool datadir_make(const char *dir, struct arena *a, wharf_str *ret_error)
{
    for (const char *p = dir + 1; dir[0]; p++) {
        const char *part = arena_dup(a, dir, (size_t)(p - dir)).p;

        if ((*p == '/' || !*p) && !datadir_make_one(part)) {
            *ret_error = arena_printf(a, "the folder %s can't be made: %s", part, strerror(errno));
            return false;
        }
        if (!*p)
            return true;
    }
    *ret_error = arena_printf(a, "the name of the data folder is empty");
    return false;
}

int datadir_lock(const char *dir, struct arena *a, wharf_str *ret_error)
{
    const char *file = arena_printf(a, "%s/lock", dir).p;
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    char pid[24] = "";
    ssize_t n;

    if (fd < 0) {
        *ret_error = arena_printf(a, "%s can't be opened: %s", file, strerror(errno));
        return -1;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        if (ftruncate(fd, 0) != 0 || dprintf(fd, "%d\n", (int)getpid()) < 0)
            *ret_error = arena_printf(
                /* the lock holds all the same */
                a, "%s can't be written: %s", file, strerror(errno));
        return fd;
    }
    n = read(fd, pid, sizeof(pid) - 1);
    pid[n > 0 ? strcspn(pid, "\n") : 0] = 0;
    *ret_error = arena_printf(a,
        "%s is in use by another wharf (process %s); stop it, or use another folder with --data",
        dir, pid[0] ? pid : "unknown");
    close(fd);
    return -1;
}

/* Makes the address through /proc/self/fd, so that the length of the folder's path does not
 * matter. */
static bool control_address(int dir_fd, struct sockaddr_un *at)
{
    memset(at, 0, sizeof(*at));
    at->sun_family = AF_UNIX;
    return snprintf(at->sun_path, sizeof(at->sun_path), "/proc/self/fd/%d/%s", dir_fd,
               control_name) < (int)sizeof(at->sun_path);
}

int datadir_control_listen(const char *dir, struct arena *a, wharf_str *ret_error)
{
    int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
    struct sockaddr_un at;
    mode_t mask;
    bool good = false;

    if (dir_fd >= 0)
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && control_address(dir_fd, &at)) {
        unlinkat(dir_fd, control_name, 0);
        mask = umask(0177);
        good = bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 16) == 0;
        umask(mask);
    }
    if (!good)
        *ret_error = arena_printf(a, "%s/%s can't be made: %s", dir, control_name, strerror(errno));
    if (dir_fd >= 0)
        close(dir_fd);
    if (!good && fd >= 0)
        close(fd);
    return good ? fd : -1;
}

int datadir_control_connect(const char *dir, struct arena *a, wharf_str *ret_error)
{
    int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
    struct sockaddr_un at;
    bool good;

    if (dir_fd >= 0)
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    good = fd >= 0 && control_address(dir_fd, &at) &&
           connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
    if (!good)
        *ret_error = arena_printf(a,
            "no server runs for the data folder %s (%s); name the right one with --data or -c", dir,
            strerror(errno));
    if (dir_fd >= 0)
        close(dir_fd);
    if (!good && fd >= 0)
        close(fd);
    return good ? fd : -1;
}
