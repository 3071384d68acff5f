/* operator_watch.c - changes of the folder: noticed by inotify (and by looking every two
 * seconds), loaded beside what runs, and taken by all workers of the machine at the same moment.
 *
 * Each worker has a watcher. It loads what it finds and writes its print to its place on the
 * board; who sees that all workers have the same one makes it the active one. A worker that
 * can't load it says so instead, and everybody stays. */
#include "lua/operator/operator_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/board.h"
#include "util/file.h"
#include "util/log.h"
#include "util/str.h"
#include "util/time.h"

enum {
    QUIET_MS = 300, /* without a change before files are loaded */
    LOOK_MS = 2000, /* between two looks at the folder */
    AGREE_US = 5000000,
    HANGS_US = 4000000,
    STEP_MS = 5
};
enum {
    CHANGES = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ATTRIB |
              IN_DELETE_SELF
};

/* ---- agreeing ---- */

enum agreement { AGREED, REFUSED, NOT_YET };

static enum agreement all_have(const struct board *b, uint64_t print)
{
    for (size_t i = 0; i < BOARD_WORKERS; i++) {
        const struct board_worker *w = &b->workers[i];

        if (atomic_load(&w->state) != BOARD_READY ||
            clock_monotonic_us() - atomic_load(&w->beat_us) > HANGS_US)
            continue; /* who hangs does not keep the others from the new rules */
        if (atomic_load(&w->hooks_refused) == print)
            return REFUSED;
        if (atomic_load(&w->hooks_loaded) != print)
            return NOT_YET;
    }
    return AGREED;
}

static void activate(struct operator_lua *o, const struct lua_generation *g)
{
    uint64_t before = atomic_load(&o->board->hooks_active), print = g->folder.print;
    struct arena *a = arena_new(0);
    wharf_str problem;

    /* kept before it is active: a worker that starts a moment later finds it */
    if (before != print &&
        !file_replace(o->kept_file, folder_pack(a, &g->folder), 0600, a, &problem))
        log_warn("lua.not_kept", "%s", problem.p);
    arena_free(a);
    if (before == print || !atomic_compare_exchange_strong(&o->board->hooks_active, &before, print))
        return;
    atomic_store(&o->board->hooks_loaded_us, g->loaded_us);
    log_info("lua.reloaded", "generation %llu of the hooks in %s: %zu hooks of %zu files",
        (unsigned long long)(atomic_fetch_add(&o->board->hooks_generation, 1) + 1), o->dir,
        g->n_hooks, g->folder.n);
}

/* Waits until all workers agree. Returns false when somebody has other files by now, and so will
 * this worker. fd tells of changes, or is -1. */
static bool agree(struct operator_lua *o, const struct lua_generation *g, int fd)
{
    int64_t until = clock_monotonic_us() + AGREE_US;
    struct pollfd fds[2] = {{.fd = o->stop_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    enum agreement a;

    while ((a = all_have(o->board, g->folder.print)) == NOT_YET &&
           atomic_load(&o->board->hooks_active) != g->folder.print) {
        if (clock_monotonic_us() > until || poll(fds, fd >= 0 ? 2 : 1, STEP_MS) > 0)
            return false;
    }
    if (a == AGREED)
        activate(o, g);
    return true;
}

/* ---- loading ---- */

static void operator_watch_refuse(
    struct operator_lua *o, uint64_t print, const struct hook_problem *p)
{
    struct board_worker *slot = &o->board->workers[o->slot];
    struct arena *a = arena_new(0);
    bool fresh;

    pthread_mutex_lock(&o->lock);
    fresh = o->trouble.line != p->line || strcmp(o->trouble.file, p->file) != 0 ||
            strcmp(o->trouble.message, p->message) != 0;
    o->trouble = *p;
    pthread_mutex_unlock(&o->lock);
    atomic_store(&slot->hooks_refused, print);
    if (fresh)
        log_error("lua.not_loaded", "%s; the hooks that were loaded before go on",
            hook_problem_text(a, p).p);
    arena_free(a);
}

/* Takes the generation over. Returns false when it is to be tried again. */
static bool operator_watch_take_over(struct operator_lua *o, struct lua_generation *g, int fd)
{
    struct board_worker *slot = &o->board->workers[o->slot];
    bool agreed;

    pthread_mutex_lock(&o->lock);
    generation_unref(o->next);
    o->next = g;
    generation_ref(g);
    o->trouble = (struct hook_problem){.line = 0};
    pthread_mutex_unlock(&o->lock);
    atomic_store(&slot->hooks_refused, 0);
    atomic_store(&slot->hooks_loaded, g->folder.print);
    agreed = agree(o, g, fd);
    generation_unref(operator_current(o)); /* the old one goes now, not with the next request */
    return agreed;
}

/* Notes that the folder is as it was: what was wrong with it meanwhile is corrected. */
static void as_before(struct operator_lua *o, uint64_t print)
{
    struct board_worker *slot = &o->board->workers[o->slot];

    pthread_mutex_lock(&o->lock);
    o->trouble = (struct hook_problem){.line = 0};
    pthread_mutex_unlock(&o->lock);
    atomic_store(&slot->hooks_refused, 0);
    atomic_store(&slot->hooks_loaded, print);
}

static uint64_t active_print(struct operator_lua *o)
{
    struct lua_generation *g = operator_current(o);
    uint64_t print = g->folder.print;

    generation_unref(g);
    return print;
}

static void operator_watch_look(struct operator_lua *o, uint64_t *last, int fd)
{
    struct arena *a = arena_new(0);
    struct hook_problem problem = {.line = 0};
    struct hook_folder folder;
    struct lua_generation *g;
    wharf_str text = {"", 0};

    if (!folder_read(a, &o->places, &folder, &text)) {
        snprintf(problem.message, sizeof(problem.message), "%s", text.p);
        operator_watch_refuse(o, folder.print, &problem);
        *last = folder.print;
    } else if (folder.print != *last) {
        *last = folder.print;
        if (folder.print == atomic_load(&o->board->hooks_active) &&
            folder.print == active_print(o)) {
            as_before(o, folder.print);
        } else {
            g = generation_load(o->engine, a, &folder, o->states, &problem);
            if (g) {
                if (!operator_watch_take_over(o, g, fd))
                    *last = 0;
                generation_unref(g);
            } else {
                operator_watch_refuse(o, folder.print, &problem);
            }
            return; /* the arena is the generation's */
        }
    }
    arena_free(a);
}

/* ---- watching ---- */

static void watch_tree(int fd, const char *dir, int depth, struct arena *a)
{
    DIR *d = depth < 5 ? opendir(dir) : NULL;
    const struct dirent *e;
    struct stat st;

    if (!d)
        return;
    inotify_add_watch(fd, dir, CHANGES);
    while ((e = readdir(d))) {
        const char *path = arena_printf(a, "%s/%s", dir, e->d_name).p;

        if (e->d_name[0] != '.' && e->d_name[0] != '_' && stat(path, &st) == 0 &&
            S_ISDIR(st.st_mode))
            watch_tree(fd, path, depth + 1, a);
    }
    closedir(d);
}

static int watch_all(const struct operator_lua *o)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    struct arena *a = arena_new(0);

    if (fd >= 0) {
        for (size_t i = 0; i < o->places.n; i++)
            watch_tree(fd, o->places.items[i].dir, 0, a);
        inotify_add_watch(fd, o->poke_file, IN_CLOSE_WRITE);
    }
    arena_free(a);
    return fd;
}

/* Waits until nothing changed for a while. Returns true when the thread is to end. */
static bool wait_quiet(const struct operator_lua *o, int fd)
{
    struct pollfd fds[2] = {{.fd = o->stop_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    int ms = LOOK_MS;

    for (;;) {
        int n = poll(fds, fd >= 0 ? 2 : 1, ms);
        char dropped[4096];

        if (n < 0 && errno != EINTR)
            return true;
        if (fds[0].revents)
            return true;
        if (n <= 0)
            return false;
        while (read(fd, dropped, sizeof(dropped)) > 0) {
        }
        ms = QUIET_MS;
    }
}

static void *watcher_main(void *arg)
{
    struct operator_lua *o = arg;
    uint64_t last = 0;

    for (;;) {
        int fd = watch_all(o);

        operator_watch_look(o, &last, fd); /* with the watch in place: nothing is missed between */
        if (wait_quiet(o, fd)) {
            if (fd >= 0)
                close(fd);
            return NULL;
        }
        if (fd >= 0)
            close(fd);
    }
}

void operator_watch(struct operator_lua *o)
{
    int fd = o->off ? -1 : open(o->poke_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (o->off)
        return;
    if (fd >= 0)
        close(fd);
    o->watching = pthread_create(&o->watcher, NULL, watcher_main, o) == 0;
}

void operator_reload(struct operator_lua *o, int64_t wait_us)
{
    int64_t until = clock_monotonic_us() + wait_us;
    struct board_worker *slot = &o->board->workers[o->slot];
    struct arena *a = arena_new(0);
    struct hook_folder folder;
    wharf_str problem;
    int fd = open(o->poke_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    uint64_t wanted;

    if (o->off)
        until = 0;
    folder_read(a, &o->places, &folder, &problem);
    wanted = folder.print;
    if (fd >= 0)
        close(fd); /* what the watchers wait for */
    while (clock_monotonic_us() < until && atomic_load(&slot->hooks_refused) != wanted &&
           (atomic_load(&slot->hooks_refused) || atomic_load(&o->board->hooks_active) != wanted ||
               atomic_load(&slot->hooks_loaded) != wanted))
        usleep(STEP_MS * 1000);
    arena_free(a);
}
