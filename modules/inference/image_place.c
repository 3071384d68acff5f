/* image_place.c - see image_place.h. Exif is a TIFF file inside of the picture's: a directory, one
 * entry of which leads to the directory of GPS. Offsets are a stranger's: each is checked. */
#include "image_place.h"

#include <stdint.h>
#include <string.h>

enum { TAG_GPS = 0x8825, ENTRY = 12, DIRECTORIES = 8, EXIF_NAME = 6, PNG_AROUND = 12 };

struct tiff {
    unsigned char *p;
    size_t n;
    bool big; /* the first byte counts most */
};

static uint32_t tiff_number(const struct tiff *t, size_t at, size_t bytes)
{
    uint32_t v = 0;

    if (at > t->n || t->n - at < bytes)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        v = v << 8 | t->p[at + (t->big ? i : bytes - 1 - i)];
    return v;
}

static void tiff_blank(struct tiff *t, size_t at, size_t bytes)
{
    if (at < t->n)
        memset(t->p + at, 0, bytes < t->n - at ? bytes : t->n - at);
}

/* Overwrites a directory and what its entries lead to. */
static void tiff_blank_directory(struct tiff *t, size_t at)
{
    static const unsigned char sizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8};
    uint32_t n = tiff_number(t, at, 2);

    for (uint32_t i = 0; i < n; i++) {
        size_t entry = at + 2 + (size_t)i * ENTRY;
        uint32_t type = tiff_number(t, entry + 2, 2), count = tiff_number(t, entry + 4, 4);
        uint64_t bytes = type < sizeof(sizes) ? (uint64_t)sizes[type] * count : 0;

        if (bytes > 4)
            tiff_blank(t, tiff_number(t, entry + 8, 4), bytes < t->n ? (size_t)bytes : t->n);
    }
    tiff_blank(t, at, 2 + (size_t)n * ENTRY);
}

static bool tiff_blank_places(unsigned char *p, size_t n)
{
    struct tiff t = {p, n, n > 1 && p[0] == 'M'};
    size_t at;
    bool any = false;

    if (n < 8 || (memcmp(p, "II*\0", 4) != 0 && memcmp(p, "MM\0*", 4) != 0))
        return false;
    at = tiff_number(&t, 4, 4);
    for (int directory = 0; at && at < n && directory < DIRECTORIES; directory++) {
        uint32_t entries = tiff_number(&t, at, 2);

        for (uint32_t i = 0; i < entries; i++) {
            size_t entry = at + 2 + (size_t)i * ENTRY, gps;

            if (tiff_number(&t, entry, 2) != TAG_GPS)
                continue;
            gps = tiff_number(&t, entry + 8, 4);
            any = any || tiff_number(&t, gps, 2);
            tiff_blank_directory(&t, gps);
        }
        at = tiff_number(&t, at + 2 + (size_t)entries * ENTRY, 4);
    }
    return any;
}

static bool exif_blank(unsigned char *p, size_t n)
{
    if (n > EXIF_NAME && !memcmp(p, "Exif\0\0", EXIF_NAME))
        return tiff_blank_places(p + EXIF_NAME, n - EXIF_NAME);
    return tiff_blank_places(p, n);
}

static bool jpeg_blank(unsigned char *p, size_t n)
{
    bool any = false;

    for (size_t at = 2; at + 4 <= n && p[at] == 0xff && p[at + 1] != 0xda;) {
        size_t length = (size_t)p[at + 2] << 8 | p[at + 3];

        if (length < 2 || length > n - at - 2)
            break;
        if (p[at + 1] == 0xe1)
            any = exif_blank(p + at + 4, length - 2) || any;
        at += 2 + length;
    }
    return any;
}

static uint32_t png_checksum(const unsigned char *p, size_t n)
{
    uint32_t c = 0xffffffff;

    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
    }
    return ~c;
}

static bool png_blank(unsigned char *p, size_t n)
{
    struct tiff file = {p, n, true};
    bool any = false;

    for (size_t at = 8; at < n && n - at >= PNG_AROUND;) {
        size_t length = tiff_number(&file, at, 4);

        if (length > n - at - PNG_AROUND)
            break;
        if (!memcmp(p + at + 4, "eXIf", 4) && exif_blank(p + at + 8, length)) {
            uint32_t c = png_checksum(p + at + 4, length + 4);

            for (int i = 0; i < 4; i++)
                p[at + 8 + length + (size_t)i] = (unsigned char)(c >> (24 - 8 * i));
            any = true;
        }
        at += PNG_AROUND + length;
    }
    return any;
}

static bool webp_blank(unsigned char *p, size_t n)
{
    struct tiff file = {p, n, false};
    bool any = false;

    for (size_t at = 12; at < n && n - at >= 8;) {
        size_t length = tiff_number(&file, at + 4, 4);

        if (length > n - at - 8)
            break;
        if (!memcmp(p + at, "EXIF", 4))
            any = exif_blank(p + at + 8, length) || any;
        at += 8 + length + (length & 1);
    }
    return any;
}

bool image_place_blank(unsigned char *file, size_t n)
{
    if (n > 3 && file[0] == 0xff && file[1] == 0xd8)
        return jpeg_blank(file, n);
    if (n > 8 && !memcmp(file, "\x89PNG\r\n\x1a\n", 8))
        return png_blank(file, n);
    if (n > 12 && !memcmp(file, "RIFF", 4) && !memcmp(file + 8, "WEBP", 4))
        return webp_blank(file, n);
    return tiff_blank_places(file, n);
}
