/* items.c - what validating and processing do with the items of a chunk (spec 10 sections 4
 * and 5). */
#include "batches.h"

/* Items of a chunk that are still pending, shaped. */
struct work {
    int *of; /* index in the chunk */
    wharf_str *ids;
    const wharf_json **bodies;
    size_t n;
};

static wharf_status shape_pending(
    struct batch *b, struct chunk *c, int only, enum phase_name phase, struct work *ret)
{
    size_t room = (size_t)c->size + 1, n = 0;
    const wharf_json **items = W->mem->alloc(b->req, room * sizeof(*items));
    struct shaped *shaped = W->mem->alloc(b->req, room * sizeof(*shaped));
    int *of = W->mem->alloc(b->req, room * sizeof(*of)), i = 0;
    wharf_status s;

    for (const wharf_json *e = W->json->at(c->items, 0); e && i < c->size;
         e = W->json->next(e), i++) {
        if (c->states[i] != '.' || (only >= 0 && i != only))
            continue;
        items[n] = e;
        of[n++] = i;
    }
    *ret = (struct work){.of = of,
        .ids = W->mem->alloc(b->req, room * sizeof(*ret->ids)),
        .bodies = W->mem->alloc(b->req, room * sizeof(*ret->bodies))};
    s = shape_items(b, items, n, shaped);
    for (size_t k = 0; s == WHARF_OK && k < n; k++) {
        if (shaped[k].code) {
            chunk_problem(b, c, of[k], phase == VALIDATING ? 'v' : 'e', phase, z(shaped[k].code),
                shaped[k].path, WHARF_S(""), shaped[k].message);
            continue;
        }
        ret->of[ret->n] = of[k];
        ret->ids[ret->n] = shaped[k].id;
        ret->bodies[ret->n++] = shaped[k].body;
    }
    return s;
}

/* Takes the refused items out: they are over, the others stay. */
static void take_refused(struct batch *b, struct chunk *c, struct work *w, const wharf_many *many)
{
    size_t left = 0;

    for (size_t i = 0; i < w->n; i++) {
        if (batches_many->outcome(many, i) >= WHARF_MANY_REFUSED) {
            chunk_problems(b, c, w->of[i], 'v', VALIDATING, many, i);
            continue;
        }
        w->of[left] = w->of[i];
        w->ids[left] = w->ids[i];
        w->bodies[left++] = w->bodies[i];
    }
    w->n = left;
}

/* Finds what only the write itself would have told, without the write. */
static wharf_status try_out(struct batch *b, struct chunk *c, struct work *w)
{
    const wharf_many *many;
    wharf_status s = W->db->begin(b->req);

    if (s != WHARF_OK)
        return s;
    s = batches_kernel->apply(
        b->req, b->asked.resource.p, action_word(b->asked.action), w->ids, w->bodies, w->n, &many);
    W->db->rollback(b->req);
    if (s == WHARF_OK)
        take_refused(b, c, w, many);
    return s;
}

wharf_status validate_chunk(struct batch *b, struct chunk *c)
{
    const wharf_many *many;
    struct work w;
    wharf_status s = shape_pending(b, c, -1, VALIDATING, &w);

    if (s == WHARF_OK && w.n) {
        s = batches_kernel->check(
            b->req, b->asked.resource.p, action_word(b->asked.action), w.ids, w.bodies, w.n, &many);
        if (s == WHARF_OK)
            take_refused(b, c, &w, many);
    }
    if (s == WHARF_OK && w.n && b->asked.validate_only)
        s = try_out(b, c, &w);
    c->stage = 1;
    return s;
}

static char letter_of(wharf_str operation)
{
    return is(operation, "created")       ? 'c'
           : is(operation, "overwritten") ? 'o'
           : is(operation, "deleted")     ? 'd'
           : is(operation, "unchanged")   ? 'n'
                                          : 'u';
}

wharf_status process_chunk(struct batch *b, struct chunk *c, int only)
{
    const wharf_many *many;
    size_t before = batches_kernel->events(b->req);
    struct work w;
    wharf_status s = shape_pending(b, c, only, PROCESSING, &w);

    if (s == WHARF_OK && w.n)
        s = batches_kernel->apply(
            b->req, b->asked.resource.p, action_word(b->asked.action), w.ids, w.bodies, w.n, &many);
    for (size_t i = 0; s == WHARF_OK && i < w.n; i++) {
        if (batches_many->outcome(many, i) >= WHARF_MANY_REFUSED) {
            chunk_problems(b, c, w.of[i], 'e', PROCESSING, many, i);
            continue;
        }
        c->states[w.of[i]] = letter_of(batches_kernel->operation(many, i));
        c->ids[w.of[i]] = batches_many->id(many, i);
    }
    c->events += batches_kernel->events(b->req) - before;
    if (only < 0)
        c->stage = 2;
    return s;
}
