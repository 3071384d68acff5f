/* draw_zpl.c - a page as ZPL: one picture of dots (^GF), with the run lengths of the printer's
 * language; see draw.h. */
#include <string.h>

#include "draw.h"

enum { DARK = 128, RUN_MAX = 419 };

/* Writes a hexadecimal digit that stands n times: g to z are multiples of 20, G to Y are 1 to
 * 19. */
static void put_run(struct buf *out, char digit, size_t n)
{
    while (n) {
        size_t run = n < RUN_MAX ? n : RUN_MAX;

        if (run == 1 || (run == 2 && n == 2)) {
            for (size_t i = 0; i < run; i++)
                buf_addc(out, digit);
        } else {
            if (run >= 20)
                buf_addc(out, (char)('f' + run / 20));
            if (run % 20)
                buf_addc(out, (char)('F' + run % 20));
            buf_addc(out, digit);
        }
        n -= run;
    }
}

static void put_line(struct buf *out, const char *digits, size_t n)
{
    size_t end = n;

    while (end && digits[end - 1] == digits[n - 1])
        end--;
    if (digits[n - 1] != '0' && digits[n - 1] != 'F')
        end = n;
    for (size_t i = 0, run; i < end; i += run) {
        for (run = 1; i + run < end && digits[i + run] == digits[i]; run++)
            ;
        put_run(out, digits[i], run);
    }
    if (end < n)
        buf_addc(out, digits[n - 1] == '0' ? ',' : '!'); /* the rest of the line is so */
}

/* Makes hexadecimal digits of a line; dots beyond its width are white. */
static void digits_of(const unsigned char *grey, int width, size_t bytes, char *to)
{
    for (size_t i = 0; i < bytes * 2; i++) {
        unsigned value = 0;

        for (size_t k = 0; k < 4; k++) {
            size_t x = 4 * i + k;

            value = value << 1 | (x < (size_t)width && grey[x] < DARK);
        }
        to[i] = "0123456789ABCDEF"[value];
    }
}

void zpl_page(struct buf *out, const unsigned char *grey, int width, int height, int stride)
{
    static char line[2][SIDE_MAX * 10]; /* 72 points are at most 2,400 dots */
    size_t bytes = ((size_t)width + 7) / 8, all = bytes * (size_t)height;

    if (bytes * 2 > sizeof(line[0])) {
        out->failed = true;
        return;
    }
    buf_addf(
        out, "^XA\n^PW%d\n^LL%d\n^LH0,0\n^FO0,0^GFA,%zu,%zu,%zu,", width, height, all, all, bytes);
    for (int y = 0; y < height && !out->failed; y++) {
        char *now = line[y & 1], *before = line[(y & 1) ^ 1];

        digits_of(grey + (size_t)y * (size_t)stride, width, bytes, now);
        if (y && memcmp(now, before, bytes * 2) == 0)
            buf_addc(out, ':');
        else
            put_line(out, now, bytes * 2);
    }
    buf_addz(out, "^FS\n^PQ1\n^XZ\n");
}
