/* draw_wire.h - what travels between the server and a `draw` cell, in the machine's byte order.
 * Used by both sides.
 *
 * CALL: draw_call and one descriptor: the request (JSON), then the sizes of the blobs (uint64_t
 * each), then their bytes. The cell asks with the name of a time zone, and is answered with its
 * file. The drawing comes in blocks; the result is a draw_told with the report (JSON) behind it.
 * Failures are sentences about a call that the server does not send. */
#ifndef WHARF_RENDER_DRAW_WIRE_H
#define WHARF_RENDER_DRAW_WIRE_H

#include <stdint.h>

/* As WHARF_DRAW_PDF and the others of wharf/service/draw.h. */
enum draw_format { DRAW_PDF = 1, DRAW_PNG, DRAW_ZPL, DRAW_SOURCES, DRAW_WORDS };
enum draw_verdict { DRAW_GOOD, DRAW_TOO_COMPLEX, DRAW_REFUSED };
enum {
    DRAW_BLOCK = 256 * 1024,
    DRAW_BYTES_MAX = 64 << 20, /* of the file that is made */
    DRAW_REPORT_MAX = 4 << 20,
    DRAW_REASON = 160,
    DRAW_MS = 10000 /* a drawing may take */
};

struct draw_call {
    uint32_t format; /* enum draw_format */
    uint32_t n_blobs;
    uint64_t request; /* its bytes */
};

struct draw_told {
    uint32_t verdict; /* enum draw_verdict */
    uint32_t pages;
    uint64_t bytes; /* of the blocks together */
    /* 1: the process has fonts of the call, or an SVG that is not done yet: it is good for no
     * other */
    uint64_t spoiled;
    char reason[DRAW_REASON]; /* of DRAW_TOO_COMPLEX */
};

#endif
