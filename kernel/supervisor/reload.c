/* reload.c - a new generation of workers takes over seat by seat (docs/plugin-abi.md section 3 'Reload').
 *
 * The settings are read anew; the first new worker must become ready before anything else happens: until then nothing has
 * changed and a failure only tells its reason. Then each seat's old worker is drained when its successor is ready.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>

#include "http/tls.h"
#include "supervisor/supervise.h"
#include "util/log.h"

enum { TRIES = 3 };

static void change_tls(int *held, int fd)
{
    if (*held >= 0)
        close(*held);
    *held = fd;
}

static void finish(struct supervisor *s, bool good, const char *text)
{
    s->reload.active = false;
    if (s->reload.config)
        config_free(s->reload.config);
    s->reload.config = NULL;
    change_tls(&s->reload.tls_fd, -1);
    if (good)
        log_info("server.reloaded", "%s", text);
    else
        log_error("server.reload_failed", "%s", text);
    control_reload_done(s, good, text);
    if (s->reload.again && !s->stopping) {
        s->reload.again = false;
        reload_begin(s);
    }
}

/* Starts the successor of the current seat, or ends the reload when there is none left. */
static void advance(struct supervisor *s)
{
    char text[REASON_MAX + 64];

    while (s->reload.seat < s->n_seats) {
        struct seat *seat = &s->seats[s->reload.seat];

        seat->next = proc_start(s, seat);
        if (seat->next)
            return;
        snprintf(s->reload.reason, sizeof(s->reload.reason), "a worker could not be started");
        if (s->reload.seat == 0) {
            finish(s, false, s->reload.reason);
            return;
        }
        s->reload.seat++;
    }
    if (s->reload.reason[0])
        snprintf(text, sizeof(text), "some workers are still of an older generation: %s", s->reload.reason);
    else
        snprintf(text, sizeof(text), "generation %llu serves", (unsigned long long)s->generation);
    finish(s, !s->reload.reason[0], text);
}

/* Whatever becomes of the settings: who renamed the files waits for them to be let go, by old workers too. */
static void renew_logs(struct supervisor *s)
{
    if (!log_reopen(s->config->log_file))
        log_warn("log.not_opened", "%s: %s; the old one is used on", s->config->log_file, strerror(errno));
    atomic_fetch_add(&s->board->log_turn, 1);
}

bool reload_begin(struct supervisor *s)
{
    struct arena *err;
    wharf_str error;
    struct config *fresh;

    if (s->stopping)
        return false;
    renew_logs(s);
    if (s->reload.active || !s->ready_told) {
        s->reload.again = true; /* begins when the one that runs, or the start, is done */
        return true;
    }
    err = arena_new(0);
    fresh = config_load(s->start->config_file, s->start->sets, s->start->n_sets, err, &error);
    if (fresh && !tls_open(fresh, &s->reload.tls_fd, err, &error)) {
        config_free(fresh);
        fresh = NULL;
    }
    if (!fresh) {
        s->reload.again = false;
        finish(s, false, error.p);
        arena_free(err);
        return false;
    }
    arena_free(err);
    s->reload.active = true;
    s->reload.config = fresh;
    s->reload.seat = 0;
    s->reload.tries = 0;
    s->reload.reason[0] = 0;
    s->generation++;
    advance(s);
    return true;
}

void reload_ready(struct supervisor *s, struct proc *p)
{
    struct seat *seat = p->seat;
    struct proc *old = seat->now;

    if (s->reload.config) {
        config_free(s->config);
        s->config = s->reload.config;
        s->reload.config = NULL;
        change_tls(&s->tls_fd, s->reload.tls_fd);
        s->reload.tls_fd = -1;
        if (!log_open(s->config->log_file, s->config->log_level, "supervisor"))
            log_warn("log.not_opened", "%s: %s; the old one is used on", s->config->log_file, strerror(errno));
    }
    seat->now = p;
    seat->next = NULL;
    seat->given_up = false;
    seat->start_at_us = 0;
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
        finish(s, false, reason);
        return;
    }
    if (++s->reload.tries >= TRIES) {
        snprintf(s->reload.reason, sizeof(s->reload.reason), "%s", reason);
        s->reload.seat++;
        s->reload.tries = 0;
    }
    advance(s);
}
