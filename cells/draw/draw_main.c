/* draw_main.c - the `draw` cell: a call in, a drawing and its report out. See draw.h. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <glib.h>

#include "child.h"
#include "draw.h"
#include "draw_aside.h"
#include "draw_call.h"
#include "render/draw_wire.h"
#include "util/zone.h"

/* ---- the call ---- */

/* Asks the server for a time zone. */
static size_t draw_ask_zone(const char *name, char *bytes)
{
    const char *answer;
    size_t n;

    if (!cell_ask(name, strlen(name), &answer, &n) || n > ZONE_BYTES_MAX)
        return 0;
    memcpy(bytes, answer, n);
    return n;
}

static void draw_answer(struct draw_result *r)
{
    struct buf last;

    for (size_t at = 0; at < r->bytes.n; at += DRAW_BLOCK)
        cell_data(r->bytes.p + at, r->bytes.n - at < DRAW_BLOCK ? r->bytes.n - at : DRAW_BLOCK);
    buf_init(&last, 4 * DRAW_REPORT_MAX);
    buf_add(&last, &r->told, sizeof(r->told));
    buf_adds(&last, buf_str(&r->report));
    cell_result(last.p, last.n);
    buf_done(&last);
}

static void draw_main_call(const struct cell_task *task)
{
    struct draw_call wish = {0};
    struct draw_result result = {0};
    void *p;
    off_t n = task->n_fds == 1 ? lseek(task->fds[0], 0, SEEK_END) : 0;

    if (task->n == sizeof(wish))
        memcpy(&wish, task->payload, sizeof(wish));
    p = n > 0 ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, task->fds[0], 0) : MAP_FAILED;
    if (p == MAP_FAILED) {
        cell_failed("there is no request");
        return;
    }
    if (draw_call_run(&result, p, (size_t)n, &wish, task->limit_ms, draw_ask_zone))
        draw_answer(&result);
    else
        cell_failed("the request is not understood");
    draw_result_done(&result);
    munmap(p, (size_t)n);
}

/* ---- before the walls ---- */

/* Draws once with each library, so that all that they load or look up at first use is there. */
static bool warm(uint32_t format)
{
    static const char text[] =
        "{\"now\":\"2026-01-01T00:00:00Z\",\"body\":{\"size\":\"custom\",\"width\":200,\"height\":"
        "200,\"raw\":[{\"type\":\"text\",\"x\":5,\"y\":5,\"value\":\"Text\"},{\"type\":\"text\","
        "\"x\":5,\"y\":20,\"value\":\"Text\",\"font_weight\":\"bold\"},{\"type\":\"text\",\"x\":5,"
        "\"y\":40,\"value\":\"Text \\u05d0\\u0628\\u4e2d\",\"font_family\":\"mono\"},{\"type\":"
        "\"qr\",\"x\":5,\"y\":60,\"size\":40,\"value\":\"1\"},{\"type\":\"code128\",\"x\":60,\"y\":"
        "60,\"width\":90,\"height\":30,\"value\":\"1\",\"show_text\":true},{\"type\":\"svg\",\"x\":"
        "5,\"y\":110,\"width\":60,\"height\":60,\"value\":\"<svg "
        "xmlns='http://www.w3.org/2000/svg' width='9' height='9'><filter id='b'><feGaussianBlur "
        "stdDeviation='2'/></filter><text y='8' filter='url(#b)'>a</text></svg>\"}]}}";
    const struct draw_call wish = {.format = format, .request = sizeof(text) - 1};
    struct draw_result result = {0};
    bool good = draw_call_run(
                    &result, (const unsigned char *)text, sizeof(text) - 1, &wish, 0, NULL) &&
                result.told.verdict == DRAW_GOOD && result.told.bytes > 0;

    draw_result_done(&result);
    return good;
}

/* Leaves out what GLib would log: to look where it goes is not allowed here. GLib's errors end the
 * process; that there is no memory is the one that a drawing can bring about. */
static GLogWriterOutput log_nothing(
    GLogLevelFlags level, const GLogField *fields, gsize n, gpointer arg)
{
    if (level & G_LOG_LEVEL_ERROR)
        cell_out_of_memory();
    (void)fields;
    (void)n;
    (void)arg;
    return G_LOG_WRITER_HANDLED;
}

/* Orders two numbers. */
static int draw_by_number(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y;
}

/* Loads and does everything once that is done at the first use. */
static bool draw_prepare(void)
{
    static int numbers[4096];

    g_log_set_writer_func(log_nothing, NULL, NULL);
    /* the first time with much it asks for the size of memory */
    qsort(numbers, sizeof(numbers) / sizeof(*numbers), sizeof(*numbers), draw_by_number);
    /* arenas of threads would grow by mprotect(), which is not to be had */
    mallopt(M_ARENA_MAX, 1);
    setenv("RAYON_NUM_THREADS", "1", 1); /* of librsvg; its thread is there before the walls */
    if (!fonts_prepare() || !aside_prepare())
        return false;
    for (unsigned i = ASIDE_THREADS; i-- > 0;) { /* each thread loads what it needs, too */
        aside_prefer(i);
        if (!warm(DRAW_PDF) || !warm(DRAW_PNG))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static const struct cell_program program = {.name = "draw",
        .prepare = draw_prepare,
        .call = draw_main_call,
        .looks_for_files = true,
        .has_threads = true};

    return cell_main(argc, argv, &program);
}
