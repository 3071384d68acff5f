/* greed.c - which thread of a worker takes its memory, and for whom: asked when the worker ends
 * for what it has (blame.c, watch.c).
 *
 * The system counts for each thread how many pages it was the first to touch. A look that finds
 * a worker grown compares these numbers with those of the look before; the thread that took the
 * most is remembered with what it is doing, when that is work for somebody and much. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/supervise.h"
#include "util/str.h"

enum {
    SECOND = 1000000,
    GROWN = 4 << 20, /* bytes: less is no reason to look at each thread */
    MUCH = 16 << 20, /* bytes that one thread took */
    /* a look at each thread at least so often, so that the next one compares with something new */
    REST_S = 30,
    LATELY_S = 10,
};

/* Counts the pages that a thread touched first, since it began; 0: there is no such thread. */
static uint64_t faults_of(const struct proc *p, int thread)
{
    char path[64], text[512];
    unsigned long long faults = 0;
    const char *rest;
    int fd;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)p->pid, thread);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    rest = strrchr(text, ')'); /* behind the name, which may hold anything */
    if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %llu", &faults) != 1)
        return 0;
    return faults;
}

/* Counts the processes that the machine ended for lack of memory, containers among it. */
static uint64_t oom_kills(void)
{
    char line[128];
    unsigned long long n = 0;
    FILE *f = fopen("/proc/vmstat", "re");

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "oom_kill %llu", &n) == 1)
            break;
    if (f)
        fclose(f);
    return n;
}

static void greed_remember(struct greed *g, const struct activity *c, int64_t now)
{
    g->taken_us = now;
    g->thread = atomic_load(&c->thread);
    snprintf(g->plugin, sizeof(g->plugin), "%.*s", PLUGIN_NAME - 1, c->plugin);
    snprintf(g->what, sizeof(g->what), "%.*s", BOARD_TEXT - 1, c->what);
    snprintf(g->request, sizeof(g->request), "%.*s", 31, c->request_id);
}

void greed_look(struct supervisor *s, struct proc *p, int64_t used, int64_t now)
{
    struct activity *activities = s->board->workers[p - s->procs].activities;
    struct greed *g = &p->greed;
    uint64_t most = (uint64_t)MUCH / (uint64_t)sysconf(_SC_PAGESIZE);
    const struct activity *who = NULL;

    g->oom_kills = oom_kills();
    if (g->at_us && used - g->used < GROWN && now - g->at_us < (int64_t)REST_S * SECOND)
        return;
    for (size_t i = 0; i < BOARD_THREADS; i++) {
        int thread = atomic_load(&activities[i].thread);
        uint64_t faults = thread ? faults_of(p, thread) : 0, before = g->seen[i].faults;

        if (thread && g->seen[i].thread == thread && faults > before && faults - before >= most) {
            most = faults - before;
            who = &activities[i];
        }
        g->seen[i].thread = thread;
        g->seen[i].faults = faults;
    }
    if (who && atomic_load(&who->since_us))
        greed_remember(g, who, now);
    g->used = used;
    g->at_us = now;
}

bool greed_was_killed(const struct proc *p)
{
    return p->greed.at_us && oom_kills() > p->greed.oom_kills;
}

int greed_thread(const struct proc *p, int64_t now)
{
    return p->greed.taken_us && now - p->greed.taken_us <= (int64_t)LATELY_S * SECOND
               ? p->greed.thread
               : 0;
}
