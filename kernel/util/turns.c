/* turns.c - see turns.h. The C library knows neither the call nor its struct. */
#include "util/turns.h"

#include <errno.h>
#include <stdint.h>
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

    if (syscall(SYS_sched_getattr, thread, &a, sizeof(a), 0) == 0 && a.policy == 0 /* SCHED_OTHER */) {
        a.flags &= 1; /* SCHED_FLAG_RESET_ON_FORK: not ours to take away */
        a.runtime_ns = (uint64_t)us * 1000;
        syscall(SYS_sched_setattr, thread, &a, 0);
    }
    errno = error;
}
