/* pixels.c - images that are decoded to dots on white: WebP, the first picture of a GIF, each
 * page of a TIFF. See render.h. */
#include <gif_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <webp/decode.h>

#include "child.h"
#include "render.h"

/* Turns red, green, blue and opacity to dots on white, in place. */
static void onto_white(unsigned char *p, size_t dots)
{
    for (size_t i = 0; i < dots; i++) {
        unsigned a = p[4 * i + 3];

        for (size_t k = 0; k < 3; k++)
            p[3 * i + k] = (unsigned char)((p[4 * i + k] * a + 255 * (255 - a) + 127) / 255);
    }
}

void pixels_onto_white(struct bytes *dots)
{
    size_t n = dots->n / 4;

    onto_white(dots->p, n);
    dots->n = 3 * n;
    dots->p = cell_realloc(dots->p, dots->n);
}

/* ---- WebP ---- */

static uint32_t pixels_little(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Reads density and orientation from the chunk EXIF. */
static void webp_density(const struct source *s, struct image *im)
{
    const unsigned char *p = s->bytes.p;

    for (size_t at = 12; at + 8 <= s->bytes.n;) {
        size_t n = pixels_little(p + at + 4);

        if (n > s->bytes.n - at - 8)
            return;
        if (!memcmp(p + at, "EXIF", 4)) {
            bool marked = n > 6 && !memcmp(p + at + 8, "Exif\0", 6);

            image_exif(p + at + 8 + (marked ? 6 : 0), n - (marked ? 6 : 0), im);
            return;
        }
        at += 8 + n + (n & 1);
    }
}

/* Finds the first picture of a film. ret_bytes: the file, then the picture's part of it. */
static bool webp_first(struct bytes *ret_bytes, WebPBitstreamFeatures *ret)
{
    const unsigned char *p = ret_bytes->p;
    const size_t about = 16; /* bytes of a frame before its picture */

    for (size_t at = 12; at + 8 <= ret_bytes->n;) {
        size_t n = pixels_little(p + at + 4);

        if (n > ret_bytes->n - at - 8)
            return false;
        if (!memcmp(p + at, "ANMF", 4)) {
            if (n <= about || WebPGetFeatures(p + at + 8 + about, n - about, ret) != VP8_STATUS_OK)
                return false;
            *ret_bytes = (struct bytes){(unsigned char *)p + at + 8 + about, n - about};
            return !ret->has_animation;
        }
        at += 8 + n + (n & 1);
    }
    return false;
}

bool webp_look(struct source *s)
{
    WebPBitstreamFeatures f;
    struct image im = {.components = 3};
    struct bytes dots, from = s->bytes;
    int width, height;
    bool good;

    if (WebPGetFeatures(s->bytes.p, s->bytes.n, &f) != VP8_STATUS_OK)
        return source_fail(s, "invalid: the image is damaged");
    if (f.has_animation && !(s->call.page && webp_first(&from, &f)))
        return source_fail(s, "invalid: the image is a film; send one picture");
    im.width = (uint32_t)f.width;
    im.height = (uint32_t)f.height;
    if (!image_fair(s, &im))
        return false;
    dots.p = WebPDecodeRGBA(from.p, from.n, &width, &height);
    if (!dots.p)
        return source_fail(s, "invalid: the image is damaged");
    dots.n = (size_t)3 * im.width * im.height;
    onto_white(dots.p, (size_t)im.width * im.height);
    webp_density(s, &im);
    good = image_add(s, &im, &dots, NULL);
    WebPFree(dots.p);
    return good;
}

/* ---- GIF ---- */

struct gif_place {
    const struct bytes *from;
    size_t at;
};

static int gif_read(GifFileType *g, GifByteType *to, int n)
{
    struct gif_place *r = g->UserData;
    size_t left = r->from->n - r->at, most = n > 0 ? (size_t)n : 0;

    most = most < left ? most : left;
    memcpy(to, r->from->p + r->at, most);
    r->at += most;
    return (int)most;
}

/* Reads up to the first picture; what stands before says which colour is none. */
static bool gif_find(GifFileType *g, int *ret_none)
{
    GifRecordType type;
    GifByteType *block;
    int code;

    for (;;) {
        if (DGifGetRecordType(g, &type) != GIF_OK || type == TERMINATE_RECORD_TYPE)
            return false;
        if (type == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(g) == GIF_OK;
        if (type != EXTENSION_RECORD_TYPE)
            continue;
        if (DGifGetExtension(g, &code, &block) != GIF_OK)
            return false;
        while (block) {
            GraphicsControlBlock c;

            if (code == GRAPHICS_EXT_FUNC_CODE &&
                DGifExtensionToGCB(block[0], block + 1, &c) == GIF_OK)
                *ret_none = c.TransparentColor;
            if (DGifGetExtensionNext(g, &block) != GIF_OK)
                return false;
        }
    }
}

static bool gif_line(
    GifFileType *g, const ColorMapObject *map, int none, GifPixelType *line, unsigned char *to)
{
    if (DGifGetLine(g, line, g->Image.Width) != GIF_OK)
        return false;
    for (int x = 0; x < g->Image.Width; x++) {
        bool seen = line[x] != none && line[x] < map->ColorCount;
        const GifColorType *c = &map->Colors[seen ? line[x] : 0];

        to[3 * x] = seen ? c->Red : 255;
        to[3 * x + 1] = seen ? c->Green : 255;
        to[3 * x + 2] = seen ? c->Blue : 255;
    }
    return true;
}

static bool gif_lines(GifFileType *g, int none, unsigned char *to)
{
    static const int first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    const ColorMapObject *map = g->Image.ColorMap ? g->Image.ColorMap : g->SColorMap;
    GifPixelType *line = cell_alloc((size_t)g->Image.Width);
    size_t bytes = (size_t)3 * (size_t)g->Image.Width;
    bool good = map != NULL;

    for (int pass = 0; good && pass < (g->Image.Interlace ? 4 : 1); pass++) {
        for (int y = g->Image.Interlace ? first[pass] : 0; good && y < g->Image.Height;
             y += g->Image.Interlace ? step[pass] : 1)
            good = gif_line(g, map, none, line, to + (size_t)y * bytes);
    }
    free(line);
    return good;
}

bool gif_look(struct source *s)
{
    struct gif_place from = {&s->bytes, 0};
    struct image im = {.components = 3};
    struct bytes dots = {NULL, 0};
    int none = NO_TRANSPARENT_COLOR;
    GifFileType *g = DGifOpen(&from, gif_read, NULL);
    bool good = g && gif_find(g, &none);

    if (good) {
        im.width = (uint32_t)g->Image.Width;
        im.height = (uint32_t)g->Image.Height;
        if (!image_fair(s, &im)) {
            DGifCloseFile(g, NULL);
            return false;
        }
        dots.n = (size_t)3 * im.width * im.height;
        dots.p = cell_alloc(dots.n);
        good = gif_lines(g, none, dots.p);
    }
    if (g)
        DGifCloseFile(g, NULL);
    good = good ? image_add(s, &im, &dots, NULL) : source_fail(s, "invalid: the image is damaged");
    free(dots.p);
    return good;
}

/* ---- TIFF ---- */

struct tiff_place {
    const struct bytes *from;
    toff_t at;
};

static tmsize_t tiff_read(thandle_t h, void *to, tmsize_t n)
{
    struct tiff_place *r = h;
    toff_t left = r->at < r->from->n ? r->from->n - r->at : 0;

    if (n < 0)
        return -1;
    if ((toff_t)n > left)
        n = (tmsize_t)left;
    if (n)
        memcpy(to, r->from->p + r->at, (size_t)n);
    r->at += (toff_t)n;
    return n;
}

static tmsize_t tiff_write(thandle_t h, void *from, tmsize_t n)
{
    (void)h, (void)from, (void)n;
    return -1;
}

static toff_t tiff_seek(thandle_t h, toff_t to, int whence)
{
    struct tiff_place *r = h;

    r->at = whence == SEEK_CUR ? r->at + to : whence == SEEK_END ? r->from->n + to : to;
    return r->at;
}

static int tiff_close(thandle_t h)
{
    (void)h;
    return 0;
}

static toff_t tiff_size(thandle_t h)
{
    return ((struct tiff_place *)h)->from->n;
}

static void tiff_density(TIFF *t, struct image *im)
{
    uint16_t unit = RESUNIT_INCH;
    float x = 0, y = 0;

    TIFFGetFieldDefaulted(t, TIFFTAG_RESOLUTIONUNIT, &unit);
    if (!TIFFGetField(t, TIFFTAG_XRESOLUTION, &x) || !TIFFGetField(t, TIFFTAG_YRESOLUTION, &y) ||
        unit == RESUNIT_NONE)
        return;
    im->per_inch_x = unit == RESUNIT_CENTIMETER ? (double)x * 2.54 : (double)x;
    im->per_inch_y = unit == RESUNIT_CENTIMETER ? (double)y * 2.54 : (double)y;
}

/* Adds one page of a TIFF. total: dots of the pages so far. */
static bool tiff_page(struct source *s, TIFF *t, uint64_t *total)
{
    struct image im = {.components = 3};
    uint16_t orientation = ORIENTATION_TOPLEFT;
    struct bytes dots;
    bool good;

    if (!TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &im.width) ||
        !TIFFGetField(t, TIFFTAG_IMAGELENGTH, &im.height))
        return source_fail(s, "invalid: the image is damaged");
    if (!image_fair(s, &im))
        return false;
    *total += (uint64_t)im.width * im.height;
    if (*total > IMAGE_PIXELS_MAX)
        return source_fail(s, "invalid: the pages have more than 100 million pixels in all");
    dots.n = (size_t)im.width * im.height;
    dots.p = cell_alloc(4 * dots.n);
    /* as the dots stand in the file: the page is turned, as with Exif */
    TIFFGetFieldDefaulted(t, TIFFTAG_ORIENTATION, &orientation);
    good = TIFFReadRGBAImageOriented(
               t, im.width, im.height, (uint32_t *)(void *)dots.p, orientation, 1) == 1;
    if (!good)
        source_fail(s, "invalid: the image is damaged");
    onto_white(dots.p, dots.n);
    dots.n *= 3;
    tiff_density(t, &im);
    image_orient(&im, orientation);
    good = good && image_add(s, &im, &dots, NULL);
    free(dots.p);
    return good;
}

bool tiff_look(struct source *s)
{
    struct tiff_place from = {&s->bytes, 0};
    uint64_t total = 0;
    bool good;
    TIFF *t;

    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    t = TIFFClientOpen("document", "rm", &from, tiff_read, tiff_write, tiff_seek, tiff_close,
        tiff_size, NULL, NULL);
    if (!t)
        return source_fail(s, "invalid: the image is damaged");
    do {
        if (s->reported.pages == RENDER_PAGES_MAX)
            good = source_fail(s, "invalid: it has more than %d pages", RENDER_PAGES_MAX);
        else
            good = tiff_page(s, t, &total);
    } while (good && TIFFReadDirectory(t));
    TIFFClose(t);
    return good;
}
