/* turns.c - see turns.h. The C library knows neither the call nor its struct. */
#include "util/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct attributes { /* the first version of the kernel's struct sched_attr */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

void turns_set(pid_t thread, unsigned us)
{
    struct attributes a = {.size = sizeof(a)};
    int error = errno;

    if (syscall(SYS_sched_getattr, thread, &a, sizeof(a), 0) == 0 &&
        a.policy == 0 /* SCHED_OTHER */) {
        a.flags &= 1; /* SCHED_FLAG_RESET_ON_FORK: not ours to take away */
        a.runtime_ns = (uint64_t)us * 1000;
        syscall(SYS_sched_setattr, thread, &a, 0);
    }
    errno = error;
}

bool turns_are_heard(void)
{
    struct attributes a = {.size = sizeof(a)};
    bool heard;

    turns_set(0, TURNS_SHORT_US);
    heard = syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) == 0 &&
            a.runtime_ns == TURNS_SHORT_US * 1000;
    turns_set(0, TURNS_USUAL);
    return heard;
}

bool turns_step_back(pid_t process, int nice, int *ret_session)
{
    char path[40];

    *ret_session = -1;
    if (setpriority(PRIO_PROCESS, (id_t)process, getpriority(PRIO_PROCESS, 0) + nice) != 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/autogroup", (int)process);
    *ret_session = open(path, O_WRONLY | O_CLOEXEC);
    return true;
}

bool turns_session_nice(int *session, int nice)
{
    char text[16];
    ssize_t n;

    if (*session < 0)
        return true;
    n = write(*session, text, (size_t)snprintf(text, sizeof(text), "%d", nice));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    close(*session);
    *session = -1;
    return true;
}
