/* wharf/inline.h - what nearly every module writes a dozen times: values, texts of rows and of
 * JSON.
 *
 * For modules that call their host table W (#define W my_host before this is included); without
 * W it holds what needs no host. Everything is inline, nothing of it is ABI. */
#ifndef WHARF_INLINE_H
#define WHARF_INLINE_H

#include "wharf/values.h"

#define WHARF_INLINE static inline __attribute__((unused))

/* Writes a number that is a macro into the text of a statement: "LIMIT " SQL_NUMBER(ROWS_MAX). So
 * the statement and the C code that judges its result have one number. */
#define SQL_NUMBER_(n) #n
#define SQL_NUMBER(n)  SQL_NUMBER_(n)

WHARF_INLINE wharf_str z(const char *text)
{
    return wharf_z(text);
}
WHARF_INLINE bool same(wharf_str a, wharf_str b)
{
    return wharf_same(a, b);
}
WHARF_INLINE bool is(wharf_str a, const char *b)
{
    return wharf_same(a, wharf_z(b));
}
/* Returns the place of a word among n words; n when it is none of them. */
WHARF_INLINE size_t word_place(wharf_str s, const char *const *words, size_t n)
{
    size_t i = 0;

    while (i < n && !is(s, words[i]))
        i++;
    return i;
}
WHARF_INLINE wharf_val val_text(wharf_str s)
{
    return wharf_text(s);
}
WHARF_INLINE wharf_val val_int(int64_t i)
{
    return wharf_integer(i);
}
WHARF_INLINE wharf_val val_bool(bool b)
{
    return wharf_truth(b);
}
WHARF_INLINE wharf_val val_time(int64_t us)
{
    wharf_val v = wharf_val_of(WHARF_V_TIME_US);

    v.u.i = us;
    return v;
}
/* Makes a decimal: i whole numbers of 10^-scale. */
WHARF_INLINE wharf_val val_decimal(int64_t i, uint32_t scale)
{
    wharf_val v = wharf_val_of(WHARF_V_DEC);

    v.scale = scale;
    v.u.i = i;
    return v;
}
WHARF_INLINE wharf_val val_double(double d)
{
    wharf_val v = wharf_val_of(WHARF_V_DOUBLE);

    v.u.d = d;
    return v;
}
WHARF_INLINE wharf_val val_null(void)
{
    return wharf_null();
}
WHARF_INLINE wharf_val val_json(const wharf_json *j) /* NULL: null */
{
    return j ? wharf_value(j) : wharf_null();
}
WHARF_INLINE wharf_val val_text_or_null(wharf_str s)
{
    return wharf_text_or_null(s);
}

/* Declares a resource by the constants that wharf-gen made of its definition. hooks: NULL for
 * none. */
WHARF_INLINE void declare_resource(wharf_decl *d, const wharf_decl_api *api, const char *name,
    wharf_str definition, uint64_t definition_hash, const wharf_hooks *hooks)
{
    const wharf_head head = WHARF_HEAD(wharf_resource);
    wharf_resource r;

    memset(&r, 0, sizeof(r));
    r.head = head;
    r.name = name;
    r.definition = definition;
    r.definition_hash = definition_hash;
    r.hooks = hooks;
    api->resource(d, &r);
}

#ifdef W
/* The text of a field as it is or will be; empty: null. */
WHARF_INLINE wharf_str field_text(const wharf_rec *rec, wharf_field f)
{
    wharf_val v;

    return rec && W->res->get(rec, f, &v) && v.type == WHARF_V_TEXT ? v.u.s : WHARF_S("");
}
/* The same where null and the empty text are told apart; false: null. */
WHARF_INLINE bool field_get_text(const wharf_rec *rec, wharf_field f, wharf_str *ret)
{
    wharf_val v;

    if (!rec || !W->res->get(rec, f, &v) || v.type != WHARF_V_TEXT)
        return false;
    *ret = v.u.s;
    return true;
}
WHARF_INLINE int64_t field_int(const wharf_rec *rec, wharf_field f)
{
    wharf_val v;

    return rec && W->res->get(rec, f, &v) &&
                   (v.type == WHARF_V_INT || v.type == WHARF_V_BOOL || v.type == WHARF_V_TIME_US)
               ? v.u.i
               : 0;
}
/* NULL: null. */
WHARF_INLINE const wharf_json *field_json(const wharf_rec *rec, wharf_field f)
{
    wharf_val v;

    return rec && W->res->get(rec, f, &v) && v.type == WHARF_V_JSON ? v.u.j : NULL;
}
WHARF_INLINE wharf_str row_text(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_TEXT, &v) ? v.u.s : WHARF_S("");
}
WHARF_INLINE bool row_get_text(
    const wharf_rows *rows, size_t row, size_t column, wharf_str *ret) /* false: null */
{
    wharf_val v;

    if (!W->db->value(rows, row, column, WHARF_V_TEXT, &v))
        return false;
    *ret = v.u.s;
    return true;
}
WHARF_INLINE int64_t row_int(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_INT, &v) ? v.u.i : 0;
}
WHARF_INLINE bool row_bool(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_BOOL, &v) && v.u.i;
}
WHARF_INLINE const wharf_json *row_json(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_JSON, &v) ? v.u.j : NULL;
}
WHARF_INLINE bool json_is_null(const wharf_json *v)
{
    return !v || W->json->type(v) == WHARF_J_NULL;
}
/* A member's text; empty: absent, null, or no text. */
WHARF_INLINE wharf_str json_text(const wharf_json *object, const char *key)
{
    const wharf_json *m = object ? W->json->get(object, key) : NULL;
    wharf_str s;

    return m && W->json->text(m, &s) ? s : WHARF_S("");
}
WHARF_INLINE bool json_truth(const wharf_json *v)
{
    bool t = false;

    return v && W->json->truth(v, &t) && t;
}
/* Copies a text with its letters A to Z small. */
WHARF_INLINE wharf_str text_lower(wharf_req *req, wharf_str s)
{
    char *p = (char *)W->mem->alloc(req, s.n + 1);
    wharf_str ret = {p, s.n};

    for (size_t i = 0; i < s.n; i++)
        p[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + ('a' - 'A') : s.p[i]);
    p[s.n] = 0;
    return ret;
}
/* A boolean query parameter, absent: false. */
WHARF_INLINE bool param_truth(wharf_req *req, const char *name)
{
    wharf_str v;

    return W->req->param(req, name, &v) && (is(v, "true") || is(v, "1") || is(v, "yes"));
}
/* A JSON array of texts as one bound value. */
WHARF_INLINE wharf_val val_ids(wharf_req *req, const wharf_str *ids, size_t n)
{
    wharf_out *out = W->json->writer(req);

    W->json->open(out, NULL, '[');
    for (size_t i = 0; i < n; i++)
        W->json->put(out, NULL, val_text(ids[i]));
    W->json->close(out);
    return val_text(W->json->result_text(out));
}
/* For "$n::text[]". */
WHARF_INLINE wharf_val val_array(wharf_req *req, const wharf_str *texts, size_t n)
{
    return val_text(wharf_array(texts, n, (char *)W->mem->alloc(req, wharf_array_room(texts, n))));
}
/* The ids of rows, for the same. */
WHARF_INLINE wharf_val val_rec_ids(wharf_req *req, const wharf_rec *const *recs, size_t n)
{
    wharf_str *ids = (wharf_str *)W->mem->alloc(req, (n + 1) * sizeof(*ids));

    for (size_t i = 0; i < n; i++)
        ids[i] = W->res->id(recs[i]);
    return val_array(req, ids, n);
}
/* A statement about one thing: $1 is it, $2 the organization, with which every index of a
 * tenant's table begins. ret_rows: NULL for one that answers nothing. */
WHARF_INLINE wharf_status query_about(
    wharf_req *req, const char *sql, wharf_str it, const wharf_rows **ret_rows)
{
    wharf_val args[2];

    args[0] = val_text(it);
    args[1] = val_text(W->req->organization(req));
    return ret_rows ? W->db->query(req, sql, args, 2, ret_rows)
                    : W->db->exec(req, sql, args, 2, NULL);
}
/* Ends the transaction as s says: commits it, or takes it back and answers s. */
WHARF_INLINE wharf_status end_with(wharf_req *req, wharf_status s)
{
    if (s == WHARF_OK)
        return W->db->commit(req);
    W->db->rollback(req);
    return s;
}
/* Any statement, in a transaction of its own: of resident jobs, which have none. */
WHARF_INLINE wharf_status query_alone(
    wharf_req *req, const char *sql, const wharf_val *args, size_t n, const wharf_rows **ret_rows)
{
    wharf_status s = W->db->begin(req);

    if (s != WHARF_OK)
        return s;
    return end_with(req, W->db->query(req, sql, args, n, ret_rows));
}
#endif

#endif
