/* control.c - the control socket in the data folder: ps, reload, release NAME, stop. One line
 * in, text out, closed.
 *
 * The first line of an answer is "ok" or "error: reason". Only the folder's user can connect
 * (mode 0600). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "db/cluster.h"
#include "supervisor/supervise.h"
#include "util/log.h"
#include "util/time.h"

enum { ANSWER_MAX = 256 * 1024 };

static void control_answer(struct client *c, const char *text, size_t n)
{
    /* an answer fits the socket's buffer; a client that does not read gets what fits */
    if (send(c->fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        log_debug("control.lost", "a command's answer could not be sent: %s", strerror(errno));
    close(c->fd);
    c->fd = -1;
}

static void answer_text(struct client *c, bool good, const char *text)
{
    char line[REASON_MAX + 80];
    int n = snprintf(line, sizeof(line), "%s%s\n", good ? "ok\n" : "error: ", text);

    control_answer(c, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

static void put_doing(const struct board_worker *w, int64_t now, struct buf *out)
{
    for (size_t i = 0; i < BOARD_THREADS; i++) {
        const struct activity *c = &w->activities[i];
        int64_t since = atomic_load(&c->since_us);

        if (since)
            buf_addf(out, "    %s: %.*s %.*s (%lld ms)\n", c->plugin, BOARD_TEXT, c->what, 32,
                c->request_id, (long long)((now - since) / 1000));
    }
}

/* Writes the places that nobody serves: "web 1 is down for 12 s (3 starts failed): why; tried
 * again in 4 s". */
static void put_down(const struct supervisor *s, int64_t now, struct buf *out)
{
    for (size_t i = 0; i < s->n_seats; i++) {
        const struct seat *seat = &s->seats[i];
        char name[24];

        if (!seat->down_us)
            continue;
        buf_addf(out, "%s is down for %llds (%u starts failed)%s%s; ", seat_name(seat, name),
            (long long)((now - seat->down_us) / 1000000), seat->tries, seat->reason[0] ? ": " : "",
            seat->reason);
        if (seat->start_at_us)
            buf_addf(out, "tried again in %.1fs\n", (double)(seat->start_at_us - now) / 1e6);
        else
            buf_addz(out, "a new one starts now\n");
    }
}

static void put_workers(const struct supervisor *s, struct buf *out)
{
    static const char *const states[] = {"free", "starting", "ready", "draining"};
    int64_t now = clock_monotonic_us();

    buf_addf(out, "%-6s %8s %-9s %10s %9s %10s %8s\n", "worker", "pid", "state", "generation",
        "uptime", "requests", "rss");
    for (size_t i = 0; i < PROCS_MAX; i++) {
        const struct proc *p = &s->procs[i];
        const struct board_worker *w = &s->board->workers[i];
        char name[24];

        if (!p->pid)
            continue;
        buf_addf(out, "%-6s %8d %-9s %10llu %8llds %10lld %6lldMB\n", proc_name(p, name),
            (int)p->pid, states[p->state], (unsigned long long)p->generation,
            (long long)((now - p->started_us) / 1000000), (long long)atomic_load(&w->requests),
            (long long)(atomic_load(&w->rss_kb) / 1024));
        put_doing(w, now, out);
    }
    put_down(s, now, out);
}

static void command_ps(struct supervisor *s, struct client *c)
{
    struct buf out;

    buf_init(&out, ANSWER_MAX);
    buf_addf(&out, "ok\nwharf %s, pid %d, generation %llu, %llu crashes\n", s->board->version,
        (int)getpid(), (unsigned long long)s->serving.number,
        (unsigned long long)atomic_load(&s->board->crashes));
    put_workers(s, &out);
    if (s->start->cluster)
        buf_addf(&out, "database %6d %s\n", cluster_pid(s->start->cluster),
            s->cluster_at_us ? "restarting" : "running");
    if (s->n_quarantine) {
        buf_addz(&out, "quarantined:");
        for (size_t i = 0; i < s->n_quarantine; i++)
            buf_addf(&out, "%s %s", i ? "," : "", s->quarantine[i].name);
        buf_addc(&out, '\n');
    }
    control_answer(c, out.p ? out.p : "", out.n);
    buf_done(&out);
}

static void command_reload(struct supervisor *s, struct client *c, bool reads)
{
    c->waits_for_reload = true; /* answered by control_reload_done(), at once when it can't begin */
    reload_begin(s, reads);
}

static void command_release(struct supervisor *s, struct client *c, const char *plugin)
{
    if (!quarantine_release(s, plugin)) {
        answer_text(c, false, "no plugin of that name is quarantined");
        return;
    }
    log_write(
        WHARF_LOG_INFO, plugin, NULL, "plugin.released", "the next workers start with it again");
    command_reload(s, c, false);
}

static void control_run(struct supervisor *s, struct client *c)
{
    if (strcmp(c->text, "ps") == 0) {
        command_ps(s, c);
    } else if (strcmp(c->text, "reload") == 0) {
        command_reload(s, c, true);
    } else if (strncmp(c->text, "release ", 8) == 0) {
        command_release(s, c, c->text + 8);
    } else if (strcmp(c->text, "stop") == 0) {
        answer_text(c, true, "stopping");
        supervisor_stop(s);
    } else {
        answer_text(c, false, "unknown command; ps, reload, release NAME and stop are known");
    }
}

void control_read(struct supervisor *s, struct client *c)
{
    ssize_t n = recv(c->fd, c->text + c->n, sizeof(c->text) - 1 - c->n, MSG_DONTWAIT);
    char *end;

    if (n <= 0) {
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        close(c->fd);
        c->fd = -1;
        return;
    }
    c->n += (size_t)n;
    c->text[c->n] = 0;
    end = strchr(c->text, '\n');
    if (c->waits_for_reload || (!end && c->n < sizeof(c->text) - 1))
        return;
    if (end)
        *end = 0;
    control_run(s, c);
}

void control_accept(struct supervisor *s)
{
    int fd = accept4(s->start->control_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    for (size_t i = 0; fd >= 0 && i < CLIENTS_MAX; i++) {
        if (s->clients[i].fd >= 0)
            continue;
        s->clients[i] = (struct client){.fd = fd};
        return;
    }
    if (fd >= 0)
        close(fd);
}

void control_reload_done(struct supervisor *s, bool good, const char *text)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (s->clients[i].fd >= 0 && s->clients[i].waits_for_reload)
            answer_text(&s->clients[i], good, text);
}

void control_stop(struct supervisor *s)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (s->clients[i].fd >= 0)
            answer_text(&s->clients[i], false, "the server stops");
}
