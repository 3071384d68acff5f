/* document_measure.c - pages and measures of what is stored
 * (docs/spec/05-documents-and-templates.md section 1). PDF is read by a cell (wharf.render); that
 * it can't be read, or that there is no cell, keeps nobody from storing it. */
#include <unistd.h>

#include "documents.h"
#include "image_size.h"

#define POINTS_PER_INCH 72.0

struct image_bytes {
    int fd;
    int64_t at, size;
};

static size_t read_image(void *arg, uint64_t at, unsigned char *out, size_t n)
{
    const struct image_bytes *b = arg;
    ssize_t got;

    if (at >= (uint64_t)b->size)
        return 0;
    if (n > (uint64_t)b->size - at)
        n = (size_t)((uint64_t)b->size - at);
    got = pread(b->fd, out, n, (off_t)(b->at + (int64_t)at));
    return got > 0 ? (size_t)got : 0;
}

static void measure_pdf(wharf_req *req, int fd, struct stored *got)
{
    wharf_render_info info = {.head = WHARF_HEAD(wharf_render_info)};
    wharf_render *render;

    if (documents_render->open(req, fd, WHARF_S("application/pdf"), &render) != WHARF_OK) {
        W->err->clear(req);
        return;
    }
    if (!documents_render->verdict(render)) {
        documents_render->info(render, &info);
        got->pages = (int64_t)info.pages;
        got->width = info.width / POINTS_PER_INCH;
        got->height = info.height / POINTS_PER_INCH;
    }
    documents_render->close(render);
}

void document_measure(wharf_req *req, int fd, int64_t at, wharf_str seen, struct stored *got)
{
    struct image_bytes bytes = {fd, at, got->size};
    uint32_t width, height;

    if (is(seen, "application/pdf") && at == 0) {
        measure_pdf(req, fd, got);
    } else if (image_size(read_image, &bytes, &width, &height)) {
        got->width = width;
        got->height = height;
    }
}
