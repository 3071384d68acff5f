/* intake.c - items become chunks: their shape, their size, and which of them repeat another
 * (spec 10 section 6).
 *
 * Nothing of an item is kept in memory but its keys and its state; the repeated ones are told
 * when all have come. */
#include <stdlib.h>

#include "batches.h"
#include "wharf/errors.h"

enum { KEYS_MAX = 8, FIELDS_MAX = 4, KEY_ROOM = 1024 };
enum { NODE_BYTES = 64, DEPTH_KEPT = 48, WEIGHT_KEPT = 16 << 20 };

struct intake {
    struct batch *b;
    struct keys *keys;
    size_t n, cap; /* items so far */
    char *states; /* by index */
    uint32_t *repeats; /* by index: 1 + the index of another with the same key; 0: none */
    size_t n_repeats;
    struct chunk c; /* the one that is being filled */
    wharf_out *items, *lines;
    bool open;
    size_t bytes;
    const wharf_json *declared[KEYS_MAX]; /* texts of "duplicates" */
    size_t n_declared;
    wharf_str country; /* of phones without one */
};

struct intake *intake_begin(struct batch *b)
{
    struct intake *in = W->mem->alloc(b->req, sizeof(*in));
    const wharf_json *declared = block_member(b->block, "duplicates");

    in->b = b;
    in->keys = keys_new();
    for (const wharf_json *e = declared ? W->json->at(declared, 0) : NULL;
         e && in->n_declared < KEYS_MAX; e = W->json->next(e))
        in->declared[in->n_declared++] = e;
    if (!in->keys || batches_org->country(b->req, &in->country) != WHARF_OK) {
        if (!in->keys)
            W->err->fail(b->req, ERR_OVERLOADED, NULL, NULL);
        intake_free(in);
        return NULL;
    }
    return in;
}

void intake_free(struct intake *in)
{
    if (!in)
        return;
    keys_free(in->keys);
    free(in->states);
    free(in->repeats);
    in->keys = NULL;
    in->states = NULL;
    in->repeats = NULL;
}

size_t intake_count(const struct intake *in)
{
    return in->n;
}

/* ---- keys ---- */

static wharf_str intake_trimmed(wharf_str s)
{
    while (s.n && (unsigned char)*s.p <= ' ')
        s = (wharf_str){s.p + 1, s.n - 1};
    while (s.n && (unsigned char)s.p[s.n - 1] <= ' ')
        s.n--;
    return s;
}

wharf_str intake_compared(struct batch *b, wharf_str country, wharf_str field, wharf_str value)
{
    const wharf_json *compare = block_member(b->block, "compare");
    wharf_str how = compare ? json_text(compare, field.p) : WHARF_S(""), phone;
    char *p;
    size_t n = 0;

    value = intake_trimmed(value);
    if (is(how, "phone") && batches_org->phone_in(b->req, country, value, &phone))
        return phone;
    if (!is(how, "fold") && !is(how, "code"))
        return value;
    p = W->mem->alloc(b->req, value.n + 1);
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];

        if (is(how, "code") && c == ' ')
            continue;
        if (is(how, "code"))
            p[n++] = (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
        else
            p[n++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    return (wharf_str){p, n};
}

static wharf_str compared(struct intake *in, wharf_str field, wharf_str value)
{
    return intake_compared(in->b, in->country, field, value);
}

/* Returns the item's value of "name+resource": "" when one of them is missing or empty. */
static wharf_str intake_joined(struct intake *in, const wharf_json *item, wharf_str fields)
{
    wharf_str key = WHARF_S("");

    while (fields.n) {
        const char *plus = memchr(fields.p, '+', fields.n);
        size_t n = plus ? (size_t)(plus - fields.p) : fields.n;
        wharf_str field = W->mem->dup(in->b->req, fields.p, n), value = json_text(item, field.p);

        value = compared(in, field, value);
        if (!value.n)
            return WHARF_S("");
        key = W->mem->format(in->b->req, "%.*s\x1f%.*s", (int)key.n, key.p, (int)value.n, value.p);
        fields = plus ? (wharf_str){plus + 1, fields.n - n - 1} : WHARF_S("");
    }
    return key;
}

static wharf_status intake_meet(struct intake *in, int kind, wharf_str key)
{
    size_t i = in->n;
    int64_t first;

    if (!key.n)
        return WHARF_OK;
    first = keys_meet(in->keys, kind, key, (uint32_t)i);
    if (first == -2)
        return W->err->fail(in->b->req, ERR_OVERLOADED, NULL, NULL);
    if (first < 0)
        return WHARF_OK;
    in->n_repeats += !in->repeats[i];
    in->repeats[i] = (uint32_t)first + 1;
    if (in->b->asked.duplicates == DUPLICATES_IGNORE_ALL && !in->repeats[first]) {
        in->repeats[first] = (uint32_t)i + 1;
        in->n_repeats++;
    }
    return WHARF_OK;
}

/* Looks for a twin by "email|phone": the first of them that the item has. Kinds differ by declared
 * key and by alternative. */
static wharf_status meet_declared(
    struct intake *in, const wharf_json *item, int kind, wharf_str text)
{
    for (int part = 0; text.n; part++) {
        const char *bar = memchr(text.p, '|', text.n);
        size_t n = bar ? (size_t)(bar - text.p) : text.n;
        wharf_str key = intake_joined(in, item, (wharf_str){text.p, n});

        if (key.n)
            return intake_meet(in, 2 + kind * FIELDS_MAX + part, key);
        text = bar ? (wharf_str){bar + 1, text.n - n - 1} : WHARF_S("");
    }
    return WHARF_OK;
}

static wharf_status meet_all(struct intake *in, const wharf_json *item)
{
    struct batch *b = in->b;
    wharf_status s;
    wharf_str text;

    s = intake_meet(in, 0, intake_trimmed(json_text(item, "id")));
    if (s == WHARF_OK && !is(b->asked.match_by, "id"))
        s = intake_meet(
            in, 1, compared(in, b->asked.match_by, json_text(item, b->asked.match_by.p)));
    for (size_t i = 0; s == WHARF_OK && i < in->n_declared; i++) {
        if (W->json->text(in->declared[i], &text))
            s = meet_declared(in, item, (int)i, text);
    }
    return s;
}

/* ---- chunks ---- */

static bool more_room(struct intake *in)
{
    size_t cap = in->cap ? 2 * in->cap : 1024;
    char *states = realloc(in->states, cap);
    uint32_t *repeats;

    if (states)
        in->states = states;
    repeats = states ? realloc(in->repeats, cap * sizeof(*repeats)) : NULL;
    if (!repeats)
        return false;
    in->repeats = repeats;
    memset(in->repeats + in->cap, 0, (cap - in->cap) * sizeof(*repeats));
    in->cap = cap;
    return true;
}

static void open_chunk(struct intake *in)
{
    wharf_req *req = in->b->req;
    int number = in->n ? in->c.number + 1 : 0;

    in->open = true;
    in->c = (struct chunk){.number = number, .first = (int)in->n};
    in->c.states = W->mem->alloc(req, CHUNK_ITEMS + 1);
    in->items = W->json->writer(req);
    in->lines = W->json->writer(req);
    W->json->open(in->items, NULL, '[');
    W->json->open(in->lines, NULL, '[');
    in->bytes = 0;
}

bool intake_full(const struct intake *in)
{
    return in->open && (in->n - (size_t)in->c.first == CHUNK_ITEMS || in->bytes >= CHUNK_BYTES);
}

wharf_status intake_flush(struct intake *in)
{
    static const char sql[] = "INSERT INTO batches.chunk (organization_id, batch_id, number, "
                              "first, size, items, lines, states)"
                              " VALUES ($2::text, $1::text, $3::integer, $4::integer, $5::integer, "
                              "$6::text, $7::jsonb, $8::text)";
    struct batch *b = in->b;
    struct chunk *c = &in->c;
    wharf_status s;

    if (!in->open)
        return WHARF_OK;
    in->open = false;
    c->size = (int)in->n - c->first;
    W->json->close(in->items);
    W->json->close(in->lines);
    wharf_val args[] = {val_text(b->id), val_text(W->req->organization(b->req)), val_int(c->number),
        val_int(c->first), val_int(c->size), val_text(W->json->result_text(in->items)),
        b->asked.from_file ? val_text(W->json->result_text(in->lines)) : val_null(),
        val_text((wharf_str){c->states, (size_t)c->size})};
    s = W->db->exec(b->req, sql, args, sizeof(args) / sizeof(*args), NULL);
    memcpy(in->states + c->first, c->states, (size_t)c->size);
    if (s == WHARF_OK)
        s = lines_save(b, c);
    return s;
}

/* ---- items ---- */

static bool intake_too_deep(const wharf_json *v, int left)
{
    uint32_t type = W->json->type(v);

    if (type != WHARF_J_OBJECT && type != WHARF_J_ARRAY)
        return false;
    if (!left)
        return true;
    for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e)) {
        if (intake_too_deep(e, left - 1))
            return true;
    }
    return false;
}

size_t json_weight(const wharf_json *v)
{
    size_t n = NODE_BYTES;
    wharf_str text;

    if (W->json->text(v, &text))
        n += text.n;
    if (W->json->type(v) == WHARF_J_OBJECT || W->json->type(v) == WHARF_J_ARRAY)
        for (const wharf_json *e = W->json->at(v, 0); e; e = W->json->next(e))
            n += json_weight(e);
    return n;
}

/* Makes {"id": ...} of a bare id, which stands for it where that is all there is to say. */
static wharf_status as_object(wharf_req *req, const struct batch_request *asked,
    const wharf_json *item, const wharf_json **ret)
{
    wharf_out *out;

    *ret = item;
    if (asked->action != ACTION_DELETE || W->json->type(item) != WHARF_J_STRING)
        return WHARF_OK;
    out = W->json->builder(req);
    W->json->open(out, NULL, '{');
    W->json->put(out, "id", val_json(item));
    W->json->close(out);
    return W->json->result(req, out, ret);
}

static void intake_judge(struct intake *in, const wharf_json *item, size_t bytes, int at)
{
    const char *wrong = NULL;

    if (W->json->type(item) != WHARF_J_OBJECT)
        wrong = "An item is an object";
    else if (bytes > ITEM_BYTES)
        wrong = "An item has at most 256 KiB of JSON";
    else if (intake_too_deep(item, ITEM_DEPTH))
        wrong = "An item is at most 16 levels deep";
    if (wrong)
        chunk_problem(in->b, &in->c, at, 'a', PARSING, WHARF_S(ERR_BATCH_SHAPE), WHARF_S(""),
            WHARF_S(""), z(wrong));
}

wharf_status intake_add(struct intake *in, const wharf_json *item, int64_t line, wharf_str code,
    wharf_str path, wharf_str message)
{
    struct batch *b = in->b;
    size_t before;
    bool large;
    int at;
    wharf_status s = WHARF_OK;

    if (in->n == in->cap && !more_room(in))
        return W->err->fail(b->req, ERR_OVERLOADED, NULL, NULL);
    if (!in->open)
        open_chunk(in);
    at = (int)in->n - in->c.first;
    in->c.states[at] = '.';
    if (item)
        s = as_object(b->req, &b->asked, item, &item);
    if (s != WHARF_OK)
        return s;
    before = W->json->result_text(in->items).n;
    /* An item that is refused for its depth or size, and would not be read again with the others
     * of its chunk, is not kept. */
    large = item && json_weight(item) > WEIGHT_KEPT;
    W->json->put(in->items, NULL,
        item && !large && !intake_too_deep(item, DEPTH_KEPT) ? val_json(item) : val_null());
    W->json->put(in->lines, NULL, val_int(line));
    in->bytes = W->json->result_text(in->items).n;
    if (code.n)
        chunk_problem(b, &in->c, at, 'a', PARSING, code, path, WHARF_S(""), message);
    else if (item)
        intake_judge(in, item, large ? SIZE_MAX : in->bytes - before, at);
    if (in->c.states[at] == '.')
        s = meet_all(in, item);
    in->n++;
    return s;
}

/* ---- the end ---- */

static wharf_status tell_repeats(struct intake *in, struct chunk *c)
{
    struct batch *b = in->b;
    static const char sql[] = "UPDATE batches.chunk SET states = $4::text WHERE organization_id = "
                              "$2::text AND batch_id = $1::text"
                              " AND number = $3::integer";
    wharf_val args[4] = {
        val_text(b->id), val_text(W->req->organization(b->req)), val_int(c->number)};

    for (int i = 0; i < c->size; i++) {
        if (in->repeats[c->first + i] && c->states[i] == '.')
            repeat_problem(b, c, i, in->repeats[c->first + i] - 1);
    }
    args[3] = val_text((wharf_str){c->states, (size_t)c->size});
    if (!c->n_problems)
        return WHARF_OK;
    return W->db->exec(b->req, sql, args, 4, NULL) == WHARF_OK ? lines_save(b, c)
                                                               : WHARF_UNAVAILABLE;
}

/* Walks over chunks as they were written: by the indexes they began with. */
static wharf_status walk_chunks(struct intake *in)
{
    static const char sql[] = "SELECT number, first, size FROM batches.chunk WHERE organization_id "
                              "= $2::text AND batch_id = $1::text"
                              " ORDER BY number";
    const wharf_rows *rows;
    wharf_status s = query_about(in->b->req, sql, in->b->id, &rows);

    for (size_t r = 0; s == WHARF_OK && r < W->db->count(rows); r++) {
        wharf_scope *scope = W->mem->scope_begin(in->b->req);
        struct chunk c = {.number = (int)row_int(rows, r, 0),
            .first = (int)row_int(rows, r, 1),
            .size = (int)row_int(rows, r, 2)};

        c.states = (char *)W->mem->dup(in->b->req, in->states + c.first, (size_t)c.size).p;
        s = tell_repeats(in, &c);
        W->mem->scope_end(in->b->req, scope);
    }
    return s;
}

wharf_status intake_end(struct intake *in)
{
    wharf_status s = intake_flush(in);

    return s == WHARF_OK && in->n_repeats ? walk_chunks(in) : s;
}
