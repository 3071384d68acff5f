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

void *side_scratch(const struct wharf_rec *rec, const void *kind, size_t size)
{
    struct write_scratch *s;

    if (!rec || !rec->side)
        return NULL;
    for (s = rec->side->scratch; s; s = s->next) {
        if (s->kind == kind && s->size == size)
            return s->memory;
    }
    s = ARENA_NEW(rec->arena, struct write_scratch);
    *s = (struct write_scratch){rec->side->scratch, kind, size, arena_alloc(rec->arena, size)};
    memset(s->memory, 0, size);
    rec->side->scratch = s;
    return s->memory;
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
