/* draw_value.c - the values of expressions, see draw_expr.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_expr.h"
#include "util/str.h"

const struct wharf_json value_null = {.type = JSON_NULL};
const struct wharf_json value_true = {.type = JSON_BOOL, .truth = true};
const struct wharf_json value_false = {.type = JSON_BOOL};

const struct wharf_json *value_string(struct arena *a, wharf_str s)
{
    struct wharf_json *v = ARENA_NEW(a, struct wharf_json);

    v->type = JSON_STRING;
    v->text = s;
    return v;
}

const struct wharf_json *value_number(struct arena *a, double d)
{
    struct wharf_json *v;
    struct buf plain;
    char text[40];

    if (!isfinite(d))
        return &value_null;
    v = ARENA_NEW(a, struct wharf_json);
    v->type = JSON_NUMBER;
    snprintf(text, sizeof(text), "%.15g", d == 0 ? 0.0 : d);
    buf_init(&plain, 1000);
    json_number_canonical(str_z(text), 500, &plain);
    v->text = arena_dup_str(a, buf_str(&plain));
    buf_done(&plain);
    return v;
}

bool value_truth(const struct wharf_json *v)
{
    double d;

    if (!v)
        return false;
    switch ((enum json_type)v->type) {
    case JSON_NULL:
        return false;
    case JSON_BOOL:
        return v->truth;
    case JSON_NUMBER:
        return value_as_number(v, &d) && d != 0;
    case JSON_STRING:
        return v->text.n > 0;
    case JSON_ARRAY:
    case JSON_OBJECT:
        return v->count > 0;
    }
    return false;
}

/* Tells whether a text is a number by RFC 8259, and not a long one. */
static bool looks_like_number(wharf_str s)
{
    size_t i = s.n && s.p[0] == '-' ? 1 : 0, digits = strspn(s.p + i, "0123456789");

    if (s.n > 40 || !digits || (digits > 1 && s.p[i] == '0'))
        return false;
    i += digits;
    if (s.p[i] == '.') {
        digits = strspn(s.p + i + 1, "0123456789");
        if (!digits)
            return false;
        i += 1 + digits;
    }
    return i == s.n;
}

bool value_as_number(const struct wharf_json *v, double *ret)
{
    if (!v || (v->type != JSON_NUMBER && v->type != JSON_STRING))
        return false;
    if (v->type == JSON_STRING && !looks_like_number(v->text))
        return false;
    *ret = strtod(v->text.p, NULL);
    return isfinite(*ret);
}

wharf_str value_as_text(struct arena *a, const struct wharf_json *v)
{
    if (!v)
        return str_z("");
    switch ((enum json_type)v->type) {
    case JSON_NULL:
        return str_z("");
    case JSON_BOOL:
        return str_z(v->truth ? "true" : "false");
    case JSON_NUMBER:
    case JSON_STRING:
        return v->text;
    case JSON_ARRAY:
    case JSON_OBJECT:
        return jw_text(a, v);
    }
    return str_z("");
}

static bool both_numbers(
    const struct wharf_json *a, const struct wharf_json *b, double *ret_a, double *ret_b)
{
    return (json_is(a, JSON_NUMBER) || json_is(b, JSON_NUMBER)) && value_as_number(a, ret_a) &&
           value_as_number(b, ret_b);
}

bool value_equal(const struct wharf_json *a, const struct wharf_json *b)
{
    double x, y;

    return both_numbers(a, b, &x, &y) ? x == y : json_equal(a, b);
}

int value_order(struct arena *a, const struct wharf_json *x, const struct wharf_json *y)
{
    double p, q;

    if (both_numbers(x, y, &p, &q))
        return (p > q) - (p < q);
    return str_order(value_as_text(a, x), value_as_text(a, y));
}

bool value_contains(struct arena *a, const struct wharf_json *in, const struct wharf_json *what)
{
    wharf_str part;

    if (json_is(in, JSON_ARRAY)) {
        for (const struct wharf_json *c = in->child; c; c = c->next) {
            if (value_equal(c, what))
                return true;
        }
        return false;
    }
    part = value_as_text(a, what);
    if (json_is(in, JSON_OBJECT))
        return json_get_n(in, part) != NULL;
    return json_is(in, JSON_STRING) && memmem(in->text.p, in->text.n, part.p, part.n) != NULL;
}

const struct wharf_json *value_at(const struct wharf_json *v, wharf_str path)
{
    while (v && path.n) {
        const char *point = memchr(path.p, '.', path.n);
        wharf_str name = {path.p, point ? (size_t)(point - path.p) : path.n};
        char index[12] = "";

        if (json_is(v, JSON_ARRAY)) {
            if (!name.n || name.n >= sizeof(index))
                return NULL;
            memcpy(index, name.p, name.n);
            v = strspn(index, "0123456789") == name.n ? json_at(v, strtoul(index, NULL, 10)) : NULL;
        } else {
            v = json_get_n(v, name);
        }
        path.p += name.n + (point != NULL);
        path.n -= name.n + (point != NULL);
    }
    return v;
}
