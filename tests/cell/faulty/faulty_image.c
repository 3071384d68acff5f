/* faulty_image.c - the `image` cell with faults: the real one, but for pictures of a certain
 * height. For tests/api/inference/test_inference_cells.py.
 *
 * The linker puts the functions below before those of the cell's own steps (--wrap). */
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#include "child.h"
#include "image.h"

/* Rows of a picture, and the fault that they set off. */
enum {
    ENDS_IN_LINEAR = 1301,
    ENDS_IN_BOTH = 1302, /* in two steps, one after the other */
    MEMORY_IN_LINEAR = 1303, /* more and more memory is asked for */
    MEMORY_IN_BOTH = 1304,
    HANGS = 1305,
    SLOW = 1306, /* all of its time is over after one step */
};
enum { PIECE = 64 << 20, PIECES = 32 };

void __real_matrix_of_page(struct shot *s, PIX *grey, double scale);
void __wrap_matrix_of_page(struct shot *s, PIX *grey, double scale);
void __real_codes_read(struct shot *s, PIX *grey, double scale);
void __wrap_codes_read(struct shot *s, PIX *grey, double scale);

/* Asks for twice as much memory as a process may have, then gives it back: a process without a
 * limit goes on. */
static void faulty_ask_for_much(void)
{
    void *pieces[PIECES];

    for (int i = 0; i < PIECES; i++) {
        pieces[i] = mmap(NULL, PIECE, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pieces[i] == MAP_FAILED)
            cell_out_of_memory();
    }
    for (int i = 0; i < PIECES; i++)
        munmap(pieces[i], PIECE);
}

static void faulty_hang(void)
{
    for (;;)
        poll(NULL, 0, 1000);
}

void __wrap_codes_read(struct shot *s, PIX *grey, double scale)
{
    int rows = pixGetHeight(s->grey);

    if (rows == ENDS_IN_LINEAR || rows == ENDS_IN_BOTH)
        __builtin_trap();
    if (rows == MEMORY_IN_LINEAR || rows == MEMORY_IN_BOTH)
        faulty_ask_for_much();
    if (rows == HANGS)
        faulty_hang();
    __real_codes_read(s, grey, scale);
    while (rows == SLOW && shot_left_ms(s) > 0)
        poll(NULL, 0, 100);
}

void __wrap_matrix_of_page(struct shot *s, PIX *grey, double scale)
{
    int rows = pixGetHeight(s->grey);

    if (rows == ENDS_IN_BOTH)
        __builtin_trap();
    if (rows == MEMORY_IN_BOTH)
        faulty_ask_for_much();
    __real_matrix_of_page(s, grey, scale);
}
