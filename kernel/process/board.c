/* board.c - see board.h. Atomic counters only; leaves to others: who scrapes them, and blaming
 * (blame.c). */
#include "process/board.h"
#include "process/board_rows.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "util/id.h"
#include "util/time.h"
#include "wharf_version.h"
#include "wharf/errors.h"

enum { METRICS_MAX = 16 * 1024 * 1024 };
static const int bucket_ms[BOARD_BUCKETS - 1] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000};

const char *const limit_reasons[LIMIT_REASONS] = {
    "key", "write", "organization", "ip", "concurrency", "endpoint"};

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
    random_bytes(b->hash_key, sizeof(b->hash_key));
    snprintf(b->version, sizeof(b->version), "%s", WHARF_VERSION);
    *ret_fd = fd;
    return b;
}

/* ---- activities ---- */

static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = from ? strnlen(from, size - 1) : 0;

    memcpy(to, from ? from : "", n);
    to[n] = 0;
}

void activity_enter(struct activity *c, const char *plugin, const char *what,
    const char *request_id, int64_t deadline_us)
{
    copy_text(c->plugin, sizeof(c->plugin), plugin);
    copy_text(c->what, sizeof(c->what), what);
    copy_text(c->request_id, sizeof(c->request_id), request_id);
    atomic_store_explicit(&c->deadline_us, deadline_us, memory_order_relaxed);
    atomic_store_explicit(&c->since_us, clock_monotonic_us(), memory_order_release);
}

void activity_leave(struct activity *c)
{
    atomic_store_explicit(&c->since_us, 0, memory_order_release);
}

/* ---- counters ---- */

static bool same_route(const struct board_route *r, const char *method, const char *route)
{
    return strncmp(r->method, method, sizeof(r->method) - 1) == 0 &&
           strncmp(r->route, route, sizeof(r->route) - 1) == 0;
}

/* Finds the finished row of that route before index `end`. Returns NULL when there is none. Waits
 * a moment for rows another process is writing. */
static struct board_route *board_find_route(
    struct board *b, size_t end, const char *method, const char *route)
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

struct board_route *board_route(
    struct board *b, const char *method, const char *route, const char *module)
{
    struct board_route *first = board_find_route(b, BOARD_ROUTES, method, route);

    for (size_t i = 0; !first && i < BOARD_ROUTES; i++) {
        struct board_route *r = &b->routes[i];
        int free_row = ROW_FREE;

        if (!atomic_compare_exchange_strong(&r->used, &free_row, ROW_BEING_WRITTEN))
            continue;
        copy_text(r->method, sizeof(r->method), method);
        copy_text(r->route, sizeof(r->route), route);
        copy_text(r->module, sizeof(r->module), module);
        /* two workers may add the same route at once: the lower row counts */
        first = board_find_route(b, i, method, route);
        atomic_store(&r->used, first ? ROW_DOUBLE : ROW_READY);
        if (!first)
            first = r;
    }
    return first;
}

/* Returns the row of a kind of job. They are few, and made by job workers only, one after the
 * other. */
struct board_job *board_job(struct board *b, const char *queue)
{
    for (size_t i = 0; i < BOARD_JOBS; i++) {
        struct board_job *j = &b->jobs[i];
        int state = ROW_FREE;

        if (atomic_compare_exchange_strong(&j->used, &state, ROW_BEING_WRITTEN)) {
            copy_text(j->queue, sizeof(j->queue), queue);
            atomic_store(&j->used, ROW_READY);
            return j;
        }
        board_wait_written(&j->used);
        if (atomic_load(&j->used) == ROW_READY &&
            strncmp(j->queue, queue, sizeof(j->queue) - 1) == 0)
            return j;
    }
    return NULL;
}

void board_backlog(struct board *b, const char *name, int64_t waiting, int64_t age_ms)
{
    struct board_backlog *row = b->backlogs;

    while (row < b->backlogs + BOARD_BACKLOGS && atomic_load(&row->used) == ROW_READY &&
           strncmp(row->name, name, sizeof(row->name) - 1) != 0)
        row++;
    if (row == b->backlogs + BOARD_BACKLOGS)
        return;
    if (atomic_load(&row->used) != ROW_READY)
        copy_text(row->name, sizeof(row->name), name);
    atomic_store(&row->waiting, waiting);
    atomic_store(&row->age_ms, age_ms > 0 ? age_ms : 0);
    atomic_store(&row->used, ROW_READY);
}

struct board_plugin *board_plugin(struct board *b, const char *name)
{
    for (size_t i = 0; i < BOARD_PLUGINS; i++) {
        struct board_plugin *p = &b->plugins[i];
        int state = ROW_FREE;

        if (atomic_compare_exchange_strong(&p->used, &state, ROW_BEING_WRITTEN)) {
            copy_text(p->name, sizeof(p->name), name);
            atomic_store(&p->used, ROW_READY);
            return p;
        }
        board_wait_written(&p->used);
        if (atomic_load(&p->used) == ROW_READY && strncmp(p->name, name, sizeof(p->name) - 1) == 0)
            return p;
    }
    return NULL;
}

struct board_hook *board_hook(struct board *b, const char *name)
{
    for (size_t i = 0; i < BOARD_HOOKS; i++) {
        struct board_hook *h = &b->hooks[i];
        int state = ROW_FREE;

        if (atomic_compare_exchange_strong(&h->used, &state, ROW_BEING_WRITTEN)) {
            copy_text(h->name, sizeof(h->name), name);
            atomic_store(&h->used, ROW_READY);
            return h;
        }
        board_wait_written(&h->used);
        if (atomic_load(&h->used) == ROW_READY && strncmp(h->name, name, sizeof(h->name) - 1) == 0)
            return h;
    }
    return NULL;
}

void board_hook_count(struct board_hook *h, bool good, int64_t us)
{
    size_t i = 0;

    while (i < BOARD_HOOK_BUCKETS - 1 && us > (int64_t)1 << i)
        i++;
    atomic_fetch_add_explicit(&h->buckets[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum_us, (uint64_t)us, memory_order_relaxed);
    if (!good)
        atomic_fetch_add_explicit(&h->errors, 1, memory_order_relaxed);
}

int64_t board_hook_us(const struct board_hook *h, double part)
{
    double wanted = (double)atomic_load(&h->calls) * part;
    uint64_t seen = 0;

    for (size_t i = 0; i < BOARD_HOOK_BUCKETS; i++) {
        seen += atomic_load(&h->buckets[i]);
        if (seen && (double)seen >= wanted)
            return (int64_t)1 << i;
    }
    return 0;
}

static size_t board_bucket_of(int64_t us)
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
    atomic_fetch_add_explicit(
        &r->by_status[class >= 1 && class <= 5 ? class : 5], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->buckets[board_bucket_of(us)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->sum_us, (uint64_t)us, memory_order_relaxed);
}

uint64_t board_route_count(const struct board_route *r)
{
    uint64_t n = 0;

    for (int class = 1; atomic_load(&r->used) == ROW_READY && class <= 5; class ++)
        n += atomic_load_explicit(&r->by_status[class], memory_order_relaxed);
    return n;
}

void board_db_observe(struct board *b, int64_t us)
{
    atomic_fetch_add_explicit(&b->db_buckets[board_bucket_of(us)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&b->db_sum_us, (uint64_t)us, memory_order_relaxed);
}

/* ---- Prometheus text ---- */

static uint64_t board_get(const _Atomic uint64_t *p)
{
    return atomic_load_explicit(p, memory_order_relaxed);
}

static void board_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Writes a histogram. labels: "" or "a=\"b\",". */
static void histogram(struct buf *out, const char *name, const char *labels,
    const _Atomic uint64_t *buckets, uint64_t sum_us)
{
    uint64_t count = 0;
    size_t n = strlen(labels);

    for (size_t i = 0; i < BOARD_BUCKETS; i++) {
        count += board_get(&buckets[i]);
        if (i < BOARD_BUCKETS - 1)
            buf_addf(out, "%s_bucket{%sle=\"%g\"} %llu\n", name, labels, bucket_ms[i] / 1000.0,
                (unsigned long long)count);
        else
            buf_addf(
                out, "%s_bucket{%sle=\"+Inf\"} %llu\n", name, labels, (unsigned long long)count);
    }
    if (n) {
        buf_addf(out, "%s_sum{%.*s} %.6f\n", name, (int)n - 1, labels, (double)sum_us / 1e6);
        buf_addf(out, "%s_count{%.*s} %llu\n", name, (int)n - 1, labels, (unsigned long long)count);
    } else {
        buf_addf(out, "%s_sum %.6f\n%s_count %llu\n", name, (double)sum_us / 1e6, name,
            (unsigned long long)count);
    }
}

static void route_metrics(const struct board *b, struct buf *out)
{
    board_head(out, "http_requests_total", "counter", "Requests answered.");
    for (size_t i = 0; i < BOARD_ROUTES; i++) {
        const struct board_route *r = &b->routes[i];

        for (int class = 1; atomic_load(&r->used) == ROW_READY && class <= 5; class ++)
            if (board_get(&r->by_status[class]))
                buf_addf(out,
                    "http_requests_total{route=\"%s\",method=\"%s\",status=\"%dxx\",module=\"%s\"} "
                    "%llu\n",
                    r->route, r->method, class, r->module,
                    (unsigned long long)board_get(&r->by_status[class]));
    }
    board_head(out, "deprecated_requests_total", "counter",
        "Requests that used a route or a field that is going away.");
    for (size_t i = 0; i < BOARD_ROUTES; i++)
        if (atomic_load(&b->routes[i].used) == ROW_READY && board_get(&b->routes[i].deprecated))
            buf_addf(out, "deprecated_requests_total{route=\"%s\",method=\"%s\"} %llu\n",
                b->routes[i].route, b->routes[i].method,
                (unsigned long long)board_get(&b->routes[i].deprecated));
    board_head(out, "http_request_duration_seconds", "histogram",
        "Time from the end of a request's headers to its answer.");
    for (size_t i = 0; i < BOARD_ROUTES; i++) {
        const struct board_route *r = &b->routes[i];
        char labels[192];

        if (atomic_load(&r->used) != ROW_READY)
            continue;
        snprintf(labels, sizeof(labels), "route=\"%s\",method=\"%s\",", r->route, r->method);
        histogram(out, "http_request_duration_seconds", labels, r->buckets, board_get(&r->sum_us));
    }
}

static void job_metrics(const struct board *b, struct buf *out)
{
    static const char *const outcomes[] = {"done", "failed", "parked"};

    board_head(out, "job_queue_depth", "gauge", "Jobs that wait, in the whole installation.");
    for (size_t i = 0; i < BOARD_JOBS && atomic_load(&b->jobs[i].used) == ROW_READY; i++)
        buf_addf(out, "job_queue_depth{queue=\"%s\"} %lld\n", b->jobs[i].queue,
            (long long)atomic_load(&b->jobs[i].depth));
    board_head(
        out, "job_age_seconds", "gauge", "How long the job that is due for longest has waited.");
    for (size_t i = 0; i < BOARD_JOBS && atomic_load(&b->jobs[i].used) == ROW_READY; i++)
        buf_addf(out, "job_age_seconds{queue=\"%s\"} %.3f\n", b->jobs[i].queue,
            (double)atomic_load(&b->jobs[i].age_ms) / 1000);
    board_head(out, "job_runs_total", "counter",
        "Runs of jobs by this server: done, failed and tried again, parked.");
    for (size_t i = 0; i < BOARD_JOBS && atomic_load(&b->jobs[i].used) == ROW_READY; i++) {
        const _Atomic uint64_t *counts[] = {
            &b->jobs[i].done, &b->jobs[i].failed, &b->jobs[i].parked};

        for (size_t k = 0; k < 3; k++)
            buf_addf(out, "job_runs_total{queue=\"%s\",outcome=\"%s\"} %llu\n", b->jobs[i].queue,
                outcomes[k], (unsigned long long)board_get(counts[k]));
    }
}

static void plugin_metrics(const struct board *b, struct buf *out)
{
    board_head(out, "plugin_seconds_total", "counter",
        "Time that threads were in a plugin's code, with what it waited for; wharf: the server's.");
    for (size_t i = 0; i < BOARD_PLUGINS && atomic_load(&b->plugins[i].used) == ROW_READY; i++)
        buf_addf(out, "plugin_seconds_total{plugin=\"%s\"} %.6f\n", b->plugins[i].name,
            (double)board_get(&b->plugins[i].us) / 1e6);
    board_head(out, "plugin_memory_bytes_total", "counter",
        "Memory that requests of a plugin's routes and its jobs were the first to touch.");
    for (size_t i = 0; i < BOARD_PLUGINS && atomic_load(&b->plugins[i].used) == ROW_READY; i++)
        buf_addf(out, "plugin_memory_bytes_total{plugin=\"%s\"} %llu\n", b->plugins[i].name,
            (unsigned long long)board_get(&b->plugins[i].bytes));
}

static const char *kind_name(const _Atomic int *kind)
{
    return atomic_load(kind) == 1 ? "web" : "job";
}

static void worker_metrics(const struct board *b, struct buf *out)
{
    board_head(out, "worker_up", "gauge", "1 for each worker that serves, 0 for each that should.");
    for (size_t i = 0; i < BOARD_SEATS; i++) {
        const struct board_seat *seat = &b->seats[i];

        if (atomic_load(&seat->kind))
            buf_addf(out, "worker_up{kind=\"%s\",index=\"%d\"} %d\n", kind_name(&seat->kind),
                atomic_load(&seat->index), atomic_load(&seat->down_us) == 0);
    }
    board_head(out, "worker_memory_bytes", "gauge", "Memory of a worker's own.");
    for (size_t i = 0; i < BOARD_WORKERS; i++) {
        const struct board_worker *w = &b->workers[i];

        if (atomic_load(&w->state) == BOARD_READY)
            buf_addf(out, "worker_memory_bytes{kind=\"%s\",index=\"%d\"} %lld\n",
                kind_name(&w->kind), atomic_load(&w->index), (long long)atomic_load(&w->memory));
    }
    board_head(out, "worker_memory_limit_bytes", "gauge",
        "memory.limit: what a worker may have; 0: any number.");
    buf_addf(out, "worker_memory_limit_bytes %lld\n", (long long)atomic_load(&b->memory_limit));
    board_head(out, "worker_memory_restarts_total", "counter",
        "Workers replaced because they came near to that limit.");
    buf_addf(out, "worker_memory_restarts_total %llu\n",
        (unsigned long long)board_get(&b->memory_restarts));
    board_head(out, "worker_hangs_total", "counter",
        "Workers replaced or ended because something in them hung.");
    buf_addf(out, "worker_hangs_total %llu\n", (unsigned long long)board_get(&b->hangs));
    board_head(out, "worker_crashes_total", "counter", "Workers that ended unasked.");
    buf_addf(out, "worker_crashes_total %llu\n", (unsigned long long)board_get(&b->crashes));
    board_head(out, "plugin_quarantined", "gauge",
        "1 for each plugin that is left out because it crashed too often.");
    for (int i = 0; i < atomic_load(&b->n_quarantined); i++)
        buf_addf(out, "plugin_quarantined{plugin=\"%.31s\"} 1\n", b->quarantined[i]);
    board_head(out, "worker_restarts_total", "counter", "Workers started again after a crash.");
    buf_addf(out, "worker_restarts_total %llu\n", (unsigned long long)board_get(&b->restarts));
}

/* Sums up over all workers that live; what a dead one counted is forgotten with it. */
static int64_t sum(const struct board *b, size_t offset)
{
    int64_t n = 0;

    for (size_t i = 0; i < BOARD_WORKERS; i++) {
        const struct board_worker *w = &b->workers[i];

        if (atomic_load(&w->state) != BOARD_FREE)
            n += atomic_load((const _Atomic int64_t *)(const void *)((const char *)w + offset));
    }
    return n;
}

static void board_state_metrics(const struct board *b, struct buf *out)
{
    board_head(out, "backlog", "gauge", "What waits, in the whole installation.");
    for (size_t i = 0; i < BOARD_BACKLOGS && atomic_load(&b->backlogs[i].used) == ROW_READY; i++)
        buf_addf(out, "backlog{of=\"%s\"} %lld\n", b->backlogs[i].name,
            (long long)atomic_load(&b->backlogs[i].waiting));
    board_head(out, "backlog_age_seconds", "gauge", "How long the oldest of it has waited.");
    for (size_t i = 0; i < BOARD_BACKLOGS && atomic_load(&b->backlogs[i].used) == ROW_READY; i++)
        buf_addf(out, "backlog_age_seconds{of=\"%s\"} %.3f\n", b->backlogs[i].name,
            (double)atomic_load(&b->backlogs[i].age_ms) / 1000);
    board_head(out, "database_bytes", "gauge", "Size of the database.");
    buf_addf(out, "database_bytes %lld\n", (long long)atomic_load(&b->database_bytes));
    board_head(
        out, "database_connections", "gauge", "Connections of all clients to the database server.");
    buf_addf(out, "database_connections %lld\n", (long long)atomic_load(&b->database_connections));
    board_head(out, "database_connections_allowed", "gauge", "How many it gives.");
    buf_addf(
        out, "database_connections_allowed %lld\n", (long long)atomic_load(&b->database_allowed));
    board_head(out, "clock_difference_seconds", "gauge",
        "How much the machine's clock is ahead of the database's.");
    buf_addf(out, "clock_difference_seconds %.3f\n", (double)clock_ahead_us() / 1e6);
    if (!atomic_load(&b->certificate_until_s))
        return;
    board_head(out, "certificate_end_seconds", "gauge", "When the certificate ends, since 1970.");
    buf_addf(
        out, "certificate_end_seconds %lld\n", (long long)atomic_load(&b->certificate_until_s));
}

static void all_metrics(struct board *b, struct buf *out)
{
    static const char *const failures[8] = {ERR_API_KEY_MISSING, ERR_API_KEY_INVALID,
        ERR_API_KEY_EXPIRED, ERR_API_KEY_REVOKED, ERR_PRINCIPAL_DISABLED, ERR_SCOPE_ACCESS,
        ERR_LOCATION_ACCESS, ERR_IP_ACCESS};

    route_metrics(b, out);
    board_head(out, "http_in_flight", "gauge", "Requests being worked on.");
    buf_addf(
        out, "http_in_flight %lld\n", (long long)sum(b, offsetof(struct board_worker, in_flight)));
    board_head(out, "auth_failures_total", "counter", "Requests refused for who asked.");
    for (size_t i = 0; i < 8; i++)
        buf_addf(out, "auth_failures_total{code=\"%s\"} %llu\n", failures[i],
            (unsigned long long)board_get(&b->auth_failures[i]));
    board_head(out, "rate_limited_total", "counter", "Requests refused for their number.");
    for (size_t i = 0; i < LIMIT_REASONS; i++)
        buf_addf(out, "rate_limited_total{reason=\"%s\"} %llu\n", limit_reasons[i],
            (unsigned long long)board_get(&b->rate_limited[i]));
    board_head(
        out, "idempotent_replays_total", "counter", "Answers given again for an Idempotency-Key.");
    buf_addf(out, "idempotent_replays_total %llu\n",
        (unsigned long long)board_get(&b->idempotent_replays));
    board_head(out, "request_log_dropped_total", "counter", "Requests missing in the request log.");
    buf_addf(out, "request_log_dropped_total %llu\n",
        (unsigned long long)board_get(&b->request_log_dropped));
    board_head(out, "log_lines_lost_total", "counter", "Lines that a log file did not take.");
    for (size_t i = DISK_LOG; i <= DISK_ACCESS_LOG; i++)
        buf_addf(out, "log_lines_lost_total{log=\"%s\"} %llu\n", disk_names[i],
            (unsigned long long)board_get(&b->disk.lost[i]));
    board_head(out, "disk_failures_total", "counter",
        "Writes of files, into the data folder, or of the database, that the disk did not take.");
    for (size_t i = DISK_STORAGE; i < DISK_PLACES; i++)
        buf_addf(out, "disk_failures_total{place=\"%s\"} %llu\n", disk_names[i],
            (unsigned long long)board_get(&b->disk.lost[i]));
    board_head(out, "db_pool_in_use", "gauge", "Database connections in use.");
    buf_addf(
        out, "db_pool_in_use %lld\n", (long long)sum(b, offsetof(struct board_worker, db_in_use)));
    board_head(out, "db_query_duration_seconds", "histogram",
        "Time of a statement, as its sender saw it.");
    histogram(out, "db_query_duration_seconds", "", b->db_buckets, board_get(&b->db_sum_us));
    board_head(out, "blob_damaged", "gauge",
        "Stored objects that are damaged or lost, in the whole installation.");
    buf_addf(out, "blob_damaged %lld\n", (long long)atomic_load(&b->blob_damaged));
    job_metrics(b, out);
    board_state_metrics(b, out);
    board_hook_metrics(b, out);
    plugin_metrics(b, out);
    worker_metrics(b, out);
    board_process_metrics(b, out);
    board_memory_metrics(b, out);
    board_head(out, "build_info", "gauge", "Version of the server.");
    buf_addf(out, "build_info{version=\"%s\"} 1\n", b->version);
}

/* Writes a line of the text with the prefix of this server before its name, but for those that have
 * the same name everywhere. */
static void board_add_line(struct buf *out, const char *line, size_t n)
{
    size_t before = n > 7 && line[0] == '#' ? 7 : 0; /* "# HELP ", "# TYPE " */
    bool everywhere = n >= before + 8 && !memcmp(line + before, "process_", 8);

    buf_add(out, line, before);
    buf_addz(out, everywhere ? "" : "wharf_");
    buf_add(out, line + before, n - before);
}

void board_metrics(struct board *b, struct buf *out)
{
    struct buf lines;

    buf_init(&lines, METRICS_MAX);
    all_metrics(b, &lines);
    for (size_t at = 0; at < lines.n;) {
        const char *end = memchr(lines.p + at, '\n', lines.n - at);
        size_t n = end ? (size_t)(end - (lines.p + at)) + 1 : lines.n - at;

        board_add_line(out, lines.p + at, n);
        at += n;
    }
    buf_done(&lines);
}
