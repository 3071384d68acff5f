/* ops_stub_worker.c - a worker and a plugin registry without a server: the supervisor and the
 * commands are tested with it.
 *
 * Answers every HTTP request with its pid. Its path makes it misbehave: /crash, /hang, /exit,
 * /refuse. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "db/migrate.h"
#include "host/registry.h"
#include "resource/engine.h"
#include "process/board.h"
#include "process/crash.h"
#include "process/worker.h"
#include "util/time.h"

static volatile sig_atomic_t ending;

static void on_term(int sig)
{
    ending = 1;
}

static void answer(int fd, struct activity *activity, const char *request, int index)
{
    char text[256], body[64];
    int n;

    if (strncmp(request, "GET /crash", 10) == 0) {
        activity_enter(
            activity, "dock_doors", "GET /crash", "req_test", clock_monotonic_us() + 30000000);
        abort();
    }
    if (strncmp(request, "GET /hang", 9) == 0) {
        activity_enter(
            activity, "dock_doors", "GET /hang", "req_test", clock_monotonic_us() - 40000000);
        pause();
    }
    if (strncmp(request, "GET /exit", 9) == 0)
        _exit(7);
    if (strncmp(request, "GET /refuse", 11) == 0)
        _exit(WORKER_REFUSED);
    n = snprintf(body, sizeof(body), "{\"pid\":%d,\"index\":%d}", (int)getpid(), index);
    n = snprintf(text, sizeof(text),
        "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", n, body);
    if (write(fd, text, (size_t)n) != n)
        return;
}

static void serve_one(int listen_fd, struct activity *activity, int index)
{
    char request[1024];
    int fd = accept(listen_fd, NULL, NULL);
    ssize_t n = fd >= 0 ? recv(fd, request, sizeof(request) - 1, 0) : -1;

    if (n > 0) {
        request[n] = 0;
        answer(fd, activity, request, index);
    }
    if (fd >= 0)
        close(fd);
}

int worker_main(const struct config *config, const struct worker_boot *boot)
{
    struct board_worker *me = &boot->board->workers[boot->slot];
    /* an accepted request is answered */
    struct sigaction term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
    const char *fail = getenv("STUB_FAIL_FILE");

    if (fail && access(fail, F_OK) == 0) {
        dprintf(boot->control_fd, "failed: the file %s exists\n", fail);
        return WORKER_REFUSED;
    }
    sigaction(SIGTERM, &term, NULL);
    crash_install(config->crash_dir);
    crash_thread(&me->activities[0]);
    dprintf(boot->control_fd, "ready\n");
    while (!ending) {
        struct pollfd p = {.fd = boot->listen_fd, .events = POLLIN};

        atomic_store(&me->beat_us, clock_monotonic_us());
        if (poll(&p, 1, 200) > 0 && boot->listen_fd >= 0) {
            serve_one(boot->listen_fd, &me->activities[0], (int)boot->index);
            atomic_fetch_add(&me->requests, 1);
        }
    }
    return 0;
}

struct registry {
    int unused;
};

struct registry *registry_load(const struct config *config, const char *quarantined,
    enum registry_mode mode, struct arena *a, wharf_str *ret_problems)
{
    return ARENA_NEW(a, struct registry);
}

const struct manifest *const *registry_resolve(const struct config *config, const char *quarantined,
    struct arena *a, size_t *ret_count, wharf_str *ret_problems)
{
    *ret_count = 0;
    return ARENA_ARRAY(a, const struct manifest *, 1);
}

const struct manifest *const *registry_left_out(
    const struct config *config, const char *quarantined, struct arena *a, size_t *ret_count)
{
    return registry_resolve(config, quarantined, a, ret_count, NULL);
}

bool names_have(const char *list, const char *name)
{
    return false;
}

struct engine *registry_engine(struct registry *r)
{
    static struct engine nothing;

    return &nothing;
}

size_t registry_plugin_count(const struct registry *r)
{
    return 0;
}

const struct manifest *registry_plugin(const struct registry *r, size_t i)
{
    return NULL;
}

const struct plugin_migration *registry_migrations(const struct registry *r, size_t *ret_count)
{
    return migrate_kernel_files(ret_count);
}
