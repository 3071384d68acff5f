/* image_size.c - how many pixels an image has, by its first bytes
 * (docs/spec/05-documents-and-templates.md section 1 'width'). Decodes nothing: only the places
 * of the formats where the numbers stand. */
#include "image_size.h"

#include <string.h>

enum { HEAD_BYTES = 30, SEGMENTS_MAX = 1000 };

static uint32_t big16(const unsigned char *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t little16(const unsigned char *p)
{
    return (uint32_t)p[1] << 8 | p[0];
}

static uint32_t little24(const unsigned char *p)
{
    return little16(p) | (uint32_t)p[2] << 16;
}

/* Reads the frame header of a JPEG: it stands behind any number of other segments. */
static bool jpeg_size(image_read_fn *read, void *arg, uint32_t *ret_width, uint32_t *ret_height)
{
    unsigned char p[9];
    uint64_t at = 2;

    for (int i = 0; i < SEGMENTS_MAX; i++) {
        unsigned marker;

        if (read(arg, at, p, sizeof(p)) < sizeof(p) || p[0] != 0xff)
            return false;
        marker = p[1];
        if (marker == 0xff) { /* a fill byte */
            at++;
            continue;
        }
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
            marker != 0xcc) {
            *ret_height = big16(p + 5);
            *ret_width = big16(p + 7);
            return true;
        }
        if (marker == 0xda || marker == 0xd9 || big16(p + 2) < 2)
            return false;
        at += 2 + big16(p + 2);
    }
    return false;
}

/* Reads the head of a WebP of each of its three kinds. */
static bool webp_size(const unsigned char *p, uint32_t *ret_width, uint32_t *ret_height)
{
    if (memcmp(p + 12, "VP8 ", 4) == 0) {
        *ret_width = little16(p + 26) & 0x3fff;
        *ret_height = little16(p + 28) & 0x3fff;
        return memcmp(p + 23, "\x9d\x01\x2a", 3) == 0;
    }
    if (memcmp(p + 12, "VP8L", 4) == 0) {
        uint32_t bits = little24(p + 21) | (uint32_t)p[24] << 24;

        *ret_width = (bits & 0x3fff) + 1;
        *ret_height = (bits >> 14 & 0x3fff) + 1;
        return p[20] == 0x2f;
    }
    *ret_width = little24(p + 24) + 1;
    *ret_height = little24(p + 27) + 1;
    return memcmp(p + 12, "VP8X", 4) == 0;
}

bool image_size(image_read_fn *read, void *arg, uint32_t *ret_width, uint32_t *ret_height)
{
    unsigned char p[HEAD_BYTES] = {0};
    size_t n = read(arg, 0, p, sizeof(p));
    bool found = false;

    if (n >= 24 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0 && memcmp(p + 12, "IHDR", 4) == 0) {
        *ret_width = big16(p + 16) << 16 | big16(p + 18);
        *ret_height = big16(p + 20) << 16 | big16(p + 22);
        found = true;
    } else if (n >= 10 && memcmp(p, "GIF8", 4) == 0) {
        *ret_width = little16(p + 6);
        *ret_height = little16(p + 8);
        found = true;
    } else if (n >= 4 && memcmp(p, "\xff\xd8\xff", 3) == 0) {
        found = jpeg_size(read, arg, ret_width, ret_height);
    } else if (n == sizeof(p) && memcmp(p, "RIFF", 4) == 0 && memcmp(p + 8, "WEBP", 4) == 0) {
        found = webp_size(p, ret_width, ret_height);
    }
    return found && *ret_width && *ret_height && *ret_width <= INT32_MAX &&
           *ret_height <= INT32_MAX;
}
