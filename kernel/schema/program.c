/* program.c - matches compiled patterns, see schema.h. Leaves to others: compiling them
 * (pattern.c).
 *
 * All threads of the program run side by side, one code point at a time; a thread is only its
 * place, and each place is taken once per code point. No heap: the lists stand on the stack,
 * about 40 KiB for the largest program. */
#include "schema/program.h"
#include "util/str.h"

struct threads {
    uint16_t at[PROGRAM_MAX];
    size_t n;
};

struct run {
    const struct pattern *p;
    struct threads lists[2];
    uint32_t seen[PROGRAM_MAX]; /* step in which the place was taken last */
    uint16_t stack[PROGRAM_MAX];
    uint32_t step;
    bool matched;
};

enum { NOTHING = UINT32_MAX }; /* before the first and after the last character */

static bool program_is_word(uint32_t cp)
{
    return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || cp == '_' ||
           (cp >= 'a' && cp <= 'z');
}

static bool in_ranges(const struct instruction *i, uint32_t cp)
{
    size_t low = 0, high = i->n_ranges;

    if (cp < 128)
        return i->ascii[cp / 64] >> cp % 64 & 1;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (cp > i->ranges[middle].high)
            low = middle + 1;
        else if (cp < i->ranges[middle].low)
            high = middle;
        else
            return true;
    }
    return false;
}

static void program_push(struct run *r, size_t *top, size_t place)
{
    if (r->seen[place] != r->step) {
        r->seen[place] = r->step;
        r->stack[(*top)++] = (uint16_t)place;
    }
}

/* Adds the thread at `place` and all that follows from it without reading a character. */
static void add_thread(
    struct run *r, struct threads *list, size_t place, uint32_t before, uint32_t after)
{
    size_t top = 0;

    program_push(r, &top, place);
    while (top) {
        size_t at = r->stack[--top];
        const struct instruction *i = &r->p->program[at];
        bool edge = program_is_word(before) != program_is_word(after);

        switch (i->op) {
        case OP_RANGES:
            list->at[list->n++] = (uint16_t)at;
            break;
        case OP_SPLIT:
            program_push(r, &top, (size_t)((int64_t)at + i->or_to));
            program_push(r, &top, (size_t)((int64_t)at + i->to));
            break;
        case OP_JUMP:
            program_push(r, &top, (size_t)((int64_t)at + i->to));
            break;
        case OP_START:
            if (before == NOTHING)
                program_push(r, &top, at + 1);
            break;
        case OP_END:
            if (after == NOTHING)
                program_push(r, &top, at + 1);
            break;
        case OP_WORD_EDGE:
            if (edge)
                program_push(r, &top, at + 1);
            break;
        case OP_NO_WORD_EDGE:
            if (!edge)
                program_push(r, &top, at + 1);
            break;
        case OP_MATCH:
            r->matched = true;
            return;
        }
    }
}

static uint32_t next_char(const char **p, const char *end)
{
    uint32_t cp;
    size_t step;

    if (*p == end)
        return NOTHING;
    step = utf8_step(*p, (size_t)(end - *p), &cp);
    if (!step) {
        step = 1;
        cp = 0xFFFD;
    }
    *p += step;
    return cp;
}

size_t pattern_size(const struct pattern *p)
{
    return p->size;
}

bool pattern_match(const struct pattern *p, wharf_str text)
{
    const char *next = text.p, *end = text.p + text.n;
    uint32_t before = NOTHING, cp = next_char(&next, end);
    struct threads *now, *then;
    struct run r;

    r.p = p;
    r.step = 1;
    r.matched = false;
    memset(r.seen, 0, p->size * sizeof(r.seen[0]));
    now = &r.lists[0];
    then = &r.lists[1];
    now->n = 0;
    for (;;) {
        struct threads *swap;
        uint32_t after;

        if (before == NOTHING || !p->anchored)
            add_thread(&r, now, 0, before, cp);
        if (r.matched || cp == NOTHING || (p->anchored && !now->n))
            return r.matched;
        after = next_char(&next, end);
        r.step++;
        then->n = 0;
        for (size_t i = 0; i < now->n && !r.matched; i++)
            if (in_ranges(&p->program[now->at[i]], cp))
                add_thread(&r, then, (size_t)now->at[i] + 1, cp, after);
        if (r.matched)
            return true;
        swap = now;
        now = then;
        then = swap;
        before = cp;
        cp = after;
    }
}
