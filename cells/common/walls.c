/* walls.c - what a cell can't do any more once it serves calls: everything that is not on the
 * list below.
 *
 * The list is by what a process needs that computes and talks over one socket. A call that is
 * not on it ends the process with SIGSYS (SECCOMP_RET_KILL_PROCESS), also those of another
 * architecture (int 0x80) and of the x32 table. */
#include "child.h"

#include <errno.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define CELL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CELL_ASAN 1
#endif
#endif
#ifndef CELL_ASAN
#define CELL_ASAN 0
#endif

enum { FILES_MAX = 16, STACK_BYTES = 8 << 20 };

static const int plain[] = {
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(close),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    SCMP_SYS(futex),
    SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(restart_syscall), /* what goes on after SIGSTOP and SIGCONT */
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

/* Calls that look for a file by its name: kinds whose libraries do that hear EACCES. */
static const int of_files[] = {SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(stat), SCMP_SYS(lstat),
    SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat)};

/* A thread that waits for work may first give way to others. */
static const int of_threads[] = {SCMP_SYS(sched_yield)};

/* System calls that the sanitizer's run-time library needs; such builds are for tests. */
static const int of_sanitizer[] = {SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(sched_yield),
    SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask)};

static int rule(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t n)
{
    int e = 0;

    for (size_t i = 0; i < n && !e; i++)
        e = seccomp_rule_add(filter, action, calls[i], 0);
    return e;
}

static int allow(scmp_filter_ctx filter, const int *calls, size_t n)
{
    return rule(filter, SCMP_ACT_ALLOW, calls, n);
}

static int allow_memory(scmp_filter_ctx filter)
{
    static const unsigned advices[] = {
        MADV_NORMAL, MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP};
    /* never executable, neither at once nor later: mprotect is not on the list */
    int e = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
        SCMP_A2(SCMP_CMP_MASKED_EQ, (scmp_datum_t)PROT_EXEC, 0));

    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]) && !e; i++)
        e = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(madvise), 1, SCMP_A2(SCMP_CMP_EQ, advices[i]));
    return e;
}

static int set_filter(bool refuse_files, bool threads)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int e = filter ? 0 : -ENOMEM;

    if (!e)
        e = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    /* a tree instead of a list: a call costs the same wherever it stands */
    if (!e)
        e = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (!e)
        e = allow(filter, plain, sizeof(plain) / sizeof(plain[0]));
    if (!e)
        e = allow_memory(filter);
    if (!e && refuse_files)
        e = rule(filter, SCMP_ACT_ERRNO(EACCES), of_files, sizeof(of_files) / sizeof(of_files[0]));
    if (!e && threads)
        e = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (!e && threads && !CELL_ASAN)
        e = allow(filter, of_threads, sizeof(of_threads) / sizeof(of_threads[0]));
    if (!e && CELL_ASAN)
        e = allow(filter, of_sanitizer, sizeof(of_sanitizer) / sizeof(of_sanitizer[0]));
    if (!e)
        e = seccomp_load(filter);
    seccomp_release(filter);
    return e;
}

static int set_limit(__rlimit_resource_t what, rlim_t value)
{
    struct rlimit limit = {value, value};

    return setrlimit(what, &limit);
}

static int set_limits(const struct cell_wall_plan *plan)
{
    if (set_limit(RLIMIT_CORE, 0) != 0 || set_limit(RLIMIT_FSIZE, 0) != 0 ||
        set_limit(RLIMIT_NOFILE, FILES_MAX) != 0 || set_limit(RLIMIT_STACK, STACK_BYTES) != 0 ||
        set_limit(RLIMIT_MSGQUEUE, 0) != 0 || set_limit(RLIMIT_MEMLOCK, 0) != 0)
        return -1;
    if (plan->cpu_s && set_limit(RLIMIT_CPU, plan->cpu_s) != 0)
        return -1;
    /* the address sanitizer reserves terabytes */
    return plan->memory_mib && !CELL_ASAN ? set_limit(RLIMIT_AS, (rlim_t)plan->memory_mib << 20)
                                          : 0;
}

/* Drops all: where the server is root, the cell is root without any power. */
bool cell_drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};

    return syscall(SYS_capset, &head, none) == 0;
}

bool cell_walls(const struct cell_wall_plan *plan)
{
    int e;

    if (syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0U) != 0 || set_limits(plan) != 0 ||
        !cell_drop_capabilities())
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return false;
    /* after what clears it; a parent that went in between is noticed by its number */
    if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0, 0, 0) != 0)
        return false;
    if (getppid() != plan->parent) {
        errno = ESRCH;
        return false;
    }
    e = set_filter(plan->refuse_files, plan->threads);
    errno = -e;
    return e == 0;
}
