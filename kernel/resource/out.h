/* out.h - a JSON writer as plugins see it: into an answer, into a text of its own, or a value that
 * is built without a text (json.h). */
#ifndef WHARF_RESOURCE_OUT_H
#define WHARF_RESOURCE_OUT_H

#include "resource/record.h"
#include "resource/request.h"

/* A handle of plugins: JSON text is written, or a value is built. */
struct wharf_out {
    struct jw *w; /* NULL: a value is built */
    struct json_build *build;
    struct jw own;
    struct buf buf;
    char closers[72]; /* what close() must write, by depth */
    unsigned depth;
};

/* Makes a writer with a text of its own, which lives as long as the arena. */
struct wharf_out *out_new(struct arena *a);
/* Makes a writer that builds a value, without a text in between. */
struct wharf_out *out_build_new(struct arena *a);
/* Returns the text that was written so far; valid until more is written. "" for nothing, and where
 * a value is built. */
wharf_str out_text(const struct wharf_out *o);
/* Writes a record as record_encode() does, or adds it to the value that is built. */
void out_record(struct wharf_out *o, const char *key, struct arena *a, const struct wharf_rec *rec,
    const struct view *view);
/* Makes a writer into the answer of the request. */
struct wharf_out *out_of_request(struct wharf_req *req);

#endif
