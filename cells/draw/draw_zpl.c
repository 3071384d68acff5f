/* draw_zpl.c - a page as ZPL: one picture of dots (^GF), with the run lengths of the printer's
 * language, and codes that the printer makes by itself (^BC, ^BQ); see draw.h. */
#include <math.h>
#include <string.h>

#include "draw.h"

enum {
    DARK = 128,
    RUN_MAX = 419,
    MODULE_MAX = 10 /* dots of a module of codes that the printer makes */
};

/* Writes a hexadecimal digit that stands n times: g to z are multiples of 20, G to Y are 1 to
 * 19. */
static void draw_zpl_put_run(struct buf *out, char digit, size_t n)
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

static void draw_zpl_put_line(struct buf *out, const char *digits, size_t n)
{
    size_t end = n;

    while (end && digits[end - 1] == digits[n - 1])
        end--;
    if (digits[n - 1] != '0' && digits[n - 1] != 'F')
        end = n;
    for (size_t i = 0, run; i < end; i += run) {
        for (run = 1; i + run < end && digits[i + run] == digits[i]; run++)
            ;
        draw_zpl_put_run(out, digits[i], run);
    }
    if (end < n)
        buf_addc(out, digits[n - 1] == '0' ? ',' : '!'); /* the rest of the line is so */
}

/* Makes hexadecimal digits of a line; dots beyond its width are white. */
static void draw_zpl_digits_of(const unsigned char *grey, int width, size_t bytes, char *to)
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

/* ---- codes ---- */

/* Tells whether the value may stand in a command as it is: no sign that the language or its Code
 * 128 reads as another one. */
static bool draw_zpl_is_plain(const char *value)
{
    static const char taken[] = "^~>\\_";

    for (const char *p = value; *p; p++) {
        if (*p < ' ' || *p > '~' || strchr(taken, *p))
            return false;
    }
    return value[0] != 0;
}

/* Tells whether what is drawn now reaches the page as it is: upright, whole, not in a picture that
 * is laid on it later. */
static bool is_direct(struct drawing *d, const struct zpl_code *code)
{
    double left, top, right, bottom;
    cairo_matrix_t m;

    cairo_get_matrix(d->cairo, &m);
    cairo_clip_extents(d->cairo, &left, &top, &right, &bottom);
    return m.xx > 0 && fabs(m.xy) < 1e-9 && fabs(m.yx) < 1e-9 && fabs(m.xx - m.yy) < 1e-9 &&
           cairo_get_group_target(d->cairo) == cairo_get_target(d->cairo) &&
           code->x >= left - 1e-6 && code->y >= top - 1e-6 &&
           code->x + code->width <= right + 1e-6 && code->y + code->height <= bottom + 1e-6;
}

bool zpl_native(struct drawing *d, const struct zpl_code *code)
{
    double x = code->x, y = code->y, module = code->module, height = code->height;

    if (!d->native || !draw_zpl_is_plain(code->value) || !is_direct(d, code))
        return false;
    cairo_user_to_device(d->cairo, &x, &y);
    cairo_user_to_device_distance(d->cairo, &module, &height);
    module = round(module);
    if (x < 0 || y < 0 || module < 1 || module > MODULE_MAX)
        return false;
    /* a QR code stands as much lower as the height that ^BY has said */
    buf_addf(d->native, "^FO%.0f,%.0f^BY%.0f,2,1", round(x), round(y), module);
    if (code->qr)
        buf_addf(d->native, "^BQN,2,%.0f^FD%cA,", module, code->ecc);
    else
        buf_addf(d->native, "^BCN,%.0f,N,N,N,A^FD", round(height));
    buf_addf(d->native, "%s^FS\n", code->value);
    return true;
}

/* ---- the page ---- */

void zpl_page(struct buf *out, const unsigned char *grey, int width, int height, int stride,
    wharf_str commands)
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

        draw_zpl_digits_of(grey + (size_t)y * (size_t)stride, width, bytes, now);
        if (y && memcmp(now, before, bytes * 2) == 0)
            buf_addc(out, ':');
        else
            draw_zpl_put_line(out, now, bytes * 2);
    }
    buf_addz(out, "^FS\n");
    buf_adds(out, commands);
    buf_addz(out, "^PQ1\n^XZ\n");
}
