/* draw_aside.c - two threads that do what may take too long, see draw_aside.h. */
#include "draw_aside.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "util/time.h"

static struct aside {
    pthread_cond_t wake, done;
    void (*work)(void *arg); /* NULL: it has nothing to do */
    void *arg;
    bool late; /* nobody waits for it any more */
} threads[ASIDE_THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool started;
static unsigned preferred;

static void *draw_aside_serve(void *arg)
{
    struct aside *t = arg;

    pthread_mutex_lock(&lock);
    for (;;) {
        while (!t->work)
            pthread_cond_wait(&t->wake, &lock);
        pthread_mutex_unlock(&lock);
        t->work(t->arg);
        pthread_mutex_lock(&lock);
        t->work = NULL;
        pthread_cond_signal(&t->done);
    }
    return NULL;
}

static bool draw_aside_start(struct aside *t)
{
    pthread_condattr_t clock;
    pthread_t thread;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, NULL);
    pthread_cond_init(&t->done, &clock);
    pthread_condattr_destroy(&clock);
    return pthread_create(&thread, NULL, draw_aside_serve, t) == 0 && pthread_detach(thread) == 0;
}

bool aside_prepare(void)
{
    started = true;
    for (unsigned i = 0; i < ASIDE_THREADS; i++)
        started = started && draw_aside_start(&threads[i]);
    return started;
}

void aside_prefer(unsigned thread)
{
    preferred = thread % ASIDE_THREADS;
}

/* Returns a thread that has nothing to do; NULL: all are late. */
static struct aside *free_thread(void)
{
    for (unsigned i = 0; i < ASIDE_THREADS; i++) {
        struct aside *t = &threads[(preferred + i) % ASIDE_THREADS];

        if (!t->late)
            return t;
    }
    return NULL;
}

bool aside_run(void (*work)(void *arg), void *arg, int64_t until_us)
{
    struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    struct aside *t = free_thread();
    int e = 0;

    if (!started) {
        work(arg);
        return true;
    }
    if (!t)
        return false;
    pthread_mutex_lock(&lock);
    t->work = work;
    t->arg = arg;
    pthread_cond_signal(&t->wake);
    while (t->work && e != ETIMEDOUT)
        e = pthread_cond_timedwait(&t->done, &lock, &until);
    t->late = t->work != NULL;
    pthread_mutex_unlock(&lock);
    return !t->late;
}

bool aside_is_late(void)
{
    for (unsigned i = 0; i < ASIDE_THREADS; i++) {
        if (threads[i].late)
            return true;
    }
    return false;
}
