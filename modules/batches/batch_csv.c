/* batch_csv.c - text in pieces into the blob store; cells of CSV, safe for spreadsheets (spec 10
 * section 10). */
#include "batches.h"

wharf_status text_begin(wharf_req *req, struct text *t)
{
    *t = (struct text){.req = req};
    t->status = batches_blob->begin(req, 0, &t->writer);
    return t->status;
}

static void batch_csv_flush(struct text *t)
{
    if (t->status == WHARF_OK && t->n)
        t->status = batches_blob->write(t->req, t->writer, t->bytes, t->n);
    t->n = 0;
}

void text_put(struct text *t, const char *p, size_t n)
{
    while (n) {
        size_t part = n < TEXT_BYTES - t->n ? n : TEXT_BYTES - t->n;

        memcpy(t->bytes + t->n, p, part);
        t->n += part;
        p += part;
        n -= part;
        if (t->n == TEXT_BYTES)
            batch_csv_flush(t);
    }
}

wharf_status text_end(
    wharf_req *req, struct text *t, const char *name, const char *type, wharf_str *ret_id)
{
    batch_csv_flush(t);
    if (t->status != WHARF_OK)
        return t->status;
    return batches_blob->finish(req, t->writer, z(name), z(type),
        W->req->now_us(req) + batches_limits.keep_days * 86400LL * 1000000, ret_id);
}

/* Tells whether a spreadsheet would take s for a formula. A sign before nothing but a number or
 * phone does no harm. */
static bool is_formula(wharf_str s)
{
    if (!s.n || !strchr("=@\t\r+-", *s.p))
        return false;
    if (*s.p != '+' && *s.p != '-')
        return true;
    for (size_t i = 1; i < s.n; i++) {
        if (!strchr("0123456789 ().-", s.p[i]) || !s.p[i])
            return true;
    }
    return false;
}

void csv_cell(struct text *t, wharf_str s, bool first)
{
    bool guard = is_formula(s), quote = guard;

    for (size_t i = 0; i < s.n && !quote; i++)
        quote = s.p[i] == '"' || s.p[i] == ',' || s.p[i] == '\n' || s.p[i] == '\r' || s.p[i] == ';';
    quote |= s.n && (*s.p == ' ' || s.p[s.n - 1] == ' ');
    if (!first)
        text_put(t, ",", 1);
    if (quote)
        text_put(t, "\"", 1);
    if (guard)
        text_put(t, "'", 1);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            text_put(t, "\"", 1);
        text_put(t, s.p + i, 1);
    }
    if (quote)
        text_put(t, "\"", 1);
}

void csv_end(struct text *t)
{
    text_put(t, "\r\n", 2);
}

/* ---- objects as rows ---- */

static bool batch_csv_is_plain(const wharf_json *v)
{
    return W->json->type(v) != WHARF_J_OBJECT && W->json->type(v) != WHARF_J_ARRAY;
}

static void add_column(struct columns *c, wharf_str path)
{
    for (size_t i = 0; i < c->n; i++) {
        if (same(c->paths[i], path))
            return;
    }
    if (c->n == COLUMNS_MAX || c->used + path.n + 1 > sizeof(c->room))
        return; /* a table is not wider */
    memcpy(c->room + c->used, path.p, path.n + 1);
    c->paths[c->n++] = (wharf_str){c->room + c->used, path.n};
    c->used += path.n + 1;
}

/* Adds columns: objects become columns of their members, everything else is one cell. */
void columns_of(struct batch *b, struct columns *c, const wharf_json *object, wharf_str base)
{
    for (const wharf_json *m = W->json->at(object, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);
        wharf_str path = base.n ? W->mem->format(b->req, "%s.%s", base.p, key.p) : key;

        if (W->json->type(m) == WHARF_J_OBJECT && W->json->count(m))
            columns_of(b, c, m, path);
        else
            add_column(c, path);
    }
}

/* Finds the member at a path. Keys may have dots of their own ("a.b" of metadata), so that the
 * path alone does not say where one ends: the first member that fits has it. */
static const wharf_json *batch_csv_member_at(const wharf_json *object, wharf_str path)
{
    if (W->json->type(object) != WHARF_J_OBJECT)
        return NULL;
    for (const wharf_json *m = W->json->at(object, 0); m; m = W->json->next(m)) {
        wharf_str key = W->json->key(m);
        const wharf_json *found;

        if (key.n > path.n || memcmp(key.p, path.p, key.n) != 0 ||
            (key.n < path.n && path.p[key.n] != '.'))
            continue;
        if (key.n == path.n)
            return m;
        found = batch_csv_member_at(m, (wharf_str){path.p + key.n + 1, path.n - key.n - 1});
        if (found)
            return found;
    }
    return NULL;
}

static bool plain_list(const wharf_json *v)
{
    for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e)) {
        wharf_str s;

        if (!batch_csv_is_plain(e) || (W->json->text(e, &s) && strpbrk(s.p, ";,")))
            return false;
    }
    return W->json->count(v) > 0;
}

/* Returns a value as a file would have it: lists with ';', null as \N, what is deeper as JSON. */
static wharf_str cell_text(struct batch *b, const wharf_json *v)
{
    wharf_str text = WHARF_S("");
    wharf_out *out;

    if (W->json->text(v, &text))
        return text;
    if (W->json->type(v) == WHARF_J_NULL)
        return WHARF_S("\\N");
    if (W->json->type(v) == WHARF_J_ARRAY && plain_list(v)) {
        for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e)) {
            wharf_str one = cell_text(b, e);

            text = W->mem->format(b->req, "%s%s%s", text.p, text.n ? ";" : "", one.p);
        }
        return text;
    }
    out = W->json->writer(b->req);
    W->json->put(out, NULL, val_json(v));
    return W->json->result_text(out);
}

void csv_object(struct batch *b, struct text *t, const struct columns *c, const wharf_json *object)
{
    for (size_t i = 0; i < c->n; i++) {
        const wharf_json *v = batch_csv_member_at(object, c->paths[i]);

        csv_cell(t, v ? cell_text(b, v) : WHARF_S(""), i == 0);
    }
}
