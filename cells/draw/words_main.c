/* words_main.c - the `words` cell: texts of a message in, the same with values in place out
 * (draw_words.h). It speaks as the `draw` cell does (render/draw_wire.h), and has none of its
 * libraries: it is there at once. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "child.h"
#include "draw_words.h"
#include "util/zone.h"

enum { ARENA = 64 << 20 };

/* Asks the server for a time zone. */
static size_t words_ask_zone(const char *name, char *bytes)
{
    const char *answer;
    size_t n;

    if (!cell_ask(name, strlen(name), &answer, &n) || n > ZONE_BYTES_MAX)
        return 0;
    memcpy(bytes, answer, n);
    return n;
}

static void words_answer(struct draw_result *r)
{
    struct buf last;

    buf_init(&last, DRAW_REPORT_MAX);
    buf_add(&last, &r->told, sizeof(r->told));
    buf_adds(&last, buf_str(&r->report));
    cell_result(last.p, last.n);
    buf_done(&last);
}

static void words_main_make(const char *p, size_t n)
{
    struct draw_zones zones = {.read = words_ask_zone};
    struct arena *a = arena_new(ARENA);
    struct draw_result result = {0};
    struct json_error bad;
    const struct wharf_json *body = json_get(json_parse(a, arena_dup(a, p, n), &bad), "body");

    buf_init(&result.report, DRAW_REPORT_MAX);
    if (json_is(body, JSON_OBJECT)) {
        words_make(&result, a, body, &zones);
        words_answer(&result);
    } else {
        cell_failed("the request is not understood");
    }
    buf_done(&result.report);
    arena_free(a);
}

static void words_call(const struct cell_task *task)
{
    struct draw_call wish = {0};
    off_t n = task->n_fds == 1 ? lseek(task->fds[0], 0, SEEK_END) : 0;
    void *p = n > 0 ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, task->fds[0], 0) : MAP_FAILED;

    if (task->n == sizeof(wish))
        memcpy(&wish, task->payload, sizeof(wish));
    if (p == MAP_FAILED || wish.format != DRAW_WORDS || wish.request > (uint64_t)n)
        cell_failed("the request is not understood");
    else
        words_main_make(p, (size_t)wish.request);
    if (p != MAP_FAILED)
        munmap(p, (size_t)n);
}

int main(int argc, char **argv)
{
    static const struct cell_program program = {.name = "words", .call = words_call};

    return cell_main(argc, argv, &program);
}
