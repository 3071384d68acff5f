/* doing.c - what a thread does for a request or a job, and for which plugin: told on the board, and
 * counted there (process/board.h). See hooks.h. */
#include "resource/hooks.h"

#include <sys/resource.h>
#include <unistd.h>

#include "process/board.h"
#include "util/time.h"

/* Counts the pages that this thread was the first to touch. */
static int64_t pages_touched(void)
{
    struct rusage used;

    return getrusage(RUSAGE_THREAD, &used) == 0 ? (int64_t)used.ru_minflt : 0;
}

/* Finds where is counted what a plugin uses: names are compared as they are kept. */
static struct board_plugin *counted_of(const struct engine *e, const char *plugin)
{
    size_t i = 0;

    if (!e || !e->counted)
        return NULL;
    while (i < e->n_plugins && e->plugins[i].name != plugin)
        i++;
    return e->counted[i];
}

/* Counts the time until now for what the thread does. */
static void count_time(struct thread_ctx *t, int64_t now)
{
    struct board_plugin *p = t->depth && t->depth <= DOING_MAX ? t->doing[t->depth - 1].counted
                                                               : NULL;

    if (p)
        atomic_fetch_add_explicit(&p->us, (uint64_t)(now - t->counted_us), memory_order_relaxed);
    t->counted_us = now;
}

/* Counts the memory that the thread took for the request, or the job, that is over. */
static void doing_count_memory(const struct wharf_req *req, const struct thread_ctx *t)
{
    const struct plugin *owner = req->route ? req->route->plugin : NULL;
    struct board_plugin *p = counted_of(req->engine, req->job ? req->job->plugin
                                                     : owner  ? owner->name
                                                              : NULL);
    int64_t pages = pages_touched() - t->pages;

    if (p && pages > 0)
        atomic_fetch_add_explicit(
            &p->bytes, (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE), memory_order_relaxed);
}

void thread_begins(struct wharf_req *req, const char *plugin, const char *what)
{
    struct thread_ctx *t = req->thread;
    int64_t now;

    if (!t || !t->activity)
        return;
    now = clock_monotonic_us();
    if (!t->depth)
        t->pages = pages_touched();
    count_time(t, now);
    if (t->depth < DOING_MAX)
        t->doing[t->depth] = (struct doing){plugin, what, now, counted_of(req->engine, plugin)};
    t->depth++;
    activity_enter(t->activity, plugin, what, req->request_id, req->deadline_us);
}

/* Ends what the thread did of its own: what was going on before goes on, and may crash or hang
 * from here on as well. */
void thread_ends(struct wharf_req *req)
{
    struct thread_ctx *t = req->thread;
    const struct doing *outer;

    if (!t || !t->activity)
        return;
    count_time(t, clock_monotonic_us());
    t->depth--;
    if (!t->depth)
        doing_count_memory(req, t);
    if (t->depth) {
        outer = &t->doing[t->depth < DOING_MAX ? t->depth - 1 : DOING_MAX - 1];
        activity_enter(t->activity, outer->plugin, outer->what, req->request_id, req->deadline_us);
        atomic_store(&t->activity->since_us, outer->since_us);
    } else if (req->job) {
        activity_enter(
            t->activity, req->job->plugin, req->job->doing, req->request_id, req->deadline_us);
        atomic_store(&t->activity->since_us, req->job->since_us);
    } else {
        activity_leave(t->activity);
    }
}
