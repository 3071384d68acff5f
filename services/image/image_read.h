/* image_read.h - the answer of an `image` cell as the public result. Nothing in it is believed. */
#ifndef WHARF_IMAGE_READ_H
#define WHARF_IMAGE_READ_H

#include "util/arena.h"
#include "wharf/service/image.h"

enum { IMAGE_ANSWER_MAX = 1 << 20 };

/* Reads an answer. Returns false when it breaks any rule of image_wire.h or a limit of image.h;
 * *ret is not to be used then. What *ret points to is the arena's. */
bool image_read_answer(struct arena *arena, wharf_str answer, wharf_image_read *ret);
/* Returns the name of a step of image_wire.h, or NULL. */
const char *image_step_name(uint32_t step);

#endif
