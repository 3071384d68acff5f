/* board.c - see board.h. Atomic counters only; leaves to others: who scrapes them, and blaming (blame.c). */
#include "supervisor/board.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "util/time.h"
#include "wharf_version.h"

enum { ROW_FREE, ROW_BEING_WRITTEN, ROW_READY, ROW_DOUBLE };
enum { WAITS = 2000 }; /* of 50 microseconds: for a row whose writer may have been put aside, or may have died */

static const int bucket_ms[BOARD_BUCKETS - 1] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000};

struct board *board_map(int fd)
{
    void *p = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return p == MAP_FAILED ? NULL : p;
}

struct board *board_create(int *ret_fd)
{
    int fd = memfd_create("wharf-board", MFD_CLOEXEC);
    struct board *b = NULL;

    *ret_fd = -1;
    if (fd < 0)
        return NULL;
    if (ftruncate(fd, sizeof(struct board)) == 0)
        b = board_map(fd);
    if (!b) {
        close(fd);
        return NULL;
    }
    snprintf(b->version, sizeof(b->version), "%s", WHARF_VERSION);
    *ret_fd = fd;
    return b;
}

/* ---- crumbs ---------------------------------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = from ? strnlen(from, size - 1) : 0;

    memcpy(to, from ? from : "", n);
    to[n] = 0;
}

void crumb_enter(struct crumb *c, const char *plugin, const char *what, const char *request_id, int64_t deadline_us)
{
    copy_text(c->plugin, sizeof(c->plugin), plugin);
    copy_text(c->what, sizeof(c->what), what);
    copy_text(c->request_id, sizeof(c->request_id), request_id);
    atomic_store_explicit(&c->deadline_us, deadline_us, memory_order_relaxed);
    atomic_store_explicit(&c->since_us, clock_monotonic_us(), memory_order_release);
}

void crumb_leave(struct crumb *c)
{
    atomic_store_explicit(&c->since_us, 0, memory_order_release);
}

/* ---- counters -------------------------------------------------------------------------------------------------------- */

static bool same_route(const struct board_route *r, const char *method, const char *route)
{
    return strncmp(r->method, method, sizeof(r->method) - 1) == 0 &&
           strncmp(r->route, route, sizeof(r->route) - 1) == 0;
}

/* The finished row of that route before index `end`, or NULL. Waits a moment for rows another process is writing. */
static struct board_route *find_route(struct board *b, size_t end, const char *method, const char *route)
{
    for (size_t i = 0; i < end; i++) {
        int state = atomic_load(&b->routes[i].used);

        for (int n = 0; state == ROW_BEING_WRITTEN && n < WAITS; n++) {
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
            state = atomic_load(&b->routes[i].used);
        }
        if (state == ROW_FREE)
            return NULL;
        if (state == ROW_READY && same_route(&b->routes[i], method, route))
            return &b->routes[i];
    }
    return NULL;
}

struct board_route *board_route(struct board *b, const char *method, const char *route, const char *module)
{
    struct board_route *first = find_route(b, BOARD_ROUTES, method, route);

    for (size_t i = 0; !first && i < BOARD_ROUTES; i++) {
        struct board_route *r = &b->routes[i];
        int free_row = ROW_FREE;

        if (!atomic_compare_exchange_strong(&r->used, &free_row, ROW_BEING_WRITTEN))
            continue;
        copy_text(r->method, sizeof(r->method), method);
        copy_text(r->route, sizeof(r->route), route);
        copy_text(r->module, sizeof(r->module), module);
        /* two workers may add the same route at once: the lower row counts */
        first = find_route(b, i, method, route);
        atomic_store(&r->used, first ? ROW_DOUBLE : ROW_READY);
        if (!first)
            first = r;
    }
    return first;
}

static size_t bucket_of(int64_t us)
{
    size_t i = 0;

    while (i < BOARD_BUCKETS - 1 && us > (int64_t)bucket_ms[i] * 1000)
        i++;
    return i;
}

void board_count(struct board_route *r, int status, int64_t us)
{
    int class = status / 100;

    if (!r)
        return;
    atomic_fetch_add_explicit(&r->by_status[class >= 1 && class <= 5 ? class : 5], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->buckets[bucket_of(us)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->sum_us, (uint64_t)us, memory_order_relaxed);
}

void board_db_observe(struct board *b, int64_t us)
{
    atomic_fetch_add_explicit(&b->db_buckets[bucket_of(us)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&b->db_sum_us, (uint64_t)us, memory_order_relaxed);
}

/* ---- Prometheus text ------------------------------------------------------------------------------------------------- */

static uint64_t get(const _Atomic uint64_t *p)
{
    return atomic_load_explicit(p, memory_order_relaxed);
}

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* labels: "" or "a=\"b\"," */
static void histogram(
    struct buf *out, const char *name, const char *labels, const _Atomic uint64_t *buckets, uint64_t sum_us)
{
    uint64_t count = 0;
    size_t n = strlen(labels);

    for (size_t i = 0; i < BOARD_BUCKETS; i++) {
        count += get(&buckets[i]);
        if (i < BOARD_BUCKETS - 1)
            buf_addf(
                out, "%s_bucket{%sle=\"%g\"} %llu\n", name, labels, bucket_ms[i] / 1000.0, (unsigned long long)count);
        else
            buf_addf(out, "%s_bucket{%sle=\"+Inf\"} %llu\n", name, labels, (unsigned long long)count);
    }
    if (n) {
        buf_addf(out, "%s_sum{%.*s} %.6f\n", name, (int)n - 1, labels, (double)sum_us / 1e6);
        buf_addf(out, "%s_count{%.*s} %llu\n", name, (int)n - 1, labels, (unsigned long long)count);
    } else {
        buf_addf(out, "%s_sum %.6f\n%s_count %llu\n", name, (double)sum_us / 1e6, name, (unsigned long long)count);
    }
}

static void route_metrics(const struct board *b, struct buf *out)
{
    head(out, "http_requests_total", "counter", "Requests answered.");
    for (size_t i = 0; i < BOARD_ROUTES; i++) {
        const struct board_route *r = &b->routes[i];

        for (int class = 1; atomic_load(&r->used) == ROW_READY && class <= 5; class ++)
            if (get(&r->by_status[class]))
                buf_addf(out, "http_requests_total{route=\"%s\",method=\"%s\",status=\"%dxx\",module=\"%s\"} %llu\n",
                    r->route, r->method, class, r->module, (unsigned long long)get(&r->by_status[class]));
    }
    head(out, "http_request_duration_seconds", "histogram", "Time from the end of a request's headers to its answer.");
    for (size_t i = 0; i < BOARD_ROUTES; i++) {
        const struct board_route *r = &b->routes[i];
        char labels[192];

        if (atomic_load(&r->used) != ROW_READY)
            continue;
        snprintf(labels, sizeof(labels), "route=\"%s\",method=\"%s\",", r->route, r->method);
        histogram(out, "http_request_duration_seconds", labels, r->buckets, get(&r->sum_us));
    }
}

static void process_metrics(const struct board *b, struct buf *out)
{
    head(out, "worker_up", "gauge", "1 for each worker that serves.");
    for (size_t i = 0; i < BOARD_WORKERS; i++) {
        const struct board_worker *w = &b->workers[i];

        if (atomic_load(&w->state) == BOARD_READY)
            buf_addf(out, "worker_up{kind=\"%s\",index=\"%d\"} 1\n", atomic_load(&w->kind) == 1 ? "web" : "job",
                atomic_load(&w->index));
    }
    head(out, "worker_crashes_total", "counter", "Workers that ended unasked.");
    buf_addf(out, "worker_crashes_total %llu\n", (unsigned long long)get(&b->crashes));
    head(out, "worker_restarts_total", "counter", "Workers started again after a crash.");
    buf_addf(out, "worker_restarts_total %llu\n", (unsigned long long)get(&b->restarts));
}

void board_metrics(const struct board *b, struct buf *out)
{
    static const char *const failures[8] = {"api_key.missing", "api_key.invalid", "api_key.expired", "api_key.revoked",
        "principal.disabled", "scope_access", "location_access", "ip_access"};

    route_metrics(b, out);
    head(out, "http_in_flight", "gauge", "Requests being worked on.");
    buf_addf(out, "http_in_flight %lld\n", (long long)atomic_load(&b->http_in_flight));
    head(out, "auth_failures_total", "counter", "Requests refused for who asked.");
    for (size_t i = 0; i < 8; i++)
        buf_addf(
            out, "auth_failures_total{code=\"%s\"} %llu\n", failures[i], (unsigned long long)get(&b->auth_failures[i]));
    head(out, "db_pool_in_use", "gauge", "Database connections in use.");
    buf_addf(out, "db_pool_in_use %lld\n", (long long)atomic_load(&b->db_in_use));
    head(out, "db_query_duration_seconds", "histogram", "Time of a statement, as its sender saw it.");
    histogram(out, "db_query_duration_seconds", "", b->db_buckets, get(&b->db_sum_us));
    process_metrics(b, out);
    head(out, "build_info", "gauge", "Version of the server.");
    buf_addf(out, "build_info{version=\"%s\"} 1\n", b->version);
}
