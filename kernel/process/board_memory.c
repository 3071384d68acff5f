/* board_memory.c - the metric wharf_memory_bytes: memory of each process of the server, by owner.
 *
 * Owners of one process add up to what the system says that it has. Read from the system are the
 * pages of files (programs and libraries, of which processes that run the same have one copy),
 * those that are shared with other processes, and those of its own; a worker's own are divided
 * by its counts on the board (util/memory.h), what else of its heap is in use (heap_other) or kept
 * free (heap_free), and `other`: all the rest. Of the supervisor and of cells the board has no
 * counts: theirs is `other`. Called by the worker that has the admin listener.
 * docs/guide/operation.md 'Which part holds the memory'. */
#include "process/board.h"
#include "process/board_rows.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CELL_KINDS = 16, CELL_NAME = 24, COMMAND = 256 };

/* what the system says of a process, in bytes */
struct pages {
    int64_t own, files, shared;
};

/* processes that a line of the metric is about: a worker, or all cells of one kind */
struct shown {
    char kind[CELL_NAME + 8];
    int index;
    struct pages has;
    const struct board_worker *slot; /* NULL: it counts nothing */
};

/* Asks the system; false: the process is gone. */
static bool board_memory_look(int pid, struct pages *ret)
{
    char path[64], line[128];
    bool found = false;
    FILE *f;

    *ret = (struct pages){0};
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        long long kb;

        found |= sscanf(line, "RssAnon: %lld", &kb) == 1 && (ret->own = kb * 1024, true);
        if (sscanf(line, "RssFile: %lld", &kb) == 1)
            ret->files = kb * 1024;
        if (sscanf(line, "RssShmem: %lld", &kb) == 1)
            ret->shared = kb * 1024;
    }
    if (f)
        fclose(f);
    return found;
}

/* ---- lines ---- */

static void board_memory_line(
    struct buf *out, const struct shown *s, const char *owner, int64_t bytes)
{
    buf_addf(out, "memory_bytes{kind=\"%s\",index=\"%d\",owner=\"%s\"} %lld\n", s->kind, s->index,
        owner, (long long)bytes);
}

static int64_t at_most(int64_t bytes, int64_t most)
{
    bytes = bytes < most ? bytes : most;
    return bytes > 0 ? bytes : 0;
}

/* Divides a worker's own memory. An owner counts what it asked for, and some pages of it may never
 * have been touched: where all of them say more than there is, each has its part. Returns what is
 * left: what is not of the heap. */
static int64_t held_lines(struct buf *out, const struct shown *s)
{
    int64_t held[MEMORY_OWNERS], sum = 0, rest = s->has.own, bytes;
    int64_t used = atomic_load(&s->slot->heap_used), idle = atomic_load(&s->slot->heap_free);
    double part;

    for (size_t i = 0; i < MEMORY_OWNERS; i++) {
        held[i] = at_most(atomic_load(&s->slot->held[i]), INT64_MAX); /* a move is two counts */
        sum += held[i];
    }
    part = sum > rest ? (double)rest / (double)sum : 1;
    for (size_t i = 0; i < MEMORY_OWNERS; i++) {
        bytes = (int64_t)((double)held[i] * part);
        board_memory_line(out, s, memory_owners[i], bytes);
        rest -= bytes;
    }
    bytes = at_most(used - sum, rest);
    board_memory_line(out, s, "heap_other", bytes);
    rest -= bytes;
    bytes = at_most(idle, rest); /* what malloc_trim() gave back stays in the heap's own count */
    board_memory_line(out, s, "heap_free", bytes);
    return rest - bytes;
}

static void lines(struct buf *out, const struct shown *s)
{
    board_memory_line(out, s, "other", s->slot ? held_lines(out, s) : s->has.own);
    board_memory_line(out, s, "files", s->has.files);
    board_memory_line(out, s, "shared", s->has.shared);
}

/* ---- cells: children of workers ---- */

static bool is_workers(const struct board *b, int parent)
{
    for (size_t i = 0; i < BOARD_WORKERS; i++)
        if (atomic_load(&b->workers[i].state) != BOARD_FREE &&
            atomic_load(&b->workers[i].pid) == parent)
            return true;
    return false;
}

/* Reads a file of /proc of that process, NUL-terminated. Returns how much there is. */
static size_t read_of(const char *pid, const char *file, char *to, size_t size)
{
    char path[64];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%.16s/%s", pid, file);
    f = fopen(path, "re");
    if (f) {
        n = fread(to, 1, size - 1, f);
        fclose(f);
    }
    to[n] = 0;
    return n;
}

/* Finds the kind of a cell in its command; NULL: the process is no cell of this server. */
static const char *cell_kind(const struct board *b, const char *pid, char command[COMMAND])
{
    static const char prefix[] = "wharf-cell-";
    const char *rest, *name;
    int parent;

    if (!read_of(pid, "stat", command, COMMAND) || !(rest = strrchr(command, ')')) ||
        sscanf(rest + 1, " %*c %d", &parent) != 1 || !is_workers(b, parent) ||
        !read_of(pid, "cmdline", command, COMMAND))
        return NULL;
    name = strrchr(command, '/'); /* of the first word, where the text ends */
    name = name ? name + 1 : command;
    return strncmp(name, prefix, sizeof(prefix) - 1) ? NULL : name + sizeof(prefix) - 1;
}

static struct shown *cells_of(struct shown *all, size_t *n, const char *kind)
{
    char name[sizeof(all->kind)];

    snprintf(name, sizeof(name), "cell_%.*s", CELL_NAME, kind);
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(all[i].kind, name))
            return &all[i];
    if (*n == CELL_KINDS)
        return NULL;
    all[*n] = (struct shown){0};
    memcpy(all[*n].kind, name, sizeof(name));
    return &all[(*n)++];
}

static void cell_lines(const struct board *b, struct buf *out)
{
    struct shown all[CELL_KINDS], *s;
    struct dirent *e;
    size_t n = 0;
    DIR *d = opendir("/proc");

    while (d && (e = readdir(d))) {
        char command[COMMAND];
        const char *kind;
        struct pages has;

        if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
            !(kind = cell_kind(b, e->d_name, command)) ||
            !board_memory_look((int)strtol(e->d_name, NULL, 10), &has) ||
            !(s = cells_of(all, &n, kind)))
            continue;
        s->has.own += has.own;
        s->has.files += has.files;
        s->has.shared += has.shared;
    }
    if (d)
        closedir(d);
    for (size_t i = 0; i < n; i++)
        lines(out, &all[i]);
}

/* ---- all of it ---- */

void board_memory_metrics(struct board *b, struct buf *out)
{
    struct shown s = {.kind = "supervisor"};

    buf_addz(out, "# HELP memory_bytes Memory by process and owner; those of a process add up to "
                  "what it has.\n# TYPE memory_bytes gauge\n");
    if (board_memory_look((int)getppid(), &s.has))
        lines(out, &s);
    for (size_t i = 0; i < BOARD_WORKERS; i++) {
        struct board_worker *w = &b->workers[i];

        if (atomic_load(&w->state) != BOARD_READY ||
            !board_memory_look(atomic_load(&w->pid), &s.has))
            continue;
        atomic_store(&w->heap_unasked, false);
        snprintf(s.kind, sizeof(s.kind), "%s", atomic_load(&w->kind) == 1 ? "web" : "job");
        s.index = atomic_load(&w->index);
        s.slot = w;
        lines(out, &s);
    }
    cell_lines(b, out);
}
