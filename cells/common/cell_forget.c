/* cell_forget.c - nothing of a call outlives it in a process that serves another one: a picture
 * that somebody erases is not in the memory of the cell that read it (docs/spec/06-inference.md
 * section 7.1). Leaves to the kinds: what they keep in variables of their own. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"

enum {
    FORGET_FILL = 0xa5,
    /* glibc keeps freed pieces of up to FORGET_SMALL bytes for the next ones, FORGET_EACH of each
     * size, and does not overwrite these */
    FORGET_SMALL = 1032,
    FORGET_STEP = 16,
    FORGET_EACH = 7,
    FORGET_STACK = 512 * 1024
};

void cell_forget_begin(void)
{
    mallopt(M_PERTURB, FORGET_FILL);
}

static void forget_small_pieces(void)
{
    for (size_t size = FORGET_STEP; size <= FORGET_SMALL; size += FORGET_STEP) {
        void *pieces[FORGET_EACH];

        for (size_t i = 0; i < FORGET_EACH; i++) {
            pieces[i] = cell_alloc(size);
            explicit_bzero(pieces[i], malloc_usable_size(pieces[i]));
        }
        for (size_t i = 0; i < FORGET_EACH; i++)
            free(pieces[i]);
    }
}

__attribute__((noinline)) static void forget_stack(void)
{
    char below[FORGET_STACK];

    explicit_bzero(below, sizeof(below));
}

void cell_forget(void)
{
    forget_small_pieces();
    forget_stack();
}
