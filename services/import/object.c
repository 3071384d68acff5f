/* object.c - the cells of a row as the JSON object that the resource pipeline takes
 * (docs/spec/10-batches.md sections 5 and 9 'Values').
 *
 * A text that does not fit its field's type is passed on as text: validation then says what it
 * says to everybody. Leaves to others: references by name, defaults. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import/reader.h"
#include "util/json.h"

enum { CELL_DEPTH = 32, DIGITS_SAFE = 300 };

/* ---- single values ---- */

static bool as_bool(wharf_str s, bool *ret)
{
    static const char *const yes[] = {"true", "1", "yes"}, *const no[] = {"false", "0", "no"};

    for (size_t i = 0; i < 3; i++) {
        if (strcasecmp(s.p, yes[i]) == 0 || strcasecmp(s.p, no[i]) == 0) {
            *ret = strcasecmp(s.p, yes[i]) == 0;
            return true;
        }
    }
    return false;
}

static size_t digits(const char *p)
{
    return strspn(p, "0123456789");
}

/* Makes a decimal number as JSON writes it: "+007.50" is 7.50, ".5" is 0.5. */
static bool as_number(struct arena *a, wharf_str s, wharf_str *ret)
{
    const char *p = s.p, *whole, *fraction = "", *exponent = "";
    size_t n_whole, n_fraction = 0, n_exponent = 0;
    bool minus = *p == '-';

    p += *p == '-' || *p == '+';
    whole = p;
    n_whole = digits(p);
    p += n_whole;
    if (*p == '.') {
        fraction = ++p;
        n_fraction = digits(p);
        p += n_fraction;
    }
    if (n_whole + n_fraction == 0)
        return false;
    if (*p == 'e' || *p == 'E') {
        exponent = p++;
        p += *p == '-' || *p == '+';
        n_exponent = digits(p);
        if (n_exponent == 0)
            return false;
        p += n_exponent;
        n_exponent = (size_t)(p - exponent);
    }
    if (p != s.p + s.n)
        return false;
    while (n_whole > 1 && *whole == '0') {
        whole++;
        n_whole--;
    }
    *ret = arena_printf(a, "%s%.*s%s%.*s%.*s", minus ? "-" : "", n_whole ? (int)n_whole : 1,
        n_whole ? whole : "0", n_fraction ? "." : "", (int)n_fraction, fraction, (int)n_exponent,
        exponent);
    /* what is beyond a double is no number of JSON here either (json_read.c); others can't be */
    return (!n_exponent && n_whole <= DIGITS_SAFE) || !isinf(strtod(ret->p, NULL));
}

static void put_single(struct import *in, struct jw *w, wharf_str s, enum import_type type)
{
    wharf_str number;
    bool truth;

    if (type == IMPORT_T_BOOL && as_bool(s, &truth))
        jw_bool(w, NULL, truth);
    else if (type == IMPORT_T_NUMBER && as_number(in->row, s, &number))
        jw_raw(w, NULL, number);
    else
        jw_str(w, NULL, s);
}

static void put_list(struct import *in, struct jw *w, wharf_str s, enum import_type element)
{
    size_t at = 0;

    jw_open(w, NULL, '[');
    while (at < s.n) {
        size_t n = strcspn(s.p + at, ";,");
        wharf_str one = utf8_trim((wharf_str){s.p + at, n});

        if (one.n > 0)
            put_single(in, w, arena_dup_str(in->row, one), element);
        at += n + 1;
    }
    jw_close(w, ']');
}

static bool is_deeper(const struct wharf_json *v, int levels)
{
    if (!json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY))
        return false;
    if (levels == 0)
        return true;
    for (const struct wharf_json *e = v->child; e; e = e->next)
        if (is_deeper(e, levels - 1))
            return true;
    return false;
}

/* Writes a cell that is JSON, when it is: only objects and arrays, in cells that may hold them.
 * Deeper ones than any resource takes stay texts: what is around a cell, here and where the row is
 * kept, must not make it deeper than JSON may be. */
static bool put_json(struct import *in, struct jw *w, wharf_str s)
{
    struct json_error e;
    const struct wharf_json *v = s.p[0] == '{' || s.p[0] == '[' ? json_parse(in->row, s, &e) : NULL;

    if (!v || is_deeper(v, CELL_DEPTH))
        return false;
    jw_value(w, NULL, v);
    return true;
}

static void put_cell(struct import *in, struct jw *w, size_t column)
{
    const struct import_field *f = &in->options.fields[in->columns[column].field];
    wharf_str s = in->cells[column];

    if (str_eqz(s, "\\N")) {
        jw_null(w, NULL);
        return;
    }
    switch (f->type) {
    case IMPORT_T_TEXT:
    case IMPORT_T_BOOL:
    case IMPORT_T_NUMBER:
        put_single(in, w, s, f->type);
        return;
    case IMPORT_T_LIST:
        if (!put_json(in, w, s))
            put_list(in, w, s, f->element);
        return;
    case IMPORT_T_JSON:
        if (!put_json(in, w, s))
            jw_str(w, NULL, s);
        return;
    }
}

/* ---- the object ---- */

static bool is_there(const struct import *in, const struct import_node *n)
{
    if (n->column >= 0)
        return (size_t)n->column < in->n_cells && in->cells[n->column].n > 0 &&
               !in->cell_error[n->column];
    for (const struct import_node *c = n->child; c; c = c->next)
        if (is_there(in, c))
            return true;
    return false;
}

/* Writes a node. Depth is that of the header's paths, which are bounded by the definition. */
static void put_node(struct import *in, struct jw *w, const struct import_node *n)
{
    if (n->column >= 0) {
        put_cell(in, w, (size_t)n->column);
        return;
    }
    jw_open(w, NULL, n->array ? '[' : '{');
    for (const struct import_node *c = n->child; c; c = c->next) {
        if (!is_there(in, c))
            continue;
        if (!n->array)
            jw_key(w, c->key);
        put_node(in, w, c);
    }
    jw_close(w, n->array ? ']' : '}');
}

wharf_str object_write(struct import *in)
{
    struct jw w;

    buf_clear(&in->out);
    jw_init(&w, &in->out);
    put_node(in, &w, in->root);
    return buf_str(&in->out);
}
