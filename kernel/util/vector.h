/* vector.h - a growing array in an arena. What it held before it grew stays in the arena. */
#ifndef WHARF_UTIL_VECTOR_H
#define WHARF_UTIL_VECTOR_H

#include "util/arena.h"

struct vector {
    void *items;
    size_t n, cap, size; /* elements; room for elements; bytes of one */
};

/* Adds a zeroed element and returns it. Pointers to elements are valid until the next call. */
void *vector_add(struct arena *a, struct vector *v);

#endif
