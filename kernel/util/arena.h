/* arena.h - memory that dies as a whole.
 *
 * Bump allocation in blocks that double from 16 KiB to 1 MiB. Nothing is freed one by one;
 * release functions run last-in
 * first-out when the arena ends. Allocation never returns NULL: while the arena holds more than
 * its budget it is `poisoned`,
 * and memory is still handed out, so that code unwinds by its own error paths. Whoever allocates
 * in a loop whose length comes from outside asks arena_poisoned() in it; request_run() refuses a
 * request whose arena is poisoned before anything is written. A process that
 * has no memory at all ends.
 * Source: docs/reference/plugin-abi.md section 8, 'Request arena'. One arena belongs to one thread
 * at a time. */
#ifndef WHARF_UTIL_ARENA_H
#define WHARF_UTIL_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/memory.h"
#include "wharf/plugin.h"

struct arena;
struct arena_mark {
    void *block;
    size_t used;
    void *releases;
};

/* Makes an arena. budget in bytes; 0 means none. Never returns NULL. */
struct arena *arena_new(size_t budget);
/* Makes an arena for what stays small and lives long: the first block has room for this many
 * bytes. It has no budget. */
struct arena *arena_small(size_t bytes);
/* Counts what the arena has, and will have, for another owner than MEMORY_REQUESTS. */
void arena_belongs(struct arena *a, enum memory_owner owner);
/* Runs the release functions, frees everything. NULL is accepted. */
void arena_free(struct arena *a);
/* Calls, each once, what may use more than the arena itself (arena_on_release, arena_on_end). The
 * memory, and what only gives memory back, stay until arena_free(). */
void arena_end(struct arena *a);
/* Frees everything as arena_free does, but keeps the first block for the next user. */
void arena_reset(struct arena *a);

/* Allocates memory: zeroed, 16-byte aligned, never NULL. */
void *arena_alloc(struct arena *a, size_t bytes);
/* Allocates memory that the budget does not count, freed like the rest: for what has a limit of
 * its own, as bodies have. It is not zeroed. */
void *arena_alloc_apart(struct arena *a, size_t bytes);
/* Allocates count zeroed elements; checks the product for overflow. */
void *arena_alloc_array(struct arena *a, size_t count, size_t size);
#define ARENA_NEW(a, type)      ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc_array((a), (n), sizeof(type)))

/* Frees what malloc() gave with the arena; it is counted as what arena_alloc_apart() made. NULL is
 * accepted. */
void arena_keep_apart(struct arena *a, void *p);

/* Makes a NUL-terminated copy in the arena. */
wharf_str arena_dup(struct arena *a, const char *p, size_t n);
wharf_str arena_dup_str(struct arena *a, wharf_str s);
wharf_str arena_dupz(struct arena *a, const char *z);
wharf_str arena_printf(struct arena *a, const char *fmt, ...) WHARF_PRINTF(2, 3);
wharf_str arena_vprintf(struct arena *a, const char *fmt, va_list ap) WHARF_PRINTF(2, 0);

/* Calls fn when the arena is rewound to a mark before this, ended or freed. */
void arena_on_release(struct arena *a, void (*fn)(void *arg), void *arg);
/* Registers an fn that only gives memory back in the same way: it may run after arena_end(), on
 * another thread. */
void arena_on_free(struct arena *a, void (*fn)(void *arg), void *arg);
/* Calls fn when the arena is ended or freed, also when this was registered inside of a mark: for
 * what outlives the piece of work that made it. arg is not allocated in the arena. */
void arena_on_end(struct arena *a, void (*fn)(void *arg), void *arg);
/* Sets a mark: what is allocated (and registered) after it goes at arena_rewind. */
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark mark);

/* Gives whole pages of the last block that nothing was allocated in back to the system. For
 * requests that will wait. */
void arena_trim(struct arena *a);

/* Tells whether the arena holds more than its budget now. */
bool arena_poisoned(const struct arena *a);
size_t arena_used(const struct arena *a);
/* Returns the bytes that arenas of this process freed a megabyte or more at a time, since it was
 * asked last: the C library keeps them unless malloc_trim() is called. [any] */
size_t arena_take_freed(void);

#endif
