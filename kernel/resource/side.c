/* side.c - what a write and its hooks tell each other beside the body (hooks.h;
 * docs/reference/plugin-abi.md section 6 'Context'). */
#include <string.h>

#include "resource/write.h"

struct write_scratch {
    struct write_scratch *next;
    const void *kind;
    size_t size;
    void *memory;
};

void *side_context(const struct wharf_rec *rec, const void *kind)
{
    return rec && rec->side && kind && rec->side->kind == kind ? rec->side->context : NULL;
}

/* Returns the memory of a kind in a list, which it is added to when it is not there. */
static void *memory_in(struct write_scratch **list, struct arena *a, const void *kind, size_t size)
{
    struct write_scratch *s;

    for (s = *list; s; s = s->next) {
        if (s->kind == kind && s->size == size)
            return s->memory;
    }
    s = ARENA_NEW(a, struct write_scratch);
    *s = (struct write_scratch){*list, kind, size, arena_alloc(a, size)};
    memset(s->memory, 0, size);
    *list = s;
    return s->memory;
}

void *side_scratch(const struct wharf_rec *rec, const void *kind, size_t size)
{
    return rec && rec->side ? memory_in(&rec->side->scratch, rec->arena, kind, size) : NULL;
}

void *side_shared(const struct wharf_rec *rec, const void *kind, size_t size)
{
    struct write_side *side = rec ? rec->side : NULL;

    if (!side)
        return NULL;
    return memory_in(side->shared ? side->shared : &side->own_shared, rec->arena, kind, size);
}

void write_side_begin(struct wharf_req *req, struct write *w)
{
    w->side = NULL;
    if (!w->res->n_hooks)
        return;
    w->side = ARENA_NEW(req->arena, struct write_side);
    *w->side = (struct write_side){.kind = w->kind, .context = w->context};
}

struct wharf_rec *write_rec(const struct write *w, struct wharf_rec *rec)
{
    if (rec)
        rec->side = w->side;
    return rec;
}
