/* proc.c - one worker process: started, listened to, asked to end, ended by force. Decides nothing about restarts. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/spawn.h"
#include "supervisor/supervise.h"
#include "util/log.h"
#include "util/time.h"

enum {
    SECOND = 1000000,
    START_LIMIT_S = 30,
    BEAT_LIMIT_S = 10,
    OVERDUE_LIMIT_S = 30,
    ABORT_LIMIT_S = 5,
    DRAIN_EXTRA_S = 10
};

const char *proc_name(const struct proc *p, char out[24])
{
    snprintf(out, 24, "%s %u", p->seat->kind == WORKER_WEB ? "web" : "job", p->seat->index);
    return out;
}

/* Decimal text of a number, in the arena. */
static const char *text_of(struct arena *a, uint64_t n)
{
    return arena_printf(a, "%llu", (unsigned long long)n).p;
}

/* A successor of a reload serves with the new settings' certificate. */
static int tls_of(const struct supervisor *s, const struct proc *p)
{
    if (p->seat->kind != WORKER_WEB)
        return -1;
    return s->reload.config ? s->reload.tls_fd : s->tls_fd;
}

static const char *const *arguments(
    const struct supervisor *s, const struct proc *p, int control_fd, int tls_fd, struct arena *a)
{
    const struct supervisor_start *start = s->start;
    const char **argv = ARENA_ARRAY(a, const char *, 32 + 2 * start->n_sets);
    size_t n = 0;

    argv[n++] = s->exe;
    argv[n++] = "_worker";
    argv[n++] = "--kind";
    argv[n++] = p->seat->kind == WORKER_WEB ? "web" : "job";
    argv[n++] = "--index";
    argv[n++] = text_of(a, p->seat->index);
    if (p->seat->listen_fd >= 0) {
        argv[n++] = "--listen-fd";
        argv[n++] = text_of(a, (uint64_t)p->seat->listen_fd);
    }
    if (tls_fd >= 0) {
        argv[n++] = "--tls-fd";
        argv[n++] = text_of(a, (uint64_t)tls_fd);
    }
    argv[n++] = "--control-fd";
    argv[n++] = text_of(a, (uint64_t)control_fd);
    argv[n++] = "--board-fd";
    argv[n++] = text_of(a, (uint64_t)s->board_fd);
    argv[n++] = "--slot";
    argv[n++] = text_of(a, (uint64_t)(p - s->procs));
    argv[n++] = "--generation";
    argv[n++] = text_of(a, p->generation);
    argv[n++] = "--database";
    argv[n++] = start->database;
    argv[n++] = "--quarantined";
    argv[n++] = quarantine_names(s->quarantine, s->n_quarantine, a);
    if (start->config_file) {
        argv[n++] = "-c";
        argv[n++] = start->config_file;
    }
    for (size_t i = 0; i < start->n_sets; i++) {
        argv[n++] = "--set";
        argv[n++] = arena_printf(a, "%s=%s", start->sets[i].key, start->sets[i].value).p;
    }
    return argv;
}

static void publish(struct supervisor *s, const struct proc *p)
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

/* Only after the slot is ours alone: the child must find it empty. */
static pid_t launch(struct supervisor *s, struct proc *p, int control_fd)
{
    struct arena *a = arena_new(0);
    int tls_fd = tls_of(s, p), keep[4] = {control_fd, s->board_fd};
    size_t n_keep = 2;
    struct spawn child;
    pid_t pid;

    if (p->seat->listen_fd >= 0)
        keep[n_keep++] = p->seat->listen_fd;
    if (tls_fd >= 0)
        keep[n_keep++] = tls_fd;
    /* a worker without supervisor would hold the port of the next one */
    child = (struct spawn){.argv = arguments(s, p, control_fd, tls_fd, a),
        .in = -1,
        .out = -1,
        .err = -1,
        .keep = keep,
        .n_keep = n_keep,
        .death_signal = SIGKILL,
        .short_turns = p->seat->kind == WORKER_WEB,
        .own_session = true};
    pid = spawn(&child);

    arena_free(a);
    return pid;
}

struct proc *proc_start(struct supervisor *s, struct seat *seat)
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
        .generation = s->generation,
        .control_fd = pipe_fds[0],
        .started_us = clock_monotonic_us()};
    publish(s, p);
    p->pid = launch(s, p, pipe_fds[1]);
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
    p->kill_at_us = clock_monotonic_us() + (s->config->drain_accept_ms + s->config->drain_timeout_ms) * 1000 +
                    (int64_t)DRAIN_EXTRA_S * SECOND;
    publish(s, p);
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
    publish(s, p);
    return 1;
}

void proc_reason(const struct proc *p, int status, char out[REASON_MAX])
{
    size_t n = strcspn(p->line, "\n");

    if (strncmp(p->line, "failed: ", 8) == 0)
        snprintf(out, REASON_MAX, "%.*s", (int)n - 8, p->line + 8);
    else if (p->hung)
        snprintf(out, REASON_MAX, "it did not react in time");
    else if (WIFSIGNALED(status))
        snprintf(out, REASON_MAX, "it was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(out, REASON_MAX, "it ended with code %d", WEXITSTATUS(status));
}

/* ---- watchdog -------------------------------------------------------------------------------------------------------- */

static void abort_hung(struct supervisor *s, struct proc *p, const struct crumb *c, int64_t now, const char *why)
{
    char name[24];

    p->hung = true;
    p->kill_at_us = now + (int64_t)ABORT_LIMIT_S * SECOND;
    if (c) {
        snprintf(p->hung_plugin, sizeof(p->hung_plugin), "%.*s", PLUGIN_NAME - 1, c->plugin);
        snprintf(p->hung_what, sizeof(p->hung_what), "%.*s", BOARD_TEXT - 1, c->what);
        snprintf(p->hung_request, sizeof(p->hung_request), "%.*s", 31, c->request_id);
    }
    log_write(WHARF_LOG_ERROR, c ? p->hung_plugin : NULL, c ? p->hung_request : NULL, "worker.hung",
        "%s (pid %d) %s; it is ended", proc_name(p, name), (int)p->pid, why);
    kill(p->pid, SIGABRT);
}

/* What the main thread has run and waited for a processor; zeros where the system does not tell. */
static void processor_time(const struct proc *p, int64_t *ret_ran_ns, int64_t *ret_waited_ns)
{
    char path[64], text[96] = "";
    long long ran = 0, waited = 0;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)p->pid, (int)p->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, text, sizeof(text) - 1) < 0 || sscanf(text, "%lld %lld", &ran, &waited) != 2)
            ran = waited = 0;
        close(fd);
    }
    *ret_ran_ns = ran;
    *ret_waited_ns = waited;
}

/* A loop that never ends, a call that never returns, or a machine that is too busy: the three look alike but for this. */
static void abort_silent(struct supervisor *s, struct proc *p, int64_t now)
{
    char why[160];
    int64_t ran_ns, waited_ns;

    processor_time(p, &ran_ns, &waited_ns);
    snprintf(why, sizeof(why),
        "gave no sign of life for 10 s, in which it ran for %.1f s and waited for a processor for %.1f s",
        (double)(ran_ns - p->ran_ns) / 1e9, (double)(waited_ns - p->waited_ns) / 1e9);
    abort_hung(s, p, NULL, now, why);
}

static void watch_ready(struct supervisor *s, struct proc *p, int64_t now)
{
    struct board_worker *w = &s->board->workers[p - s->procs];
    int64_t beat = atomic_load(&w->beat_us);

    for (size_t i = 0; i < BOARD_THREADS; i++) {
        struct crumb *c = &w->crumbs[i];
        int64_t deadline = atomic_load(&c->deadline_us);

        if (atomic_load(&c->since_us) && deadline && now > deadline + (int64_t)OVERDUE_LIMIT_S * SECOND) {
            abort_hung(s, p, c, now, "is far past a deadline");
            return;
        }
    }
    if (beat != p->beat_us) {
        p->beat_us = beat;
        processor_time(p, &p->ran_ns, &p->waited_ns);
    }
    if (now - (beat > p->started_us ? beat : p->started_us) > (int64_t)BEAT_LIMIT_S * SECOND)
        abort_silent(s, p, now);
}

void proc_watch(struct supervisor *s, int64_t now)
{
    for (struct proc *p = s->procs; p < s->procs + PROCS_MAX; p++) {
        char name[24];

        if (!p->pid)
            continue;
        if (p->kill_at_us && now >= p->kill_at_us) {
            log_warn("worker.killed", "%s (pid %d) did not end in time; killed", proc_name(p, name), (int)p->pid);
            kill(p->pid, SIGKILL);
            p->kill_at_us = now + (int64_t)ABORT_LIMIT_S * SECOND;
        } else if (p->kill_at_us) {
            continue;
        } else if (p->state == BOARD_STARTING && now - p->started_us > (int64_t)START_LIMIT_S * SECOND) {
            abort_hung(s, p, NULL, now, "was not ready in 30 s");
        } else if (p->state == BOARD_READY) {
            watch_ready(s, p, now);
        }
    }
}
