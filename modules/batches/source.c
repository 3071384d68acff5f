/* source.c - where items come from: the array of the request, a file, a batch that is tried again. */
#include "batches.h"

static wharf_status too_many(struct batch *b, size_t most)
{
    return W->err->fail(b->req, "batch.too_many_items", "data", "A batch has at most %zu items in this form", most);
}

static wharf_status take_array(struct batch *b, struct intake *in)
{
    const wharf_str none = WHARF_S("");
    wharf_status s = W->json->count(b->array) > ARRAY_MAX ? too_many(b, ARRAY_MAX) : WHARF_OK;

    for (const wharf_json *e = W->json->at(b->array, 0); e && s == WHARF_OK; e = W->json->next(e))
        s = intake_add(in, e, 0, none, none, none);
    return s;
}

wharf_status source_parse(struct batch *b)
{
    struct intake *in = intake_begin(b);
    wharf_status s = in ? take_array(b, in) : WHARF_UNAVAILABLE;

    if (s == WHARF_OK)
        s = intake_end(in);
    intake_free(in);
    return s;
}
