/* groups.c - rows of a file that are one item together: {"by": "location_id", "into": "layouts"}
 * of a definition (spec 10 section 9.1). */
#include <stdlib.h>

#include "batches.h"
#include "batches.gen.h"

enum { ROWS_PAUSE = 4000 }; /* so many are read between two signs of life */

struct group {
    wharf_str by;
    int64_t line; /* of its first row */
    const wharf_json *whole; /* an item that the file had as such; or NULL: made of rows */
    wharf_out *members; /* the array, open */
    size_t n;
    wharf_str code, path, message; /* what is wrong with the first bad row of it, or "" */
};

struct groups {
    struct group *all;
    size_t n, cap;
    struct keys *known; /* index by value of the field */
    wharf_str by_field, into;
};

static struct group *new_group(struct batch *b, struct groups *g, int64_t line)
{
    const wharf_str none = WHARF_S("");

    if (g->n == g->cap) {
        struct group *wider = W->mem->alloc(b->req, (2 * g->cap + 16) * sizeof(*wider));

        if (g->n)
            memcpy(wider, g->all, g->n * sizeof(*wider));
        g->all = wider;
        g->cap = 2 * g->cap + 16;
    }
    g->all[g->n] = (struct group){
        .by = none, .line = line, .code = none, .path = none, .message = none};
    return &g->all[g->n++];
}

/* Finds or adds a group. Returns NULL when there is no memory for one more. */
static struct group *groups_group_of(struct batch *b, struct groups *g, wharf_str by, int64_t line)
{
    int64_t at = keys_meet(g->known, 0, by, (uint32_t)g->n);
    struct group *to;

    if (at >= 0)
        return &g->all[at];
    if (at != -1)
        return NULL;
    to = new_group(b, g, line);
    to->by = W->mem->dup(b->req, by.p, by.n);
    to->members = W->json->writer(b->req);
    W->json->open(to->members, NULL, '[');
    return to;
}

/* Takes the first bad row of a group as what is wrong with it: a group is written whole or not at
 * all. */
static void take_row_error(
    struct batch *b, const struct groups *g, struct group *to, const struct rows *rows, size_t i)
{
    wharf_str path = rows->paths[i];

    if (to->code.n || !rows->codes[i].n)
        return;
    to->code = rows->codes[i];
    to->path = path.n && same(path, g->by_field) ? g->by_field
                                                 : W->mem->format(b->req, "%s.%zu%s%s", g->into.p,
                                                       to->n - 1, path.n ? "." : "", path.p);
    to->message = W->mem->format(
        b->req, "Row %lld: %s", (long long)rows->lines[i], rows->messages[i].p);
}

/* Adds an item that the file has as such; what is no object is told when it is taken in. */
static void add_whole(struct batch *b, struct groups *g, const struct rows *rows, size_t i)
{
    struct group *to = new_group(b, g, rows->lines[i]);

    to->whole = rows->items[i];
    to->code = rows->codes[i];
    to->path = rows->paths[i];
    to->message = rows->messages[i];
}

static wharf_status groups_add_row(
    struct batch *b, struct groups *g, const struct rows *rows, size_t i, bool json)
{
    const wharf_json *row = rows->items[i];
    struct group *to;

    if (json && (W->json->type(row) != WHARF_J_OBJECT || W->json->get(row, g->into.p))) {
        add_whole(b, g, rows, i);
        return WHARF_OK;
    }
    to = groups_group_of(b, g, json_text(row, g->by_field.p), rows->lines[i]);
    if (!to)
        return W->err->fail(b->req, ERR_OVERLOADED, NULL, NULL);
    to->n++;
    W->json->open(to->members, NULL, '{');
    for (const wharf_json *m = W->json->at(row, 0); m; m = W->json->next(m)) {
        if (!same(W->json->key(m), g->by_field))
            W->json->put(to->members, W->json->key(m).p, val_json(m));
    }
    W->json->close(to->members);
    take_row_error(b, g, to, rows, i);
    return WHARF_OK;
}

/* Adds rows. What names stand for is looked up first: rows belong together by the record, however
 * each of them names it. */
static wharf_status groups_add_rows(struct batch *b, struct groups *g, struct rows *rows, bool json)
{
    wharf_status s = names_resolve(
        b, rows->items, rows->n, rows->codes, rows->paths, rows->messages);

    for (size_t i = 0; s == WHARF_OK && i < rows->n; i++)
        s = groups_add_row(b, g, rows, i, json);
    rows->n = rows->weight = 0;
    return s;
}

/* ---- items ---- */

static wharf_status item_of(
    struct batch *b, struct groups *g, const struct group *from, const wharf_json **ret)
{
    wharf_out *out;
    const wharf_json *members;
    wharf_status s;

    *ret = from->whole;
    if (from->whole)
        return WHARF_OK;
    out = W->json->builder(b->req);
    W->json->close(from->members);
    s = W->json->parse(b->req, W->json->result_text(from->members), &members);
    W->json->open(out, NULL, '{');
    if (from->by.n)
        W->json->put(out, g->by_field.p, val_text(from->by));
    if (s == WHARF_OK)
        W->json->put(out, g->into.p, val_json(members));
    W->json->close(out);
    return s == WHARF_OK ? W->json->result(b->req, out, ret) : s;
}

static wharf_status add_items(struct batch *b, struct groups *g, struct filling *f)
{
    wharf_status s = WHARF_OK;

    for (size_t i = 0; s == WHARF_OK && i < g->n; i++) {
        const struct group *from = &g->all[i];
        const wharf_json *item;

        filling_open(b->req, f);
        s = item_of(b, g, from, &item);
        if (s == WHARF_OK)
            s = intake_add(f->in, item, from->line, from->code, from->path, from->message);
        if (s == WHARF_OK && intake_full(f->in))
            s = filling_close(b, f);
    }
    return s == WHARF_OK ? filling_close(b, f) : s;
}

static wharf_status groups_read_rows(
    struct batch *b, struct groups *g, wharf_import *file, uint32_t *ret_event)
{
    struct rows *rows = W->mem->alloc(b->req, sizeof(*rows));
    bool json = is(batches_files->info(file, "format"), "json");
    size_t n = 0;
    wharf_status s = WHARF_OK;

    while (s == WHARF_OK && (*ret_event = batches_files->next(file)) == WHARF_IMPORT_ROW) {
        s = rows_read(b->req, file, rows);
        if (s == WHARF_OK && ++n > (size_t)batches_limits.items)
            s = source_wrong(
                b, ERR_BATCH_TOO_MANY_ITEMS, "data", WHARF_S("The file has too many rows"));
        if (s == WHARF_OK && rows_full(rows))
            s = groups_add_rows(b, g, rows, json);
        if (s == WHARF_OK && n % ROWS_PAUSE == 0)
            s = source_pause(b);
    }
    return s == WHARF_OK ? groups_add_rows(b, g, rows, json) : s;
}

wharf_status groups_take(
    struct batch *b, struct filling *f, wharf_import *file, uint32_t *ret_event)
{
    const wharf_json *group = block_member(b->block, "group");
    struct groups g = {
        .known = keys_new(), .by_field = json_text(group, "by"), .into = json_text(group, "into")};
    wharf_status s;

    if (!g.known)
        return W->err->fail(b->req, ERR_OVERLOADED, NULL, NULL);
    s = groups_read_rows(b, &g, file, ret_event);
    keys_free(g.known);
    return s == WHARF_OK && *ret_event == WHARF_IMPORT_END ? add_items(b, &g, f) : s;
}

/* ---- the other way ---- */

static wharf_status groups_row_of(struct batch *b, const wharf_json *item, wharf_str by,
    const wharf_json *member, const wharf_json **ret)
{
    wharf_out *out = W->json->builder(b->req);

    W->json->open(out, NULL, '{');
    if (W->json->get(item, by.p))
        W->json->put(out, by.p, val_json(W->json->get(item, by.p)));
    for (const wharf_json *m = W->json->type(member) == WHARF_J_OBJECT ? W->json->at(member, 0)
                                                                       : NULL;
         m; m = W->json->next(m)) {
        if (!same(W->json->key(m), by))
            W->json->put(out, W->json->key(m).p, val_json(m));
    }
    W->json->close(out);
    return W->json->result(b->req, out, ret);
}

wharf_status groups_rows(
    struct batch *b, const wharf_json *item, const wharf_json ***ret_rows, size_t *ret_n)
{
    const wharf_json *group = block_member(b->block, "group");
    wharf_str into = group ? json_text(group, "into") : WHARF_S("");
    const wharf_json *list = group && W->json->type(item) == WHARF_J_OBJECT
                                 ? W->json->get(item, into.p)
                                 : NULL;
    size_t n = list && W->json->type(list) == WHARF_J_ARRAY ? W->json->count(list) : 0;
    wharf_status s = WHARF_OK;

    *ret_rows = W->mem->alloc(b->req, (n + 1) * sizeof(wharf_json *));
    *ret_n = 0;
    for (const wharf_json *e = n ? W->json->at(list, 0) : NULL; e && s == WHARF_OK;
         e = W->json->next(e))
        s = groups_row_of(b, item, json_text(group, "by"), e, &(*ret_rows)[(*ret_n)++]);
    if (!n)
        (*ret_rows)[(*ret_n)++] = item;
    return s;
}
