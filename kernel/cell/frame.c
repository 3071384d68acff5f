/* frame.c - see frame.h. */
#include "cell/frame.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096, KEEP_ROOM = 256 << 10 };

void frame_reader_init(struct frame_reader *r, uint32_t max)
{
    *r = (struct frame_reader){.max = max < FRAME_MAX ? max : FRAME_MAX};
}

void frame_reader_done(struct frame_reader *r)
{
    free(r->p);
    *r = (struct frame_reader){.max = r->max};
}

/* Forgets what was read; gives back a buffer that one large frame made. */
static void compact(struct frame_reader *r)
{
    if (r->at == r->n) {
        r->at = r->n = 0;
        if (r->cap > KEEP_ROOM) {
            free(r->p);
            r->p = NULL;
            r->cap = 0;
        }
    } else if (r->at > 0 && r->cap - r->n < r->cap / 4) {
        memmove(r->p, r->p + r->at, r->n - r->at);
        r->n -= r->at;
        r->at = 0;
    }
}

char *frame_reader_room(struct frame_reader *r, size_t *ret_n)
{
    compact(r);
    if (r->cap - r->n < FIRST_ROOM / 2) {
        size_t cap = r->cap ? 2 * r->cap : FIRST_ROOM;
        char *p = realloc(r->p, cap);

        if (!p)
            return NULL;
        r->p = p;
        r->cap = cap;
    }
    *ret_n = r->cap - r->n;
    return r->p + r->n;
}

void frame_reader_got(struct frame_reader *r, size_t n)
{
    r->n += n;
}

int frame_reader_next(struct frame_reader *r, struct frame *ret_frame)
{
    size_t have = r->n - r->at;

    if (have < sizeof(struct frame_head))
        return 0;
    memcpy(&ret_frame->head, r->p + r->at, sizeof(struct frame_head));
    if (ret_frame->head.size > r->max || ret_frame->head.type < FRAME_HELLO ||
        ret_frame->head.type > FRAME_AHEAD || ret_frame->head.fds > FRAME_FDS_MAX)
        return -1;
    if (have - sizeof(struct frame_head) < ret_frame->head.size)
        return 0;
    ret_frame->payload = r->p + r->at + sizeof(struct frame_head);
    r->at += sizeof(struct frame_head) + ret_frame->head.size;
    return 1;
}
