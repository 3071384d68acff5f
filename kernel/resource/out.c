/* out.c - see out.h. */
#include "resource/out.h"

enum { TEXT_MAX = 64 << 20 };

static void free_out(void *arg)
{
    struct wharf_out *o = arg;

    buf_done(&o->buf);
}

struct wharf_out *out_new(struct arena *a)
{
    struct wharf_out *o = ARENA_NEW(a, struct wharf_out);

    buf_init(&o->buf, TEXT_MAX);
    jw_init(&o->own, &o->buf);
    o->w = &o->own;
    arena_on_free(a, free_out, o);
    return o;
}

struct wharf_out *out_build_new(struct arena *a)
{
    struct wharf_out *o = out_new(a);

    o->w = NULL;
    o->build = ARENA_NEW(a, struct json_build);
    json_build_init(o->build, a);
    return o;
}

wharf_str out_text(const struct wharf_out *o)
{
    return buf_str(&o->buf);
}

void out_record(struct wharf_out *o, const char *key, struct arena *a, const struct wharf_rec *rec,
    const struct view *view)
{
    const struct wharf_json *v;
    struct json_error bad;
    struct buf text;
    struct jw w;

    if (o->w) {
        record_encode(o->w, key, a, rec, view);
        return;
    }
    buf_init(&text, TEXT_MAX);
    jw_init(&w, &text);
    record_encode(&w, NULL, a, rec, view);
    v = json_parse(a, arena_dup_str(a, buf_str(&text)), &bad);
    if (v)
        json_build_value(o->build, key, v);
    else
        o->build->wrong = bad.message;
    buf_done(&text);
}

struct wharf_out *out_of_request(struct wharf_req *req)
{
    struct wharf_out *o = ARENA_NEW(req->arena, struct wharf_out);

    o->w = &req->reply.w;
    return o;
}
