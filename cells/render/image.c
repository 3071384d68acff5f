/* image.c - images as pages of their physical size; PNG and JPEG. See render.h. Leaves to
 * others: other kinds (pixels.c).
 *
 * JPEG data stay as they are; PNG are decoded and put on white. What a file says of its density
 * counts (PNG pHYs, JFIF, Exif); without it the size is unknown, and the image is fitted to the
 * page. */
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "render.h"

static uint32_t image_big(const unsigned char *p, unsigned n)
{
    uint32_t v = 0;

    while (n--)
        v = v << 8 | *p++;
    return v;
}

bool image_fair(struct source *s, const struct image *im)
{
    if (!im->width || !im->height || im->width > IMAGE_SIDE_MAX || im->height > IMAGE_SIDE_MAX ||
        (uint64_t)im->width * im->height > IMAGE_PIXELS_MAX)
        return source_fail(s,
            "invalid: the image is %u by %u pixels; 100 million in all can be printed", im->width,
            im->height);
    return true;
}

/* ---- PNG ---- */

static bool png_head(struct source *s, struct image *im)
{
    const unsigned char *p = s->bytes.p;
    size_t n = s->bytes.n, at = 8;

    if (n < 33 || memcmp(p + 12, "IHDR", 4) != 0)
        return source_fail(s, "invalid: the image is damaged");
    im->width = image_big(p + 16, 4);
    im->height = image_big(p + 20, 4);
    im->components = p[25] & 2 ? 3 : 1;
    while (
        n - at >= 12 && image_big(p + at, 4) <= n - at - 12 && memcmp(p + at + 4, "IDAT", 4) != 0) {
        if (!memcmp(p + at + 4, "pHYs", 4) && image_big(p + at, 4) == 9 && p[at + 16] == 1) {
            im->per_inch_x = image_big(p + at + 8, 4) * 0.0254;
            im->per_inch_y = image_big(p + at + 12, 4) * 0.0254;
        }
        if (!memcmp(p + at + 4, "eXIf", 4))
            image_exif(p + at + 8, image_big(p + at, 4), im);
        at += 12 + image_big(p + at, 4);
    }
    return image_fair(s, im);
}

static bool png_pixels(struct source *s, struct image *im, struct bytes *ret)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    size_t line = (size_t)im->width * im->components;
    bool good;

    if (!png_image_begin_read_from_memory(&image, s->bytes.p, s->bytes.n))
        return source_fail(s, "invalid: the image is damaged: %.60s", image.message);
    if (image.format & PNG_FORMAT_FLAG_ALPHA) {
        image.format = PNG_FORMAT_RGBA;
        im->components = 3;
        line = 4 * (size_t)im->width;
    } else {
        image.format = im->components == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    }
    ret->n = line * im->height;
    ret->p = cell_alloc(ret->n);
    good = png_image_finish_read(&image, NULL, ret->p, (png_int_32)line, NULL) != 0;
    if (good && image.format == PNG_FORMAT_RGBA)
        pixels_onto_white(ret);
    if (!good) {
        source_fail(s, "invalid: the image is damaged: %.60s", image.message);
        free(ret->p);
    }
    png_image_free(&image);
    return good;
}

/* ---- JPEG ---- */

static uint32_t tiff(const unsigned char *p, unsigned n, bool little)
{
    uint32_t v = 0;

    if (!little)
        return image_big(p, n);
    while (n--)
        v = v << 8 | p[n];
    return v;
}

static double rational(const unsigned char *t, size_t n, uint32_t at, bool little)
{
    uint32_t below;

    if (at > n || n - at < 8)
        return 0;
    below = tiff(t + at + 4, 4, little);
    return below ? (double)tiff(t + at, 4, little) / below : 0;
}

struct exif {
    uint32_t orientation, unit; /* unit: 2 inch, 3 centimetre */
    double x, y;
};

static void exif_entry(
    const unsigned char *t, size_t n, const unsigned char *e, bool little, struct exif *ret)
{
    uint32_t tag = tiff(e, 2, little),
             value = tiff(e + 8, tag == 0x112 || tag == 0x128 ? 2 : 4, little);

    if (tag == 0x112 && value <= 8)
        ret->orientation = value;
    else if (tag == 0x11a)
        ret->x = rational(t, n, value, little);
    else if (tag == 0x11b)
        ret->y = rational(t, n, value, little);
    else if (tag == 0x128)
        ret->unit = value;
}

void image_orient(struct image *im, uint32_t orientation)
{
    static const unsigned turns[9] = {0, 0, 0, 180, 180, 270, 90, 90, 270};

    im->turn = orientation <= 8 ? turns[orientation] : 0;
    im->mirrored = orientation == 2 || orientation == 4 || orientation == 5 || orientation == 7;
}

/* Reads the first directory of Exif data. */
void image_exif(const unsigned char *t, size_t n, struct image *im)
{
    bool little = n > 8 && t[0] == 'I';
    uint32_t at = n > 8 ? tiff(t + 4, 4, little) : 0, count;
    struct exif found = {.unit = 2};

    if (n <= 8 || at > n || n - at < 2)
        return;
    count = tiff(t + at, 2, little);
    for (uint32_t i = 0; i < count && n - at >= 2 + 12 * ((size_t)i + 1); i++)
        exif_entry(t, n, t + at + 2 + 12 * (size_t)i, little, &found);
    image_orient(im, found.orientation);
    if (found.x > 0 && found.y > 0 && (found.unit == 2 || found.unit == 3) && im->per_inch_x <= 0) {
        im->per_inch_x = found.unit == 3 ? found.x * 2.54 : found.x;
        im->per_inch_y = found.unit == 3 ? found.y * 2.54 : found.y;
    }
}

static bool image_is_frame(unsigned char marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* Reads what the file says of itself in its first segment. */
static void jfif(const unsigned char *p, size_t n, struct image *im)
{
    double per = n >= 12 && p[7] == 2 ? 2.54 : 1;

    if (n < 12 || memcmp(p, "JFIF", 5) != 0 || (p[7] != 1 && p[7] != 2))
        return;
    im->per_inch_x = image_big(p + 8, 2) * per;
    im->per_inch_y = image_big(p + 10, 2) * per;
}

static void jpeg_segment(unsigned char marker, const unsigned char *p, size_t n, struct image *im)
{
    if (image_is_frame(marker) && n >= 6) {
        im->height = image_big(p + 1, 2);
        im->width = image_big(p + 3, 2);
        im->components = p[0] == 8 ? p[5] : 0;
    } else if (marker == 0xe0) {
        jfif(p, n, im);
    } else if (marker == 0xe1 && n > 14 && !memcmp(p, "Exif\0", 6)) {
        image_exif(p + 6, n - 6, im);
    } else if (marker == 0xee && n >= 12 && !memcmp(p, "Adobe", 5)) {
        im->inverted = true;
    }
}

/* Tells whether a JPEG has its end. at: of its first scan. One that was cut off is drawn as far as
 * it goes and grey from there on, which nobody wants on a label. */
static bool image_jpeg_ends(const unsigned char *p, size_t n, size_t at)
{
    while (at < n && n - at >= 2) {
        const unsigned char *mark = memchr(p + at, 0xff, n - at - 1);
        unsigned char what = mark ? mark[1] : 0;

        if (!mark)
            return false;
        at = (size_t)(mark - p) + (what == 0xff ? 1 : 2);
        if (what == 0xd9)
            return true;
        /* 0 stands for the data byte 255; these marks stand in the data and have no length */
        if (what <= 1 || what == 0xff || (what >= 0xd0 && what <= 0xd8))
            continue;
        if (n - at < 2)
            return false;
        at += image_big(p + at, 2);
    }
    return false;
}

static bool image_jpeg_head(struct source *s, struct image *im)
{
    const unsigned char *p = s->bytes.p;
    size_t n = s->bytes.n, at = 2;

    if (n < 4)
        return source_fail(s, "invalid: the image is damaged");
    while (n - at >= 4 && p[at] == 0xff && p[at + 1] != 0xda) {
        size_t length;

        if (p[at + 1] == 0xff) {
            at++;
            continue;
        }
        length = image_big(p + at + 2, 2);
        if (length < 2 || length > n - at - 2)
            break;
        jpeg_segment(p[at + 1], p + at + 4, length - 2, im);
        at += 2 + length;
    }
    if (n - at < 4 || p[at] != 0xff || p[at + 1] != 0xda ||
        (im->components != 1 && im->components != 3 && im->components != 4))
        return source_fail(s, "invalid: the image is damaged");
    if (!s->call.page && !image_jpeg_ends(p, n, at)) /* a picture shows what there is */
        return source_fail(s, "invalid: the image is cut off; send it whole");
    return image_fair(s, im);
}

/* ---- the page ---- */

static qpdf_oh image_object(
    struct source *s, const struct image *im, const struct bytes *data, const char *filter)
{
    static const char *const spaces[] = {"", "/DeviceGray", "", "/DeviceRGB", "/DeviceCMYK"};
    qpdf_oh stream = qpdf_oh_new_stream(s->q), dict, params = qpdf_oh_new_null(s->q);
    char text[300];

    qpdf_oh_replace_stream_data(s->q, stream, data->p, data->n,
        filter ? qpdf_oh_new_name(s->q, filter) : qpdf_oh_new_null(s->q), params);
    snprintf(text, sizeof(text),
        "<< /Type /XObject /Subtype /Image /Width %u /Height %u /BitsPerComponent 8 /ColorSpace "
        "%s%s >>",
        im->width, im->height, spaces[im->components],
        im->components == 4 && im->inverted ? " /Decode [1 0 1 0 1 0 1 0]" : "");
    dict = qpdf_oh_parse(s->q, text);
    for (qpdf_oh_begin_dict_key_iter(s->q, dict); qpdf_oh_dict_more_keys(s->q);) {
        const char *key = qpdf_oh_dict_next_key(s->q);

        qpdf_oh_replace_key(
            s->q, qpdf_oh_get_dict(s->q, stream), key, qpdf_oh_get_key(s->q, dict, key));
    }
    return stream;
}

/* Decides how large the image's page is, in points. For a picture a pixel is one; where they are
 * not square it is stretched. */
static void image_measure(
    struct source *s, const struct image *im, double *ret_width, double *ret_height)
{
    bool told = im->per_inch_x > 1 && im->per_inch_y > 1;

    *ret_width = im->width;
    *ret_height = im->height;
    if (s->call.page) {
        s->unsized = true;
        if (told && im->per_inch_x > im->per_inch_y)
            *ret_height *= im->per_inch_x / im->per_inch_y;
        else if (told)
            *ret_width *= im->per_inch_y / im->per_inch_x;
        return;
    }
    if (s->reported.pages == 0)
        s->unsized = !told;
    if (!s->unsized && im->per_inch_x > 1)
        *ret_width *= 72.0 / im->per_inch_x;
    if (!s->unsized && im->per_inch_y > 1)
        *ret_height *= 72.0 / im->per_inch_y;
}

bool image_add(
    struct source *s, const struct image *im, const struct bytes *data, const char *filter)
{
    bool first = s->reported.pages == 0;
    double width, height, shown_width, shown_height;
    struct image less = *im;
    struct bytes fewer = *data;
    char content[200];
    qpdf_oh forms;
    int n;

    image_measure(s, im, &width, &height);
    if (!filter)
        image_shrink(&s->call, &less, &fewer);
    n = snprintf(content, sizeof(content), "%.4f 0 0 %.4f %.4f 0 cm /I Do\n",
        im->mirrored ? -width : width, height, im->mirrored ? width : 0);
    forms = qpdf_oh_new_dictionary(s->q);
    qpdf_oh_replace_key(s->q, forms, "/I", image_object(s, &less, &fewer, filter));
    if (fewer.p != data->p)
        free(fewer.p);
    if (!page_add(s, width, height, content, (size_t)n, "<< >>", forms))
        return false;
    qpdf_oh_replace_key(s->q, qpdf_get_page_n(s->q, s->reported.pages), "/Rotate",
        qpdf_oh_new_integer(s->q, im->turn));
    qpdf_oh_release_all(s->q);
    s->reported.pages++;
    shown_width = s->unsized ? 0 : im->turn % 180 ? height : width;
    shown_height = s->unsized ? 0 : im->turn % 180 ? width : height;
    if (first) {
        s->reported.width = shown_width;
        s->reported.height = shown_height;
    } else if (fabs(s->reported.width - shown_width) > 1 ||
               fabs(s->reported.height - shown_height) > 1) {
        s->reported.mixed = 1;
    }
    return source_good(s);
}

bool image_look(struct source *s)
{
    struct bytes pixels = {NULL, 0};
    struct image im = {0};
    bool good;

    if (s->type == RENDER_JPEG)
        return image_jpeg_head(s, &im) && image_add(s, &im, &s->bytes, "/DCTDecode");
    if (!png_head(s, &im) || !png_pixels(s, &im, &pixels))
        return false;
    good = image_add(s, &im, &pixels, NULL);
    free(pixels.p);
    return good;
}
