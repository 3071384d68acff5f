/* groups.c - rows of a file that are one item together: {"by": "location_id", "into": "layouts"} of a definition (spec 10 section 9.1). */
#include <stdlib.h>

#include "batches.h"

struct group {
    wharf_str by;
    int64_t line; /* of its first row */
    wharf_out *members; /* the array, open */
    size_t n;
};

struct groups {
    struct group *all;
    size_t n, cap;
    wharf_str by_field, into;
};

static struct group *group_of(struct batch *b, struct groups *g, wharf_str by, int64_t line)
{
    for (size_t i = 0; i < g->n; i++) {
        if (same(g->all[i].by, by))
            return &g->all[i];
    }
    if (g->n == g->cap) {
        struct group *wider = W->mem->alloc(b->req, (2 * g->cap + 16) * sizeof(*wider));

        if (g->n)
            memcpy(wider, g->all, g->n * sizeof(*wider));
        g->all = wider;
        g->cap = 2 * g->cap + 16;
    }
    g->all[g->n] = (struct group){W->mem->dup(b->req, by.p, by.n), line, W->json->writer(b->req), 0};
    W->json->open(g->all[g->n].members, NULL, '[');
    return &g->all[g->n++];
}

static void add_row(struct batch *b, struct groups *g, const wharf_json *row, int64_t line)
{
    struct group *to = group_of(b, g, json_text(row, g->by_field.p), line);

    to->n++;
    W->json->open(to->members, NULL, '{');
    for (const wharf_json *m = W->json->at(row, 0); m; m = W->json->next(m)) {
        if (!same(W->json->key(m), g->by_field))
            W->json->put(to->members, W->json->key(m).p, val_json(m));
    }
    W->json->close(to->members);
}

static wharf_status add_item(struct batch *b, struct groups *g, const struct group *from, struct intake *in)
{
    const wharf_str none = WHARF_S("");
    wharf_scope *scope = W->mem->scope_begin(b->req);
    wharf_out *out = W->json->writer(b->req);
    const wharf_json *members, *item;
    wharf_status s;

    W->json->close(from->members);
    s = W->json->parse(b->req, W->json->result_text(from->members), &members);
    W->json->open(out, NULL, '{');
    if (from->by.n)
        W->json->put(out, g->by_field.p, val_text(from->by));
    if (s == WHARF_OK)
        W->json->put(out, g->into.p, val_json(members));
    W->json->close(out);
    if (s == WHARF_OK)
        s = W->json->result(b->req, out, &item);
    if (s == WHARF_OK)
        s = intake_add(in, item, from->line, none, none, none);
    if (s == WHARF_OK)
        s = intake_flush(in);
    W->mem->scope_end(b->req, scope);
    return s;
}

wharf_status groups_take(struct batch *b, struct intake *in, wharf_import *file, uint32_t *ret_event)
{
    const wharf_json *group = block_member(b->block, "group");
    struct groups g = {.by_field = json_text(group, "by"), .into = json_text(group, "into")};
    size_t rows = 0;
    wharf_status s = WHARF_OK;

    while (s == WHARF_OK && (*ret_event = batches_files->next(file)) == WHARF_IMPORT_ROW) {
        const wharf_json *row;

        s = batches_files->object(b->req, file, &row);
        if (s == WHARF_OK && ++rows > (size_t)batches_limits.items)
            s = source_wrong(b, "batch.too_many_items", "data", WHARF_S("The file has too many rows"));
        if (s == WHARF_OK)
            add_row(b, &g, row, (int64_t)batches_files->row(file));
    }
    for (size_t i = 0; s == WHARF_OK && *ret_event == WHARF_IMPORT_END && i < g.n; i++)
        s = add_item(b, &g, &g.all[i], in);
    return s;
}
