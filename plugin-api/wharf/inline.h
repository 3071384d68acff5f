/* wharf/inline.h - what nearly every module writes a dozen times: values, texts of rows and of JSON.
 *
 * For modules that call their host table W (#define W my_host before this is included); without W it holds what needs no host. Everything is
 * inline, nothing of it is ABI.
 */
#ifndef WHARF_INLINE_H
#define WHARF_INLINE_H

#include <string.h>

#include "wharf/plugin.h"

#define WHARF_INLINE static inline __attribute__((unused))

WHARF_INLINE wharf_str z(const char *text)
{
    wharf_str s = {text, strlen(text)};

    return s;
}
WHARF_INLINE bool same(wharf_str a, wharf_str b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}
WHARF_INLINE bool is(wharf_str a, const char *b)
{
    return a.n == strlen(b) && memcmp(a.p, b, a.n) == 0;
}
WHARF_INLINE wharf_val val_of(uint32_t type)
{
    wharf_val v;

    memset(&v, 0, sizeof(v));
    v.type = type;
    return v;
}
WHARF_INLINE wharf_val val_text(wharf_str s)
{
    wharf_val v = val_of(WHARF_V_TEXT);

    v.u.s = s;
    return v;
}
WHARF_INLINE wharf_val val_int(int64_t i)
{
    wharf_val v = val_of(WHARF_V_INT);

    v.u.i = i;
    return v;
}
WHARF_INLINE wharf_val val_bool(bool b)
{
    wharf_val v = val_of(WHARF_V_BOOL);

    v.u.i = b;
    return v;
}
WHARF_INLINE wharf_val val_time(int64_t us)
{
    wharf_val v = val_of(WHARF_V_TIME_US);

    v.u.i = us;
    return v;
}
WHARF_INLINE wharf_val val_null(void)
{
    wharf_val v = val_of(WHARF_V_NULL);

    return v;
}
WHARF_INLINE wharf_val val_json(const wharf_json *j)
{
    wharf_val v = val_of(j ? (uint32_t)WHARF_V_JSON : (uint32_t)WHARF_V_NULL);

    v.u.j = j;
    return v;
}
WHARF_INLINE wharf_val val_text_or_null(wharf_str s)
{
    return s.n ? val_text(s) : val_null();
}

#ifdef W
/* The text of a field as it is or will be; empty: null. */
WHARF_INLINE wharf_str field_text(const wharf_rec *rec, wharf_field f)
{
    wharf_val v;

    return rec && W->res->get(rec, f, &v) && v.type == WHARF_V_TEXT ? v.u.s : WHARF_S("");
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
#endif

#endif
