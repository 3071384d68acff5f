/* arena.c - see arena.h. Leaves to others: what is put in it. */
#include "util/arena.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_BLOCK = 16 * 1024, MAX_BLOCK = 1024 * 1024, ALIGN = 16 };

struct block {
    struct block *prev;
    size_t size, used; /* of data */
    _Alignas(ALIGN) char data[];
};

struct release {
    struct release *prev;
    void (*fn)(void *arg);
    void *arg;
    bool memory; /* arena_on_free() */
};

struct arena {
    struct block *top;
    struct release *releases, *ends; /* the second are malloc()ed */
    size_t budget, total, next_size;
    enum memory_owner owner;
};

static struct block *block_new(size_t size)
{
    struct block *b = malloc(sizeof(*b) + size);

    if (!b) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    b->prev = NULL;
    b->size = size;
    b->used = 0;
    return b;
}

static struct arena *arena_of(size_t budget, size_t first)
{
    struct arena *a = calloc(1, sizeof(*a));

    if (!a) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    a->budget = budget;
    a->top = block_new(first);
    a->total = first;
    a->owner = MEMORY_REQUESTS;
    memory_add(a->owner, (int64_t)first);
    a->next_size = FIRST_BLOCK * 2;
    return a;
}

struct arena *arena_new(size_t budget)
{
    return arena_of(budget, FIRST_BLOCK);
}

struct arena *arena_small(size_t bytes)
{
    return arena_of(0, bytes);
}

void arena_belongs(struct arena *a, enum memory_owner owner)
{
    memory_add(a->owner, -(int64_t)a->total);
    a->owner = owner;
    memory_add(owner, (int64_t)a->total);
}

static void run_releases(struct arena *a, const struct release *until)
{
    while (a->releases && a->releases != until) {
        struct release *r = a->releases;

        a->releases = r->prev;
        r->fn(r->arg);
    }
}

/* Calls what was registered inside of marks first: it may use what ends with the arena. */
void arena_end(struct arena *a)
{
    struct release *memory = NULL;

    while (a->releases) {
        struct release *r = a->releases;

        a->releases = r->prev;
        if (r->memory) {
            r->prev = memory;
            memory = r;
        } else {
            r->fn(r->arg);
        }
    }
    a->releases = memory;
    while (a->ends) {
        struct release *r = a->ends;

        a->ends = r->prev;
        r->fn(r->arg);
        free(r);
    }
}

static _Atomic size_t freed_at_once; /* bytes, by all arenas of the process */

static void drop_blocks(struct arena *a, const struct block *until)
{
    size_t before = a->total;

    while (a->top != until) {
        struct block *b = a->top;

        a->top = b->prev;
        a->total -= b->size;
        free(b);
    }
    if (before != a->total)
        memory_add(a->owner, -(int64_t)(before - a->total));
    if (before - a->total >= MAX_BLOCK)
        atomic_fetch_add_explicit(&freed_at_once, before - a->total, memory_order_relaxed);
}

size_t arena_take_freed(void)
{
    return atomic_exchange_explicit(&freed_at_once, 0, memory_order_relaxed);
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    arena_end(a);
    run_releases(a, NULL);
    drop_blocks(a, NULL);
    free(a);
}

void arena_reset(struct arena *a)
{
    struct block *first = a->top;

    arena_end(a);
    run_releases(a, NULL);
    while (first->prev)
        first = first->prev;
    drop_blocks(a, first);
    first->used = 0;
    a->next_size = FIRST_BLOCK * 2;
}

static void arena_add_block(struct arena *a, size_t need)
{
    size_t size = a->next_size;
    struct block *b;

    if (size < need)
        size = need;
    if (a->budget && a->total + size > a->budget)
        size = need > FIRST_BLOCK ? need : FIRST_BLOCK;
    b = block_new(size);
    b->prev = a->top;
    a->top = b;
    a->total += size;
    memory_add(a->owner, (int64_t)size);
    if (a->next_size < MAX_BLOCK)
        a->next_size *= 2;
}

/* Returns bytes that are not set to anything. */
static void *arena_alloc_unset(struct arena *a, size_t bytes)
{
    size_t need = (bytes + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
    void *p;

    if (need < bytes) {
        fputs("wharf: allocation size overflow\n", stderr);
        abort();
    }
    if (a->top->size - a->top->used < need)
        arena_add_block(a, need);
    p = a->top->data + a->top->used;
    a->top->used += need;
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    return memset(arena_alloc_unset(a, bytes), 0, bytes);
}

static void free_apart(void *p)
{
    memory_add(MEMORY_BODIES, -(int64_t)malloc_usable_size(p));
    free(p);
}

void arena_keep_apart(struct arena *a, void *p)
{
    if (!p)
        return;
    memory_add(MEMORY_BODIES, (int64_t)malloc_usable_size(p));
    arena_on_free(a, free_apart, p);
}

void *arena_alloc_apart(struct arena *a, size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    if (!p) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    arena_keep_apart(a, p);
    return p;
}

void *arena_alloc_array(struct arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size) {
        fputs("wharf: allocation size overflow\n", stderr);
        abort();
    }
    return arena_alloc(a, count * size);
}

wharf_str arena_dup(struct arena *a, const char *p, size_t n)
{
    char *copy = arena_alloc_unset(a, n + 1);

    if (n)
        memcpy(copy, p, n);
    copy[n] = 0;
    return (wharf_str){copy, n};
}

wharf_str arena_dup_str(struct arena *a, wharf_str s)
{
    return arena_dup(a, s.p, s.n);
}

wharf_str arena_dupz(struct arena *a, const char *z)
{
    return arena_dup(a, z, strlen(z));
}

wharf_str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    char *p;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        n = 0;
    p = arena_alloc_unset(a, (size_t)n + 1);
    p[0] = 0; /* also when the format is refused */
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return (wharf_str){p, (size_t)n};
}

wharf_str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    wharf_str s;

    va_start(ap, fmt);
    s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

void arena_on_release(struct arena *a, void (*fn)(void *arg), void *arg)
{
    struct release *r = ARENA_NEW(a, struct release);

    *r = (struct release){.prev = a->releases, .fn = fn, .arg = arg};
    a->releases = r;
}

void arena_on_free(struct arena *a, void (*fn)(void *arg), void *arg)
{
    arena_on_release(a, fn, arg);
    a->releases->memory = true;
}

void arena_on_end(struct arena *a, void (*fn)(void *arg), void *arg)
{
    struct release *r = malloc(sizeof(*r));

    if (!r) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    *r = (struct release){.prev = a->ends, .fn = fn, .arg = arg};
    a->ends = r;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){a->top, a->top->used, a->releases};
}

void arena_rewind(struct arena *a, struct arena_mark mark)
{
    run_releases(a, mark.releases);
    drop_blocks(a, mark.block);
    a->top->used = mark.used;
}

void arena_trim(struct arena *a)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)a->top->data + a->top->used + page - 1) & ~(page - 1);
    uintptr_t to = ((uintptr_t)a->top->data + a->top->size) & ~(page - 1);

    if (from < to)
        madvise((void *)from, to - from, MADV_DONTNEED); /* inside the block, so nobody else's */
}

bool arena_poisoned(const struct arena *a)
{
    return a->budget && a->total > a->budget;
}

size_t arena_used(const struct arena *a)
{
    return a->total;
}
