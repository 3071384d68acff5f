/* crash.h - what a worker leaves behind when a fatal signal or exit() in the middle of work ends
 * it: a report the supervisor and a person can read.
 *
 * The report names signal, address, the plugin to blame (the first frame inside a plugin's code,
 * else the plugin of the thread's activity), registers and a backtrace as module+offset. Then the
 * signal takes its usual course, core file included. */
#ifndef WHARF_PROCESS_CRASH_H
#define WHARF_PROCESS_CRASH_H

#include <sys/types.h>

#include "process/board.h"

/* Installs the handlers of this process; reports go to dir/crash-<milliseconds>-<pid>.txt. Call
 * once, before threads. */
void crash_install(const char *dir);
/* Notes that code of this file belongs to this plugin. Must be called after dlopen, before
 * threads. Both texts are copied. */
void crash_add_plugin(const char *name, const char *file);
/* Gives the calling thread its own signal stack and says which activity tells what it is doing
 * (NULL: none). Call at the start of each thread, the main one included. */
void crash_thread(struct activity *c);

/* Reports that the calling thread is about to end the process by that function of the C library.
 * Returns true when a plugin's code, or code that works for one, was running; there is a report
 * now, and the process shall end at once. Returns false when it is the process's own end
 * (exit_tap.c). */
bool crash_by_exit(const char *call, int code);
/* Keeps exit_tap.c in the program, whatever else is linked. */
void exit_tap_keep(void);

/* Contents of a crash report, read by the supervisor (crash_report.c). Texts are "" when the
 * report does not have them. */
struct crash_report {
    char plugin[32], what[BOARD_TEXT], request[32];
    char jobs[1024]; /* "job_12 job_15": those to blame, as the supervisor judged */
    char file[512];
};
/* Reads the crash report of a process started at since_us (CLOCK_MONOTONIC). Returns false when it
 * left none in dir; an older one is of a process that had the same number. */
bool crash_read_report(const char *dir, pid_t pid, int64_t since_us, struct crash_report *ret);

#endif
