/* draw_image.c - images and SVG: where they come from, how they stand in their box; see draw.h.
 * Leaves to others: decoding (draw_pixels.c), SVG (draw_svg.c).
 *
 * A source is decoded once for all elements that have it. A JPEG stands in a PDF as it is. */
#include <cairo-pdf.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "draw.h"
#include "draw_picture.h"
#include "util/str.h"
#include "wharf/errors.h"

/* Pixels: of a picture whose own are not kept beside its copy; of all that are kept. */
enum { PIXELS_LARGE = 1 << 20, PIXELS_KEPT_MAX = 40000000 };

bool picture_fail(struct picture *p, const char *code, const char *fmt, ...)
{
    va_list ap;

    p->code = code;
    va_start(ap, fmt);
    vsnprintf(p->wrong, sizeof(p->wrong), fmt, ap);
    va_end(ap);
    return false;
}

/* Tells whether its pixels are not too many; else the picture fails. */
static bool picture_fits(struct picture *p)
{
    if (p->width < 1 || p->height < 1 || p->width > 32000 || p->height > 32000 ||
        p->width * p->height > IMAGE_PIXELS_MAX)
        return picture_fail(p, "image.too_large",
            "the image is %g by %g pixels; it may have 40 million in all", p->width, p->height);
    return true;
}

static void make_surface(struct picture *p)
{
    p->surface = cairo_image_surface_create(
        p->jpeg ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32, (int)p->width, (int)p->height);
    if (cairo_surface_status(p->surface))
        cell_out_of_memory();
}

/* ---- kinds of files ---- */

static bool draw_image_starts(const struct picture *p, size_t at, const char *with)
{
    size_t n = strlen(with);

    return p->bytes.n >= at + n && memcmp(p->bytes.p + at, with, n) == 0;
}

static bool is_svg(const struct picture *p)
{
    size_t n = p->bytes.n < 4096 ? p->bytes.n : 4096;

    return n && memmem(p->bytes.p, n, "<svg", 4) != NULL;
}

/* Finds which kind of file it is, and how many pixels it has; they are decoded when it is drawn. */
static bool draw_image_read_file(struct drawing *d, struct picture *p)
{
    static const struct {
        const char *begins, *and;
        size_t at; /* of the second */
        bool (*head)(struct picture *p);
        bool (*pixels)(struct picture *p);
    } kinds[] = {{"\x89PNG\r\n\x1a\n", "", 0, png_head_read, png_pixels_read},
        {"\xff\xd8\xff", "", 0, jpeg_head_read, jpeg_pixels_read},
        {"GIF8", "", 0, gif_head_read, gif_pixels_read},
        {"RIFF", "WEBP", 8, webp_head_read, webp_pixels_read}};

    if (p->bytes.n > IMAGE_BYTES_MAX)
        return picture_fail(p, "image.too_large", "the image has more than 10 MB");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!draw_image_starts(p, 0, kinds[i].begins) ||
            !draw_image_starts(p, kinds[i].at, kinds[i].and))
            continue;
        p->pixels = kinds[i].pixels;
        return kinds[i].head(p) && picture_fits(p);
    }
    if (is_svg(p))
        return svg_read(d, p);
    return picture_fail(p, "image.format", "the bytes are no PNG, JPEG, GIF, WebP or SVG");
}

/* ---- sources ---- */

static int draw_image_value_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c == '-' ? '+' : c == '_' ? '/' : c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Decodes base64, with or without blanks and filling. Returns false when it is none. */
static bool from_base64(struct arena *a, wharf_str s, struct draw_bytes *ret)
{
    unsigned char *to = arena_alloc_apart(a, s.n / 4 * 3 + 4);
    uint32_t bits = 0;
    unsigned have = 0;
    size_t n = 0, i = 0;

    for (; i < s.n && s.p[i] != '='; i++) {
        int v = draw_image_value_of(s.p[i]);

        if (isspace((unsigned char)s.p[i]))
            continue;
        if (v < 0)
            return false;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have >= 8) {
            have -= 8;
            to[n++] = (unsigned char)(bits >> have);
        }
    }
    for (; i < s.n; i++) {
        if (s.p[i] != '=' && !isspace((unsigned char)s.p[i]))
            return false;
    }
    *ret = (struct draw_bytes){to, n};
    return have < 6 && n > 0;
}

static void from_percent(struct arena *a, wharf_str s, struct draw_bytes *ret)
{
    unsigned char *to = arena_alloc_apart(a, s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        char digits[3] = {0};

        to[n++] = (unsigned char)s.p[i];
        if (s.p[i] != '%' || i + 2 >= s.n || !isxdigit((unsigned char)s.p[i + 1]) ||
            !isxdigit((unsigned char)s.p[i + 2]))
            continue;
        memcpy(digits, s.p + i + 1, 2);
        to[n - 1] = (unsigned char)strtoul(digits, NULL, 16);
        i += 2;
    }
    *ret = (struct draw_bytes){to, n};
}

/* Decodes a data URI, base64, or an SVG as it stands. */
static bool from_text(struct drawing *d, struct picture *p)
{
    wharf_str s = p->text;
    const char *comma;

    if (s.n && s.p[0] == '<') {
        p->bytes = (struct draw_bytes){(const unsigned char *)s.p, s.n};
        return true;
    }
    if (str_starts(s, "data:")) {
        comma = memchr(s.p, ',', s.n);
        if (!comma)
            return picture_fail(p, "image.decode", "the data URI has no comma");
        s = (wharf_str){comma + 1, s.n - (size_t)(comma + 1 - s.p)};
        if (!memmem(p->text.p, (size_t)(comma - p->text.p), ";base64", 7)) {
            from_percent(d->arena, s, &p->bytes);
            return true;
        }
    }
    if (s.n / 4 * 3 > IMAGE_BYTES_MAX + 4)
        return picture_fail(p, "image.too_large", "the image has more than 10 MB");
    return from_base64(d->arena, s, &p->bytes) ||
           picture_fail(p, "image.decode", "it is neither a https URL nor base64");
}

/* Finds an element's entry in what the server says of images: by its own path, without the
 * record's number, without the numbers of copies. */
static const struct wharf_json *draw_image_entry_of(
    struct drawing *d, const struct json_index *map, const struct element *e)
{
    const struct wharf_json *found = json_index_get(map, e->path);
    const char *colon = memchr(e->path.p, ':', e->path.n);
    wharf_str plain = e->path;
    char *to;
    size_t n = 0;

    if (!found && colon) {
        plain.n -= (size_t)(colon + 1 - plain.p);
        plain.p = colon + 1;
        found = json_index_get(map, plain);
    }
    if (found || !memchr(plain.p, '#', plain.n))
        return found;
    to = arena_alloc(d->arena, plain.n + 1);
    for (size_t i = 0; i < plain.n; i++) {
        if (plain.p[i] == '#')
            i += strspn(plain.p + i + 1, "0123456789");
        else
            to[n++] = plain.p[i];
    }
    return json_index_get(map, (wharf_str){to, n});
}

bool image_is_elsewhere(const struct element *e, wharf_str source)
{
    size_t n = strspn(source.p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return el_text(e, "document_id", "").n > 0 || (n && strncmp(source.p + n, "://", 3) == 0);
}

wharf_str image_source(const struct element *e)
{
    static const char *const members[] = {"document_id", "value", "src"};
    wharf_str said = str_z("");

    for (size_t i = 0; i < 3 && !said.n; i++)
        said = el_text(e, members[i], "");
    return said;
}

static bool same_source(const struct picture *a, const struct picture *b)
{
    if (a->text.p || b->text.p)
        return a->text.p && b->text.p && str_eq(a->text, b->text);
    return a->bytes.p == b->bytes.p && a->bytes.n == b->bytes.n;
}

/* Returns the picture of a source, decoded now or before. */
static struct picture *picture_of(struct drawing *d, const struct picture *source)
{
    struct picture *p;

    for (p = d->pictures; p; p = p->next) {
        if (same_source(p, source))
            return p;
    }
    p = ARENA_NEW(d->arena, struct picture);
    *p = *source;
    p->next = d->pictures;
    d->pictures = p;
    if (d->n_pictures++ >= IMAGES_MAX)
        picture_fail(p, "image.too_large", "there are more than %d different images", IMAGES_MAX);
    else if (!p->text.p || from_text(d, p))
        draw_image_read_file(d, p);
    return p;
}

/* Finds the picture of an element, and reads it when it is new. Returns NULL when it can't be
 * drawn, which was told. */
static struct picture *find_picture(struct drawing *d, struct element *e)
{
    struct picture source = {.text = image_source(e)}, *found;
    const struct wharf_json *error = draw_image_entry_of(d, &d->image_errors, e),
                            *place = draw_image_entry_of(d, &d->images, e);
    int64_t blob = -1;

    if (error) {
        report_error(d, e, json_text_or(error, "code", ERR_FILE_NOT_AVAILABLE).p, "%s",
            json_text_or(error, "message", "the image could not be had").p);
        return NULL;
    }
    if (json_int(place, &blob) && blob >= 0 && (size_t)blob < d->n_blobs) {
        source = (struct picture){.bytes = d->blobs[blob]};
    } else if (!source.text.n) {
        report_error(d, e, "image.decode", "there is no image");
        return NULL;
    } else if (image_is_elsewhere(e, source.text)) {
        report_error(d, e, ERR_FILE_NOT_AVAILABLE, "the image could not be had");
        return NULL;
    }
    found = picture_of(d, &source);
    if (!found->code)
        return found;
    report_error(d, e, found->code, "%s", found->wrong);
    return NULL;
}

void image_forget(struct drawing *d)
{
    for (struct picture *p = d->pictures; p; p = p->next) {
        if (p->surface)
            cairo_surface_destroy(p->surface);
        if (p->made)
            cairo_surface_destroy(p->made);
        if (p->svg)
            g_object_unref(p->svg);
    }
    d->pictures = NULL;
}

/* ---- the box ---- */

/* Completes the box from the picture's own size. */
static bool draw_image_set_box(struct drawing *d, struct element *e, const struct picture *p)
{
    double per_inch = p->svg ? 96 : fmax(el_number(e, "dpi", d->dpi), 1);
    double width = fmax(el_number(e, "width", 0), 0), height = fmax(el_number(e, "height", 0), 0);

    if (width <= 0 && height <= 0) {
        width = p->width * 72 / per_inch;
        height = p->height * 72 / per_inch;
    } else if (width <= 0) {
        width = height * p->width / p->height;
    } else if (height <= 0) {
        height = width * p->height / p->width;
    }
    if (width > IMAGE_BOX_MAX || height > IMAGE_BOX_MAX)
        return report_error(d, e, "image.box_too_large", "image box %g x %g pt exceeds %d x %d pt",
            width, height, IMAGE_BOX_MAX, IMAGE_BOX_MAX);
    e->width = width;
    e->height = height;
    return true;
}

/* Judges the sides that are said, before the image is looked at. */
static bool said_box_fits(struct drawing *d, struct element *e)
{
    double width = el_number(e, "width", 0), height = el_number(e, "height", 0);

    return (width <= IMAGE_BOX_MAX && height <= IMAGE_BOX_MAX) ||
           report_error(d, e, "image.box_too_large", "image box %g x %g pt exceeds %d x %d pt",
               width, height, IMAGE_BOX_MAX, IMAGE_BOX_MAX);
}

bool image_measure(struct drawing *d, struct element *e)
{
    struct picture *p = said_box_fits(d, e) ? find_picture(d, e) : NULL;

    if (!p || !draw_image_set_box(d, e, p))
        return false;
    e->made = p;
    return true;
}

bool svg_measure(struct drawing *d, struct element *e)
{
    struct picture source = {.text = el_text(e, "value", "")}, *p;

    if (!said_box_fits(d, e))
        return false;
    source.bytes = (struct draw_bytes){(const unsigned char *)source.text.p, source.text.n};
    if (!is_svg(&source))
        return report_error(d, e, "svg.invalid", "value is no SVG");
    if (source.text.p[0] != '<') /* blanks before it */
        source.text = WHARF_S("");
    source.text.p = source.text.n ? source.text.p : NULL;
    p = picture_of(d, &source);
    if (p->code)
        return report_error(d, e, p->code, "%s", p->wrong);
    e->made = p;
    return draw_image_set_box(d, e, p);
}

/* ---- drawing ---- */

struct fitted {
    double x, y, width, height; /* of the picture, on the page */
};

/* Finds where the picture stands in its box. -1 in fit: a wrong word, which was told. */
static bool fit_picture(
    struct drawing *d, struct element *e, const struct picture *p, struct fitted *ret)
{
    static const char *const fits[] = {"contain", "cover", "fill", "none", "scale-down", NULL};
    static const char *const aligns[] = {"left", "center", "right", NULL};
    static const char *const valigns[] = {"top", "middle", "bottom", "center", NULL};
    int fit = el_word(d, e, "fit", fits, 0), align = el_word(d, e, "align", aligns, 1);
    int valign = el_word(d, e, "valign", valigns, 1);
    double own = 72 / (p->svg ? 96 : fmax(el_number(e, "dpi", d->dpi), 1)), scale = own;
    double sx = e->width / p->width, sy = e->height / p->height;

    if (fit < 0 || align < 0 || valign < 0)
        return false;
    if (fit == 0)
        scale = fmin(sx, sy);
    else if (fit == 1)
        scale = fmax(sx, sy);
    else if (fit == 4)
        scale = fmin(own, fmin(sx, sy));
    ret->width = fit == 2 ? e->width : p->width * scale;
    ret->height = fit == 2 ? e->height : p->height * scale;
    ret->x = e->box_x + (e->width - ret->width) * align / 2;
    ret->y = e->box_y + (e->height - ret->height) * (valign == 3 ? 1 : valign) / 2;
    return true;
}

static void free_bytes(void *p)
{
    (void)p; /* they are the arena's, or of the call */
}

/* Tells whether it is drawn in other colors than it has. */
static bool draw_image_is_changed(const struct element *e)
{
    return el_truth(e, "grayscale", false) || el_number(e, "threshold", 0) >= 1;
}

/* Makes the pixels ready, or, of a JPEG that is drawn in a PDF as it is, gives its file to cairo.
 * False: it is damaged, which was told. */
static bool draw_image_decode(
    struct drawing *d, struct element *e, struct picture *p, bool as_it_is)
{
    if (!p->surface)
        make_surface(p);
    if (p->jpeg && as_it_is) {
        cairo_surface_set_mime_data(p->surface, CAIRO_MIME_TYPE_JPEG, p->bytes.p,
            (unsigned long)p->bytes.n, free_bytes, NULL);
        return true;
    }
    p->decoded = p->decoded || p->pixels(p);
    return p->decoded || report_error(d, e, p->code, "%s", p->wrong);
}

/* Counts pixels that are kept until the drawing is done. False: they are too many, which was
 * told. */
static bool draw_image_keep(struct drawing *d, struct element *e, int width, int height)
{
    d->kept_pixels += (double)width * height;
    return d->kept_pixels <= PIXELS_KEPT_MAX ||
           report_error(d, e, "image.too_large",
               "at this dpi the images have more than 40 million pixels together");
}

/* Pixels, or a recorded drawing, that are painted. */
struct paint {
    cairo_surface_t *surface;
    int width, height; /* in its own units */
};

/* Makes a copy with fewer pixels, or in grey. Of a large picture only the copy is kept. */
static void draw_image_make_copy(struct picture *p, const struct copy *c)
{
    if (p->made)
        cairo_surface_destroy(p->made);
    p->made = pixels_shrunk(p->surface, c->width, c->height);
    p->copy = *c;
    if (c->grey)
        pixels_grey(p->made, c->threshold);
    if (p->width * p->height > PIXELS_LARGE) {
        cairo_surface_destroy(p->surface);
        p->surface = NULL;
        p->decoded = false;
    }
}

/* Finds the pixels that are drawn: grey where that is asked for, and no more than the page's
 * density shows. The last copy is kept: a picture is in the PDF once. False: told. */
static bool find_pixels(struct drawing *d, struct element *e, struct picture *p,
    const struct fitted *f, struct paint *ret)
{
    double dpi = fmax(el_number(e, "dpi", d->dpi), 1);
    double most_x = ceil(f->width * dpi / 72), most_y = ceil(f->height * dpi / 72);
    struct copy c = {.grey = draw_image_is_changed(e),
        .width = (int)(p->width > most_x ? fmax(most_x, 1) : p->width),
        .height = (int)(p->height > most_y ? fmax(most_y, 1) : p->height),
        .threshold = (unsigned)fmin(fmax(el_number(e, "threshold", 0), 0), 255)};
    bool whole = !c.grey && c.width == (int)p->width && c.height == (int)p->height;
    bool as_it_is = d->vector && p->jpeg && !c.grey;

    *ret = (struct paint){p->made, c.width, c.height};
    if (!whole && !as_it_is && p->made && memcmp(&p->copy, &c, sizeof(c)) == 0)
        return true;
    if (!as_it_is && (!whole || !p->decoded) && !draw_image_keep(d, e, c.width, c.height))
        return false;
    if (!draw_image_decode(d, e, p, as_it_is))
        return false;
    if (!whole && !as_it_is)
        draw_image_make_copy(p, &c);
    *ret = whole || as_it_is ? (struct paint){p->surface, (int)p->width, (int)p->height}
                             : (struct paint){p->made, c.width, c.height};
    return true;
}

static void paint_surface(struct drawing *d, const struct paint *paint, const struct fitted *f)
{
    cairo_matrix_t m;
    cairo_pattern_t *pattern = cairo_pattern_create_for_surface(paint->surface);
    bool is_drawing = cairo_surface_get_type(paint->surface) == CAIRO_SURFACE_TYPE_RECORDING;

    cairo_matrix_init_scale(&m, paint->width / f->width, paint->height / f->height);
    cairo_matrix_translate(&m, -f->x, -f->y);
    cairo_pattern_set_matrix(pattern, &m);
    cairo_pattern_set_filter(pattern, CAIRO_FILTER_GOOD);
    /* a PDF would get a larger copy, and of a drawing pixels would be made first */
    cairo_pattern_set_extend(
        pattern, d->vector || is_drawing ? CAIRO_EXTEND_NONE : CAIRO_EXTEND_PAD);
    cairo_set_source(d->cairo, pattern);
    cairo_rectangle(d->cairo, f->x, f->y, f->width, f->height);
    cairo_fill(d->cairo);
    cairo_pattern_destroy(pattern);
}

/* Paints it; the second time on a page inside of a form: cairo would name it twice in the page's
 * resources, which is no clean PDF. */
static void paint_once(
    struct drawing *d, struct picture *p, const struct paint *paint, const struct fitted *f)
{
    bool again = d->vector && p->page == d->made_pages;

    p->page = d->made_pages;
    if (again)
        cairo_push_group(d->cairo);
    paint_surface(d, paint, f);
    if (again) {
        cairo_pop_group_to_source(d->cairo);
        cairo_paint(d->cairo);
    }
}

bool image_draw(struct drawing *d, struct element *e)
{
    struct picture *p = e->made;
    double dpi = fmax(el_number(e, "dpi", d->dpi), 1);
    struct paint paint;
    struct fitted f;

    if (p->code) /* it was late on another page */
        return report_error(d, e, p->code, "%s", p->wrong);
    if (!fit_picture(d, e, p, &f) || f.width < LEAST_SCALE || f.height < LEAST_SCALE)
        return !e->failed && report_error(d, e, "image.decode", "the image has no size");
    if (p->svg && draw_image_is_changed(e))
        report_warning(d, e, "", "image.grayscale", "an SVG keeps its colors");
    if (p->svg && !svg_record(d, p, f.width * dpi / 72, f.height * dpi / 72))
        return report_error(d, e, p->code, "%s", p->wrong);
    if (p->svg)
        paint = (struct paint){p->made, p->copy.width, p->copy.height};
    else if (!find_pixels(d, e, p, &f, &paint))
        return false;
    cairo_save(d->cairo);
    cairo_rectangle(d->cairo, e->box_x, e->box_y, e->width, e->height);
    cairo_clip(d->cairo);
    paint_once(d, p, &paint, &f);
    cairo_restore(d->cairo);
    return true;
}
