/* out.c - see out.h. */
#include "resource/out.h"

static void free_out(void *arg)
{
    struct wharf_out *o = arg;

    buf_done(&o->buf);
}

struct wharf_out *out_new(struct arena *a)
{
    struct wharf_out *o = ARENA_NEW(a, struct wharf_out);

    buf_init(&o->buf, 64 << 20);
    jw_init(&o->own, &o->buf);
    o->w = &o->own;
    arena_on_free(a, free_out, o);
    return o;
}

wharf_str out_text(const struct wharf_out *o)
{
    return buf_str(&o->buf);
}

struct wharf_out *out_of_request(struct wharf_req *req)
{
    struct wharf_out *o = ARENA_NEW(req->arena, struct wharf_out);

    o->w = &req->reply.w;
    return o;
}
