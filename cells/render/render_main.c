/* render_main.c - the `render` cell: a document in, what it is as a question, the medium as the
 * answer, a PDF of that medium out. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "render.h"

enum {
    SHOWN_WIDTH = 612, /* a text becomes pages of so many points: a letter */
    SHOWN_HEIGHT = 792, /* points of a page of text that is shown */
    TEXT_PAGE = 256 * 1024 /* bytes that no page of a text has, unless they show nothing */
};

static bool render_finish(struct source *s, const struct render_wish *wish,
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

static void render_send(const unsigned char *p, size_t n)
{
    for (size_t at = 0; at < n; at += RENDER_BLOCK)
        cell_data(p + at, n - at < RENDER_BLOCK ? n - at : RENDER_BLOCK);
}

/* Answers with the one page that the call is about, as it is. */
static void render_show(struct source *s)
{
    const unsigned char *p;
    struct render_made made = {.pages = 1};
    size_t n;

    if ((s->type == RENDER_TEXT && !text_lay_out(s, SHOWN_WIDTH, SHOWN_HEIGHT)) ||
        !pdf_show(s, &p, &n)) {
        cell_failed(s->error);
        return;
    }
    render_send(p, n);
    cell_result(&made, sizeof(made));
}

static void render_answer(struct source *s)
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
    if (!render_finish(s, &wish, ranges, &p, &n)) {
        cell_failed(s->error);
    } else {
        made.pages = (uint32_t)qpdf_get_num_pages(s->q);
        made.cropped = s->cropped;
        render_send(p, n);
        cell_result(&made, sizeof(made));
    }
    free(ranges);
}

/* Returns how much of the file is needed: a few pages of a long text are little of it. */
static size_t needed(const struct render_call *what)
{
    return what->type == RENDER_TEXT && what->page && what->page <= RENDER_PAGES_MAX
               ? (what->page + (size_t)1) * TEXT_PAGE
               : SIZE_MAX;
}

static void render_main_call(const struct cell_task *task)
{
    struct render_call what;
    struct bytes file;
    struct source s = {0};

    if (task->n != sizeof(what) || task->n_fds != 1) {
        cell_failed("invalid: the call is not understood");
        return;
    }
    memcpy(&what, task->payload, sizeof(what));
    file.p = cell_read_file(task->fds[0], needed(&what), &file.n);
    if (!file.p) {
        cell_failed("invalid: there is no file");
        return;
    }
    if (!source_open(&s, &what, file.p, file.n))
        cell_failed(s.error);
    else if (what.page)
        render_show(&s);
    else
        render_answer(&s);
    source_close(&s);
    free(file.p);
}

/* Makes one document before the walls, so that everything that libraries load or look up at first
 * use is there. */
static bool render_prepare(void)
{
    static const char text[] = "x";
    static const unsigned char tiff[] = {
        'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0, 1, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    static const struct render_call as_text = {.type = RENDER_TEXT}, as_pdf = {.type = RENDER_PDF},
                                    as_tiff = {.type = RENDER_TIFF};
    struct render_wish wish = {.width = 100, .height = 100, .scale = 1};
    struct source s;
    const unsigned char *p;
    size_t n;
    bool good;

    font_prepare();
    good = source_open(&s, &as_text, text, 1) && render_finish(&s, &wish, NULL, &p, &n);

    if (good) {
        struct source again;

        good = source_open(&again, &as_pdf, p, n);
        source_close(&again);
    }
    source_close(&s);
    source_open(&s, &as_tiff, tiff,
        /* cut off, but libtiff has sorted its tables, for which glibc asks how much memory there
         * is */
        sizeof(tiff));
    source_close(&s);
    return good;
}

int main(int argc, char **argv)
{
    static const struct cell_program program = {
        .name = "render", .prepare = render_prepare, .call = render_main_call};

    return cell_main(argc, argv, &program);
}
