/* exit_tap.c - exit() and its like, as code of this process calls them: who ends a worker in the
 * middle of a request, a rule or a job is told of in a crash report, with the stack (crash.h).
 * docs/guide/operation.md 'Workers that crash'.
 *
 * The program defines these functions, so that plugins bind to them and not to the C library's.
 * Who asks the system itself (exit_group) gets by; then what the threads were doing is all that
 * is known (blame.c). */
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/crash.h"

#define TAP __attribute__((visibility("default"), noreturn))

TAP void exit_tap_now(int code) __asm__("_exit");
TAP void exit_tap_c99(int code) __asm__("_Exit");
TAP void exit_tap_usual(int code) __asm__("exit");
TAP void exit_tap_quick(int code) __asm__("quick_exit");

/* Keeps this file in the program. Nobody else names what it defines: without this call a library
 * that has functions of these names and stands earlier in the link (the address sanitizer's) would
 * leave the file out. */
void exit_tap_keep(void)
{
}

static void __attribute__((noreturn)) end_now(int code)
{
    for (;;)
        syscall(SYS_exit_group, code);
}

/* Calls what the C library has under that name. */
static void __attribute__((noreturn)) end_as_usual(const char *call, int code)
{
    void (*usual)(int) = (void (*)(int))dlsym(RTLD_NEXT, call);

    if (usual)
        usual(code);
    end_now(code);
}

void exit_tap_now(int code)
{
    crash_by_exit("_exit", code);
    end_now(code);
}

void exit_tap_c99(int code)
{
    crash_by_exit("_Exit", code);
    end_now(code);
}

void exit_tap_usual(int code)
{
    if (crash_by_exit("exit", code))
        end_now(code);
    end_as_usual("exit", code);
}

void exit_tap_quick(int code)
{
    if (crash_by_exit("quick_exit", code))
        end_now(code);
    end_as_usual("quick_exit", code);
}
