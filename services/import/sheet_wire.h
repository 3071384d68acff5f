/* sheet_wire.h - the blocks that a `sheet` cell sends: first one with the sheet's name, then
 * blocks of whole rows. Used by both sides; machine byte order. The call's payload is the wanted
 * sheet (name or number, or nothing). Its failures are "code: text". */
#ifndef WHARF_IMPORT_SHEET_WIRE_H
#define WHARF_IMPORT_SHEET_WIRE_H

#include <stdint.h>

enum { SHEET_NAME = 'S', SHEET_ROWS = 'R' }; /* first byte of a block */
/* of a cell; texts hold numbers, dates and booleans too */
enum { SHEET_TEXT = 't', SHEET_ERROR = 'e', SHEET_FORMULA = 'f' /* one without a stored value */ };
enum { SHEET_BLOCK = 64 << 10, SHEET_BLOCK_MAX = 6 << 20 };

struct sheet_row_head {
    uint32_t row; /* 1-based, growing */
    uint32_t n; /* cells that follow: only those that hold something */
};

struct sheet_cell { /* then n bytes of UTF-8 and a NUL */
    uint16_t column; /* from 0, growing */
    uint16_t type;
    uint32_t n;
};

#endif
