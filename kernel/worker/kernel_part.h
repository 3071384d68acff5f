/* kernel_part.h - the kernel as the lowest part of the server. See kernel_part.c. */
#ifndef WHARF_WORKER_KERNEL_PART_H
#define WHARF_WORKER_KERNEL_PART_H

#include "resource/part.h"

extern const struct part kernel_part;

#endif
