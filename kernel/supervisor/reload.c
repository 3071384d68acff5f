/* reload.c - a new generation of workers takes over seat by seat (docs/reference/plugin-abi.md
 * section 3 'Reload').
 *
 * The settings are read anew; the first new worker must become ready before anything else
 * happens: until then nothing has changed and a failure only tells its reason. Then each seat's
 * old worker is drained when its successor is ready. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>

#include "http/tls.h"
#include "supervisor/supervise.h"
#include "util/log.h"

enum { TRIES = 3 }; /* of a worker of the new generation */

/* ---- generations ---- */

static void close_held(int *held)
{
    if (*held >= 0)
        close(*held);
    *held = -1;
}

static void generation_end(const struct supervisor *s, struct generation *g)
{
    if (g->config && g->config != s->first)
        config_free(g->config);
    g->config = NULL;
    close_held(&g->config_fd);
    close_held(&g->tls_fd);
}

void generation_quarantine(const struct supervisor *s, struct generation *g)
{
    struct arena *a = arena_new(0);

    snprintf(g->quarantined, sizeof(g->quarantined), "%s",
        quarantine_names(s->quarantine, s->n_quarantine, a));
    arena_free(a);
}

/* Reads the settings as the files hold them now. Returns false when they are wrong; *ret_error
 * says what. */
static bool read_anew(
    struct supervisor *s, struct generation *g, struct arena *err, wharf_str *ret_error)
{
    const struct supervisor_start *start = s->start;
    struct config *written;

    g->config = config_load(start->config_file, start->sets, start->n_sets, err, ret_error);
    if (!g->config || !tls_open(g->config, &g->tls_fd, err, ret_error))
        return false;
    g->config_fd = config_keep(g->config);
    if (g->config_fd < 0 && start->config_file) {
        *ret_error = arena_printf(
            err, "there is no memory to keep the settings: %s", strerror(errno));
        return false;
    }
    /* without what the server has put in place of the operator's words, as the port that it got */
    written = config_load(start->config_file, start->sets, start->n_given, err, ret_error);
    if (written)
        snprintf(s->reload.restart, sizeof(s->reload.restart), "%s",
            config_needs_restart(s->first, written, err).p);
    config_free(written);
    return true;
}

/* Keeps the settings that serve, whatever the files hold: a plugin that crashes is left out also
 * when nobody could reload. */
static bool keep_settings(
    struct supervisor *s, struct generation *g, struct arena *err, wharf_str *ret_error)
{
    const struct supervisor_start *start = s->start;

    g->config = config_load_kept(
        s->serving.config_fd, start->config_file, start->sets, start->n_sets, err, ret_error);
    if (s->serving.config_fd >= 0)
        g->config_fd = fcntl(s->serving.config_fd, F_DUPFD_CLOEXEC, 3);
    if (s->serving.tls_fd >= 0)
        g->tls_fd = fcntl(s->serving.tls_fd, F_DUPFD_CLOEXEC, 3);
    return g->config != NULL;
}

/* ---- the reload ---- */

static void reload_finish(struct supervisor *s, bool good, const char *text)
{
    s->reload.active = false;
    generation_end(s, &s->reload.coming);
    if (good)
        log_info("server.reloaded", "%s", text);
    else
        log_error("server.reload_failed", "%s", text);
    control_reload_done(s, good, text);
    if (s->reload.again && !s->stopping) {
        s->reload.again = false;
        reload_begin(s, s->reload.again_reads);
    }
}

/* Starts the successor of the current seat, or ends the reload when there is none left. */
static void advance(struct supervisor *s)
{
    char text[REASON_MAX + 400];

    while (s->reload.seat < s->n_seats) {
        struct seat *seat = &s->seats[s->reload.seat];

        seat->next = proc_start(s, seat, s->reload.coming.config ? &s->reload.coming : &s->serving);
        if (seat->next)
            return;
        snprintf(s->reload.reason, sizeof(s->reload.reason), "a worker could not be started");
        if (s->reload.seat == 0) {
            reload_finish(s, false, s->reload.reason);
            return;
        }
        s->reload.seat++;
    }
    if (s->reload.reason[0])
        snprintf(text, sizeof(text), "some workers are still of an older generation: %s",
            s->reload.reason);
    else
        snprintf(text, sizeof(text), "generation %llu serves%s%s",
            (unsigned long long)s->serving.number,
            s->reload.restart[0] ? "; these settings changed and need a restart of the server: "
                                 : "",
            s->reload.restart);
    reload_finish(s, !s->reload.reason[0], text);
}

/* Renews the logs whatever becomes of the settings: who renamed the files waits for them to be let
 * go, by old workers too. */
static void renew_logs(struct supervisor *s)
{
    struct arena *a = arena_new(0);
    wharf_str error;

    if (!user_make_logs(s->start->user, s->config, a, &error))
        log_warn("log.not_opened", "%s", error.p);
    arena_free(a);
    if (!log_reopen(s->config->log_file))
        log_warn("log.not_opened", "%s: %s; the old one is used on", s->config->log_file,
            strerror(errno));
    atomic_fetch_add(&s->board->log_turn, 1);
}

static bool begin_later(struct supervisor *s, bool reads)
{
    bool busy = s->reload.active || !s->ready_reported;

    for (size_t i = 0; i < s->n_seats; i++)
        busy = busy || s->seats[i].replaced;
    if (busy) { /* begins when what runs, or the start, is done */
        s->reload.again_reads = reads || (s->reload.again && s->reload.again_reads);
        s->reload.again = true;
    }
    return busy;
}

bool reload_begin(struct supervisor *s, bool reads)
{
    struct generation *g = &s->reload.coming;
    struct arena *err;
    wharf_str error;

    if (s->stopping)
        return false;
    renew_logs(s);
    if (begin_later(s, reads))
        return true;
    err = arena_new(0);
    s->reload.restart[0] = 0;
    *g = (struct generation){.config_fd = -1, .tls_fd = -1};
    if (!(reads ? read_anew(s, g, err, &error) : keep_settings(s, g, err, &error))) {
        s->reload.again = false;
        reload_finish(s, false, error.p);
        arena_free(err);
        return false;
    }
    arena_free(err);
    g->number = ++s->generation;
    generation_quarantine(s, g);
    s->reload.active = true;
    s->reload.reads = reads;
    s->reload.seat = 0;
    s->reload.tries = 0;
    s->reload.reason[0] = 0;
    advance(s);
    return true;
}

/* Takes the new generation over when its first worker is ready: from here on all are started with
 * what it was started with. */
static void reload_take_over(struct supervisor *s)
{
    generation_end(s, &s->serving);
    s->serving = s->reload.coming;
    s->reload.coming = (struct generation){.config_fd = -1, .tls_fd = -1};
    s->config = s->serving.config;
    atomic_store(&s->board->memory_limit, s->config->memory_limit);
    if (!log_open(s->config->log_file, s->config->log_level, "supervisor"))
        log_warn("log.not_opened", "%s: %s; the old one is used on", s->config->log_file,
            strerror(errno));
}

void reload_ready(struct supervisor *s, struct proc *p)
{
    struct seat *seat = p->seat;
    struct proc *old = seat->now;

    if (s->reload.coming.config)
        reload_take_over(s);
    seat->now = p;
    seat->next = NULL;
    seat_up(s, seat);
    if (old)
        proc_ask_to_end(s, old);
    s->reload.seat++;
    s->reload.tries = 0;
    advance(s);
}

void reload_died(struct supervisor *s, struct proc *p, int status)
{
    char reason[REASON_MAX];

    p->seat->next = NULL;
    if (s->stopping)
        return;
    proc_reason(p, status, reason);
    if (s->reload.seat == 0) {
        reload_finish(s, false, reason);
        return;
    }
    if (++s->reload.tries >= TRIES) {
        snprintf(s->reload.reason, sizeof(s->reload.reason), "%s", reason);
        s->reload.seat++;
        s->reload.tries = 0;
    }
    advance(s);
}
