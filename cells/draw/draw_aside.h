/* draw_aside.h - work that may take too long is done in a thread beside the drawing.
 *
 * A thread can't be ended. One that is late is left alone with what it works on, and the drawing
 * goes on without it; the process is good for no other call then. There are two: the time of a
 * drawing ends before a second one can be late. */
#ifndef WHARF_CELL_DRAW_ASIDE_H
#define WHARF_CELL_DRAW_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

enum { ASIDE_THREADS = 2 };

/* Starts the threads: before the walls. */
bool aside_prepare(void);
/* Sets which thread is taken when both are free, so that each can be used once before the
 * walls. */
void aside_prefer(unsigned thread);
/* Runs work(arg) beside this thread and waits for it, until a time by clock_monotonic_us. Where no
 * thread was started it is done here, however long it takes. Returns false when it is late: arg
 * belongs to the other thread from then on. */
bool aside_run(void (*work)(void *arg), void *arg, int64_t until_us);
/* Tells whether a thread was left alone. */
bool aside_is_late(void);

#endif
