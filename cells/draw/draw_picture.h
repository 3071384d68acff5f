/* draw_picture.h - images decoded (draw_pixels.c, draw_svg.c) and drawn (draw_image.c). */
#ifndef WHARF_CELL_DRAW_PICTURE_H
#define WHARF_CELL_DRAW_PICTURE_H

#include <librsvg/rsvg.h>

#include "draw.h"

struct copy {
    int width, height;
    unsigned grey, threshold; /* grey: 1 or 0 */
};

/* Pixels, as cairo has them (ARGB32, premultiplied), or a drawing. */
struct picture {
    struct picture *next;
    struct draw_bytes bytes; /* of the file */
    wharf_str text; /* that it was decoded from; p NULL: it was a blob */
    bool (*pixels)(struct picture *p); /* decodes it into the surface */
    cairo_surface_t *surface;
    bool decoded; /* it is in the surface */
    cairo_surface_t *made; /* the copy, or the recording, that was drawn last */
    struct copy copy; /* how that is */
    unsigned page; /* on which it was drawn last */
    RsvgHandle *svg;
    int64_t svg_us; /* that were spent on it */
    bool svg_late; /* another thread has it, for good */
    double width, height; /* pixels */
    bool jpeg; /* its file may stand in a PDF as it is; the surface has no pixels yet */
    const char *code; /* of an error, or NULL */
    char wrong[120]; /* then: why */
};

/* Notes why it can't be drawn. Returns false. */
bool picture_fail(struct picture *p, const char *code, const char *fmt, ...) WHARF_PRINTF(3, 4);

/* ---- draw_pixels.c: each reads p->bytes; first how many pixels there are, then these into the
 * surface, which is transparent before ---- */
bool png_head_read(struct picture *p);
bool png_pixels_read(struct picture *p);
bool jpeg_head_read(struct picture *p);
bool jpeg_pixels_read(struct picture *p);
bool gif_head_read(struct picture *p);
bool gif_pixels_read(struct picture *p);
bool webp_head_read(struct picture *p);
bool webp_pixels_read(struct picture *p);
/* Makes a smaller picture, each pixel the mean of those that it stands for. */
cairo_surface_t *pixels_shrunk(cairo_surface_t *from, int width, int height);
/* Makes it grey; threshold 1 to 255: black where it is darker, white elsewhere; 0: none. */
void pixels_grey(cairo_surface_t *surface, unsigned threshold);

/* ---- draw_svg.c: both take 5 s together at the most, else the picture fails ---- */
bool svg_read(struct drawing *d, struct picture *p);
/* Records it in p->made, as large as it is drawn (in pixels of the page's density), unless it is
 * there already. */
bool svg_record(struct drawing *d, struct picture *p, double width, double height);

#endif
