/* blame.c - which plugin a dead worker is due to, and leaving out those that crash too often (docs/decisions.md 21).
 *
 * A report of the worker itself names the plugin; without one, a single busy crumb does. A SIGKILL without report blames
 * nobody: the kernel's out-of-memory killer and administrators send it.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "plugin/shipped.h"
#include "supervisor/crash.h"
#include "supervisor/supervise.h"
#include "util/log.h"
#include "util/time.h"

static void read_crumbs(const struct supervisor *s, const struct proc *p, struct crash_report *c)
{
    const struct board_worker *w = &s->board->workers[p - s->procs];
    const struct crumb *busy = NULL;

    for (size_t i = 0; i < BOARD_THREADS; i++) {
        if (!atomic_load(&w->crumbs[i].since_us))
            continue;
        if (busy)
            return; /* two at work: either may have been it */
        busy = &w->crumbs[i];
    }
    if (!busy)
        return;
    snprintf(c->plugin, sizeof(c->plugin), "%.*s", PLUGIN_NAME - 1, busy->plugin);
    snprintf(c->what, sizeof(c->what), "%.*s", BOARD_TEXT - 1, busy->what);
    snprintf(c->request, sizeof(c->request), "%.*s", 31, busy->request_id);
}

static void find_culprit(const struct supervisor *s, const struct proc *p, int status, struct crash_report *c)
{
    bool reported = crash_read_report(s->config->crash_dir, p->pid, p->started_us, c);

    if (p->hung) {
        snprintf(c->plugin, sizeof(c->plugin), "%s", p->hung_plugin);
        snprintf(c->what, sizeof(c->what), "%s", p->hung_what);
        snprintf(c->request, sizeof(c->request), "%s", p->hung_request);
    } else if (!reported && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
        read_crumbs(s, p, c);
    }
}

/* ---- quarantine ------------------------------------------------------------------------------------------------------ */

static bool is_quarantined(const struct supervisor *s, const char *plugin)
{
    for (size_t i = 0; i < s->n_quarantine; i++)
        if (strcmp(s->quarantine[i], plugin) == 0)
            return true;
    return false;
}

void quarantine_list(const struct supervisor *s, struct buf *out)
{
    for (size_t i = 0; i < s->n_quarantine; i++)
        buf_addf(out, "%s%s", i ? "," : "", s->quarantine[i]);
}

bool quarantine_release(struct supervisor *s, const char *plugin)
{
    for (size_t i = 0; i < s->n_quarantine; i++) {
        if (strcmp(s->quarantine[i], plugin) != 0)
            continue;
        memmove(s->quarantine[i], s->quarantine[i + 1], (s->n_quarantine - i - 1) * sizeof(s->quarantine[0]));
        s->n_quarantine--;
        for (size_t k = 0; k < CRASHES_KEPT; k++)
            if (strcmp(s->crashes[k].plugin, plugin) == 0)
                s->crashes[k].plugin[0] = 0;
        return true;
    }
    return false;
}

/* Is it one of the configured modules (and not the kernel), and of the kind the settings allow to leave out? */
static bool may_quarantine(const struct supervisor *s, const char *plugin)
{
    bool known = false;

    for (size_t i = 0; i < s->config->modules.count; i++) {
        const char *name = s->config->modules.items[i], *slash = strrchr(name, '/');
        size_t n = strlen(plugin);

        name = slash ? slash + 1 : name;
        known = known || (strncmp(name, plugin, n) == 0 && (!name[n] || strcmp(name + n, ".so") == 0));
    }
    if (!known || strcmp(s->config->quarantine, "off") == 0)
        return false;
    return strcmp(s->config->quarantine, "all") == 0 || !module_is_shipped(plugin);
}

static size_t count_crash(struct supervisor *s, const char *plugin, int64_t now)
{
    size_t slot = s->n_crashes++ % CRASHES_KEPT, count = 0;

    snprintf(s->crashes[slot].plugin, PLUGIN_NAME, "%s", plugin);
    s->crashes[slot].at_us = now;
    for (size_t i = 0; i < CRASHES_KEPT; i++)
        count += strcmp(s->crashes[i].plugin, plugin) == 0 &&
                 now - s->crashes[i].at_us < s->config->crash_window_s * 1000000;
    return count;
}

static void quarantine(struct supervisor *s, const char *plugin, size_t crashes)
{
    snprintf(s->quarantine[s->n_quarantine++], PLUGIN_NAME, "%s", plugin);
    log_write(WHARF_LOG_ERROR, plugin, NULL, "plugin.quarantined",
        "%zu crashes in %lld s: the next workers start without it; `wharf plugin release %s` brings it back", crashes,
        (long long)s->config->crash_window_s, plugin);
    reload_begin(s);
}

void blame_crash(struct supervisor *s, const struct proc *p, int status)
{
    struct crash_report c = {.plugin = ""};
    char name[24], reason[REASON_MAX];
    int64_t now = clock_monotonic_us();
    size_t crashes;

    atomic_fetch_add(&s->board->crashes, 1);
    find_culprit(s, p, status, &c);
    proc_reason(p, status, reason);
    log_write(WHARF_LOG_ERROR, c.plugin[0] ? c.plugin : NULL, c.request[0] ? c.request : NULL, "worker.crashed",
        "%s (pid %d): %s%s%s%s%s", proc_name(p, name), (int)p->pid, reason, c.what[0] ? "; it was doing " : "", c.what,
        c.file[0] ? "; report: " : "", c.file);
    if (!c.plugin[0] || !may_quarantine(s, c.plugin) || is_quarantined(s, c.plugin))
        return;
    crashes = count_crash(s, c.plugin, now);
    if (crashes >= (size_t)s->config->crash_limit && s->n_quarantine < QUARANTINE_MAX)
        quarantine(s, c.plugin, crashes);
}
