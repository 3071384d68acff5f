/* int80.h - how a process ends here that asks by the 32-bit table of system calls.
 *
 * Where kernel and machine have that table the walls of a cell end it (SIGSYS). Others end
 * whoever tries, with walls or without, before a filter sees the call; and where a sanitizer's
 * own handler takes that signal, the walls end the handler. So both count, and nothing else
 * does. */
#ifndef WHARF_TEST_INT80_H
#define WHARF_TEST_INT80_H

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether a cell that tried may have ended by `signal`. */
static inline bool int80_may_end_with(int signal_of_cell)
{
#ifdef __x86_64__
    pid_t pid = signal_of_cell == SIGSYS ? -1 : fork();
    int status = 0;

    if (pid == 0) {
        long value;

        signal(SIGSEGV, SIG_DFL); /* who tests may have its own */
        __asm__ volatile("int $0x80" : "=a"(value) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
        _exit(0);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
        WTERMSIG(status) == signal_of_cell)
        return true;
#endif
    return signal_of_cell == SIGSYS;
}

#endif
