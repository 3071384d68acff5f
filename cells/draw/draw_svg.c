/* draw_svg.c - SVG: read, and recorded as a drawing that cairo repeats on pages; see
 * draw_picture.h.
 *
 * Both are done beside the drawing (draw_aside.h): an SVG that takes longer than 5 s fails alone.
 * It stays a drawing; what filters make of it has the density of the page. It reads nothing from
 * outside (librsvg loads nothing without a base URL), and has no entities of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "draw_aside.h"
#include "draw_picture.h"
#include "util/time.h"

enum {
    SVG_US = 5000000, /* one SVG may take */
    SIDE_MOST = 100000,
    PIXELS_MOST = 16000000 /* pixels of an SVG that is drawn as dots */
};

#define SIDE_LEAST 0.001

/* One task of the other thread, which keeps all of it when it is late. */
struct svg_work {
    unsigned char *bytes; /* of the file, to be read */
    size_t n;
    RsvgHandle *svg;
    double width, height; /* that the SVG says */
    cairo_surface_t *made; /* that it is recorded on */
    double made_width, made_height;
    char wrong[100]; /* or "" */
};

static bool is_side(double d)
{
    return d >= SIDE_LEAST && d <= SIDE_MOST;
}

/* Finds how large it says it is. False: that can't be drawn. */
static bool find_size(struct svg_work *w)
{
    gboolean has_width, has_height, has_box;
    RsvgLength width, height;
    RsvgRectangle box;

    if (rsvg_handle_get_intrinsic_size_in_pixels(w->svg, &w->width, &w->height) &&
        is_side(w->width) && is_side(w->height))
        return true;
    rsvg_handle_get_intrinsic_dimensions(
        w->svg, &has_width, &width, &has_height, &height, &has_box, &box);
    w->width = has_box ? box.width : 100;
    w->height = has_box ? box.height : 100;
    return is_side(w->width) && is_side(w->height);
}

static void read_it(void *arg)
{
    struct svg_work *w = arg;
    GError *error = NULL;

    w->svg = rsvg_handle_new_from_data(w->bytes, w->n, &error);
    if (!w->svg) {
        snprintf(w->wrong, sizeof(w->wrong), "the SVG can't be read: %.60s", error->message);
        g_clear_error(&error);
        return;
    }
    rsvg_handle_set_dpi(w->svg, 96);
    if (!find_size(w))
        snprintf(w->wrong, sizeof(w->wrong), "the SVG is smaller or larger than can be drawn");
}

static void record_it(void *arg)
{
    struct svg_work *w = arg;
    const RsvgRectangle box = {0, 0, w->width, w->height};
    cairo_t *c = cairo_create(w->made);
    GError *error = NULL;

    cairo_scale(c, w->made_width / w->width, w->made_height / w->height);
    if (!rsvg_handle_render_document(w->svg, c, &box, &error) || cairo_status(c))
        snprintf(w->wrong, sizeof(w->wrong), "the SVG can't be drawn");
    g_clear_error(&error);
    cairo_destroy(c);
}

/* Runs work on a picture in the other thread, in the time that the picture has left. Returns false
 * when it is late or failed, which is noted. */
static bool draw_svg_do_work(
    struct drawing *d, struct picture *p, void (*work)(void *arg), struct svg_work *w)
{
    int64_t from = clock_monotonic_us(), until = from + SVG_US - p->svg_us;

    if (d->end_us && until > d->end_us)
        until = d->end_us;
    if (!aside_run(work, w, until)) {
        p->svg = NULL;
        p->svg_late = true;
        return picture_fail(p, "element.timeout", "the SVG takes longer than 5 s");
    }
    p->svg_us += clock_monotonic_us() - from;
    return !w->wrong[0] || picture_fail(p, "svg.invalid", "%s", w->wrong);
}

static struct svg_work *new_work(void)
{
    struct svg_work *w = calloc(1, sizeof(*w));

    if (!w)
        cell_out_of_memory();
    return w;
}

bool svg_read(struct drawing *d, struct picture *p)
{
    struct svg_work *w;
    bool good;

    if (memmem(p->bytes.p, p->bytes.n, "<!ENTITY", 8))
        return picture_fail(p, "svg.invalid", "the SVG has entities of its own");
    w = new_work();
    w->bytes = cell_alloc(p->bytes.n);
    memcpy(w->bytes, p->bytes.p, p->bytes.n);
    w->n = p->bytes.n;
    good = draw_svg_do_work(d, p, read_it, w);
    if (!good && p->svg_late)
        return false;
    p->svg = w->svg;
    p->width = w->width;
    p->height = w->height;
    free(w->bytes);
    free(w);
    return good;
}

bool svg_record(struct drawing *d, struct picture *p, double width, double height)
{
    double less = fmin(sqrt(PIXELS_MOST / (width * height)), 1);
    cairo_rectangle_t extents = {.width = ceil(width * less), .height = ceil(height * less)};
    struct svg_work *w;
    bool good;

    if (p->made && p->copy.width == (int)extents.width && p->copy.height == (int)extents.height)
        return true;
    if (p->made)
        cairo_surface_destroy(p->made);
    p->copy.width = (int)extents.width;
    p->copy.height = (int)extents.height;
    p->made = cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, &extents);
    w = new_work();
    *w = (struct svg_work){.svg = p->svg,
        .width = p->width,
        .height = p->height,
        .made = p->made,
        .made_width = extents.width,
        .made_height = extents.height};
    good = draw_svg_do_work(d, p, record_it, w);
    if (!good && p->svg_late)
        p->made = NULL; /* the other thread draws on it */
    else
        free(w);
    return good;
}
