/* render_main.c - the `render` cell: a document in, what it is as a question, the medium as the
 * answer, a PDF of that medium out. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "render.h"

static bool finish(struct source *s, const struct render_wish *wish,
    const struct render_range *ranges, const unsigned char **ret_p, size_t *ret_n)
{
    if (s->type == RENDER_TEXT && !text_lay_out(s, wish->landscape ? wish->height : wish->width,
                                      wish->landscape ? wish->width : wish->height))
        return false;
    if (!pdf_keep(s, ranges, wish->n_ranges))
        return false;
    for (int i = 0, n = qpdf_get_num_pages(s->q); i < n; i++) {
        if (!page_place(s, qpdf_get_page_n(s->q, (size_t)i), wish))
            return false;
        qpdf_oh_release_all(s->q);
    }
    return pdf_write(s, ret_p, ret_n);
}

static void answer(struct source *s)
{
    struct render_wish wish;
    struct render_range *ranges;
    struct render_made made;
    const unsigned char *p;
    const char *reported;
    size_t n;

    if (!cell_ask(&s->reported, sizeof(s->reported), &reported, &n) || n < sizeof(wish)) {
        cell_failed("invalid: nobody wants it");
        return;
    }
    memcpy(&wish, reported, sizeof(wish));
    if (wish.n_ranges > RENDER_RANGES_MAX || n != sizeof(wish) + wish.n_ranges * sizeof(*ranges)) {
        cell_failed("invalid: the wish is not understood");
        return;
    }
    ranges = cell_alloc(wish.n_ranges * sizeof(*ranges) + 1);
    memcpy(ranges, reported + sizeof(wish), wish.n_ranges * sizeof(*ranges));
    if (!finish(s, &wish, ranges, &p, &n)) {
        cell_failed(s->error);
    } else {
        made.pages = (uint32_t)qpdf_get_num_pages(s->q);
        for (size_t at = 0; at < n; at += RENDER_BLOCK)
            cell_data(p + at, n - at < RENDER_BLOCK ? n - at : RENDER_BLOCK);
        cell_result(&made, sizeof(made));
    }
    free(ranges);
}

/* Reads the whole file into memory: libqpdf goes back and forth in it. */
static bool read_all(int fd, struct bytes *ret)
{
    off_t size = lseek(fd, 0, SEEK_END); /* fstat() is a system call that cells do not have */
    size_t n = 0;

    if (size < 0)
        return false;
    ret->n = (size_t)size;
    ret->p = cell_alloc(ret->n + 1);
    while (n < ret->n) {
        ssize_t got = pread(fd, ret->p + n, ret->n - n, (off_t)n);

        if (got <= 0)
            return false;
        n += (size_t)got;
    }
    ret->p[n] = 0;
    return true;
}

static void call(const struct cell_task *task)
{
    struct render_call what;
    struct bytes file;
    struct source s = {0};

    if (task->n != sizeof(what) || task->n_fds != 1 || !read_all(task->fds[0], &file)) {
        cell_failed("invalid: there is no file");
        return;
    }
    memcpy(&what, task->payload, sizeof(what));
    if (source_open(&s, (enum render_type)what.type, file.p, file.n))
        answer(&s);
    else
        cell_failed(s.error);
    source_close(&s);
    free(file.p);
}

/* Makes one document before the walls, so that everything that libraries load or look up at first
 * use is there. */
static bool prepare(void)
{
    static const char text[] = "x";
    static const unsigned char tiff[] = {
        'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0, 1, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    struct render_wish wish = {.width = 100, .height = 100, .scale = 1};
    struct source s;
    const unsigned char *p;
    size_t n;
    bool good;

    font_prepare();
    good = source_open(&s, RENDER_TEXT, text, 1) && finish(&s, &wish, NULL, &p, &n);

    if (good) {
        struct source again;

        good = source_open(&again, RENDER_PDF, p, n);
        source_close(&again);
    }
    source_close(&s);
    source_open(&s, RENDER_TIFF, tiff,
        /* cut off, but libtiff has sorted its tables, for which glibc asks how much memory there
         * is */
        sizeof(tiff));
    source_close(&s);
    return good;
}

int main(int argc, char **argv)
{
    static const struct cell_program program = {.name = "render", .prepare = prepare, .call = call};

    return cell_main(argc, argv, &program);
}
