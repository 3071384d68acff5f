/* job_share.c - what part of a job worker's threads the jobs of one plugin may hold.
 *
 * A plugin that is not shipped has half of each crew's threads (jobs.plugin_share), all such
 * plugins together all but one. So a plugin whose jobs hang or sleep keeps nobody else's jobs
 * waiting. Two places hold it: no more of its jobs are leased than may begin soon, and a thread
 * passes by the waiting ones of a plugin that has its share. Leaves to others: how long a job
 * may take (supervisor/watch.c), which jobs are due (wharf.job_lease). docs/internals/jobs.md
 * 'What is promised'. */
#include <stdlib.h>

#include "job/job_inside.h"
#include "config/shipped.h"
#include "util/time.h"

enum {
    AHEAD_US = 20000, /* as in job_dispatch.c: work that is leased ahead, per thread */
    AHEAD_MAX = 80,
    FIRST_MEAN_US = 10000,
};

void shares_number(struct runner *r)
{
    struct engine *e = r->engine;

    for (size_t i = 0; i < e->n_jobs; i++) {
        struct job_kind *k = &e->jobs[i];

        k->owner = 0;
        if (!k->plugin || module_is_shipped(k->plugin->name))
            continue;
        for (size_t other = 0; other < i && !k->owner; other++)
            k->owner = e->jobs[other].plugin == k->plugin ? e->jobs[other].owner : 0;
        if (!k->owner)
            k->owner = (unsigned)++r->n_owners;
    }
}

static size_t at_least_one(size_t n)
{
    return n ? n : 1;
}

void shares_plan(struct runner *r)
{
    size_t percent = (size_t)r->config->jobs_plugin_share;

    for (size_t i = 0; i < CREWS; i++) {
        struct crew *c = &r->crews[i];

        c->shares = calloc(r->n_owners + 1, sizeof(*c->shares));
        if (!c->shares)
            abort();
        for (size_t o = 0; o <= r->n_owners; o++)
            c->shares[o] = (struct share){
                .most = at_least_one(c->n * percent / 100), .mean_us = FIRST_MEAN_US};
        if (percent < 100)
            c->shares[0].most = at_least_one(c->n ? c->n - 1 : 0);
    }
}

bool share_is_full(const struct crew *crew, const struct leased *j)
{
    const struct share *own = &crew->shares[j->kind->owner], *all = &crew->shares[0];

    return j->kind->owner && (own->busy >= own->most || all->busy >= all->most);
}

/* Adds to what is counted of a job's plugin and of all of them. */
static void job_share_count(struct crew *crew, const struct leased *j, int waiting, int busy)
{
    const unsigned owners[] = {0, j->kind->owner};

    for (int i = 0; j->kind->owner && i < 2; i++) {
        struct share *s = &crew->shares[owners[i]];

        s->waiting = (size_t)((long)s->waiting + waiting);
        s->busy = (size_t)((long)s->busy + busy);
    }
}

void share_add(struct crew *crew, struct leased *j)
{
    list_add(&crew->waiting, j);
    job_share_count(crew, j, 1, 0);
}

void share_drop(struct crew *crew, const struct leased *j)
{
    job_share_count(crew, j, -1, 0);
}

struct leased *share_take(struct crew *crew)
{
    struct job_list *l = &crew->waiting;
    struct leased **at = &l->first, *j = l->n ? l->first : NULL;

    while (j && share_is_full(crew, j)) {
        at = &j->next;
        j = j->next;
    }
    if (!j)
        return NULL;
    *at = j->next;
    if (!j->next)
        l->last = at;
    l->n--;
    j->began_us = clock_monotonic_us();
    job_share_count(crew, j, -1, 1);
    return j;
}

void share_end(struct crew *crew, const struct leased *j, int64_t took_us)
{
    struct share *s = &crew->shares[j->kind->owner];

    if (j->kind->owner)
        s->mean_us += ((double)took_us - s->mean_us) / 16;
    job_share_count(crew, j, 0, -1);
}

size_t share_held_back(const struct runner *r, const struct crew *crew)
{
    const struct share *all = &crew->shares[0];
    size_t n = 0;

    if (all->busy >= all->most)
        return all->waiting;
    for (size_t o = 1; o <= r->n_owners; o++)
        n += crew->shares[o].busy >= crew->shares[o].most ? crew->shares[o].waiting : 0;
    return n;
}

/* Returns how many jobs are leased before a thread is free for them: as many as run within
 * AHEAD_US, and none while one that runs takes longer. */
static size_t leased_ahead(const struct runner *r, const struct crew *crew, unsigned owner)
{
    const struct share *s = &crew->shares[owner];
    double ahead = (double)s->most * AHEAD_US / (s->mean_us < 1 ? 1 : s->mean_us);
    int64_t now = clock_monotonic_us();

    for (size_t i = 0; i < r->n_executors; i++) {
        const struct executor *x = &r->executors[i];

        if (x->crew == crew && x->job && x->job->kind->owner == owner &&
            now - x->job->began_us > AHEAD_US)
            return 0;
    }
    return ahead > AHEAD_MAX ? AHEAD_MAX : (size_t)ahead;
}

static size_t job_share_room_of(const struct share *s, size_t ahead)
{
    size_t most = s->most + ahead, taken = s->busy + s->waiting;

    return most > taken ? most - taken : 0;
}

void share_rooms(
    const struct runner *r, const struct crew *crew, struct buf *rooms, size_t *ret_all)
{
    size_t all_ahead = 0;

    buf_addc(rooms, '{');
    for (unsigned o = 1; o <= r->n_owners; o++) {
        size_t ahead = leased_ahead(r, crew, o);

        buf_addf(rooms, "%s%zu", o > 1 ? "," : "", job_share_room_of(&crew->shares[o], ahead));
        all_ahead += ahead;
    }
    buf_addc(rooms, '}');
    *ret_all = job_share_room_of(&crew->shares[0], all_ahead);
}
