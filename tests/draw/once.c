/* once.c - has a definition drawn by a real `draw` cell, as the server does:
 *
 *   draw-once CELLS FORMAT REQUEST.json OUT [BLOB...]
 *   draw-once --list FILE CELLS FORMAT
 *
 * FORMAT is 1 to 4 (services/render/draw_wire.h). The drawing goes to OUT, the report to standard
 * output, and before it a line that says how the run ended. Before all may stand: --times N (as
 * often, by one process of one owner), --limit MS (for each; 60,000). A list has a line for each
 * drawing: OUT, a tab, the request; one process draws them all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/cell.h"
#include "render/draw_wire.h"
#include "render/host_draw.h"
#include "util/str.h"
#include "util/time.h"
#include "util/zone.h"

enum { SECOND = 1000000, BLOBS = 64 };

static const char *const statuses[] = {
    "ok", "failed", "crashed", "deadline", "memory", "protocol", "canceled", "unavailable"};

static char *read_file(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "rb");
    struct stat s;
    char *p;

    if (!f || fstat(fileno(f), &s) != 0) {
        fprintf(stderr, "%s can't be read\n", path);
        exit(2);
    }
    p = malloc((size_t)s.st_size + 1);
    *ret_n = p ? fread(p, 1, (size_t)s.st_size, f) : 0;
    fclose(f);
    return p;
}

static void put(int fd, const void *p, size_t n)
{
    if (write(fd, p, n) != (ssize_t)n)
        exit(2);
}

/* Writes what travels to the cell. */
static int wish_file(char **paths, int n, struct draw_call *ret)
{
    int fd = memfd_create("draw", 0);
    char *bytes[BLOBS];
    size_t sizes[BLOBS];

    for (int i = 0; i < n; i++)
        bytes[i] = read_file(paths[i], &sizes[i]);
    put(fd, bytes[0], sizes[0]);
    ret->request = sizes[0];
    ret->n_blobs = (uint32_t)n - 1;
    for (int i = 1; i < n; i++) {
        uint64_t size = sizes[i];

        put(fd, &size, sizeof(size));
    }
    for (int i = 1; i < n; i++)
        put(fd, bytes[i], sizes[i]);
    for (int i = 0; i < n; i++)
        free(bytes[i]);
    return fd;
}

static void answer(struct cell_run *run, wharf_str name)
{
    static char bytes[ZONE_BYTES_MAX];
    char z[80];
    size_t n;

    snprintf(z, sizeof(z), "%.*s", (int)(name.n < 79 ? name.n : 79), name.p);
    n = zone_read(z, bytes, sizeof(bytes));
    cell_run_answer(run, n == 0, (wharf_str){bytes, n});
}

static void run(
    struct cell_pool *pool, int fd, const struct draw_call *head, const char *out, long limit_ms)
{
    struct cell_call call = {.payload = {(const char *)head, sizeof(*head)},
        .owner = str_z("somebody"),
        .fds = &fd,
        .n_fds = 1,
        .deadline_us = clock_monotonic_us() + limit_ms * 1000,
        .wait_us = 60 * SECOND,
        .waits_apart = true};
    struct cell_run *r;
    struct draw_told told = {0};
    FILE *f = fopen(out, "wb");
    enum cell_event e;
    wharf_str said;

    r = cell_run_start(pool, &call);
    while ((e = cell_run_next(r, true, &said)) != CELL_EVENT_END) {
        if (e == CELL_EVENT_ASK)
            answer(r, said);
        else if (f)
            fwrite(said.p, 1, said.n, f);
    }
    if (f)
        fclose(f);
    if (cell_run_result(r)->status == CELL_OK && said.n >= sizeof(told)) {
        memcpy(&told, said.p, sizeof(told));
        if (told.spoiled)
            cell_run_spoil(r);
        printf("ok %u %s\n%.*s\n", told.verdict, told.reason, (int)(said.n - sizeof(told)),
            said.p + sizeof(told));
    } else {
        printf("%s %s\n\n", statuses[cell_run_result(r)->status], cell_run_result(r)->reason);
    }
    cell_run_end(r);
}

struct wish {
    const char *list; /* NULL: one drawing, of files */
    long times, limit_ms;
};

/* Draws what is asked for on the command line. */
static void run_files(
    struct cell_pool *pool, const struct wish *wish, uint32_t format, int argc, char **argv)
{
    struct draw_call head = {.format = format};
    char *paths[BLOBS] = {argv[3]};
    int fd, n = 1;

    for (int i = 5; i < argc && n < BLOBS; i++)
        paths[n++] = argv[i];
    fd = wish_file(paths, n, &head);
    for (long i = 0; i < wish->times; i++)
        run(pool, fd, &head, argv[4], wish->limit_ms);
    close(fd);
}

/* Draws the lines of a list: the file to write, a tab, the request. */
static void run_list(struct cell_pool *pool, const struct wish *wish, uint32_t format)
{
    FILE *list = fopen(wish->list, "r");
    char *line = NULL;
    size_t room = 0;

    if (!list) {
        fprintf(stderr, "%s can't be read\n", wish->list);
        exit(2);
    }
    while (getline(&line, &room, list) > 0) {
        char *request = strchr(line, '\t');
        struct draw_call head = {.format = format};
        int fd = memfd_create("draw", 0);

        if (!request) {
            fprintf(stderr, "a line of %s has no tab between file and request\n", wish->list);
            exit(2);
        }
        *request++ = 0;
        head.request = strcspn(request, "\n");
        put(fd, request, head.request);
        run(pool, fd, &head, line, wish->limit_ms);
        close(fd);
    }
    free(line);
    fclose(list);
}

int main(int argc, char **argv)
{
    struct cell_kind kind = host_draw_kind;
    struct wish wish = {.times = 1, .limit_ms = 60000};
    struct cell_pool *pool;
    uint32_t format;

    for (; argc > 2 && argv[1][0] == '-'; argc -= 2, argv += 2) {
        if (strcmp(argv[1], "--list") == 0)
            wish.list = argv[2];
        else
            *(strcmp(argv[1], "--times") == 0 ? &wish.times : &wish.limit_ms) = strtol(
                argv[2], NULL, 10);
    }
    if (argc < (wish.list ? 3 : 5)) {
        fprintf(stderr, "draw-once CELLS FORMAT REQUEST.json OUT [BLOB...]\n"
                        "draw-once --list FILE CELLS FORMAT\n");
        return 2;
    }
    format = (uint32_t)strtoul(argv[2], NULL, 10);
    kind.max = kind.min; /* one process for all */
    kind.log_fd = STDERR_FILENO;
    pool = cell_pool_new(&kind, argv[1]);
    if (wish.list)
        run_list(pool, &wish, format);
    else
        run_files(pool, &wish, format, argc, argv);
    cell_pool_free(pool);
    return 0;
}
