/* turns.h - who gets the processor while others wait for it too: how long a turn a process takes
 * (sched_setattr(2)), and who steps back behind others (sched(7)). For processes of one's own no
 * right is needed; for those of other users root needs CAP_SYS_NICE, which a container may lack.
 *
 * Linux 6.12 and later let a process ask for shorter turns than usual, 0.1 ms at the least: it
 * gets no more of the processor, but sooner, before those whose turns are longer. Earlier ones
 * do not listen.
 *
 * Who steps back has about a tenth of a processor beside who does not, and all of it beside
 * nobody. Where sessions share the processors as groups (autogroup: Debian's default), niceness
 * counts among the processes of one session only, so that a process that is a session of its own
 * has two: its own, and its session's. Of the latter the kernel takes one in a tenth of a
 * second, of all the machine, from those who are not root. */
#ifndef WHARF_UTIL_TURNS_H
#define WHARF_UTIL_TURNS_H

#include <stdbool.h>
#include <sys/types.h>

enum { TURNS_USUAL = 0, TURNS_SHORT_US = 100, STEP_BACK_NICE = 10 };

/* Sets the length of turns of a thread, 0: the calling one; what it starts later inherits it.
 * Niceness stays. It is async-signal-safe and leaves errno alone. */
void turns_set(pid_t thread, unsigned us);

/* Tells whether this operating system's kernel listens to the length of turns. Asks for another
 * one for the calling thread, and for the usual one again. */
bool turns_are_heard(void);

/* Gives the process the caller's niceness plus `nice`. Its session is to follow by *ret_session;
 * -1: sessions are no groups here. turns_session_nice() or the caller closes it. Returns false
 * with errno when it is not allowed, or there is no such process. */
bool turns_step_back(pid_t process, int nice, int *ret_session);
/* Sets the niceness of the session. Returns false when it is to be asked again later. Else
 * *session is closed, and -1. */
bool turns_session_nice(int *session, int nice);

#endif
