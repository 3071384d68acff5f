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
#include "wharf/errors.h"

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

static size_t object_digits(const char *p)
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
    n_whole = object_digits(p);
    p += n_whole;
    if (*p == '.') {
        fraction = ++p;
        n_fraction = object_digits(p);
        p += n_fraction;
    }
    if (n_whole + n_fraction == 0)
        return false;
    if (*p == 'e' || *p == 'E') {
        exponent = p++;
        p += *p == '-' || *p == '+';
        n_exponent = object_digits(p);
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

static void object_put_list(struct import *in, struct jw *w, wharf_str s, enum import_type element)
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
static bool object_put_json(struct import *in, struct jw *w, wharf_str s)
{
    struct json_error e;
    const struct wharf_json *v = s.p[0] == '{' || s.p[0] == '[' ? json_parse(in->row, s, &e) : NULL;

    if (!v || is_deeper(v, CELL_DEPTH))
        return false;
    jw_value(w, NULL, v);
    return true;
}

static void object_put_cell(struct import *in, struct jw *w, size_t column, wharf_str s)
{
    const struct import_field *f = &in->options.fields[in->columns[column].field];

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
        if (!object_put_json(in, w, s))
            object_put_list(in, w, s, f->element);
        return;
    case IMPORT_T_JSON:
        if (!object_put_json(in, w, s))
            jw_str(w, NULL, s);
        return;
    }
}

/* ---- the object ---- */

static wharf_str good_cell(const struct import *in, int column)
{
    return (size_t)column < in->n_cells && !in->cell_fault[column] ? in->cells[column] : str_z("");
}

/* Returns the text of a source: its cells with commas between them, and a blank before a postal
 * code that follows a state. */
static wharf_str source_text(struct import *in, const struct import_source *s)
{
    wharf_str text = str_z("");
    unsigned char last = 0;

    for (size_t i = 0; i < s->n; i++) {
        wharf_str cell = good_cell(in, s->columns[i]);

        if (!cell.n)
            continue;
        text = !text.n ? cell
                       : arena_printf(in->row, "%.*s%s%.*s", STR_ARG(text),
                             s->parts[i] == IMPORT_POSTAL && last == IMPORT_STATE ? " " : ", ",
                             STR_ARG(cell));
        last = s->parts[i];
    }
    return text;
}

/* Returns the source that a field takes in this row; NULL when none has a text. */
static const struct import_source *taken_source(struct import *in, const struct import_node *n)
{
    for (const struct import_source *s = n->sources; s; s = s->next)
        if (source_text(in, s).n)
            return s;
    return NULL;
}

/* Tells whether a source before this one says the same. */
static bool says_what_was_said(
    struct import *in, const struct import_node *main, const struct import_source *source)
{
    wharf_str text = source_text(in, source);

    for (const struct import_source *s = main->sources; s != source; s = s->next)
        if (str_eq(source_text(in, s), text))
            return true;
    return false;
}

static void warn_lost(struct import *in, struct import_source *s)
{
    if (!s->lost_told)
        import_warn(in, ERR_BATCH_HEADER_DUPLICATE,
            arena_printf(in->row,
                "row %llu has more values than there are fields for: \"%.*s\" is ignored, in this "
                "row and in later ones like it",
                (unsigned long long)in->row_number, STR_ARG(in->columns[s->columns[0]].header)));
    s->lost_told = true;
}

/* Finds what a field beside gets; NULL: nothing. What else would be for it is told. */
static const struct import_source *spare_source(struct import *in, const struct import_node *n)
{
    const struct import_source *taken = taken_source(in, n->main), *found = NULL;

    for (struct import_source *s = n->main->sources; s; s = s->next) {
        if (s == taken || !s->beside || strcmp(s->beside, n->beside) != 0 ||
            !source_text(in, s).n || says_what_was_said(in, n->main, s))
            continue;
        if (found)
            warn_lost(in, s);
        else
            found = s;
    }
    return found;
}

/* Returns the source whose text fills a node with several; NULL: none has any. */
static const struct import_source *filling_source(struct import *in, const struct import_node *n)
{
    return n->beside ? spare_source(in, n) : taken_source(in, n);
}

/* Returns the text that fills a field. */
static wharf_str node_text(struct import *in, const struct import_node *n)
{
    const struct import_source *s;

    if (!n->sources && !n->beside)
        return good_cell(in, n->column);
    s = filling_source(in, n);
    return s ? source_text(in, s) : str_z("");
}

static bool object_is_there(struct import *in, const struct import_node *n)
{
    if (n->column >= 0)
        return node_text(in, n).n > 0;
    for (const struct import_node *c = n->child; c; c = c->next)
        if (object_is_there(in, c))
            return true;
    return false;
}

/* Returns the cell that holds the whole object of a node as JSON: exports write an address so into
 * the column "address", which otherwise holds the text of its member formatted_address. "" when
 * there is none. */
static wharf_str whole_object(struct import *in, const struct import_node *n)
{
    const struct import_node *only = n->child;
    wharf_str text = str_z("");

    if (!n->array && only && !only->next && only->column >= 0)
        text = node_text(in, only);
    return text.n && text.p[0] == '{' ? text : str_z("");
}

/* Writes a node. Depth is that of the header's paths, which are bounded by the definition. */
static void put_node(struct import *in, struct jw *w, const struct import_node *n)
{
    wharf_str whole;

    if (n->column >= 0) {
        object_put_cell(in, w, (size_t)n->column, node_text(in, n));
        return;
    }
    whole = n == in->root ? str_z("") : whole_object(in, n);
    if (whole.n && object_put_json(in, w, whole))
        return;
    jw_open(w, NULL, n->array ? '[' : '{');
    for (const struct import_node *c = n->child; c; c = c->next) {
        if (!object_is_there(in, c))
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

wharf_str object_text(struct import *in, wharf_str path, int *ret_column)
{
    const struct import_node *n = in->root;
    const struct import_source *s;
    wharf_str text;

    while (path.n && n) {
        const char *dot = memchr(path.p, '.', path.n);
        size_t k = dot ? (size_t)(dot - path.p) : path.n;

        n = n->child;
        while (n && !str_eq(n->key, (wharf_str){path.p, k}))
            n = n->next;
        path.p += k + (k < path.n);
        path.n -= k + (k < path.n);
    }
    if (!n || n->column < 0)
        return str_z("");
    text = node_text(in, n);
    s = n->sources || n->beside ? filling_source(in, n) : NULL;
    *ret_column = !text.n ? -1 : s ? s->columns[0] : n->column;
    return text;
}
