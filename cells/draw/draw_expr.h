/* draw_expr.h - variables and expressions in the texts of a definition
 * (docs/spec/05-documents-and-templates.md section 9.4). Pure: what a text becomes depends on the
 * scope alone. No clock, no locale.
 *
 * Values are JSON: an expression makes new nodes in the arena, and hands on those of the data as
 * they are, so that `{{path}}` alone keeps the type. Numbers have 15 significant digits. */
#ifndef WHARF_CELL_DRAW_EXPR_H
#define WHARF_CELL_DRAW_EXPR_H

#include "util/arena.h"
#include "util/json.h"

enum {
    EXPR_OPERATIONS_MAX = 10000, /* of one string */
    EXPR_DEPTH_MAX = 32, /* levels of one expression */
    EXPR_TEXT_MAX = 64 << 10, /* bytes of what an expression says */
    EXPR_ARGS_MAX = 8,
    EXPR_MESSAGE = 160,
    EXPR_ZONE_NAME = 65 /* of a time zone, as zone_name_good() has it */
};

/* Names that an expression may say, the innermost first. */
struct draw_vars {
    const struct draw_vars *up;
    wharf_str name; /* of one variable; empty: each member of the value is one */
    const struct wharf_json *value;
};

/* Time zones, of which the last one is kept: to ask for it takes longer than all else. */
struct draw_zones {
    /* Writes the bytes of a time zone's file, at most ZONE_BYTES_MAX; returns how many, 0: there
     * is no such zone. */
    size_t (*read)(const char *name, char *bytes);
    char name[EXPR_ZONE_NAME];
    char *bytes; /* in the arena; NULL: none was asked for yet */
    size_t n; /* of them; 0: there is no such zone */
};

struct draw_eval {
    struct arena *arena;
    const struct draw_vars *vars;
    unsigned page, pages; /* what these two names say when nothing else has them */
    struct draw_zones *zones; /* NULL: UTC is the only one */
    bool null_is_missing; /* a path whose value is null counts as one that is not there */

    /* told */
    bool said_page; /* page or pages was said */
    /* the first path that is not there, where that left a text or a part of it empty; or "" */
    wharf_str missing;
    char wrong[EXPR_MESSAGE]; /* why it is no expression; "" */

    /* inside */
    unsigned operations, depth;
    wharf_str lost; /* the first missing path of this placeholder */
};

/* Puts values into a text. A text that is one placeholder becomes the value itself, another one a
 * string. Returns NULL when an expression in it is wrong, and `wrong` says why. */
const struct wharf_json *expr_text(struct draw_eval *e, wharf_str text);
/* Computes an expression without braces (one pair around it does not matter); filters may follow.
 * A path that the data do not have has the value null. Returns NULL when the expression is wrong,
 * and `wrong` says why. */
const struct wharf_json *expr_value(struct draw_eval *e, wharf_str text);
/* Tells whether a text has placeholders or escaped braces. */
bool expr_has(wharf_str text);
/* Finds the end of a placeholder whose contents begin at p, which quotes may hide. Returns NULL
 * when it has none. */
const char *expr_holder_end(const char *p, const char *end);

/* ---- values (draw_value.c) ---- */

extern const struct wharf_json value_null, value_true, value_false;
const struct wharf_json *value_number(struct arena *a, double d); /* null unless finite */
const struct wharf_json *value_string(struct arena *a, wharf_str s);
bool value_truth(const struct wharf_json *v);
/* Reads a number, or a string that is one. */
bool value_as_number(const struct wharf_json *v, double *ret);
/* Returns what is printed of it: null is "", lists and objects are JSON. */
wharf_str value_as_text(struct arena *a, const struct wharf_json *v);
bool value_equal(const struct wharf_json *a, const struct wharf_json *b);
/* Compares numbers as numbers, others as text. Returns less than, equal to or more than 0. */
int value_order(struct arena *a, const struct wharf_json *x, const struct wharf_json *y);
/* Tells whether `what` is an element of a list, a part of a text, or a key of an object. */
bool value_contains(struct arena *a, const struct wharf_json *in, const struct wharf_json *what);
/* Finds a path of names and indexes in points ("a.b.0"); NULL when it is not there. */
const struct wharf_json *value_at(const struct wharf_json *v, wharf_str path);

/* ---- filters (draw_filter.c) ---- */

/* Applies a filter. Returns false when there is none of this name or its arguments are wrong:
 * `wrong` says why. */
bool filter_apply(struct draw_eval *e, wharf_str name, const struct wharf_json *v,
    const struct wharf_json *const *args, size_t n_args, const struct wharf_json **ret);
/* Tells whether the filter is the one that stands in for what is missing. */
bool filter_fills(wharf_str name);

/* Notes why an expression is wrong: the first reason counts. Returns false. */
bool expr_fail(struct draw_eval *e, const char *fmt, ...) WHARF_PRINTF(2, 3);

#endif
