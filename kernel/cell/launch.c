/* launch.c - one cell process: started with nothing of ours but a socket, killed, waited for.
 * The walls are put up by the process itself before it says hello (cells/common/walls.c). */
#include "cell/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/turns.h"

static int launch_prepare(
    posix_spawn_file_actions_t *files, posix_spawnattr_t *attr, int sock, int log_fd)
{
    sigset_t all, none;
    int e;

    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    sigemptyset(&none);
    e = posix_spawnattr_setsigdefault(attr, &all);
    if (!e)
        e = posix_spawnattr_setsigmask(attr, &none);
    if (!e)
        e = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                               POSIX_SPAWN_SETSID | POSIX_SPAWN_USEVFORK);
    /* the socket becomes standard input; the others go nowhere */
    if (!e)
        e = posix_spawn_file_actions_adddup2(files, sock, STDIN_FILENO);
    if (!e && log_fd >= 0)
        e = posix_spawn_file_actions_adddup2(files, log_fd, STDERR_FILENO);
    else if (!e)
        e = posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (!e)
        e = posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!e)
        e = posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
    return e;
}

static int spawn_program(const struct cell_pool *p, struct cell *c, int sock)
{
    static const char *const env[] = {
        "OMP_THREAD_LIMIT=1", "LC_ALL=C.UTF-8", "TZ=UTC", "MALLOC_ARENA_MAX=1", NULL};
    char parent[24], memory[24], cpu[24];
    char *argv[] = {(char *)p->program, parent, memory, cpu, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int e;

    snprintf(parent, sizeof(parent), "%d", (int)getpid());
    snprintf(memory, sizeof(memory), "%u", p->kind.memory_mib);
    snprintf(cpu, sizeof(cpu), "%u", p->kind.cpu_s);
    if (posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attr) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    e = launch_prepare(&files, &attr, sock, p->kind.log_fd);
    if (!e)
        e = posix_spawn(&c->pid, p->program, &files, &attr, argv, (char *const *)env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return e;
}

bool cell_step_back(const struct cell_pool *p, struct cell *c)
{
    return turns_session_nice(&c->group, p->kind.nice);
}

int cell_launch(const struct cell_pool *p, struct cell *c)
{
    int pair[2], e;

    /* the cell's end blocks, ours does not */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    e = spawn_program(p, c, pair[1]);
    close(pair[1]);
    if (e) {
        close(pair[0]);
        return e;
    }
    /* nobody else reaps it, so the pid is still its own */
    c->pidfd = pidfd_open(c->pid, 0);
    if (c->pidfd < 0) {
        e = errno;
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
        close(pair[0]);
        return e;
    }
    c->group = -1;
    /* a web worker's are short, and a script may compute for as long as it likes */
    turns_set(c->pid, TURNS_USUAL);
    if (p->kind.nice) /* at once: when its walls are up, the files of the process are root's */
        turns_step_back(c->pid, p->kind.nice, &c->group);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    c->sock = pair[0];
    return 0;
}

void cell_kill(const struct cell *c)
{
    pidfd_send_signal(c->pidfd, SIGKILL, NULL, 0);
}

uint32_t cell_peak_kib(const struct cell *c)
{
    char path[40], text[4096];
    const char *line = NULL;
    ssize_t n = -1;
    int fd;

    /* The cell itself could only ask getrusage(), which begins with the memory of the process that
     * started it. */
    snprintf(path, sizeof(path), "/proc/%d/status", (int)c->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    if (n > 0) {
        text[n] = 0;
        line = strstr(text, "\nVmHWM:");
    }
    return line ? (uint32_t)strtoul(line + 7, NULL, 10) : UINT32_MAX;
}

bool cell_wait_end(const struct cell *c, int limit_ms, int *ret_code, int *ret_status)
{
    struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
    siginfo_t info = {0};
    int n;

    do
        n = poll(&p, 1, limit_ms);
    while (n < 0 && errno == EINTR);
    /* left for the keeper to reap */
    if (n <= 0 || waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
        return false;
    *ret_code = info.si_code;
    *ret_status = info.si_status;
    return true;
}
