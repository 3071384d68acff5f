/* image_wire.h - what travels between the server and an `image` cell, in the machine's byte
 * order. Used by both sides (docs/spec/06-inference.md section 7).
 *
 * CALL: image_call, and the file as a descriptor. Before each step the cell sends its number as
 * one byte of DATA, so that the server knows where it died. RESULT: image_answer, then its
 * codes, words, lines, rules and steps, then the bytes of the text that they point into.
 * Failures begin with a word and ": ": `kind`, `size`, `damaged`, `language`, `invalid`. */
#ifndef WHARF_IMAGE_WIRE_H
#define WHARF_IMAGE_WIRE_H

#include <stdint.h>

enum { IMAGE_MAGIC = 0x31474d49, IMAGE_LANGUAGES_MAX = 64, IMAGE_VERSION_MAX = 64 };

enum image_step {
    IMAGE_OPEN = 0,
    IMAGE_LINEAR,
    IMAGE_MATRIX,
    IMAGE_CROPS, /* matrix codes on parts of the picture */
    IMAGE_CLEAN,
    IMAGE_TURN,
    IMAGE_WORDS,
    IMAGE_REST, /* words where the first look found none */
    IMAGE_FIGURES,
    IMAGE_STEPS
};

enum image_format {
    IMAGE_JPEG = 0,
    IMAGE_PNG,
    IMAGE_WEBP,
    IMAGE_GIF,
    IMAGE_TIFF,
    IMAGE_BMP,
    IMAGE_PNM,
    IMAGE_JP2,
    IMAGE_FORMATS
};

enum image_symbology {
    IMAGE_CODE_128 = 0,
    IMAGE_GS1_128,
    IMAGE_CODE_39,
    IMAGE_CODE_93,
    IMAGE_ITF,
    IMAGE_CODABAR,
    IMAGE_EAN_13,
    IMAGE_EAN_8,
    IMAGE_UPC_A,
    IMAGE_UPC_E,
    IMAGE_DATABAR,
    IMAGE_DATABAR_EXPANDED,
    IMAGE_QR,
    IMAGE_PDF417,
    IMAGE_DATA_MATRIX,
    IMAGE_AZTEC,
    IMAGE_MAXICODE,
    IMAGE_SYMBOLOGIES
};

struct image_call {
    uint32_t wants; /* as wharf_image_want */
    uint32_t budget_ms;
    uint32_t skip; /* 1 << a step that is not tried */
    char languages[IMAGE_LANGUAGES_MAX]; /* ends with a NUL */
};

struct image_box {
    uint32_t x, y, w, h;
};

struct image_text {
    uint32_t at, n; /* into the text */
};

struct image_code {
    struct image_text value;
    struct image_box box;
    uint32_t symbology, orientation, quality, checked;
};

struct image_word {
    struct image_text text;
    struct image_box box;
    uint32_t confidence, line, block, orientation;
};

struct image_line {
    struct image_box box;
    uint32_t first_word, n_words, block;
};

struct image_time {
    uint32_t step, ms;
};

struct image_figures {
    uint32_t text_lines, line_height, line_height_spread, ink, wide_rules, long_linear, matrix;
};

struct image_answer {
    uint32_t magic, format, width, height, turn, turned_by, photo;
    uint32_t stopped; /* 1 + the first step that was left out, or 0 */
    uint32_t x_height;
    uint32_t n_codes, n_words, n_lines, n_rules, n_steps, n_text;
    struct image_figures figures;
    char version[IMAGE_VERSION_MAX]; /* of the engine; ends with a NUL */
};

#endif
