/* crash_report.c - finds and reads the report a dead worker left. Leaves to others: writing it
 * (crash.c), judging it (blame.c). */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/crash.h"
#include "util/str.h"
#include "util/time.h"

enum { REPORT_MAX = 64 * 1024 }; /* bytes; what the supervisor added stands at the end */

static void copy_line(const char *report, const char *key, char *to, size_t size)
{
    const char *p = strstr(report, key);
    size_t n;

    if (!p)
        return;
    p += strlen(key);
    n = strcspn(p, "\n");
    if (n == 1 && *p == '-')
        n = 0;
    snprintf(to, size, "%.*s", (int)(n < size ? n : size - 1), p);
}

/* Returns a monotonic time of this boot as the wall clock's milliseconds, as report names have
 * them. */
static long long wall_ms(int64_t monotonic_us)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 -
           (clock_monotonic_us() - monotonic_us) / 1000;
}

/* Finds dir/crash-<milliseconds>-<pid>.txt. */
static bool crash_report_find(
    const char *dir, pid_t pid, long long since_ms, char *out, size_t size)
{
    DIR *d = opendir(dir);
    char tail[32];
    bool found = false;

    snprintf(tail, sizeof(tail), "-%d.txt", (int)pid);
    for (struct dirent *e = d ? readdir(d) : NULL; e && !found; e = readdir(d)) {
        wharf_str name = str_z(e->d_name);

        found = str_starts(name, "crash-") && str_ends(name, tail) &&
                strtoll(name.p + strlen("crash-"), NULL, 10) >= since_ms &&
                snprintf(out, size, "%s/%s", dir, e->d_name) < (int)size;
    }
    if (d)
        closedir(d);
    return found;
}

bool crash_read_report(const char *dir, pid_t pid, int64_t since_us, struct crash_report *ret)
{
    static const struct crash_report none;
    char *text;
    int fd;
    ssize_t n;

    *ret = none;
    if (!crash_report_find(dir, pid, wall_ms(since_us) - 1, ret->file, sizeof(ret->file)))
        return false;
    text = malloc(REPORT_MAX);
    if (!text)
        return false;
    fd = open(ret->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    n = fd >= 0 ? read(fd, text, REPORT_MAX - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    copy_line(text, "\nplugin: ", ret->plugin, sizeof(ret->plugin));
    copy_line(text, "\ndoing: ", ret->what, sizeof(ret->what));
    copy_line(text, "\nrequest_id: ", ret->request, sizeof(ret->request));
    copy_line(text, "\njobs: ", ret->jobs, sizeof(ret->jobs));
    free(text);
    return n > 0;
}
