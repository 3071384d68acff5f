/* proc.c - one worker process: started, listened to, asked to end. Leaves to others: whether it
 * is well (watch.c). Decides nothing about restarts. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/spawn.h"
#include "supervisor/supervise.h"
#include "util/log.h"
#include "util/time.h"

enum {
    SECOND = 1000000,
    DRAIN_EXTRA_S = 10 /* beyond what requests may take */
};

const char *proc_name(const struct proc *p, char out[24])
{
    return seat_name(p->seat, out);
}

/* Returns the decimal text of a number, in the arena. */
static const char *proc_text_of(struct arena *a, uint64_t n)
{
    return arena_printf(a, "%llu", (unsigned long long)n).p;
}

static const char *const *arguments(const struct supervisor *s, const struct proc *p,
    const struct generation *g, int control_fd, struct arena *a)
{
    const struct supervisor_start *start = s->start;
    const char **argv = ARENA_ARRAY(a, const char *, 40);
    size_t n = 0;

    argv[n++] = s->exe;
    argv[n++] = "_worker";
    argv[n++] = "--kind";
    argv[n++] = p->seat->kind == WORKER_WEB ? "web" : "job";
    argv[n++] = "--index";
    argv[n++] = proc_text_of(a, p->seat->index);
    if (p->seat->listen_fd >= 0) {
        argv[n++] = "--listen-fd";
        argv[n++] = proc_text_of(a, (uint64_t)p->seat->listen_fd);
    }
    if (g->tls_fd >= 0 && p->seat->kind == WORKER_WEB) {
        argv[n++] = "--tls-fd";
        argv[n++] = proc_text_of(a, (uint64_t)g->tls_fd);
    }
    if (g->config_fd >= 0) {
        argv[n++] = "--config-fd";
        argv[n++] = proc_text_of(a, (uint64_t)g->config_fd);
    }
    if (g == &s->reload.coming && s->reload.reads)
        argv[n++] = "--proves";
    argv[n++] = "--control-fd";
    argv[n++] = proc_text_of(a, (uint64_t)control_fd);
    argv[n++] = "--board-fd";
    argv[n++] = proc_text_of(a, (uint64_t)s->board_fd);
    argv[n++] = "--slot";
    argv[n++] = proc_text_of(a, (uint64_t)(p - s->procs));
    argv[n++] = "--generation";
    argv[n++] = proc_text_of(a, p->generation);
    argv[n++] = "--database";
    argv[n++] = start->database;
    argv[n++] = "--quarantined";
    argv[n++] = g->quarantined;
    if (start->config_file) {
        argv[n++] = "-c";
        argv[n++] = start->config_file;
    }
    argv[n++] = "--sets-fd";
    argv[n++] = proc_text_of(a, (uint64_t)start->sets_fd);
    return argv;
}

static void proc_publish(struct supervisor *s, const struct proc *p)
{
    struct board_worker *w = &s->board->workers[p - s->procs];

    if (p->state == BOARD_STARTING)
        memset(w, 0, sizeof(*w));
    atomic_store(&w->pid, p->pid);
    atomic_store(&w->kind, p->seat->kind);
    atomic_store(&w->index, (int)p->seat->index);
    atomic_store(&w->generation, p->generation);
    atomic_store(&w->started_us, p->started_us);
    atomic_store(&w->state, p->state);
}

/* Launches the process. Must be called only after the slot is ours alone: the child must find it
 * empty. */
static pid_t proc_launch(
    struct supervisor *s, struct proc *p, const struct generation *g, int control_fd)
{
    struct arena *a = arena_new(0);
    int keep[6] = {control_fd, s->board_fd, s->start->sets_fd};
    size_t n_keep = 3;
    struct spawn child;
    pid_t pid;

    if (p->seat->listen_fd >= 0)
        keep[n_keep++] = p->seat->listen_fd;
    if (g->tls_fd >= 0 && p->seat->kind == WORKER_WEB)
        keep[n_keep++] = g->tls_fd;
    if (g->config_fd >= 0)
        keep[n_keep++] = g->config_fd;
    /* a worker without supervisor would hold the port of the next one */
    child = (struct spawn){.argv = arguments(s, p, g, control_fd, a),
        .in = -1,
        .out = -1,
        .err = -1,
        .keep = keep,
        .n_keep = n_keep,
        .death_signal = SIGKILL,
        .short_turns = p->seat->kind == WORKER_WEB,
        .own_session = true};
    user_become(s->start->user, &child);
    pid = spawn(&child);

    arena_free(a);
    return pid;
}

struct proc *proc_start(struct supervisor *s, struct seat *seat, const struct generation *g)
{
    struct proc *p = s->procs;
    int pipe_fds[2];

    while (p < s->procs + PROCS_MAX && p->pid)
        p++;
    if (p == s->procs + PROCS_MAX || pipe2(pipe_fds, O_CLOEXEC) != 0) {
        log_error("worker.not_started", "no room for another worker process: %s", strerror(errno));
        return NULL;
    }
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    *p = (struct proc){.seat = seat,
        .state = BOARD_STARTING,
        .generation = g->number,
        .control_fd = pipe_fds[0],
        .started_us = clock_monotonic_us()};
    proc_publish(s, p);
    p->pid = proc_launch(s, p, g, pipe_fds[1]);
    close(pipe_fds[1]);
    if (p->pid < 0) {
        log_error("worker.not_started", "%s can't be executed: %s", s->exe, strerror(errno));
        p->pid = 0;
        proc_free(s, p);
        return NULL;
    }
    atomic_store(&s->board->workers[p - s->procs].pid, p->pid);
    return p;
}

void proc_free(struct supervisor *s, struct proc *p)
{
    if (p->control_fd >= 0)
        close(p->control_fd);
    atomic_store(&s->board->workers[p - s->procs].state, BOARD_FREE);
    p->control_fd = -1;
    p->pid = 0;
    p->seat = NULL;
}

void proc_ask_to_end(struct supervisor *s, struct proc *p)
{
    if (p->asked)
        return;
    p->asked = true;
    p->state = BOARD_DRAINING;
    p->kill_at_us = clock_monotonic_us() +
                    (s->config->drain_accept_ms + s->config->drain_timeout_ms) * 1000 +
                    (int64_t)DRAIN_EXTRA_S * SECOND;
    /* others have their time to finish; then the thread that hangs tells where it is */
    if (p->hung)
        p->abort_at_us = clock_monotonic_us() + s->config->drain_timeout_ms * 1000 + SECOND;
    proc_publish(s, p);
    kill(p->pid, SIGTERM);
}

int proc_listen(struct supervisor *s, struct proc *p)
{
    char *end;
    ssize_t n = read(p->control_fd, p->line + p->line_n, sizeof(p->line) - 1 - p->line_n);

    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR) || p->line_n == sizeof(p->line) - 1) {
            close(p->control_fd);
            p->control_fd = -1;
        }
        return 0;
    }
    p->line_n += (size_t)n;
    p->line[p->line_n] = 0;
    end = strchr(p->line, '\n');
    if (!end || strncmp(p->line, "ready\n", 6) != 0 || p->state != BOARD_STARTING)
        return 0;
    p->line_n = 0;
    p->state = BOARD_READY;
    /* the first beat is the worker's; until then its start counts */
    proc_publish(s, p);
    return 1;
}

void proc_reason(const struct proc *p, int status, char out[REASON_MAX])
{
    size_t n = strcspn(p->line, "\n");

    if (strncmp(p->line, "failed: ", 8) == 0)
        snprintf(out, REASON_MAX, "%.*s", (int)n - 8, p->line + 8);
    else if (p->hung)
        snprintf(out, REASON_MAX, "it did not react in time");
    else if (p->over_memory)
        snprintf(out, REASON_MAX, "it had more memory than memory.limit");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && greed_was_killed(p))
        snprintf(out, REASON_MAX, "the system ended it for want of memory");
    else if (WIFSIGNALED(status))
        snprintf(out, REASON_MAX, "it was ended by signal %d (%s)", WTERMSIG(status),
            strsignal(WTERMSIG(status)));
    else
        snprintf(out, REASON_MAX, "it ended with code %d", WEXITSTATUS(status));
}
