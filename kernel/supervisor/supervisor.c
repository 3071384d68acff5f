/* supervisor.c - the loop: signals, workers that speak or die, commands, the clock. See
 * supervisor.h. */
#include "supervisor/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/cluster.h"
#include "process/spawn.h"
#include "supervisor/supervise.h"
#include "util/log.h"
#include "util/time.h"

enum { TICK_US = 1000000 };

void supervisor_stop(struct supervisor *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    atomic_store(&s->board->stopping, 1);
    log_info("server.stopping", "workers finish what runs");
    for (size_t i = 0; i < PROCS_MAX; i++)
        if (s->procs[i].pid)
            proc_ask_to_end(s, &s->procs[i]);
    if (s->ready_pid)
        kill(s->ready_pid, SIGTERM);
    control_stop(s);
}

/* ---- the whole is ready ---- */

static void tell_ready(struct supervisor *s)
{
    int keep[] = {s->start->sets_fd, s->start->config_fd};
    struct spawn command = {.argv = s->start->ready_argv,
        .in = -1,
        .out = -1,
        .err = -1,
        .keep = keep,
        .n_keep = s->start->config_fd >= 0 ? 2 : 1,
        .death_signal = SIGKILL};

    for (size_t i = 0; i < s->n_seats; i++)
        if (!s->seats[i].now || s->seats[i].now->state != BOARD_READY)
            return;
    s->ready_reported = true;
    log_info("server.ready", "%zu web workers and %lld job workers serve", s->start->n_web,
        (long long)s->config->jobs_workers);
    if (s->start->ready_argv && !s->stopping) {
        s->ready_pid = spawn(&command);
        if (s->ready_pid < 0) {
            s->ready_pid = 0;
            log_error("server.ready", "%s can't be executed: %s", s->start->ready_argv[0],
                strerror(errno));
        }
    }
    if (s->reload.again) {
        s->reload.again = false;
        reload_begin(s, s->reload.again_reads);
    }
}

static void supervisor_listen_to(struct supervisor *s, struct proc *p)
{
    if (!proc_listen(s, p))
        return;
    if (p->seat->next == p && p->seat->replaced) {
        seat_replaced(s, p->seat);
        return;
    }
    if (p->seat->next == p) {
        reload_ready(s, p);
        return;
    }
    seat_up(s, p->seat);
    if (!s->ready_reported)
        tell_ready(s);
}

/* ---- deaths ---- */

static bool was_killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Refuses to start, before the whole was ready once: the operator is there, and is told. */
static void refuse_start(struct supervisor *s, const struct proc *p, int status)
{
    char name[24], reason[REASON_MAX];

    proc_reason(p, status, reason);
    log_error("server.failed", "%s can't start: %s", proc_name(p, name), reason);
    if (strcmp(s->config->log_file, "-") != 0 && s->exit_code == 0)
        fprintf(stderr, "wharf: the server can't start: %s\n", reason);
    s->exit_code = WORKER_REFUSED;
    supervisor_stop(s);
}

/* Tells whether the process said that it can't start. One that served and ends with the same code
 * (a hook may call os.exit) crashed. */
static bool supervisor_refused(const struct proc *p, int status)
{
    return p->state == BOARD_STARTING && WIFEXITED(status) && WEXITSTATUS(status) == WORKER_REFUSED;
}

static void now_ended(struct supervisor *s, struct proc *p, int status)
{
    if (supervisor_refused(p, status) && !s->ready_reported) {
        refuse_start(s, p, status);
        return;
    }
    if (!supervisor_refused(p, status))
        blame_crash(s, p, status);
    seat_down(s, p->seat, p, status);
}

static void next_ended(struct supervisor *s, struct proc *p, int status)
{
    struct seat *seat = p->seat;
    char reason[REASON_MAX];

    if (!p->asked && !supervisor_refused(p, status))
        blame_crash(s, p, status);
    proc_reason(p, status, reason);
    if (seat->replaced)
        seat_not_replaced(s, seat, reason);
    else
        reload_died(s, p, status);
}

static bool supervisor_ended_well(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Tells whether the process ended by itself: not because it was asked to, or was slow to do so. */
static bool ended_badly(int status)
{
    return !supervisor_ended_well(status) && !was_killed(status) &&
           !(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void worker_ended(struct supervisor *s, struct proc *p, int status)
{
    struct seat *seat = p->seat;

    for (int i = 0; i < 4 && p->control_fd >= 0; i++)
        proc_listen(s, p); /* its last words */
    if (seat->next == p) {
        next_ended(s, p, status);
    } else if (seat->now == p) {
        seat->now = NULL;
        if (!p->asked && !s->stopping)
            now_ended(s, p, status);
    } else if (p->hung || p->over_memory ? !supervisor_ended_well(status) : ended_badly(status)) {
        blame_crash(s, p, status); /* replaced before; its report tells where it was */
    }
    proc_free(s, p);
}

static void cluster_ended(struct supervisor *s, int status)
{
    int64_t now = clock_monotonic_us();

    s->cluster_delay_us = restart_delay(
        s->cluster_delay_us, s->cluster_started_us, now, was_killed(status), true);
    s->cluster_at_us = now + s->cluster_delay_us + 1;
    if (!s->stopping)
        log_error("database.ended", "the embedded PostgreSQL ended (%s %d); it is started again",
            WIFSIGNALED(status) ? "signal" : "code",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void supervisor_reap(struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct proc *p = s->procs;

        while (p < s->procs + PROCS_MAX && p->pid != pid)
            p++;
        if (p < s->procs + PROCS_MAX)
            worker_ended(s, p, status);
        else if (s->start->cluster && pid == cluster_pid(s->start->cluster))
            cluster_ended(s, status);
        else if (pid == s->ready_pid)
            s->ready_pid = 0;
    }
}

/* ---- the loop ---- */

static void supervisor_on_signal(struct supervisor *s)
{
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        bool end = info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT;

        if (info.ssi_signo == SIGCHLD)
            supervisor_reap(s);
        else if (info.ssi_signo == SIGHUP && !s->start->hangup_stops)
            reload_begin(s, true);
        else if (end && s->stopping) /* asked twice: now */
            for (size_t i = 0; i < PROCS_MAX; i++)
                s->procs[i].kill_at_us = 1;
        else
            supervisor_stop(s);
    }
}

static void on_clock(struct supervisor *s, int64_t now)
{
    seats_watch(s, now);
    if (s->cluster_at_us && now >= s->cluster_at_us && !s->stopping) {
        s->cluster_at_us = cluster_revive(s->start->cluster) ? 0 : now + TICK_US;
        s->cluster_started_us = now;
    }
    proc_watch(s, now);
}

static int timeout_ms(const struct supervisor *s)
{
    int64_t now = clock_monotonic_us(), at = now + TICK_US;

    for (size_t i = 0; i < s->n_seats; i++)
        if (s->seats[i].start_at_us && s->seats[i].start_at_us < at)
            at = s->seats[i].start_at_us;
    if (s->cluster_at_us && s->cluster_at_us < at && !s->stopping)
        at = s->cluster_at_us;
    return at <= now ? 0 : (int)((at - now) / 1000) + 1;
}

static bool has_workers(const struct supervisor *s)
{
    for (size_t i = 0; i < PROCS_MAX; i++)
        if (s->procs[i].pid)
            return true;
    return false;
}

static void turn(struct supervisor *s)
{
    struct pollfd fds[2 + CLIENTS_MAX + PROCS_MAX];
    void *who[2 + CLIENTS_MAX + PROCS_MAX];
    nfds_t n = 2, n_clients;

    fds[0] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = s->start->control_fd, .events = POLLIN};
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        who[n] = &s->clients[i];
        if (s->clients[i].fd >= 0)
            fds[n++] = (struct pollfd){.fd = s->clients[i].fd, .events = POLLIN};
    }
    n_clients = n;
    for (size_t i = 0; i < PROCS_MAX; i++) {
        who[n] = &s->procs[i];
        if (s->procs[i].pid && s->procs[i].control_fd >= 0)
            fds[n++] = (struct pollfd){.fd = s->procs[i].control_fd, .events = POLLIN};
    }
    if (poll(fds, n, timeout_ms(s)) < 0)
        n = 0;
    for (nfds_t i = 2; i < n; i++) {
        struct proc *p = who[i];

        if (fds[i].revents && i < n_clients)
            control_read(s, who[i]);
        else if (fds[i].revents && p->pid && p->control_fd == fds[i].fd)
            supervisor_listen_to(s, p);
    }
    if (n && fds[1].revents)
        control_accept(s);
    if (n && fds[0].revents)
        supervisor_on_signal(s);
    on_clock(s, clock_monotonic_us());
}

static bool open_signals(struct supervisor *s)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signal_fd >= 0;
}

static bool supervisor_prepare(struct supervisor *s)
{
    ssize_t n = readlink("/proc/self/exe", s->exe, sizeof(s->exe) - 1);

    /* by its path, so that a replaced program is picked up by the next worker */
    s->exe[n > 0 ? n : 0] = 0;
    if (access(s->exe, X_OK) != 0)
        snprintf(s->exe, sizeof(s->exe), "/proc/self/exe");
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        s->clients[i].fd = -1;
    for (size_t i = 0; i < s->start->n_web; i++)
        s->seats[s->n_seats++] = (struct seat){
            .kind = WORKER_WEB, .index = (unsigned)i, .listen_fd = s->start->listen_fds[i]};
    for (int64_t i = 0; i < s->config->jobs_workers; i++)
        s->seats[s->n_seats++] = (struct seat){
            .kind = WORKER_JOB, .index = (unsigned)i, .listen_fd = i ? -1 : s->start->admin_fd};
    mkdir(s->config->crash_dir, 0750);
    s->board = board_create(&s->board_fd);
    if (s->board) {
        disk_share(&s->board->disk);
        quarantine_load(s);
        generation_quarantine(s, &s->serving);
        atomic_store(&s->board->memory_limit, s->config->memory_limit);
    }
    return s->board && open_signals(s);
}

int supervisor_run(const struct supervisor_start *start)
{
    static struct supervisor s; /* large, and there is one per process */

    s = (struct supervisor){.start = start,
        .config = start->config,
        .first = start->config,
        .generation = 1,
        .serving = {.number = 1,
            .config = start->config,
            .config_fd = config_keep(start->config),
            .tls_fd = start->tls_fd},
        .reload.coming = {.config_fd = -1, .tls_fd = -1}};
    if (!supervisor_prepare(&s)) {
        log_error("server.failed", "shared memory or signals can't be set up: %s", strerror(errno));
        return 1;
    }
    s.cluster_started_us = clock_monotonic_us();
    for (size_t i = 0; i < s.n_seats; i++)
        seat_start(&s, &s.seats[i]);
    supervisor_reap(&s); /* who died before its signal could be seen */
    while (!s.stopping || has_workers(&s))
        turn(&s);
    log_info("server.stopped", "all workers ended");
    config_free(s.config);
    return s.exit_code;
}
