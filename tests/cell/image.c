/* image.c - reads pictures in the real cell, one after the other, and prints what it found, as the
 * server would see it. For tests/cell/test_image_cell.py, and by hand:
 *
 *   image-once FOLDER-OF-CELLS WANTS BUDGET-MS SKIP FILE...
 *
 * A line of JSON for each file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cell/cell.h"
#include "image/host_image.h"
#include "image/image_read.h"
#include "image_once.h"
#include "util/str.h"
#include "util/time.h"

static const char *const status_names[] = {
    "ok", "failed", "crashed", "deadline", "memory", "protocol", "canceled", "unavailable"};

/* Prints bytes: each as the letter of its number. */
static void print_bytes(wharf_str s)
{
    putchar('"');
    for (size_t i = 0; i < s.n; i++)
        printf("\\u%04x", (unsigned char)s.p[i]);
    putchar('"');
}

static void print_box(const wharf_image_box *b)
{
    printf("[%u,%u,%u,%u]", b->x, b->y, b->w, b->h);
}

static void print_codes(const wharf_image_read *r)
{
    printf(",\"codes\":[");
    for (uint32_t i = 0; i < r->n_codes; i++) {
        const wharf_image_code *c = &r->codes[i];

        printf(
            "%s{\"symbology\":\"%s\",\"orientation\":%u,\"quality\":%u,\"checked\":%d,\"value\":",
            i ? "," : "", c->symbology, c->orientation, c->quality, c->checked);
        print_bytes(c->value);
        printf(",\"box\":");
        print_box(&c->box);
        putchar('}');
    }
    putchar(']');
}

static void print_words(const wharf_image_read *r)
{
    printf(",\"words\":[");
    for (uint32_t i = 0; i < r->n_words; i++) {
        const wharf_image_word *w = &r->words[i];

        printf("%s{\"confidence\":%u,\"line\":%u,\"block\":%u,\"box\":", i ? "," : "",
            w->confidence, w->line, w->block);
        print_box(&w->box);
        printf(",\"text\":");
        image_once_print_text(w->text);
        putchar('}');
    }
    printf("],\"lines\":[");
    for (uint32_t i = 0; i < r->n_lines; i++) {
        printf("%s", i ? "," : "");
        image_once_print_text(r->lines[i].text);
    }
    printf("]");
}

static void print_rules(const wharf_image_read *r)
{
    printf(",\"rules\":[");
    for (uint32_t i = 0; i < r->n_rules; i++) {
        printf("%s", i ? "," : "");
        print_box(&r->rules[i]);
    }
    putchar(']');
}

static void print_read(const wharf_image_read *r)
{
    const wharf_image_figures *f = &r->figures;

    printf(
        ",\"format\":\"%s\",\"width\":%u,\"height\":%u,\"turn\":%u,\"turned_by\":%u,\"photo\":%d,"
        "\"whole\":%d,\"stopped\":\"%s\",\"x_height\":%u,\"version\":\"%s\"",
        r->format, r->width, r->height, r->turn, r->turned_by, r->photo, r->whole,
        r->stopped ? r->stopped : "", r->x_height, r->engine_version);
    printf(",\"figures\":[%u,%u,%u,%u,%u,%u,%u],\"steps\":{", f->text_lines, f->line_height,
        f->line_height_spread, f->ink, f->wide_rules, f->long_linear, f->matrix);
    for (uint32_t i = 0; i < r->n_steps; i++)
        printf("%s\"%s%u\":%u", i ? "," : "", r->steps[i].name, i, r->steps[i].ms);
    printf("}");
    print_rules(r);
    print_codes(r);
    print_words(r);
}

static void read_file(struct cell_pool *pool, const struct image_call *wish, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct arena *arena = arena_new(64 << 20);
    wharf_image_read read = {.head = WHARF_HEAD(wharf_image_read)};
    int64_t begun = clock_monotonic_us();
    unsigned last;
    wharf_str said;
    struct cell_run *run = image_once_run(pool, wish, fd, &said, &last);
    const struct cell_result *end = cell_run_result(run);

    printf("{\"status\":\"%s\",\"signal\":%d,\"reason\":", status_names[end->status], end->signal);
    image_once_print_text(str_z(end->reason));
    printf(",\"last\":\"%s\",\"ms\":%lld", image_step_name(last) ? image_step_name(last) : "",
        (long long)(clock_monotonic_us() - begun) / 1000);
    if (end->status == CELL_OK) {
        bool good = image_read_answer(arena, said, &read);

        printf(",\"good\":%d", good);
        if (good)
            print_read(&read);
    }
    printf("}\n");
    arena_free(arena);
    cell_run_end(run);
    close(fd);
}

int main(int argc, char **argv)
{
    struct image_call wish = {.languages = "eng"};
    struct cell_kind kind = host_image_kind;
    struct cell_pool *pool;

    if (argc < 6) {
        fprintf(stderr, "image-once FOLDER-OF-CELLS WANTS BUDGET-MS SKIP FILE...\n");
        return 2;
    }
    wish.wants = (uint32_t)strtoul(argv[2], NULL, 10);
    wish.budget_ms = (uint32_t)strtoul(argv[3], NULL, 10);
    wish.skip = (uint32_t)strtoul(argv[4], NULL, 10);
    if (getenv("IMAGE_LOG"))
        kind.log_fd = STDERR_FILENO;
    kind.nice = 0; /* a test steps back as a whole */
    pool = cell_pool_new(&kind, argv[1]);
    for (int i = 5; i < argc; i++) {
        read_file(pool, &wish, argv[i]);
        fflush(stdout);
    }
    cell_pool_free(pool);
    return 0;
}
