/* preview_wire.h - what travels between the server and a `preview` cell, in the machine's byte
 * order. Used by both sides.
 *
 * CALL: preview_call and a PDF as a descriptor. The PNG comes in blocks, or the text, of which each
 * page ends with a form feed; the result is a preview_made. Failures begin with a word and ": ":
 * `invalid` (the document), `pages` (it has no such page). */
#ifndef WHARF_RENDER_PREVIEW_WIRE_H
#define WHARF_RENDER_PREVIEW_WIRE_H

#include <stdint.h>

enum {
    PREVIEW_BLOCK = 256 * 1024,
    PREVIEW_BYTES_MAX = 40 << 20, /* bytes of a PDF */
    PREVIEW_SIDE_MAX = 4000, /* pixels */
    PREVIEW_TEXT_MAX = 1 << 20, /* bytes of text; the page in which they end is the last */
    PREVIEW_TEXT_PAGES = 200
};

struct preview_call {
    uint32_t page; /* from 1 on */
    uint32_t text; /* 1: the text of the pages from this one on, and no picture */
    uint32_t width, height; /* pixels at most, up to PREVIEW_SIDE_MAX */
    uint32_t dots; /* 1: a point of the page is a pixel, and more pixels are not made of it */
};

struct preview_made {
    uint32_t pages; /* of the document */
    uint32_t width, height; /* pixels of the PNG; 0 of a text */
};

#endif
