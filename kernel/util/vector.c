/* vector.c - see vector.h. */
#include "util/vector.h"

#include <string.h>

void *vector_add(struct arena *a, struct vector *v)
{
    if (v->n == v->cap) {
        size_t cap = v->cap ? v->cap * 2 : 16;
        void *more = arena_alloc_array(a, cap, v->size);

        if (v->n)
            memcpy(more, v->items, v->n * v->size);
        v->items = more;
        v->cap = cap;
    }
    return (char *)v->items + v->size * v->n++;
}
