/* locations.h - inside of the module locations. */
#ifndef LOCATIONS_H
#define LOCATIONS_H

#include <string.h>

#include "wharf/ext/locations.h"
#include "wharf/ext/org.h"

#define W locations_host
extern const wharf_host *W; /* set once, before anything of this module runs */
extern const wharf_org_directory_api *org; /* or NULL: the module org is not there */
extern const wharf_locations_directory_api directory;

extern const wharf_hooks location_hooks, layout_hooks;

wharf_status layouts_upsert(wharf_req *req, void *arg); /* POST /v1/locations/:location/layouts */
wharf_status layouts_tree(wharf_req *req, void *arg); /* GET  /v1/locations/:location/layouts/tree */
wharf_status address_get(wharf_req *req, void *arg); /* GET  /v1/addresses/:id */

/* ---- small helpers ---- */

static inline wharf_str z(const char *text)
{
    return (wharf_str){text, strlen(text)};
}
static inline bool same(wharf_str a, wharf_str b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}
static inline wharf_val text(wharf_str s)
{
    return (wharf_val){.type = WHARF_V_TEXT, .u.s = s};
}
static inline wharf_val integer(int64_t i)
{
    return (wharf_val){.type = WHARF_V_INT, .u.i = i};
}
static inline wharf_val truth(bool t)
{
    return (wharf_val){.type = WHARF_V_BOOL, .u.i = t};
}
static inline wharf_val json(const wharf_json *v)
{
    return (wharf_val){.type = WHARF_V_JSON, .u.j = v};
}
static inline wharf_val nothing(void)
{
    return (wharf_val){.type = WHARF_V_NULL};
}
/* Text or null. */
static inline wharf_val text_or_null(wharf_str s)
{
    return s.n ? text(s) : nothing();
}
/* The text of a field as it is or will be; false: null. */
static inline bool get_text(const wharf_rec *rec, wharf_field f, wharf_str *ret)
{
    wharf_val v;

    if (!W->res->get(rec, f, &v) || v.type != WHARF_V_TEXT)
        return false;
    *ret = v.u.s;
    return true;
}
static inline bool row_text(const wharf_rows *rows, size_t row, size_t column, wharf_str *ret)
{
    wharf_val v;

    if (!W->db->value(rows, row, column, WHARF_V_TEXT, &v))
        return false;
    *ret = v.u.s;
    return true;
}
static inline int64_t row_int(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_INT, &v) ? v.u.i : 0;
}
static inline bool row_truth(const wharf_rows *rows, size_t row, size_t column)
{
    wharf_val v;

    return W->db->value(rows, row, column, WHARF_V_BOOL, &v) && v.u.i != 0;
}
/* A boolean query parameter, absent: false. */
static inline bool param_truth(wharf_req *req, const char *name)
{
    wharf_str v;

    return W->req->param(req, name, &v) &&
           (same(v, WHARF_S("true")) || same(v, WHARF_S("1")) || same(v, WHARF_S("yes")));
}

#endif
