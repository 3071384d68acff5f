/* image_size.h - how many pixels an image has, by its first bytes. Pure. */
#ifndef IMAGE_SIZE_H
#define IMAGE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads n bytes of an image from at on into out. Returns how many there were. */
typedef size_t image_read_fn(void *arg, uint64_t at, unsigned char *out, size_t n);

/* Finds width and height of a PNG, GIF, JPEG or WebP. Returns false when the bytes do not tell. */
bool image_size(image_read_fn *read, void *arg, uint32_t *ret_width, uint32_t *ret_height);

#endif
