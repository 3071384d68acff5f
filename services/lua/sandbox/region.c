/* region.c - see region.h. Blocks up to SMALL bytes are cut from chunks, and kept by size when
 * they are freed; larger ones are malloc's, in a list, so that they can be forgotten too. */
#include "lua/sandbox/region.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 16, SMALL = 1024, CHUNK = 256 << 10, KEPT_CHUNKS = 4 };

struct block {
    struct block *next;
};

struct chunk {
    struct chunk *next;
    _Alignas(STEP) char bytes[];
};

struct links {
    struct links *next, *before;
};

struct large {
    struct links at;
    _Alignas(STEP) char bytes[];
};

struct region {
    char *at, *end; /* what is left of the chunk in use */
    struct chunk *first, *last, *used; /* those up to the one in use have blocks */
    struct links large; /* head of a ring */
    struct block *freed[SMALL / STEP]; /* by size */
};

struct region *region_new(void)
{
    struct region *g = calloc(1, sizeof(*g));

    if (g)
        g->large.next = g->large.before = &g->large;
    return g;
}

static struct block **freed_of(struct region *g, size_t size)
{
    return &g->freed[(size - 1) / STEP];
}

static bool next_chunk(struct region *g)
{
    struct chunk *c = g->used ? g->used->next : g->first;

    if (!c) {
        c = malloc(CHUNK);
        if (!c)
            return false;
        c->next = NULL;
        *(g->last ? &g->last->next : &g->first) = c;
        g->last = c;
    }
    g->used = c;
    g->at = c->bytes;
    g->end = (char *)c + CHUNK;
    return true;
}

static void *small_new(struct region *g, size_t size)
{
    struct block **list = freed_of(g, size), *b = *list;
    size_t whole = (size + STEP - 1) / STEP * STEP;

    if (b) {
        *list = b->next;
        return b;
    }
    if ((size_t)(g->end - g->at) < whole && !next_chunk(g))
        return NULL;
    g->at += whole;
    return g->at - whole;
}

static void *large_new(struct region *g, size_t size)
{
    struct large *l = size < SIZE_MAX - sizeof(*l) ? malloc(sizeof(*l) + size) : NULL;

    if (!l)
        return NULL;
    l->at = (struct links){g->large.next, &g->large};
    l->at.next->before = l->at.before->next = &l->at;
    return l->bytes;
}

static struct large *large_of(void *p)
{
    return (struct large *)((char *)p - offsetof(struct large, bytes));
}

static void *large_resized(void *p, size_t size)
{
    struct large *l = size < SIZE_MAX - sizeof(*l) ? realloc(large_of(p), sizeof(*l) + size) : NULL;

    if (!l)
        return NULL;
    l->at.next->before = l->at.before->next = &l->at;
    return l->bytes;
}

static void block_free(struct region *g, void *p, size_t size)
{
    if (size > SMALL) {
        struct large *l = large_of(p);

        l->at.before->next = l->at.next;
        l->at.next->before = l->at.before;
        free(l);
    } else {
        struct block *b = p;

        b->next = *freed_of(g, size);
        *freed_of(g, size) = b;
    }
}

void *region_allocate(struct region *g, void *p, size_t old_size, size_t size)
{
    void *to;

    if (!size) {
        if (p)
            block_free(g, p, old_size);
        return NULL;
    }
    if (p && old_size > SMALL && size > SMALL)
        return large_resized(p, size);
    if (p && old_size <= SMALL && size <= SMALL && (old_size - 1) / STEP == (size - 1) / STEP)
        return p;
    to = size > SMALL ? large_new(g, size) : small_new(g, size);
    if (to && p) {
        memcpy(to, p, old_size < size ? old_size : size);
        block_free(g, p, old_size);
    }
    return to;
}

/* Frees the chunks behind this one; NULL: all. */
static void free_chunks(struct region *g, struct chunk *last)
{
    struct chunk **at = last ? &last->next : &g->first, *c = *at, *next;

    for (; c; c = next) {
        next = c->next;
        free(c);
    }
    *at = NULL;
    g->last = last;
}

void region_forget(struct region *g)
{
    struct chunk *kept = g->first;

    for (struct links *l = g->large.next, *next; l != &g->large; l = next) {
        next = l->next;
        free(l); /* the first member of its block */
    }
    g->large.next = g->large.before = &g->large;
    memset(g->freed, 0, sizeof(g->freed));
    g->at = g->end = NULL;
    g->used = NULL;
    for (int i = 1; kept && kept->next && i < KEPT_CHUNKS; i++)
        kept = kept->next;
    free_chunks(g, kept);
}

void region_free(struct region *g)
{
    if (!g)
        return;
    region_forget(g);
    free_chunks(g, NULL);
    free(g);
}
