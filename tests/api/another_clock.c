/* another_clock.c - for LD_PRELOAD of a server: the clock of its PostgreSQL is ahead by as many
 * seconds as the file ANOTHER_CLOCK says (eight bytes).
 * For tests/api/operation/test_clock_jump.py. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead_s;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("ANOTHER_CLOCK");
    int fd = path && !strcmp(program_invocation_short_name, "postgres") ? open(path, O_RDONLY) : -1;
    void *p = fd >= 0 ? mmap(NULL, sizeof(*ahead_s), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (p != MAP_FAILED)
        ahead_s = p;
    if (fd >= 0)
        close(fd);
}

static int64_t ahead(void)
{
    return ahead_s ? *ahead_s : 0;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ret)
{
    static int (*next)(clockid_t, struct timespec *);
    int r;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "clock_gettime");
    r = next(id, ret);
    if (!r && id == CLOCK_REALTIME)
        ret->tv_sec += ahead();
    return r;
}

__attribute__((visibility("default"))) int gettimeofday(
    struct timeval *restrict ret, void *restrict zone)
{
    struct timespec t;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &t) != 0)
        return -1;
    *ret = (struct timeval){t.tv_sec, t.tv_nsec / 1000};
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *ret)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (ret)
        *ret = t.tv_sec;
    return t.tv_sec;
}

/* Gives PostgreSQL, which the server starts without the variables of its own, those of the test. */
__attribute__((visibility("default"))) int execve(
    const char *path, char *const argv[], char *const envp[])
{
    static int (*next)(const char *, char *const[], char *const[]);
    static char preload[512], clock[512];
    const char *name = strrchr(path, '/'), *file = getenv("ANOTHER_CLOCK");
    char *more[64];
    size_t n = 0;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "execve");
    if (!name || strcmp(name, "/postgres") != 0 || !file)
        return next(path, argv, envp);
    while (envp[n] && n < 60) {
        more[n] = envp[n];
        n++;
    }
    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
    snprintf(clock, sizeof(clock), "ANOTHER_CLOCK=%s", file);
    more[n++] = preload;
    more[n++] = clock;
    more[n] = NULL;
    return next(path, argv, more);
}
