/* turns.h - how long a turn of the processor a process takes while others wait for one (sched(7), sched_setattr(2)).
 *
 * Linux 6.12 and later let a process ask for shorter turns than usual, 0.1 ms at the least: it gets no more of the processor, but sooner, before
 * those whose turns are longer. Earlier ones do not listen. No right is needed.
 */
#ifndef WHARF_UTIL_TURNS_H
#define WHARF_UTIL_TURNS_H

#include <sys/types.h>

enum { TURNS_USUAL = 0, TURNS_SHORT_US = 100 };

/* For a thread, 0: the calling one; what it starts later inherits it. Niceness stays. Async-signal-safe, leaves errno alone. */
void turns_set(pid_t thread, unsigned us);

#endif
