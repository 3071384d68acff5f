/* preview_page.c - one page of a PDF as a PNG, on white. See preview.h.
 *
 * The page is what poppler shows of it: the crop box within the media box, turned as the page
 * says, with its annotations. */
#include <cairo.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "preview.h"

bool picture_fail(struct picture *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->error, sizeof(p->error), fmt, ap);
    va_end(ap);
    return false;
}

bool wish_read(const void *p, size_t n, struct preview_call *ret)
{
    if (n != sizeof(*ret))
        return false;
    memcpy(ret, p, n);
    if (ret->text)
        return ret->page == 1;
    return ret->page && ret->width && ret->height && ret->width <= PREVIEW_SIDE_MAX &&
           ret->height <= PREVIEW_SIDE_MAX;
}

/* ---- the picture ---- */

bool picture_add(struct picture *p, const void *bytes, size_t n, size_t most)
{
    if (n > most - p->n)
        return false;
    if (!n)
        return true;
    if (p->cap - p->n < n) {
        p->cap = p->cap * 2 + n + PREVIEW_BLOCK;
        p->bytes = cell_realloc(p->bytes, p->cap);
    }
    memcpy(p->bytes + p->n, bytes, n);
    p->n += n;
    return true;
}

static cairo_status_t take_png(void *arg, const unsigned char *bytes, unsigned n)
{
    return picture_add(arg, bytes, n, PREVIEW_BYTES_MAX) ? CAIRO_STATUS_SUCCESS
                                                         : CAIRO_STATUS_WRITE_ERROR;
}

/* Returns a side in whole pixels. */
static uint32_t side(double length, uint32_t most)
{
    return length < 1 ? 1 : length > most ? most : (uint32_t)(length + 0.5);
}

/* Decides how large the picture is: as wide as wished for, unless it became too high, or a point
 * would be more than a pixel where those are the same. */
static bool preview_page_measure(
    struct picture *p, const struct preview_call *wish, double width, double height)
{
    double to_width = wish->width;

    if (!(width > 0) || !(height > 0) || !isfinite(width) || !isfinite(height))
        return picture_fail(p, "invalid: its page has no size");
    if (wish->dots)
        to_width = fmin(to_width, width);
    to_width = fmin(to_width, wish->height * width / height);
    p->made.width = side(to_width, wish->width);
    p->made.height = side(to_width * height / width, wish->height);
    return true;
}

static bool preview_page_draw(struct picture *p, PopplerPage *page, double width, double height)
{
    cairo_surface_t *surface = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)p->made.width, (int)p->made.height);
    cairo_t *cairo = cairo_create(surface);
    cairo_status_t status;

    cairo_set_source_rgb(cairo, 1, 1, 1);
    cairo_paint(cairo);
    cairo_scale(cairo, p->made.width / width, p->made.height / height);
    poppler_page_render(page, cairo);
    status = cairo_status(cairo);
    cairo_surface_flush(surface);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png_stream(surface, take_png, p);
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
    if (status == CAIRO_STATUS_NO_MEMORY)
        cell_out_of_memory();
    return status == CAIRO_STATUS_SUCCESS ||
           picture_fail(p, "invalid: it can't be drawn: %.100s", cairo_status_to_string(status));
}

/* ---- the page ---- */

static bool preview_page_draw_page(
    struct picture *p, PopplerDocument *document, const struct preview_call *wish)
{
    int pages = poppler_document_get_n_pages(document);
    double width = 0, height = 0;
    PopplerPage *page;
    bool good;

    if (pages <= 0)
        return picture_fail(p, "invalid: it has no pages");
    if (wish->page > (uint32_t)pages)
        return picture_fail(p, "pages: it has %d page%s", pages, pages == 1 ? "" : "s");
    p->made.pages = (uint32_t)pages;
    page = poppler_document_get_page(document, (int)wish->page - 1);
    if (!page)
        return picture_fail(p, "invalid: its page is damaged");
    poppler_page_get_size(page, &width, &height);
    good = preview_page_measure(p, wish, width, height) &&
           preview_page_draw(p, page, width, height);
    g_object_unref(page);
    return good;
}

bool page_draw(const void *pdf, size_t n, const struct preview_call *wish, struct picture *ret)
{
    GBytes *bytes = g_bytes_new_static(pdf, n);
    GError *error = NULL;
    PopplerDocument *document = poppler_document_new_from_bytes(bytes, NULL, &error);
    bool good;

    *ret = (struct picture){.bytes = NULL};
    if (document)
        good = wish->text ? text_read(ret, document, wish)
                          : preview_page_draw_page(ret, document, wish);
    else if (error && error->domain == POPPLER_ERROR && error->code == POPPLER_ERROR_ENCRYPTED)
        good = picture_fail(ret, "invalid: it is encrypted; send it without its password");
    else
        good = picture_fail(ret, "invalid: it is damaged");
    g_clear_error(&error);
    if (document)
        g_object_unref(document);
    g_bytes_unref(bytes);
    return good;
}
