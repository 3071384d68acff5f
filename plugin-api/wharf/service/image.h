/* wharf/service/image.h - pictures of labels read: service "wharf.image", version 1.1
 * (docs/spec/06-inference.md section 7).
 *
 * A picture becomes barcodes, words with their places, and figures for a classifier. What they
 * mean is the caller's business. All of it is done by sandboxed processes
 * (docs/internals/cells.md); what a file does there can hurt nobody else. Boxes are in pixels of
 * the upright picture, whose width and height are in the result. Rules of this header:
 * wharf/plugin.h. Structs of lists have no head and never grow. */
#ifndef WHARF_SERVICE_IMAGE_H
#define WHARF_SERVICE_IMAGE_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WHARF_IMAGE_SIDE_MIN = 50,
    WHARF_IMAGE_PIXELS_MAX = 40000000,
    WHARF_IMAGE_BYTES_MAX = 64 << 20,
    WHARF_IMAGE_WORDS_MAX = 4000,
    WHARF_IMAGE_CODES_MAX = 200,
    WHARF_IMAGE_RULES_MAX = 200,
    WHARF_IMAGE_STEPS_MAX = 32,
    WHARF_IMAGE_TEXT_MAX = 64 << 10, /* bytes of all words and values */
    WHARF_IMAGE_BUDGET_MS = 8000 /* where the wish says 0; and at most */
};

/* Steps that are wanted; any of them together. */
enum wharf_image_want {
    WHARF_IMAGE_CODES = 1, /* barcodes */
    WHARF_IMAGE_FIGURES = 2, /* what a classifier asks for; reads no letter */
    WHARF_IMAGE_TEXT = 4 /* words, lines */
};

typedef struct wharf_image_wish {
    wharf_head head;
    uint32_t wants; /* of wharf_image_want */
    /* Time for it. A step that would begin later is left out, and the result says so. */
    uint32_t budget_ms;
    wharf_str languages; /* codes of Tesseract joined by "+"; empty: eng */
} wharf_image_wish;

enum wharf_image_verdict {
    WHARF_IMAGE_GOOD = 0,
    WHARF_IMAGE_NO_IMAGE = 1, /* of no kind that is read */
    WHARF_IMAGE_SIZE = 2, /* too few or too many pixels, or bytes */
    WHARF_IMAGE_DAMAGED = 3,
    WHARF_IMAGE_TIMEOUT = 4, /* killed after 12 seconds */
    WHARF_IMAGE_DIED = 5, /* its process ended, and the next one did as well or found nothing */
    WHARF_IMAGE_LANGUAGE = 6 /* one that is not installed */
};

typedef struct wharf_image_box {
    uint32_t x, y, w, h;
} wharf_image_box;

typedef struct wharf_image_code {
    wharf_str value; /* bytes as the symbol has them; FNC1 between elements is 0x1d */
    const char *symbology; /* as in definitions: "code128", "gs1_128", "qr", "pdf417", ... */
    wharf_image_box box; /* of what was scanned: a linear code's box may be lower than the code */
    uint32_t
        orientation; /* degrees clockwise, 0 to 359, that it is turned in the upright picture */
    uint32_t quality; /* linear codes: scan lines that agree; others: 0 */
    bool checked; /* its kind has check digits or error correction, which agree */
    bool is_text; /* value is UTF-8 without NUL */
    bool matrix; /* two dimensions */
} wharf_image_code;

typedef struct wharf_image_word {
    wharf_str text; /* UTF-8 */
    wharf_image_box box;
    uint32_t confidence; /* 0 to 100 */
    uint32_t line, block; /* from 0 on; line: into lines */
    uint32_t orientation; /* degrees clockwise that its line is turned: 0, 90, 180, 270 */
} wharf_image_word;

typedef struct wharf_image_line { /* in reading order */
    wharf_str text; /* its words with spaces between */
    wharf_image_box box;
    uint32_t first_word, n_words, block;
} wharf_image_line;

typedef struct wharf_image_step {
    const char *name;
    uint32_t ms;
} wharf_image_step;

/* Figures for a classifier (section 4.2). Shares are per 1,000. */
typedef struct wharf_image_figures {
    uint32_t text_lines; /* lines of letters, found without reading them */
    uint32_t line_height, line_height_spread; /* mean and standard deviation, per 1,000 of height */
    uint32_t ink; /* share of dark pixels */
    uint32_t wide_rules; /* horizontal ones over at least 60 % of the width */
    uint32_t long_linear, matrix; /* linear codes of 10 signs or more; codes of two dimensions */
} wharf_image_figures;

enum wharf_image_turned_by {
    WHARF_IMAGE_TURNED_FILE = 0, /* as the file says (Exif) */
    WHARF_IMAGE_TURNED_CODES = 1, /* so that barcodes lie upright */
    WHARF_IMAGE_TURNED_WORDS = 2 /* so that words can be read */
};

/* All of it lives as long as the request. The caller sets head; members that its size does not
 * reach are left out. */
typedef struct wharf_image_read {
    wharf_head head;
    const char *format; /* "jpeg", "png", "webp", "gif", "tiff", "bmp", "pnm", "jp2" */
    uint32_t width, height;
    uint32_t turn; /* degrees clockwise that were applied: 0, 90, 180, 270 */
    uint32_t turned_by; /* of wharf_image_turned_by */
    bool photo; /* uneven light: taken by a camera */
    bool whole; /* false: a step was left out, for time or because a process died in it */
    const char *stopped; /* the first step that was left out, or NULL */
    uint32_t x_height; /* median height of small letters, in tenths of a pixel; 0: no words */
    const wharf_image_code *codes;
    uint32_t n_codes;
    const wharf_image_word *words;
    uint32_t n_words;
    const wharf_image_line *lines;
    uint32_t n_lines;
    const wharf_image_box *rules; /* long dark lines */
    uint32_t n_rules;
    wharf_image_figures figures;
    const char *engine, *engine_version;
    const wharf_image_step *steps;
    uint32_t n_steps;
} wharf_image_read;

typedef struct wharf_image_api {
    wharf_head head;
    /* Reads the picture of a regular file. WHARF_OK also for one that is no good: *ret_verdict is
     * not WHARF_IMAGE_GOOD then, and *ret_reason one sentence for people about "it". Problems:
     * overloaded when no process could be had, module.unavailable when the server has none.
     * Waits for the cells. [worker] */
    wharf_status (*read)(wharf_req *req, int fd, const wharf_image_wish *wish,
        wharf_image_read *ret_read, uint32_t *ret_verdict, wharf_str *ret_reason);
    /* Since 1.1. Tells whether this server has the program that reads pictures; without it read()
     * is always module.unavailable. [worker] */
    bool (*present)(wharf_req *req);
} wharf_image_api;

#ifdef __cplusplus
}
#endif
#endif
