/* calls.c - one probe per class of system call that a cell must not make. Raw, so that no
 * library stands between. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "probe.h"

/* Stands for the number of our parent, which is known at run time only. */
#define PARENT (-424242L)
#define AT(p)  ((long)(p))

static char page[4096] __attribute__((aligned(4096)));
static struct iovec span = {page, sizeof(page)};
static struct sockaddr_in local = {
    .sin_family = AF_INET, .sin_port = 0x5000, .sin_addr = {0x0100007f}};
static struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
static struct clone_args fork_args = {.exit_signal = SIGCHLD};
static union bpf_attr map_attr = {
    .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
static struct perf_event_attr perf_attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(perf_attr)};
static const char *const shell[] = {"/bin/sh", NULL};

static const struct {
    const char *name;
    long number, args[6];
} calls[] = {
    /* clang-format off */
    {"open", SYS_open, {AT("/etc/passwd"), O_RDONLY}},
    {"openat", SYS_openat, {AT_FDCWD, AT("/etc/passwd"), O_RDONLY}},
    {"openat2", SYS_openat2, {AT_FDCWD, AT("/etc/passwd"), AT(page), 24}},
    {"open_by_handle_at", SYS_open_by_handle_at, {AT_FDCWD, AT(page), O_RDONLY}},
    {"creat", SYS_creat, {AT("/tmp/wharf-probe"), 0600}},
    {"stat", SYS_newfstatat, {AT_FDCWD, AT("/etc/passwd"), AT(page), 0}},
    {"statx", SYS_statx, {AT_FDCWD, AT("/etc/passwd"), 0, 0, AT(page)}},
    {"access", SYS_access, {AT("/etc/passwd"), R_OK}},
    {"readlink", SYS_readlink, {AT("/proc/self/exe"), AT(page), sizeof(page)}},
    {"getdents", SYS_getdents64, {0, AT(page), sizeof(page)}},
    {"chdir", SYS_chdir, {AT("/")}},
    {"chroot", SYS_chroot, {AT("/")}},
    {"unlink", SYS_unlink, {AT("/tmp/wharf-probe")}},
    {"rename", SYS_rename, {AT("/tmp/wharf-probe"), AT("/tmp/wharf-probe2")}},
    {"mkdir", SYS_mkdir, {AT("/tmp/wharf-probe"), 0700}},
    {"link", SYS_link, {AT("/etc/passwd"), AT("/tmp/wharf-probe")}},
    {"symlink", SYS_symlink, {AT("/etc/passwd"), AT("/tmp/wharf-probe")}},
    {"chmod", SYS_chmod, {AT("/tmp/wharf-probe"), 0777}},
    {"fchmod", SYS_fchmod, {0, 0777}},
    {"chown", SYS_chown, {AT("/tmp/wharf-probe"), 0, 0}},
    {"truncate", SYS_truncate, {AT("/tmp/wharf-probe"), 0}},
    {"mount", SYS_mount, {AT("none"), AT("/tmp"), AT("tmpfs"), 0, 0}},
    {"umount", SYS_umount2, {AT("/tmp"), 0}},
    {"pivot_root", SYS_pivot_root, {AT("/"), AT("/")}},
    {"socket", SYS_socket, {AF_INET, SOCK_STREAM, 0}},
    {"socket_unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}},
    {"socketpair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, AT(page)}},
    {"connect", SYS_connect, {0, AT(&local), sizeof(local)}},
    {"bind", SYS_bind, {0, AT(&local), sizeof(local)}},
    {"listen", SYS_listen, {0, 1}},
    {"accept", SYS_accept, {0, 0, 0}},
    {"sendto", SYS_sendto, {0, AT(page), 1, 0, AT(&local), sizeof(local)}},
    {"setsockopt", SYS_setsockopt, {0, SOL_SOCKET, SO_SNDBUF, AT(page), 4}},
    {"pipe", SYS_pipe2, {AT(page), 0}},
    {"dup", SYS_dup, {0}},
    {"fcntl", SYS_fcntl, {0, F_GETFL}},
    {"fork", SYS_fork, {0}},
    {"vfork", SYS_vfork, {0}},
    {"clone", SYS_clone, {SIGCHLD, 0, 0, 0, 0}},
    {"clone3", SYS_clone3, {AT(&fork_args), sizeof(fork_args)}},
    {"unshare", SYS_unshare, {CLONE_NEWUSER}},
    {"setns", SYS_setns, {0, 0}},
    {"execve", SYS_execve, {AT("/bin/sh"), AT(shell), 0}},
    {"execveat", SYS_execveat, {AT_FDCWD, AT("/bin/sh"), AT(shell), 0, 0}},
    {"ptrace", SYS_ptrace, {PTRACE_TRACEME, 0, 0, 0}},
    {"ptrace_parent", SYS_ptrace, {PTRACE_ATTACH, PARENT, 0, 0}},
    {"kill_all", SYS_kill, {-1, 0}},
    {"tkill", SYS_tkill, {PARENT, SIGTERM}},
    {"tgkill", SYS_tgkill, {PARENT, PARENT, SIGTERM}},
    {"pidfd_open", SYS_pidfd_open, {PARENT, 0}},
    {"pidfd_getfd", SYS_pidfd_getfd, {0, 0, 0}},
    {"process_vm_readv", SYS_process_vm_readv, {PARENT, AT(&span), 1, AT(&span), 1, 0}},
    {"process_vm_writev", SYS_process_vm_writev, {PARENT, AT(&span), 1, AT(&span), 1, 0}},
    {"mmap_exec", SYS_mmap, {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
    {"mprotect_exec", SYS_mprotect, {AT(page), 4096, PROT_READ | PROT_EXEC}},
    {"pkey_mprotect", SYS_pkey_mprotect, {AT(page), 4096, PROT_READ | PROT_EXEC, -1}},
    {"memfd_create", SYS_memfd_create, {AT("x"), 0}},
    {"memfd_secret", SYS_memfd_secret, {0}},
    {"madvise_poison", SYS_madvise, {AT(page), 4096, 100}},
    {"mlock", SYS_mlock, {AT(page), 4096}},
    {"shmget", SYS_shmget, {IPC_PRIVATE, 4096, IPC_CREAT | 0600}},
    {"shmat", SYS_shmat, {0, 0, 0}},
    {"semget", SYS_semget, {IPC_PRIVATE, 1, IPC_CREAT | 0600}},
    {"msgget", SYS_msgget, {IPC_PRIVATE, IPC_CREAT | 0600}},
    {"mq_open", SYS_mq_open, {AT("/x"), O_CREAT | O_RDWR, 0600, 0}},
    {"io_uring_setup", SYS_io_uring_setup, {8, AT(page)}},
    {"io_setup", SYS_io_setup, {8, AT(page)}},
    {"bpf", SYS_bpf, {BPF_MAP_CREATE, AT(&map_attr), sizeof(map_attr)}},
    {"userfaultfd", SYS_userfaultfd, {0}},
    {"perf_event_open", SYS_perf_event_open, {AT(&perf_attr), 0, -1, -1, 0}},
    {"inotify", SYS_inotify_init1, {0}},
    {"fanotify", SYS_fanotify_init, {0, 0}},
    {"epoll", SYS_epoll_create1, {0}},
    {"eventfd", SYS_eventfd2, {0, 0}},
    {"signalfd", SYS_signalfd4, {-1, AT(page), 8, 0}},
    {"timerfd", SYS_timerfd_create, {1, 0}},
    {"timer_create", SYS_timer_create, {1, 0, AT(page)}},
    {"setitimer", SYS_setitimer, {0, AT(page), 0}},
    {"alarm", SYS_alarm, {1}},
    {"io_uring_enter", SYS_io_uring_enter, {0, 1, 0, 0, 0, 0}},
    {"ioctl_tiocsti", SYS_ioctl, {2, TIOCSTI, AT("x")}},
    {"prctl", SYS_prctl, {PR_SET_DUMPABLE, 1, 0, 0, 0}},
    {"prctl_pdeathsig", SYS_prctl, {PR_SET_PDEATHSIG, 0, 0, 0, 0}},
    {"arch_prctl", SYS_arch_prctl, {0x1003, AT(page)}},
    {"seccomp", SYS_seccomp, {0, 0, 0}},
    {"setrlimit", SYS_setrlimit, {RLIMIT_AS, AT(&unlimited)}},
    {"prlimit", SYS_prlimit64, {0, RLIMIT_NOFILE, AT(&unlimited), 0}},
    {"setuid", SYS_setuid, {0}},
    {"setgid", SYS_setgid, {0}},
    {"setresuid", SYS_setresuid, {0, 0, 0}},
    {"setgroups", SYS_setgroups, {0, 0}},
    {"setsid", SYS_setsid, {0}},
    {"capset", SYS_capset, {AT(page), AT(page)}},
    {"personality", SYS_personality, {0x0040000}},
    {"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, -3, 0}},
    {"add_key", SYS_add_key, {AT("user"), AT("x"), AT("y"), 1, -3}},
    {"init_module", SYS_init_module, {AT(page), 0, AT("")}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, 0}},
    {"reboot", SYS_reboot, {0, 0, 0, 0}},
    {"sethostname", SYS_sethostname, {AT("x"), 1}},
    {"settimeofday", SYS_settimeofday, {AT(page), 0}},
    {"sched_setaffinity", SYS_sched_setaffinity, {0, 8, AT(page)}},
    {"setpriority", SYS_setpriority, {0, 0, -5}},
    {"syslog", SYS_syslog, {3, AT(page), sizeof(page)}},
    {"uname", SYS_uname, {AT(page)}},
    {"sysinfo", SYS_sysinfo, {AT(page)}},
    {"nanosleep", SYS_nanosleep, {AT(page), 0}},
    {"sendfile", SYS_sendfile, {1, 0, 0, 1}},
    {"splice", SYS_splice, {0, 0, 1, 0, 1, 0}},
    {"vmsplice", SYS_vmsplice, {1, AT(&span), 1, 0}},
    {"ftruncate", SYS_ftruncate, {1, 0}},
    {"fallocate", SYS_fallocate, {1, 0, 0, 1}},
#ifndef __SANITIZE_ADDRESS__ /* its run-time library needs it: walls.c */
    {"rt_sigaction", SYS_rt_sigaction, {SIGTERM, 0, 0, 9}},
#endif
    {"unknown_number", 4095, {0}},
    {"kill_parent", SYS_kill, {PARENT, SIGTERM}},
#ifdef __x86_64__
    {"x32", 0x40000000L | SYS_read, {0, AT(page), 0}},
#endif
    /* clang-format on */
};

#ifdef __x86_64__
static void other_architecture(void)
{
    long value;

    /* getpid of the 32-bit table has the number of writev in ours */
    __asm__ volatile("int $0x80" : "=a"(value) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
    probe_tell("int80", value);
}
#endif

size_t probe_calls_list(char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        n += (size_t)snprintf(out + n, size - n, "%s\n", calls[i].name);
#ifdef __x86_64__
    n += (size_t)snprintf(out + n, size - n, "int80\n");
#endif
    return n;
}

bool probe_calls_run(const char *name, long parent)
{
#ifdef __x86_64__
    if (strcmp(name, "int80") == 0) {
        other_architecture();
        return true;
    }
#endif
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        long a[6];

        if (strcmp(calls[i].name, name) != 0)
            continue;
        for (int k = 0; k < 6; k++)
            a[k] = calls[i].args[k] == PARENT ? parent : calls[i].args[k];
        probe_tell(name, syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4], a[5]));
        return true;
    }
    return false;
}
