/* image_head.c - kind, size and orientation of a picture file before anything of it is decoded.
 * See image.h. */
#include <string.h>

#include "image.h"
#include "wharf/service/image.h"

static uint32_t image_head_big(const unsigned char *p, unsigned n)
{
    uint32_t v = 0;

    while (n--)
        v = v << 8 | *p++;
    return v;
}

static uint32_t image_head_little(const unsigned char *p, unsigned n)
{
    uint32_t v = 0;

    while (n--)
        v = v << 8 | p[n];
    return v;
}

/* ---- JPEG ---- */

/* Returns the orientation of Exif data, or 1. */
static unsigned exif_orientation(const unsigned char *t, size_t n)
{
    bool small = n > 8 && t[0] == 'I';
    uint32_t (*number)(const unsigned char *, unsigned) = small ? image_head_little
                                                                : image_head_big;
    uint32_t at = n > 8 ? number(t + 4, 4) : 0, count;

    if (n <= 8 || at > n || n - at < 2)
        return 1;
    count = number(t + at, 2);
    for (uint32_t i = 0; i < count && n - at >= 2 + 12 * ((size_t)i + 1); i++) {
        const unsigned char *e = t + at + 2 + 12 * (size_t)i;

        if (number(e, 2) == 0x112)
            return number(e + 8, 2);
    }
    return 1;
}

static bool image_head_is_frame(unsigned char mark)
{
    return mark >= 0xc0 && mark <= 0xcf && mark != 0xc4 && mark != 0xc8 && mark != 0xcc;
}

/* Tells whether the end of the picture is behind its first scan: one that was cut off is grey from
 * there on. */
static bool image_head_jpeg_ends(const unsigned char *p, size_t n)
{
    while (n >= 2) {
        const unsigned char *mark = memchr(p, 0xff, n - 1);

        if (!mark)
            return false;
        if (mark[1] == 0xd9)
            return true;
        n -= (size_t)(mark - p) + 1;
        p = mark + 1;
    }
    return false;
}

static const char *image_head_jpeg_head(const unsigned char *p, size_t n, struct head *ret)
{
    size_t at = 2;

    while (n - at >= 4 && p[at] == 0xff && p[at + 1] != 0xda) {
        unsigned char mark = p[at + 1];
        const unsigned char *body = p + at + 4;
        size_t length = image_head_big(p + at + 2, 2);

        if (mark == 0xff) {
            at++;
            continue;
        }
        if (length < 2 || length > n - at - 2)
            return "damaged: it is cut off";
        if (image_head_is_frame(mark) && length >= 8) {
            ret->height = image_head_big(body + 1, 2);
            ret->width = image_head_big(body + 3, 2);
        } else if (mark == 0xe1 && length > 16 && !memcmp(body, "Exif\0", 6)) {
            ret->orientation = exif_orientation(body + 6, length - 8);
        }
        at += 2 + length;
    }
    return n - at >= 4 && image_head_jpeg_ends(p + at, n - at) ? NULL : "damaged: it is cut off";
}

/* ---- GIF ---- */

/* Returns where the blocks that begin at `at` end, or 0. */
static size_t gif_blocks(const unsigned char *p, size_t n, size_t at)
{
    while (at < n && p[at])
        at += 1 + (size_t)p[at];
    return at < n ? at + 1 : 0;
}

static size_t gif_colours(unsigned char flags)
{
    return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

/* Ends the file behind its first frame: what reads it would decode all of them. */
static const char *gif_head(unsigned char *p, size_t n, struct head *ret)
{
    size_t at = n >= 13 ? 13 + gif_colours(p[10]) : n;

    while (at < n && p[at] == 0x21) {
        at = gif_blocks(p, n, at + 2);
        if (!at)
            return "damaged: it is cut off";
    }
    if (at >= n || n - at < 11 || p[at] != 0x2c)
        return "damaged: it has no frame";
    ret->width = image_head_little(p + at + 5, 2);
    ret->height = image_head_little(p + at + 7, 2);
    at = gif_blocks(p, n, at + 11 + gif_colours(p[at + 9]));
    if (!at || at >= n)
        return "damaged: it is cut off";
    p[at] = 0x3b;
    ret->n = at + 1;
    return NULL;
}

/* ---- the others ---- */

static const char *bmp_head(const unsigned char *p, size_t n, struct head *ret)
{
    int32_t height;

    if (n < 54 || image_head_little(p + 14, 4) < 40)
        return "kind: it is no picture of a kind that is read";
    height = (int32_t)image_head_little(p + 22, 4);
    ret->width = image_head_little(p + 18, 4);
    ret->height = height < 0 ? (uint32_t) - (int64_t)height : (uint32_t)height;
    return NULL;
}

/* Reads the head of a kind by Leptonica, which it does without decoding. */
static const char *other_head(const unsigned char *p, size_t n, struct head *ret)
{
    l_int32 format, width = 0, height = 0;

    if (pixReadHeaderMem(p, n, &format, &width, &height, NULL, NULL, NULL) || width < 0 ||
        height < 0)
        return "damaged: its head can't be read";
    ret->width = (uint32_t)width;
    ret->height = (uint32_t)height;
    return NULL;
}

static bool image_head_starts(const unsigned char *p, size_t n, const char *with, size_t m)
{
    return n >= m && !memcmp(p, with, m);
}

static bool sniff(const unsigned char *p, size_t n, enum image_format *ret)
{
    if (image_head_starts(p, n, "\xff\xd8\xff", 3))
        *ret = IMAGE_JPEG;
    else if (image_head_starts(p, n, "\x89PNG\r\n\x1a\n", 8))
        *ret = IMAGE_PNG;
    else if (image_head_starts(p, n, "GIF8", 4))
        *ret = IMAGE_GIF;
    else if (image_head_starts(p, n, "RIFF", 4) && n >= 12 && !memcmp(p + 8, "WEBP", 4))
        *ret = IMAGE_WEBP;
    else if (image_head_starts(p, n, "II*\0", 4) || image_head_starts(p, n, "MM\0*", 4))
        *ret = IMAGE_TIFF;
    else if (image_head_starts(p, n, "BM", 2))
        *ret = IMAGE_BMP;
    else if (image_head_starts(p, n, "\0\0\0\x0cjP  \r\n\x87\n", 12))
        *ret = IMAGE_JP2;
    else if (n > 2 && p[0] == 'P' && p[1] >= '1' && p[1] <= '6' && strchr(" \t\r\n#", p[2]) && p[2])
        *ret = IMAGE_PNM;
    else
        return false;
    return true;
}

const char *head_read(unsigned char *p, size_t n, struct head *ret)
{
    const char *wrong;

    *ret = (struct head){.orientation = 1, .n = n};
    if (!sniff(p, n, &ret->format))
        return "kind: it is no picture of a kind that is read";
    if (ret->format == IMAGE_JPEG)
        wrong = n < 4 ? "damaged: it is cut off" : image_head_jpeg_head(p, n, ret);
    else if (ret->format == IMAGE_GIF)
        wrong = gif_head(p, n, ret);
    else if (ret->format == IMAGE_BMP)
        wrong = bmp_head(p, n, ret);
    else
        wrong = other_head(p, n, ret);
    if (wrong)
        return wrong;
    if (ret->width < WHARF_IMAGE_SIDE_MIN || ret->height < WHARF_IMAGE_SIDE_MIN)
        return "size: it has fewer than 50 by 50 pixels";
    if ((uint64_t)ret->width * ret->height > WHARF_IMAGE_PIXELS_MAX)
        return "size: it has more than 40 million pixels";
    return NULL;
}
