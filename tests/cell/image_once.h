/* image_once.h - a picture given to a real image cell, for programs that print what was read:
 * image.c here, and tests/labels/once.c. */
#ifndef WHARF_TESTS_IMAGE_ONCE_H
#define WHARF_TESTS_IMAGE_ONCE_H

#include "cell/cell.h"
#include "image/image_wire.h"

/* Reads the picture of a descriptor. A machine that is busy may be too slow to start a process:
 * then once more. *ret_last: the last step that was begun, IMAGE_STEPS when none was. The caller
 * ends the run. */
struct cell_run *image_once_run(struct cell_pool *pool, const struct image_call *wish, int fd,
    wharf_str *ret_said, unsigned *ret_last);
/* Prints a text as JSON. */
void image_once_print_text(wharf_str s);

#endif
