/* seat.c - the places that workers must serve: filled again after each end, for ever; what is
 * told of one that is down; its socket; a worker that is replaced while it serves. See
 * supervise.h.
 *
 * A socket of SO_REUSEPORT gets its share of the connections whether or not somebody takes them.
 * So the socket of a place that is down stops listening (shutdown(2)): connections go to the
 * other places, or are refused where there are none. It stays bound, and listens again when a
 * worker is ready. Leaves to others: what a worker is started with (proc.c), whom its end is due
 * to (blame.c). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "supervisor/listen.h"
#include "supervisor/supervise.h"
#include "util/log.h"
#include "util/time.h"

enum {
    SECOND_US = 1000000,
    QUICK_CRASH_US = 5000000, /* a worker that ends sooner has crashed early */
    FIRST_DELAY_US = 100000, /* before a worker is started again; doubled each time */
    MAX_DELAY_US = 30000000, /* longest delay */
    KILLED_DELAY_US = 400000, /* longest delay after one that was killed */
    /* connections wait so long for the next worker, when others could take them */
    MOMENT_US = SECOND_US,
    LONG_MOMENT_US = 10 * SECOND_US, /* or when nobody could, and nothing is known to be wrong */
    REPLACE_AGAIN_US = 30 * SECOND_US /* between two tries to replace it */
};

int64_t restart_delay(int64_t delay, int64_t started, int64_t now, bool killed, bool served)
{
    int64_t most = killed ? KILLED_DELAY_US : MAX_DELAY_US;

    if (now - started >= QUICK_CRASH_US)
        return 0;
    if (!delay || (killed && served))
        return FIRST_DELAY_US;
    return delay * 2 < most ? delay * 2 : most;
}

int64_t retry_delay(int64_t delay)
{
    if (delay < FIRST_DELAY_US)
        return FIRST_DELAY_US;
    return delay * 2 < MAX_DELAY_US ? delay * 2 : MAX_DELAY_US;
}

const char *seat_name(const struct seat *seat, char out[24])
{
    snprintf(out, 24, "%s %u", seat->kind == WORKER_WEB ? "web" : "job", seat->index);
    return out;
}

bool seat_serves(const struct seat *seat)
{
    return seat->now && seat->now->state == BOARD_READY;
}

static void publish_seat(struct supervisor *s, const struct seat *seat)
{
    struct board_seat *b = &s->board->seats[seat - s->seats];

    if (strcmp(b->reason, seat->reason) != 0)
        snprintf(b->reason, sizeof(b->reason), "%s", seat->reason);
    atomic_store(&b->index, (int)seat->index);
    atomic_store(&b->tries, (int)seat->tries);
    atomic_store(&b->next_us, seat->start_at_us);
    atomic_store(&b->down_us, seat->down_us);
    atomic_store(&b->kind, seat->kind);
}

void seat_start(struct supervisor *s, struct seat *seat)
{
    int64_t now = clock_monotonic_us();

    seat->start_at_us = 0;
    if (!seat->down_us)
        seat->down_us = now;
    seat->now = proc_start(s, seat, &s->serving);
    if (!seat->now)
        seat->start_at_us = now + SECOND_US;
    publish_seat(s, seat);
}

void seat_up(struct supervisor *s, struct seat *seat)
{
    char name[24];

    if (seat->shut && listen(seat->listen_fd, LISTEN_BACKLOG) == 0) {
        seat->shut = false;
        log_info("worker.socket_opened", "%s takes connections again", seat_name(seat, name));
    }
    seat->down_us = seat->start_at_us = 0;
    seat->tries = 0;
    seat->reason[0] = 0;
    publish_seat(s, seat);
}

void seat_down(struct supervisor *s, struct seat *seat, const struct proc *p, int status)
{
    int64_t now = clock_monotonic_us();
    bool served = p->state == BOARD_READY,
         killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    bool refused = !served && WIFEXITED(status);
    char name[24], reason[REASON_MAX];

    proc_reason(p, status, reason);
    snprintf(seat->reason, sizeof(seat->reason), "%.*s", BOARD_REASON - 1, reason);
    if (!seat->down_us)
        seat->down_us = now;
    seat->tries += !served;
    seat->delay_us = refused ? retry_delay(seat->delay_us)
                             : restart_delay(seat->delay_us, p->started_us, now, killed, served);
    seat->start_at_us = now + seat->delay_us + 1; /* 0 means none */
    atomic_fetch_add(&s->board->restarts, 1);
    if (refused)
        log_error("worker.not_started",
            "%s can't start: %s; tried again in %.1f s (failed %u times)", seat_name(seat, name),
            reason, (double)seat->delay_us / 1e6, seat->tries);
    publish_seat(s, seat);
}

/* ---- sockets of places that are down ---- */

static bool others_serve(const struct supervisor *s, const struct seat *seat)
{
    for (size_t i = 0; i < s->n_seats; i++)
        if (&s->seats[i] != seat && s->seats[i].kind == seat->kind && seat_serves(&s->seats[i]))
            return true;
    return false;
}

/* Stops listening on the socket of a seat that is down. Who connected a moment ago may wait for
 * the next worker; nobody waits for long. */
static void stop_listening(const struct supervisor *s, struct seat *seat, int64_t now)
{
    int64_t moment = seat->tries || others_serve(s, seat) ? MOMENT_US : LONG_MOMENT_US;
    char name[24];

    if (seat->listen_fd < 0 || seat->shut || seat_serves(seat) || !seat->down_us ||
        now - seat->down_us < moment)
        return;
    seat->shut = shutdown(seat->listen_fd, SHUT_RD) == 0;
    if (seat->shut)
        log_warn("worker.socket_closed",
            "%s is down: its socket takes no connections until it is back", seat_name(seat, name));
}

void seats_watch(struct supervisor *s, int64_t now)
{
    for (size_t i = 0; i < s->n_seats && !s->stopping; i++) {
        struct seat *seat = &s->seats[i];

        if (seat->start_at_us && now >= seat->start_at_us && !seat->now)
            seat_start(s, seat);
        if (s->ready_reported)
            stop_listening(s, seat, now);
    }
}

/* ---- one worker is replaced ---- */

bool seat_replace(struct supervisor *s, struct seat *seat)
{
    int64_t now = clock_monotonic_us();

    if (s->reload.active || s->stopping || !s->ready_reported || seat->next ||
        now < seat->replace_at_us)
        return false;
    for (size_t i = 0; i < s->n_seats; i++)
        if (s->seats[i].replaced)
            /* one after the other: two that are full have memory for one more, not for two */
            return false;
    seat->next = proc_start(s, seat, &s->serving);
    seat->replaced = seat->next != NULL;
    seat->replace_at_us = now + REPLACE_AGAIN_US;
    return seat->replaced;
}

static void after_replacing(struct supervisor *s, struct seat *seat)
{
    seat->next = NULL;
    seat->replaced = false;
    if (s->reload.again && !s->stopping) {
        s->reload.again = false;
        reload_begin(s, s->reload.again_reads);
    }
}

void seat_replaced(struct supervisor *s, struct seat *seat)
{
    struct proc *old = seat->now;

    seat->now = seat->next;
    seat_up(s, seat);
    if (old)
        proc_ask_to_end(s, old);
    after_replacing(s, seat);
}

void seat_not_replaced(struct supervisor *s, struct seat *seat, const char *reason)
{
    char name[24];

    log_error("worker.not_replaced",
        "%s: the next worker can't start: %s; the old one serves on, tried again in %d s",
        seat_name(seat, name), reason, REPLACE_AGAIN_US / SECOND_US);
    after_replacing(s, seat);
}
