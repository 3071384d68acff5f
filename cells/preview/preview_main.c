/* preview_main.c - the `preview` cell: a PDF in, a PNG of one page or the text of its pages out. */
#include <stdint.h>
#include <stdlib.h>

#include "child.h"
#include "preview.h"

static void preview_main_call(const struct cell_task *task)
{
    struct preview_call wish;
    struct picture picture;
    void *file;
    size_t n;

    if (task->n_fds != 1 || !wish_read(task->payload, task->n, &wish)) {
        cell_failed("invalid: the wish is not understood");
        return;
    }
    file = cell_read_file(task->fds[0], SIZE_MAX, &n);
    if (!file) {
        cell_failed("invalid: there is no file");
        return;
    }
    if (page_draw(file, n, &wish, &picture)) {
        for (size_t at = 0; at < picture.n; at += PREVIEW_BLOCK)
            cell_data(picture.bytes + at,
                picture.n - at < PREVIEW_BLOCK ? picture.n - at : PREVIEW_BLOCK);
        cell_result(&picture.made, sizeof(picture.made));
    } else {
        cell_failed(picture.error);
    }
    free(picture.bytes);
    free(file);
}

/* Draws one document before the walls, so that everything that libraries load or look up at first
 * use is there. */
static bool preview_prepare(void)
{
    static const char pdf[] =
        "%PDF-1.4\n1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n2 0 obj <</Type /Pages /Kids [3 "
        "0 R] /Count 1>> endobj\n3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] "
        "/Contents 4 0 R /Resources <</Font <</F <</Type /Font /Subtype /Type1 /BaseFont "
        "/Helvetica>> /S <</Type /Font /Subtype /Type1 /BaseFont /Symbol>> >> >> >> endobj\n4 0 "
        "obj <</Length 64>> stream\nBT /F 12 Tf 20 50 Td (Text) Tj /S 12 Tf (abc) Tj ET           "
        "     \nendstream endobj\ntrailer <</Root 1 0 R>>\n";
    static const struct preview_call wishes[] = {
        {.page = 1, .width = 20, .height = 20}, {.page = 1, .text = 1}};
    bool good = true;

    fonts_prepare();
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        struct picture picture;

        good &= page_draw(pdf, sizeof(pdf) - 1, &wishes[i], &picture);
        free(picture.bytes);
    }
    return good;
}

int main(int argc, char **argv)
{
    static const struct cell_program program = {.name = "preview",
        .prepare = preview_prepare,
        .call = preview_main_call,
        .looks_for_files = true};

    return cell_main(argc, argv, &program);
}
