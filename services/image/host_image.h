/* host_image.h - the table wharf.image (plugin-api/wharf/service/image.h), and its kind of cell. */
#ifndef WHARF_IMAGE_HOST_IMAGE_H
#define WHARF_IMAGE_HOST_IMAGE_H

#include "cell/cell.h"
#include "wharf/service/image.h"

extern const struct wharf_image_api host_image;
/* The kind of cell that reads; tests make a pool of it. */
extern const struct cell_kind host_image_kind;

#endif
