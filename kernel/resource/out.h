/* out.h - a JSON writer as plugins see it: into an answer, or into a text of its own. */
#ifndef WHARF_RESOURCE_OUT_H
#define WHARF_RESOURCE_OUT_H

#include "resource/request.h"

struct wharf_out { /* handle: a JSON writer */
    struct jw *w;
    struct jw own;
    struct buf buf;
    char closers[72]; /* what close() must write, by depth */
    unsigned depth;
};

/* Makes a writer with a text of its own, which lives as long as the arena. */
struct wharf_out *out_new(struct arena *a);
/* Returns what was written so far; valid until more is written. */
wharf_str out_text(const struct wharf_out *o);
/* Makes a writer into the answer of the request. */
struct wharf_out *out_of_request(struct wharf_req *req);

#endif
