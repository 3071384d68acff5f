/* board_process.c - metrics of what is outside of the board: the processes of the server, as the
 * system counts them, under the names that others use for them (process_*). Called by the
 * worker that has the admin listener. */
#include "process/board.h"
#include "process/board_rows.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STAT_TEXT = 1024 };

struct seen {
    const char *kind;
    int index, pid;
    double cpu_s, start_s;
    long long virtual_bytes, resident_bytes;
    long fds; /* -1: not to be told */
};

/* Returns when the system was started, in seconds since 1970. */
static long long boot_time(void)
{
    char line[256];
    long long at = 0;
    FILE *f = fopen("/proc/stat", "re");

    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "btime %lld", &at) == 1)
            break;
    if (f)
        fclose(f);
    return at;
}

static long count_fds(int pid)
{
    char path[64];
    DIR *d;
    long n = -2; /* . and .. */

    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    d = opendir(path);
    if (!d)
        return -1;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* Asks the system about a process. boot_s: when the system was started. Returns false when it is
 * gone. */
static bool board_process_look(struct seen *s, long long boot_s)
{
    char path[64], text[STAT_TEXT];
    unsigned long long user = 0, system = 0, start = 0, size = 0;
    long long pages = 0;
    double tick = (double)sysconf(_SC_CLK_TCK);
    const char *rest;
    FILE *f;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%d/stat", s->pid);
    f = fopen(path, "re");
    n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    rest = strrchr(text, ')'); /* behind the name, which may hold anything */
    if (!rest || sscanf(rest + 1,
                     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d "
                     "%*d %llu %llu %lld",
                     &user, &system, &start, &size, &pages) != 5)
        return false;
    s->cpu_s = (double)(user + system) / tick;
    s->start_s = (double)boot_s + (double)start / tick;
    s->virtual_bytes = (long long)size;
    s->resident_bytes = pages * sysconf(_SC_PAGESIZE);
    s->fds = count_fds(s->pid);
    return true;
}

static size_t look_at_all(const struct board *b, struct seen *all)
{
    long long boot_s = boot_time();
    size_t n = 0;

    all[n] = (struct seen){.kind = "supervisor", .pid = (int)getppid()};
    n += board_process_look(&all[n], boot_s);
    for (size_t i = 0; i < BOARD_WORKERS; i++) {
        const struct board_worker *w = &b->workers[i];

        if (atomic_load(&w->state) != BOARD_READY)
            continue;
        all[n] = (struct seen){.kind = atomic_load(&w->kind) == 1 ? "web" : "job",
            .index = atomic_load(&w->index),
            .pid = atomic_load(&w->pid)};
        n += board_process_look(&all[n], boot_s);
    }
    return n;
}

static void board_process_head(
    struct buf *out, const char *name, const char *type, const char *help)
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void board_process_line(
    struct buf *out, const char *name, const struct seen *s, double value)
{
    buf_addf(out, "%s{kind=\"%s\",index=\"%d\"} %.15g\n", name, s->kind, s->index, value);
}

void board_process_metrics(const struct board *b, struct buf *out)
{
    struct seen all[BOARD_WORKERS + 1];
    size_t n = look_at_all(b, all);

    board_process_head(
        out, "process_cpu_seconds_total", "counter", "Time of processors that it used.");
    for (size_t i = 0; i < n; i++)
        board_process_line(out, "process_cpu_seconds_total", &all[i], all[i].cpu_s);
    board_process_head(
        out, "process_resident_memory_bytes", "gauge", "Memory, with what processes share.");
    for (size_t i = 0; i < n; i++)
        board_process_line(
            out, "process_resident_memory_bytes", &all[i], (double)all[i].resident_bytes);
    board_process_head(out, "process_virtual_memory_bytes", "gauge", "Addresses that it has.");
    for (size_t i = 0; i < n; i++)
        board_process_line(
            out, "process_virtual_memory_bytes", &all[i], (double)all[i].virtual_bytes);
    board_process_head(out, "process_start_time_seconds", "gauge", "When it began, since 1970.");
    for (size_t i = 0; i < n; i++)
        board_process_line(out, "process_start_time_seconds", &all[i], all[i].start_s);
    board_process_head(out, "process_open_fds", "gauge", "Open files and connections.");
    for (size_t i = 0; i < n; i++)
        if (all[i].fds >= 0)
            board_process_line(out, "process_open_fds", &all[i], (double)all[i].fds);
    board_process_head(out, "process_max_fds", "gauge", "How many it may have.");
    for (size_t i = 0; i < n; i++)
        board_process_line(out, "process_max_fds", &all[i], (double)sysconf(_SC_OPEN_MAX));
}
