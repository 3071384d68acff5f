/* draw_pixels.c - PNG, JPEG, GIF and WebP as pixels of cairo; see draw_picture.h. */
#include <gif_lib.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <webp/decode.h>

#include "child.h"
#include "draw_picture.h"

/* ---- pixels of cairo ---- */

static uint32_t *draw_pixels_line_of(cairo_surface_t *s, int y)
{
    return (uint32_t *)(void *)(cairo_image_surface_get_data(s) +
                                (size_t)y * (size_t)cairo_image_surface_get_stride(s));
}

static uint32_t premultiplied(const unsigned char rgba[4])
{
    uint32_t a = rgba[3];

    return a << 24 | (rgba[0] * a + 127) / 255 << 16 | (rgba[1] * a + 127) / 255 << 8 |
           (rgba[2] * a + 127) / 255;
}

/* ---- PNG ---- */

bool png_head_read(struct picture *p)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    bool good = png_image_begin_read_from_memory(&image, p->bytes.p, p->bytes.n) != 0;

    p->width = image.width;
    p->height = image.height;
    if (!good)
        picture_fail(p, "image.decode", "the PNG is damaged: %.60s", image.message);
    png_image_free(&image);
    return good;
}

/* Makes pixels of cairo of a line that has blue, green, red and alpha of each. */
static void premultiply_line(uint32_t *line, int width)
{
    for (int x = 0; x < width; x++) {
        unsigned char bgra[4];

        memcpy(bgra, &line[x], 4);
        line[x] = premultiplied((const unsigned char[4]){bgra[2], bgra[1], bgra[0], bgra[3]});
    }
}

bool png_pixels_read(struct picture *p)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    bool good = png_image_begin_read_from_memory(&image, p->bytes.p, p->bytes.n) != 0;

    cairo_surface_flush(p->surface);
    image.format = PNG_FORMAT_BGRA;
    good = good && png_image_finish_read(&image, NULL, cairo_image_surface_get_data(p->surface),
                       cairo_image_surface_get_stride(p->surface), NULL) != 0;
    for (int y = 0; y < (int)p->height && good; y++)
        premultiply_line(draw_pixels_line_of(p->surface, y), (int)p->width);
    cairo_surface_mark_dirty(p->surface);
    if (!good)
        picture_fail(p, "image.decode", "the PNG is damaged: %.60s", image.message);
    png_image_free(&image);
    return good;
}

/* ---- JPEG ---- */

struct jpeg_end {
    struct jpeg_error_mgr base;
    jmp_buf to;
    char said[JMSG_LENGTH_MAX];
};

/* Ends reading: libjpeg knows no other way out of an error. */
static void jpeg_end(j_common_ptr common)
{
    struct jpeg_end *end = (struct jpeg_end *)(void *)common->err;

    common->err->format_message(common, end->said);
    longjmp(end->to, 1);
}

static void jpeg_quiet(j_common_ptr common, int level)
{
    (void)common;
    (void)level;
}

static void jpeg_begin(
    struct jpeg_decompress_struct *j, struct jpeg_end *end, const struct picture *p)
{
    j->err = jpeg_std_error(&end->base);
    end->base.error_exit = jpeg_end;
    end->base.emit_message = jpeg_quiet;
    jpeg_create_decompress(j);
    jpeg_mem_src(j, p->bytes.p, (unsigned long)p->bytes.n);
    jpeg_read_header(j, TRUE);
}

bool jpeg_head_read(struct picture *p)
{
    struct jpeg_decompress_struct j = {0};
    struct jpeg_end end = {.said = ""};

    if (setjmp(end.to)) {
        jpeg_destroy_decompress(&j);
        return picture_fail(p, "image.decode", "the JPEG is damaged: %.60s", end.said);
    }
    jpeg_begin(&j, &end, p);
    p->width = j.image_width;
    p->height = j.image_height;
    p->jpeg = j.data_precision == 8 && (j.num_components == 1 || j.num_components == 3);
    jpeg_destroy_decompress(&j);
    return true;
}

/* Makes colours of inks; files that have an Adobe marker say how much white there is. */
static void take_inks(const unsigned char *from, bool inverted, unsigned char rgba[4])
{
    unsigned k = inverted ? from[3] : 255u - from[3];

    for (int i = 0; i < 3; i++)
        rgba[i] = (unsigned char)((inverted ? from[i] : 255u - from[i]) * k / 255);
    rgba[3] = 255;
}

static void draw_pixels_take_line(
    const struct jpeg_decompress_struct *j, const unsigned char *from, uint32_t *to)
{
    for (unsigned x = 0; x < j->output_width; x++) {
        unsigned char rgba[4] = {from[0], from[0], from[0], 255};

        if (j->output_components == 4)
            take_inks(from, j->saw_Adobe_marker, rgba);
        else if (j->output_components == 3)
            memcpy(rgba, from, 3);
        to[x] = premultiplied(rgba);
        from += j->output_components;
    }
}

bool jpeg_pixels_read(struct picture *p)
{
    struct jpeg_decompress_struct j = {0};
    struct jpeg_end end = {.said = ""};
    unsigned char *volatile line = NULL;

    if (setjmp(end.to)) {
        jpeg_destroy_decompress(&j);
        free(line);
        return picture_fail(p, "image.decode", "the JPEG is damaged: %.60s", end.said);
    }
    jpeg_begin(&j, &end, p);
    if (j.num_components == 4)
        j.out_color_space = JCS_CMYK;
    else if (j.num_components == 3)
        j.out_color_space = JCS_RGB;
    j.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&j);
    line = cell_alloc((size_t)j.output_width * 4);
    cairo_surface_flush(p->surface);
    while (j.output_scanline < j.output_height && j.output_scanline < (unsigned)p->height) {
        unsigned char *row = line;
        int y = (int)j.output_scanline;

        jpeg_read_scanlines(&j, &row, 1);
        draw_pixels_take_line(&j, line, draw_pixels_line_of(p->surface, y));
    }
    cairo_surface_mark_dirty(p->surface);
    jpeg_destroy_decompress(&j);
    free(line);
    return true;
}

/* ---- WebP ---- */

bool webp_head_read(struct picture *p)
{
    WebPBitstreamFeatures about;

    if (WebPGetFeatures(p->bytes.p, p->bytes.n, &about) != VP8_STATUS_OK || about.has_animation)
        return picture_fail(
            p, "image.decode", "the WebP is %s", about.has_animation ? "an animation" : "damaged");
    p->width = about.width;
    p->height = about.height;
    return true;
}

bool webp_pixels_read(struct picture *p)
{
    WebPDecoderConfig config;
    bool good = WebPInitDecoderConfig(&config);

    cairo_surface_flush(p->surface);
    config.output.colorspace = MODE_bgrA; /* premultiplied */
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = cairo_image_surface_get_data(p->surface);
    config.output.u.RGBA.stride = cairo_image_surface_get_stride(p->surface);
    config.output.u.RGBA.size = (size_t)config.output.u.RGBA.stride *
                                (size_t)cairo_image_surface_get_height(p->surface);
    good = good && WebPDecode(p->bytes.p, p->bytes.n, &config) == VP8_STATUS_OK;
    cairo_surface_mark_dirty(p->surface);
    return good || picture_fail(p, "image.decode", "the WebP is damaged");
}

/* ---- GIF: the first picture ---- */

struct gif_source {
    const unsigned char *p;
    size_t n, at;
};

static int gif_take(GifFileType *gif, GifByteType *to, int n)
{
    struct gif_source *s = gif->UserData;
    size_t left = s->n - s->at, take = (size_t)n < left ? (size_t)n : left;

    memcpy(to, s->p + s->at, take);
    s->at += take;
    return (int)take;
}

/* Reads what stands before the first picture: which color is transparent; -1: none. */
static int gif_transparent(GifFileType *gif, GifRecordType *ret_record)
{
    int transparent = -1;

    while (DGifGetRecordType(gif, ret_record) == GIF_OK && *ret_record == EXTENSION_RECORD_TYPE) {
        GifByteType *block;
        int code, good = DGifGetExtension(gif, &code, &block);

        if (good == GIF_OK && block && code == GRAPHICS_EXT_FUNC_CODE && block[0] >= 4)
            transparent = block[1] & 1 ? block[4] : -1;
        while (good == GIF_OK && block)
            good = DGifGetExtensionNext(gif, &block);
        if (good != GIF_OK)
            break;
    }
    return transparent;
}

static void gif_put_line(
    struct picture *p, GifFileType *gif, const GifPixelType *line, int y, int transparent)
{
    const ColorMapObject *colors = gif->Image.ColorMap ? gif->Image.ColorMap : gif->SColorMap;
    uint32_t *to = draw_pixels_line_of(p->surface, y + gif->Image.Top);

    for (int x = 0; x < gif->Image.Width; x++) {
        unsigned char rgba[4] = {0, 0, 0, 255};

        if (line[x] == transparent || !colors || line[x] >= colors->ColorCount)
            continue;
        rgba[0] = colors->Colors[line[x]].Red;
        rgba[1] = colors->Colors[line[x]].Green;
        rgba[2] = colors->Colors[line[x]].Blue;
        to[x + gif->Image.Left] = premultiplied(rgba);
    }
}

static bool gif_picture(struct picture *p, GifFileType *gif)
{
    static const int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
    GifRecordType record = TERMINATE_RECORD_TYPE;
    int transparent = gif_transparent(gif, &record);
    GifPixelType *line;
    bool good = true;

    if (record != IMAGE_DESC_RECORD_TYPE || DGifGetImageDesc(gif) != GIF_OK ||
        gif->Image.Width < 1 || gif->Image.Left < 0 || gif->Image.Top < 0 ||
        gif->Image.Left + gif->Image.Width > (int)p->width ||
        gif->Image.Top + gif->Image.Height > (int)p->height)
        return false;
    line = cell_alloc((size_t)gif->Image.Width);
    cairo_surface_flush(p->surface);
    for (int pass = 0; pass < (gif->Image.Interlace ? 4 : 1); pass++) {
        int y = gif->Image.Interlace ? starts[pass] : 0;
        int step = gif->Image.Interlace ? steps[pass] : 1;

        for (; good && y < gif->Image.Height; y += step) {
            good = DGifGetLine(gif, line, gif->Image.Width) == GIF_OK;
            if (good)
                gif_put_line(p, gif, line, y, transparent);
        }
    }
    cairo_surface_mark_dirty(p->surface);
    free(line);
    return good;
}

bool gif_head_read(struct picture *p)
{
    const unsigned char *size = p->bytes.p + 6; /* behind "GIF89a" */

    if (p->bytes.n < 10)
        return picture_fail(p, "image.decode", "the GIF is damaged");
    p->width = size[0] | size[1] << 8;
    p->height = size[2] | size[3] << 8;
    return true;
}

bool gif_pixels_read(struct picture *p)
{
    struct gif_source source = {p->bytes.p, p->bytes.n, 0};
    int error = 0;
    GifFileType *gif = DGifOpen(&source, gif_take, &error);
    bool good = gif && gif_picture(p, gif);

    if (gif)
        DGifCloseFile(gif, &error);
    return good || picture_fail(p, "image.decode", "the GIF is damaged");
}

/* ---- what is done with pixels ---- */

static uint32_t mean(cairo_surface_t *from, int x0, int x1, int y0, int y1)
{
    uint64_t sum[4] = {0}, n = (uint64_t)(x1 - x0) * (uint64_t)(y1 - y0);
    uint32_t made = 0;

    for (int y = y0; y < y1; y++) {
        const uint32_t *line = draw_pixels_line_of(from, y);

        for (int x = x0; x < x1; x++) {
            for (int i = 0; i < 4; i++)
                sum[i] += line[x] >> (8 * i) & 255;
        }
    }
    for (int i = 0; i < 4; i++)
        made |= (uint32_t)((sum[i] + n / 2) / n) << (8 * i);
    return made;
}

cairo_surface_t *pixels_shrunk(cairo_surface_t *from, int width, int height)
{
    int w = cairo_image_surface_get_width(from), h = cairo_image_surface_get_height(from);
    cairo_surface_t *to = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, width, height);

    if (cairo_surface_status(to))
        cell_out_of_memory();
    cairo_surface_flush(to);
    for (int y = 0; y < height; y++) {
        uint32_t *line = draw_pixels_line_of(to, y);
        int y0 = (int)((int64_t)y * h / height), y1 = (int)((int64_t)(y + 1) * h / height);

        for (int x = 0; x < width; x++) {
            int x0 = (int)((int64_t)x * w / width), x1 = (int)((int64_t)(x + 1) * w / width);

            line[x] = mean(from, x0, x1 > x0 ? x1 : x0 + 1, y0, y1 > y0 ? y1 : y0 + 1);
        }
    }
    cairo_surface_mark_dirty(to);
    return to;
}

void pixels_grey(cairo_surface_t *surface, unsigned threshold)
{
    int w = cairo_image_surface_get_width(surface), h = cairo_image_surface_get_height(surface);

    cairo_surface_flush(surface);
    for (int y = 0; y < h; y++) {
        uint32_t *line = draw_pixels_line_of(surface, y);

        for (int x = 0; x < w; x++) {
            uint32_t c = line[x], a = c >> 24;
            uint32_t grey = ((c >> 16 & 255) * 299 + (c >> 8 & 255) * 587 + (c & 255) * 114) / 1000;

            if (threshold) { /* what is seen through is white */
                grey = grey + 255 - a < threshold ? 0 : 255;
                a = 255;
            }
            line[x] = a << 24 | grey << 16 | grey << 8 | grey;
        }
    }
    cairo_surface_mark_dirty(surface);
}
