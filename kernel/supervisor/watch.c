/* watch.c - workers that hang, or have too much memory: noticed, replaced, and ended by force
 * where nothing else helps.
 *
 * A thread that is far past its deadline holds that thread and nothing else, and a worker that
 * grows serves on: in both cases a successor takes over first and the old worker finishes what
 * others asked of it. A worker without a sign of life is ended at once. docs/guide/operation.md
 * 'Workers that hang or grow'. Leaves to others: who is to blame (blame.c), the successor
 * (seat.c). */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config/shipped.h"
#include "supervisor/supervise.h"
#include "util/log.h"
#include "util/time.h"

enum {
    SECOND = 1000000,
    START_LIMIT_S = 30, /* a worker may take to be ready */
    BEAT_LIMIT_S = 10, /* without a sign of life a worker hangs */
    GRACE_S = 5, /* of a plugin that is not ours, past its deadline */
    LONG_GRACE_S = 30, /* of everything else: statements and files have ends of their own */
    ABORT_LIMIT_S = 5, /* from the abort of a worker to its kill */
    MEGABYTE = 1024 * 1024
};

/* ---- hangs ---- */

/* Sends SIGABRT to the thread that hangs, so that the report shows where; else to the process. */
static void abort_now(struct proc *p, int64_t now)
{
    p->abort_at_us = 0;
    p->kill_at_us = now + (int64_t)ABORT_LIMIT_S * SECOND;
    if (!p->hung_thread || syscall(SYS_tgkill, p->pid, p->hung_thread, SIGABRT) != 0)
        kill(p->pid, SIGABRT);
}

static void abort_silent_one(struct supervisor *s, struct proc *p, int64_t now, const char *why)
{
    char name[24];

    p->hung = true;
    atomic_fetch_add(&s->board->hangs, 1);
    log_error("worker.hung", "%s (pid %d) %s; it is ended", proc_name(p, name), (int)p->pid, why);
    abort_now(p, now);
}

/* Reads how long the main thread has run and waited for a processor; zeros where the system does
 * not tell. */
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

/* Aborts a process that took too long to start. */
static void abort_late_start(struct supervisor *s, struct proc *p, int64_t now)
{
    char why[64];

    snprintf(why, sizeof(why), "was not ready in %d s", START_LIMIT_S);
    abort_silent_one(s, p, now, why);
}

/* Aborts a silent process and says why: a loop that never ends, a call that never returns, or a
 * machine that is too busy look alike but for this. */
static void abort_silent(struct supervisor *s, struct proc *p, int64_t now)
{
    char why[160];
    int64_t ran_ns, waited_ns;

    processor_time(p, &ran_ns, &waited_ns);
    snprintf(why, sizeof(why),
        "gave no sign of life for %d s, in which it ran for %.1f s and waited for a processor for "
        "%.1f s",
        BEAT_LIMIT_S, (double)(ran_ns - p->ran_ns) / 1e9, (double)(waited_ns - p->waited_ns) / 1e9);
    abort_silent_one(s, p, now, why);
}

static void note_hang(struct supervisor *s, struct proc *p, const struct activity *c, int64_t now)
{
    int64_t ran_us = now - atomic_load(&c->since_us), late_us = now - atomic_load(&c->deadline_us);
    char name[24];

    p->hung = true;
    p->hung_thread = atomic_load(&c->thread);
    snprintf(p->hung_plugin, sizeof(p->hung_plugin), "%.*s", PLUGIN_NAME - 1, c->plugin);
    snprintf(p->hung_what, sizeof(p->hung_what), "%.*s", BOARD_TEXT - 1, c->what);
    snprintf(p->hung_request, sizeof(p->hung_request), "%.*s", 31, c->request_id);
    atomic_fetch_add(&s->board->hangs, 1);
    log_write(WHARF_LOG_ERROR, p->hung_plugin, p->hung_request, "worker.hung",
        "%s (pid %d) is far past a deadline: a thread has been doing %s for %.1f s, %.1f s longer "
        "than it may; a new worker takes over, and this one is ended when others have their "
        "answers",
        proc_name(p, name), (int)p->pid, p->hung_what, (double)ran_us / 1e6, (double)late_us / 1e6);
    blame_hang(s, p);
}

static bool watch_is_late(const struct activity *c, int64_t now)
{
    int64_t deadline = atomic_load(&c->deadline_us);
    bool ours = strcmp(c->plugin, "wharf") == 0 || module_is_shipped(c->plugin);

    return atomic_load(&c->since_us) && deadline &&
           now > deadline + (int64_t)(ours ? LONG_GRACE_S : GRACE_S) * SECOND;
}

/* ---- memory ---- */

/* Returns how many bytes of its own are in memory: not those of files and of what it shares with
 * others. */
static int64_t own_memory(const struct proc *p)
{
    char path[64], text[96] = "";
    long long resident = 0, shared = 0;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/statm", (int)p->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) < 0 ||
        sscanf(text, "%*d %lld %lld", &resident, &shared) != 2)
        resident = shared = 0;
    close(fd);
    return (resident - shared) * sysconf(_SC_PAGESIZE);
}

static void watch_memory(struct supervisor *s, struct proc *p, int64_t now)
{
    int64_t limit = s->config->memory_limit, soft = limit / 4 * 3, used;
    char name[24];

    if (now - p->looked_us < SECOND)
        return;
    p->looked_us = now;
    used = own_memory(p);
    atomic_store(&s->board->workers[p - s->procs].memory, used);
    greed_look(s, p, used, now);
    if (!limit || used < soft)
        return;
    if (used >= limit) {
        p->over_memory = true;
        p->hung_thread = greed_thread(p, now); /* it tells where it is */
        log_error("worker.memory_limit",
            "%s (pid %d) has %lld MB, more than the %lld MB of memory.limit; it is ended",
            proc_name(p, name), (int)p->pid, (long long)(used / MEGABYTE),
            (long long)(limit / MEGABYTE));
        abort_now(p, now);
    } else if (p->seat->now == p && seat_replace(s, p->seat)) {
        atomic_fetch_add(&s->board->memory_restarts, 1);
        log_warn("worker.memory",
            "%s (pid %d) has %lld MB, more than three quarters of the %lld MB that a worker may "
            "have (memory.limit); a new one takes over",
            proc_name(p, name), (int)p->pid, (long long)(used / MEGABYTE),
            (long long)(limit / MEGABYTE));
    }
}

/* ---- all of them ---- */

static void watch_ready(struct supervisor *s, struct proc *p, int64_t now)
{
    struct board_worker *w = &s->board->workers[p - s->procs];
    int64_t beat = atomic_load(&w->beat_us);

    for (size_t i = 0; i < BOARD_THREADS && !p->hung; i++)
        if (watch_is_late(&w->activities[i], now))
            note_hang(s, p, &w->activities[i], now);
    if (p->hung && p->seat->now == p)
        seat_replace(s, p->seat);
    if (beat != p->beat_us) {
        p->beat_us = beat;
        processor_time(p, &p->ran_ns, &p->waited_ns);
    }
    if (now - (beat > p->started_us ? beat : p->started_us) > (int64_t)BEAT_LIMIT_S * SECOND)
        abort_silent(s, p, now);
    else
        watch_memory(s, p, now);
}

void proc_watch(struct supervisor *s, int64_t now)
{
    for (struct proc *p = s->procs; p < s->procs + PROCS_MAX; p++) {
        char name[24];

        if (!p->pid)
            continue;
        if (p->abort_at_us && now >= p->abort_at_us) {
            abort_now(p, now);
        } else if (p->kill_at_us && now >= p->kill_at_us) {
            log_warn("worker.killed", "%s (pid %d) did not end in time; killed", proc_name(p, name),
                (int)p->pid);
            kill(p->pid, SIGKILL);
            p->kill_at_us = now + (int64_t)ABORT_LIMIT_S * SECOND;
        } else if (p->kill_at_us) {
            if (p->state == BOARD_DRAINING && !p->over_memory)
                watch_memory(s, p, now); /* what it still does may take more */
        } else if (p->state == BOARD_STARTING &&
                   now - p->started_us > (int64_t)START_LIMIT_S * SECOND) {
            abort_late_start(s, p, now);
        } else if (p->state == BOARD_READY) {
            watch_ready(s, p, now);
        }
    }
}
