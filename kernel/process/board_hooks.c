/* board_hooks.c - what is counted of operators' hooks, and what they and modules count
 * themselves. See board.h. */
#include "process/board.h"
#include "process/board_rows.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_FROM = 4, SHOWN_STEP = 2 /* every second power of two, from 16 us on */ };
static const double series_bounds[BOARD_SERIES_BUCKETS - 1] = {
    0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 100, 1000};

/* ---- adding ---- */

/* Finds or makes a series. A name is one metric: all of its series are counters, or all are
 * histograms. */
static struct board_series *find_series(
    struct board *b, bool observed, const char *name, const char *labels)
{
    for (size_t i = 0; i < BOARD_SERIES; i++) {
        struct board_series *s = &b->series[i];
        int state = ROW_FREE;

        if (atomic_compare_exchange_strong(&s->used, &state, ROW_BEING_WRITTEN)) {
            s->observed = observed;
            snprintf(s->name, sizeof(s->name), "%s", name);
            snprintf(s->labels, sizeof(s->labels), "%s", labels);
            atomic_store(&s->used, ROW_READY);
            return s;
        }
        board_wait_written(&s->used);
        if (atomic_load(&s->used) != ROW_READY || strcmp(s->name, name) != 0)
            continue;
        if (s->observed != observed)
            return NULL;
        if (!strcmp(s->labels, labels))
            return s;
    }
    return NULL;
}

static void add_double(_Atomic uint64_t *to, double n)
{
    uint64_t before = atomic_load(to), after;
    double sum;

    do {
        memcpy(&sum, &before, sizeof(sum));
        sum += n;
        memcpy(&after, &sum, sizeof(after));
    } while (!atomic_compare_exchange_weak(to, &before, after));
}

bool board_series_add(
    struct board *b, bool observed, const char *name, const char *labels, double n)
{
    struct board_series *s = find_series(b, observed, name, labels);
    size_t i = 0;

    if (!s)
        return false;
    while (observed && i < BOARD_SERIES_BUCKETS - 1 && n > series_bounds[i])
        i++;
    add_double(&s->sum, n);
    atomic_fetch_add_explicit(&s->buckets[i], 1, memory_order_relaxed);
    return true;
}

/* ---- Prometheus text ---- */

static unsigned long long board_hooks_get(const _Atomic uint64_t *p)
{
    return (unsigned long long)atomic_load_explicit(p, memory_order_relaxed);
}

static void board_hooks_write_hook(const struct board_hook *h, struct buf *out)
{
    unsigned long long count = 0;
    size_t next = SHOWN_FROM;

    for (size_t i = 0; i < BOARD_HOOK_BUCKETS; i++) {
        count += board_hooks_get(&h->buckets[i]);
        if (i != next || i + 1 == BOARD_HOOK_BUCKETS)
            continue;
        buf_addf(out, "lua_hook_duration_seconds_bucket{hook=\"%s\",le=\"%g\"} %llu\n", h->name,
            (double)(1 << i) / 1e6, count);
        next += SHOWN_STEP;
    }
    buf_addf(
        out, "lua_hook_duration_seconds_bucket{hook=\"%s\",le=\"+Inf\"} %llu\n", h->name, count);
    buf_addf(out,
        "lua_hook_duration_seconds_sum{hook=\"%s\"} "
        "%.6f\nlua_hook_duration_seconds_count{hook=\"%s\"} %llu\n",
        h->name, (double)board_hooks_get(&h->sum_us) / 1e6, h->name, count);
}

static void write_series(const struct board_series *s, struct buf *out)
{
    unsigned long long count = 0;
    uint64_t bits = atomic_load(&s->sum);
    int n = (int)strlen(s->labels);
    double sum;

    memcpy(&sum, &bits, sizeof(sum));
    if (!s->observed) {
        buf_addf(out, n ? "%s_total{%.*s} %.15g\n" : "%s_total%.*s %.15g\n", s->name, n ? n - 1 : 0,
            s->labels, sum);
        return;
    }
    for (size_t i = 0; i < BOARD_SERIES_BUCKETS; i++) {
        count += board_hooks_get(&s->buckets[i]);
        if (i + 1 < BOARD_SERIES_BUCKETS)
            buf_addf(
                out, "%s_bucket{%sle=\"%g\"} %llu\n", s->name, s->labels, series_bounds[i], count);
        else
            buf_addf(out, "%s_bucket{%sle=\"+Inf\"} %llu\n", s->name, s->labels, count);
    }
    buf_addf(out, n ? "%s_sum{%.*s} %.15g\n" : "%s_sum%.*s %.15g\n", s->name, n ? n - 1 : 0,
        s->labels, sum);
    buf_addf(out, n ? "%s_count{%.*s} %llu\n" : "%s_count%.*s %llu\n", s->name, n ? n - 1 : 0,
        s->labels, count);
}

static bool board_hooks_ready(const struct board_series *s)
{
    return atomic_load(&s->used) == ROW_READY;
}

/* Writes a metric: all its series stand together, below its head. */
static void write_metric(const struct board *b, size_t first, struct buf *out)
{
    const struct board_series *s = &b->series[first];

    for (size_t i = 0; i < first; i++) {
        if (board_hooks_ready(&b->series[i]) && !strcmp(b->series[i].name, s->name))
            return;
    }
    buf_addf(out, "# HELP %s%s Told by %s.\n# TYPE %s%s %s\n", s->name, s->observed ? "" : "_total",
        strncmp(s->name, "lua_", 4) ? "a module" : "the operator's hooks", s->name,
        s->observed ? "" : "_total", s->observed ? "histogram" : "counter");
    for (size_t i = first; i < BOARD_SERIES; i++) {
        if (board_hooks_ready(&b->series[i]) && !strcmp(b->series[i].name, s->name))
            write_series(&b->series[i], out);
    }
}

void board_hook_metrics(const struct board *b, struct buf *out)
{
    buf_addz(out, "# HELP lua_hook_duration_seconds Time of calls of the operator's hooks.\n"
                  "# TYPE lua_hook_duration_seconds histogram\n");
    for (size_t i = 0; i < BOARD_HOOKS; i++) {
        if (atomic_load(&b->hooks[i].used) == ROW_READY)
            board_hooks_write_hook(&b->hooks[i], out);
    }
    buf_addz(out, "# HELP lua_hook_errors_total Calls of the operator's hooks that failed.\n"
                  "# TYPE lua_hook_errors_total counter\n");
    for (size_t i = 0; i < BOARD_HOOKS; i++) {
        if (atomic_load(&b->hooks[i].used) == ROW_READY)
            buf_addf(out, "lua_hook_errors_total{hook=\"%s\"} %llu\n", b->hooks[i].name,
                board_hooks_get(&b->hooks[i].errors));
    }
    for (size_t i = 0; i < BOARD_SERIES; i++) {
        if (board_hooks_ready(&b->series[i]))
            write_metric(b, i, out);
    }
}
