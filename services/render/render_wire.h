/* render_wire.h - what travels between the server and a `render` cell, in the machine's byte
 * order. Used by both sides.
 *
 * CALL: render_call and the document as a descriptor. The cell reads it and asks with
 * render_reported; the answer is a render_wish with its ranges behind it. Then the finished PDF
 * comes in blocks, and the result is a render_made. Failures begin with a word and ": ":
 * `invalid` (the document), `pages` (no page is left of it). */
#ifndef WHARF_RENDER_RENDER_WIRE_H
#define WHARF_RENDER_RENDER_WIRE_H

#include <stdint.h>

enum render_type {
    RENDER_PDF = 1,
    RENDER_PNG,
    RENDER_JPEG,
    RENDER_TEXT,
    RENDER_WEBP,
    RENDER_GIF,
    RENDER_TIFF
};
enum render_fit { RENDER_FIT_NONE, RENDER_FIT_SHRINK, RENDER_FIT_FIT, RENDER_FIT_FILL };
enum {
    RENDER_PAGES_MAX = 2000, /* pages of a document */
    RENDER_RANGES_MAX = 1000,
    RENDER_BLOCK = 256 * 1024,
    RENDER_BYTES_MAX = 64 << 20 /* bytes of a document that is made ready */
};

struct render_call {
    uint32_t type; /* enum render_type */
    /* 0: for a medium. Else nothing is asked: this one page comes, as large as it is, for a
     * picture of at most so many pixels; a pixel of an image is a point of it. */
    uint32_t page;
    uint32_t width, height;
};

struct render_reported {
    uint32_t pages; /* 0: only known once it is laid out (text) */
    uint32_t mixed; /* its pages have different sizes */
    /* of the first page as it is shown, in points; 0: the document does not say */
    double width, height;
};

struct render_range {
    uint32_t from, to; /* pages from 1 on, both included */
};

struct render_wish {
    double width, height; /* of the medium as it is fed, in points */
    double scale; /* after the fit, about the page's centre */
    uint32_t fit; /* enum render_fit */
    uint32_t rotate; /* 0, 90, 180, 270, clockwise */
    uint32_t landscape; /* laid out on the medium turned by 90 degrees */
    uint32_t n_ranges; /* 0: all pages */
};

struct render_made {
    uint32_t pages;
    uint32_t cropped; /* of these, that are cut off at the edges of the medium */
};

#endif
