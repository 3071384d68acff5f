/* draw_code.h - what is known of a symbology, and values made ready for it
 * (docs/spec/05-documents-and-templates.md section 9.6). */
#ifndef WHARF_CELL_DRAW_CODE_H
#define WHARF_CELL_DRAW_CODE_H

#include <stdbool.h>

#include "util/arena.h"

enum code_shape {
    CODE_BARS, /* one row, as high as one likes */
    CODE_STACK, /* rows of bars */
    CODE_POSTAL, /* bars of different heights, whose proportions are fixed */
    CODE_SQUARES, /* modules as high as wide */
    CODE_DOTS,
    CODE_HEXAGONS
};

enum code_check { /* of the value, before libzint sees it */
    CODE_FREE,
    CODE_EAN13,
    CODE_EAN8,
    CODE_UPCA,
    CODE_UPCE,
    CODE_ITF14, /* 14 digits, also of ean14 */
    CODE_SSCC,
    CODE_ISBN
};

struct code_kind {
    const char *name;
    int zint;
    enum code_shape shape;
    enum code_check check;
    unsigned quiet; /* modules that stay white at its sides */
    bool gs1; /* "(01)..." */
    bool utf8;
};

/* Returns NULL for a name that is not known. */
const struct code_kind *code_find(wharf_str name);
/* Computes the check digit of GS1 that stands behind n digits. */
char code_check_digit(const char *digits, size_t n);
/* Checks the value and makes what libzint takes of it. Returns NULL, and a sentence about "it"
 * with its article, when it can't be encoded. */
const char *code_value(
    struct arena *a, const struct code_kind *kind, wharf_str value, const char **ret_wrong);

#endif
