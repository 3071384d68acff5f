/* blame.c - which plugin a dead worker is due to, and leaving out those that crash too often
 * (docs/decisions 21).
 *
 * A report of the worker itself names the plugin; without one, the busy activities do when all of
 * them are of one
 * plugin. A SIGKILL without report blames nobody, as administrators send it; but when the system
 * ended the worker for its memory, or the supervisor did, the plugin whose thread was seen to
 * take much (greed.c). */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config/shipped.h"
#include "process/crash.h"
#include "supervisor/supervise.h"
#include "util/log.h"
#include "util/time.h"

enum { HANG_POINTS = 2, HANG_WINDOWS = 10 };

/* Reads who was at work. Of two at work either may have been it: then only the plugin is told,
 * when it is the same. */
static void read_activities(
    const struct supervisor *s, const struct proc *p, struct crash_report *c)
{
    const struct board_worker *w = &s->board->workers[p - s->procs];
    const struct activity *busy = NULL;
    size_t n = 0;

    for (size_t i = 0; i < BOARD_THREADS; i++) {
        if (!atomic_load(&w->activities[i].since_us))
            continue;
        if (busy && strncmp(busy->plugin, w->activities[i].plugin, BOARD_TEXT) != 0)
            return;
        busy = &w->activities[i];
        n++;
    }
    if (!busy)
        return;
    snprintf(c->plugin, sizeof(c->plugin), "%.*s", PLUGIN_NAME - 1, busy->plugin);
    if (n > 1)
        return;
    snprintf(c->what, sizeof(c->what), "%.*s", BOARD_TEXT - 1, busy->what);
    snprintf(c->request, sizeof(c->request), "%.*s", 31, busy->request_id);
}

static void read_greed(const struct supervisor *s, const struct proc *p, struct crash_report *c)
{
    if (!greed_thread(p, clock_monotonic_us())) {
        read_activities(s, p, c);
        return;
    }
    snprintf(c->plugin, sizeof(c->plugin), "%s", p->greed.plugin);
    snprintf(c->what, sizeof(c->what), "%s", p->greed.what);
    snprintf(c->request, sizeof(c->request), "%s", p->greed.request);
}

static bool was_killed_for_memory(const struct proc *p, int status)
{
    return p->over_memory ||
           (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && greed_was_killed(p));
}

/* Tells whether the worker ran out of memory. One that was near its limit was refused memory, most
 * likely, and whoever asked next crashed: code of the server says nothing then. */
static bool ran_out_of_memory(
    const struct supervisor *s, const struct proc *p, const struct crash_report *c)
{
    int64_t used = atomic_load(&s->board->workers[p - s->procs].memory),
            limit = s->config->memory_limit;
    bool ours = !c->plugin[0] || strcmp(c->plugin, "wharf") == 0 || module_is_shipped(c->plugin);

    return ours && limit && used >= limit / 4 * 3 && greed_thread(p, clock_monotonic_us());
}

static void find_culprit(
    const struct supervisor *s, const struct proc *p, int status, struct crash_report *c)
{
    bool reported = crash_read_report(s->config->crash_dir, p->pid, p->started_us, c);

    if (p->hung && p->state == BOARD_STARTING) {
        read_activities(s, p, c); /* nobody is served yet: what was being started hung */
    } else if (p->hung) {
        snprintf(c->plugin, sizeof(c->plugin), "%s", p->hung_plugin);
        snprintf(c->what, sizeof(c->what), "%s", p->hung_what);
        snprintf(c->request, sizeof(c->request), "%s", p->hung_request);
    } else if (ran_out_of_memory(s, p, c)) {
        read_greed(s, p, c);
    } else if (was_killed_for_memory(p, status)) {
        if (!c->plugin[0])
            read_greed(s, p, c);
    } else if (!reported && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
        read_activities(s, p, c);
    }
}

/* ---- jobs ---- */

static bool is_job(const char *request)
{
    return strncmp(request, "job_", 4) == 0;
}

/* Writes the job that is known to have done it, else all that were running: "job_12 job_15". */
static void guilty_jobs(
    const struct supervisor *s, const struct proc *p, const struct crash_report *c, struct buf *out)
{
    const struct board_worker *w = &s->board->workers[p - s->procs];

    if (is_job(c->request)) {
        buf_addz(out, c->request);
        return;
    }
    for (size_t i = 0; i < BOARD_THREADS; i++) {
        const struct activity *busy = &w->activities[i];

        if (atomic_load(&busy->since_us) && is_job(busy->request_id))
            buf_addf(out, "%s%.*s", out->n ? " " : "", 31, busy->request_id);
    }
}

/* Notes the jobs in the report. Job workers have the database: the next one reads there whom to
 * hold to account (job/job_crash.c). One that ended without a report, but not by SIGKILL, gets a
 * short one. */
static void note_jobs(
    const struct supervisor *s, const struct proc *p, int status, const struct crash_report *c)
{
    char file[600];
    struct timespec now;
    struct buf jobs;
    int fd;

    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0; /* somebody asked it to */
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !p->hung && !c->plugin[0];

    if (p->seat->kind != WORKER_JOB || (!c->file[0] && (ended || killed)))
        return;
    buf_init(&jobs, 4096);
    guilty_jobs(s, p, c, &jobs);
    clock_gettime(CLOCK_REALTIME, &now);
    if (c->file[0])
        snprintf(file, sizeof(file), "%s", c->file);
    else
        snprintf(file, sizeof(file), "%s/crash-%lld-%d.txt", s->config->crash_dir,
            (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, (int)p->pid);
    fd = jobs.n ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640) : -1;
    if (fd >= 0) {
        dprintf(fd, "%s\njobs: %s\n", c->file[0] ? "" : "wharf crash report, by the supervisor",
            jobs.p);
        close(fd);
    }
    buf_done(&jobs);
}

/* ---- quarantine ---- */

static bool is_quarantined(const struct supervisor *s, const char *plugin)
{
    for (size_t i = 0; i < s->n_quarantine; i++)
        if (strcmp(s->quarantine[i].name, plugin) == 0)
            return true;
    return false;
}

/* Publishes the quarantine: workers to come, /metrics and the next start shall know. */
static void blame_publish(struct supervisor *s)
{
    struct arena *a = arena_new(0);
    wharf_str why;

    for (size_t i = 0; i < s->n_quarantine; i++)
        snprintf(s->board->quarantined[i], sizeof(s->board->quarantined[i]), "%s",
            s->quarantine[i].name);
    atomic_store(&s->board->n_quarantined, (int)s->n_quarantine);
    if (!quarantine_write(s->config->data, s->quarantine, s->n_quarantine, a, &why))
        log_error("quarantine.not_kept", "%s; a restart brings these plugins back", why.p);
    arena_free(a);
}

void quarantine_load(struct supervisor *s)
{
    s->n_quarantine = quarantine_read(s->config->data, s->quarantine);
    if (!s->n_quarantine)
        return;
    blame_publish(s);
    for (size_t i = 0; i < s->n_quarantine; i++)
        log_write(WHARF_LOG_WARN, s->quarantine[i].name, NULL, "plugin.still_quarantined",
            "since %s; `wharf plugin release %s` brings it back", s->quarantine[i].since,
            s->quarantine[i].name);
}

bool quarantine_release(struct supervisor *s, const char *plugin)
{
    for (size_t i = 0; i < s->n_quarantine; i++) {
        if (strcmp(s->quarantine[i].name, plugin) != 0)
            continue;
        memmove(&s->quarantine[i], &s->quarantine[i + 1],
            (s->n_quarantine - i - 1) * sizeof(s->quarantine[0]));
        s->n_quarantine--;
        blame_publish(s);
        for (size_t k = 0; k < CRASHES_KEPT; k++)
            if (strcmp(s->crashes[k].plugin, plugin) == 0)
                s->crashes[k].plugin[0] = 0;
        return true;
    }
    return false;
}

/* Tells whether it is one of the configured modules (and not the kernel), and of the kind the
 * settings allow to leave out. */
static bool may_quarantine(const struct supervisor *s, const char *plugin)
{
    bool known = false;

    for (size_t i = 0; i < s->config->modules.count; i++) {
        const char *name = s->config->modules.items[i], *slash = strrchr(name, '/');
        size_t n = strlen(plugin);

        name = slash ? slash + 1 : name;
        known = known ||
                (strncmp(name, plugin, n) == 0 && (!name[n] || strcmp(name + n, ".so") == 0));
    }
    if (!known || strcmp(s->config->quarantine, "off") == 0)
        return false;
    return strcmp(s->config->quarantine, "all") == 0 || !module_is_shipped(plugin);
}

/* Counts the points of a plugin within its time. A hang counts as much as two crashes and is
 * remembered for ten times as long: it is noticed only when a handler's whole time is over, and
 * holds a thread all the while. */
static size_t count_points(struct supervisor *s, const char *plugin, bool hang, int64_t now)
{
    size_t slot = s->n_crashes++ % CRASHES_KEPT, points = 0;
    int64_t window = s->config->crash_window_s * 1000000;

    snprintf(s->crashes[slot].plugin, PLUGIN_NAME, "%s", plugin);
    s->crashes[slot].at_us = now;
    s->crashes[slot].hang = hang;
    for (size_t i = 0; i < CRASHES_KEPT; i++) {
        bool hung = s->crashes[i].hang;

        if (strcmp(s->crashes[i].plugin, plugin) == 0 &&
            now - s->crashes[i].at_us < (hung ? HANG_WINDOWS * window : window))
            points += hung ? HANG_POINTS : 1;
    }
    return points;
}

static void quarantine(struct supervisor *s, const char *plugin, size_t crashes)
{
    struct quarantined *q = &s->quarantine[s->n_quarantine++];
    struct timespec now;

    *q = (struct quarantined){.crashes = (int64_t)crashes, .window_s = s->config->crash_window_s};
    snprintf(q->name, sizeof(q->name), "%s", plugin);
    clock_gettime(CLOCK_REALTIME, &now);
    time_format_iso((int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000, q->since);
    blame_publish(s);
    log_write(WHARF_LOG_ERROR, plugin, NULL, "plugin.quarantined",
        "%zu crashes in %lld s (a hang counts as %d): the next workers start without it; `wharf "
        "plugin release %s` brings it back",
        crashes, (long long)s->config->crash_window_s, HANG_POINTS, plugin);
    reload_begin(s, false);
}

/* Counts one more crash or hang of a plugin. */
static void charge(struct supervisor *s, const char *plugin, bool hang)
{
    struct generation now;
    size_t points;

    if (!plugin[0] || !may_quarantine(s, plugin))
        return;
    if (is_quarantined(s, plugin)) {
        /* the generation that was to leave it out did not come about */
        generation_quarantine(s, &now);
        if (strcmp(now.quarantined, s->serving.quarantined) != 0 && !s->reload.active)
            reload_begin(s, false);
        return;
    }
    points = count_points(s, plugin, hang, clock_monotonic_us());
    if (points >= (size_t)s->config->crash_limit && s->n_quarantine < QUARANTINE_MAX)
        quarantine(s, plugin, points);
}

void blame_hang(struct supervisor *s, const struct proc *p)
{
    charge(s, p->hung_plugin, true);
}

void blame_crash(struct supervisor *s, const struct proc *p, int status)
{
    struct crash_report c = {.plugin = ""};
    char name[24], reason[REASON_MAX];

    atomic_fetch_add(&s->board->crashes, 1);
    find_culprit(s, p, status, &c);
    note_jobs(s, p, status, &c);
    proc_reason(p, status, reason);
    log_write(WHARF_LOG_ERROR, c.plugin[0] ? c.plugin : NULL, c.request[0] ? c.request : NULL,
        "worker.crashed", "%s (pid %d): %s%s%s%s%s", proc_name(p, name), (int)p->pid, reason,
        c.what[0] ? "; it was doing " : "", c.what, c.file[0] ? "; report: " : "", c.file);
    if (!p->hung) /* a hang was counted when it was noticed */
        charge(s, c.plugin, false);
}
