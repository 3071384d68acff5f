/* image_place.h - where a photograph was taken, taken out of its bytes (docs/spec/06-inference.md
 * section 7.2). Pure. */
#ifndef INFERENCE_IMAGE_PLACE_H
#define INFERENCE_IMAGE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* Overwrites the GPS part of the Exif data of a JPEG, PNG, WebP or TIFF file with noughts; all
 * other bytes stay (of a PNG also the checksum of that part changes). Returns whether there was
 * one. */
bool image_place_blank(unsigned char *file, size_t n);

#endif
