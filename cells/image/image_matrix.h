/* image_matrix.h - codes of two dimensions in packed grey bytes: the C side of image_matrix.cc. */
#ifndef WHARF_CELLS_IMAGE_MATRIX_H
#define WHARF_CELLS_IMAGE_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image_wire.h"

struct matrix_code {
    uint32_t symbology, orientation;
    int left, top, right, bottom;
    size_t n;
    char value[4096];
};

/* Reads at most `room` codes and returns how many. pure: the picture is a MaxiCode and nothing
 * else. */
size_t matrix_read(const unsigned char *grey, int width, int height, bool pure,
    struct matrix_code *ret, size_t room);

#endif
