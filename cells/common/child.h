/* child.h - the inside of a cell: what every kind of cell links besides its own work.
 *
 * main() of a kind is one line: return cell_main(argc, argv, &kind). The process loads what it
 * needs (prepare), puts up its walls (walls.c), says hello, and then serves one call after the
 * other until its parent closes the socket. One thread. Protocol: kernel/cell/frame.h.
 * docs/internals/cells.md tells how to add a kind. */
#ifndef WHARF_CELLS_CHILD_H
#define WHARF_CELLS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cell/frame.h"

struct cell_task { /* one call; all of it is gone when call() returns, descriptors are closed */
    const char *payload;
    size_t n;
    int fds[FRAME_FDS_MAX]; /* read-only regular files */
    size_t n_fds;
    /* the parent kills the process so many milliseconds after the call; 0: not told */
    uint32_t limit_ms;
};

struct cell_program {
    const char *name;
    /* Before the walls: open and load everything that is needed later. False: the process ends.
     * May be NULL. */
    bool (*prepare)(void);
    /* Answers by exactly one cell_result or cell_failed, its last words. */
    void (*call)(const struct cell_task *task);
    /* Said before a call: what it will probably need may be made ready. Nothing is sent
     * meanwhile. May be NULL. */
    void (*ahead)(const char *p, size_t n);
    /* Its libraries look for files on their own: they hear that there is none (EACCES), where
     * other kinds end. */
    bool looks_for_files;
    /* Its libraries have threads that they started in prepare(): the walls are around them too. */
    bool has_threads;
    /* Its calls bring what people can have erased: what a call leaves in memory that is free is
     * overwritten when it ends (cell_forget.c). */
    bool forgets;
};

/* Makes free() overwrite memory from now on, but for small pieces. */
void cell_forget_begin(void);
/* Overwrites the small pieces that were freed, and the unused part of the stack. */
void cell_forget(void);

int cell_main(int argc, char **argv, const struct cell_program *program);

/* Sends data to the parent, and blocks until the parent took it. A parent that is gone ends the
 * process. */
void cell_data(const void *p, size_t n);
void cell_result(const void *p, size_t n);
void cell_failed(const char *text);
/* Asks the parent and waits; the answer is good until the next question. False: refused, the
 * answer says why. */
bool cell_ask(const void *p, size_t n, const char **ret_answer, size_t *ret_n);

/* Ends the process: the parent tells CELL_MEMORY. */
_Noreturn void cell_out_of_memory(void);
/* Allocates memory, or ends the process when there is none. For code without a way of its own to
 * give up. */
void *cell_alloc(size_t bytes);
void *cell_realloc(void *p, size_t bytes);
/* Reads a file into memory, at most so many bytes; a NUL stands behind them. Returns NULL when it
 * can't be read. Free it with free(). */
void *cell_read_file(int fd, size_t most, size_t *ret_n);

/* ---- walls.c ---- */

struct cell_wall_plan {
    int parent;
    unsigned memory_mib, cpu_s;
    bool refuse_files; /* with EACCES, instead of the end */
    bool threads; /* there are others than this one */
};
/* Limits, no privileges, no descriptors but 0 to 2, then the filter of system calls. False with
 * errno: the process must end. */
bool cell_walls(const struct cell_wall_plan *plan);
/* Drops all capabilities of this thread, and of those that it starts. */
bool cell_drop_capabilities(void);

#endif
