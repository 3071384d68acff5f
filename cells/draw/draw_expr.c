/* draw_expr.c - reads and computes expressions in one pass, see draw_expr.h. Leaves to others:
 * filters (draw_filter.c), values (draw_value.c). */
#include "draw_expr.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"

struct reader {
    struct draw_eval *e;
    const char *p, *end; /* what is left */
};

bool expr_fail(struct draw_eval *e, const char *fmt, ...)
{
    va_list ap;

    if (!e->wrong[0]) {
        va_start(ap, fmt);
        vsnprintf(e->wrong, sizeof(e->wrong), fmt, ap);
        va_end(ap);
        /* a letter that was cut off at the end */
        for (size_t n = strlen(e->wrong); n && !utf8_valid(e->wrong, n);)
            e->wrong[--n] = 0;
    }
    return false;
}

static bool good(const struct reader *r)
{
    return !r->e->wrong[0];
}

/* Counts one step. Returns false when the text has made too many. */
static bool draw_expr_step(struct reader *r)
{
    if (!good(r))
        return false;
    return ++r->e->operations <= EXPR_OPERATIONS_MAX ||
           expr_fail(r->e, "it takes more than %d operations", EXPR_OPERATIONS_MAX);
}

/* Counts one step, and one for each element of a list that is looked through. */
static bool step_list(struct reader *r, const struct wharf_json *list)
{
    r->e->operations += json_is(list, JSON_ARRAY) ? list->count : 0;
    return draw_expr_step(r);
}

/* ---- words ---- */

static void draw_expr_skip_blanks(struct reader *r)
{
    while (r->p < r->end && isspace((unsigned char)*r->p))
        r->p++;
}

static bool draw_expr_is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static char peek(const struct reader *r, size_t ahead)
{
    return (size_t)(r->end - r->p) > ahead ? r->p[ahead] : 0;
}

/* Takes a sign that stands next. */
static bool draw_expr_take(struct reader *r, const char *sign)
{
    size_t n = strlen(sign);

    draw_expr_skip_blanks(r);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, sign, n) != 0)
        return false;
    r->p += n;
    return true;
}

/* Takes a word that stands next, as a whole. */
static bool draw_expr_take_word(struct reader *r, const char *word)
{
    const char *before = r->p;

    if (!draw_expr_take(r, word))
        return false;
    if (r->p < r->end && draw_expr_is_name(*r->p)) {
        r->p = before;
        return false;
    }
    return true;
}

static wharf_str take_name(struct reader *r)
{
    const char *from;

    draw_expr_skip_blanks(r);
    from = r->p;
    while (r->p < r->end && draw_expr_is_name(*r->p))
        r->p++;
    return (wharf_str){from, (size_t)(r->p - from)};
}

/* Reads a text in quotes of either kind; a backslash takes the next sign as it is. */
static const struct wharf_json *draw_expr_read_string(struct reader *r)
{
    char quote = *r->p++, *to;
    const char *end = r->p;
    size_t n = 0;

    while (end < r->end && *end != quote)
        end += *end == '\\' ? 2 : 1;
    if (end >= r->end) {
        expr_fail(r->e, "a text begins with %c and does not end", quote);
        return &value_null;
    }
    to = arena_alloc(r->e->arena, (size_t)(end - r->p) + 1);
    for (; r->p < end; r->p++) {
        if (*r->p == '\\')
            r->p++;
        to[n++] = *r->p;
    }
    r->p = end + 1;
    return value_string(r->e->arena, (wharf_str){to, n});
}

static const struct wharf_json *draw_expr_read_number(struct reader *r)
{
    char text[32];
    size_t n = 0;

    while (r->p < r->end && n < sizeof(text) - 1 && (isdigit((unsigned char)*r->p) || *r->p == '.'))
        text[n++] = *r->p++;
    text[n] = 0;
    if (strspn(text, "0123456789") + 1 == n || strchr(text, '.') != strrchr(text, '.') ||
        n == sizeof(text) - 1)
        expr_fail(r->e, "%s is no number", text);
    return value_number(r->e->arena, strtod(text, NULL));
}

/* ---- paths ---- */

static const struct wharf_json *draw_expr_look_up(struct draw_eval *e, wharf_str name)
{
    for (const struct draw_vars *v = e->vars; v; v = v->up) {
        const struct wharf_json *found = v->name.n ? str_eq(v->name, name) ? v->value : NULL
                                                   : json_get_n(v->value, name);

        if (found)
            return found;
    }
    if (!str_eqz(name, "page") && !str_eqz(name, "pages"))
        return NULL;
    e->said_page = true;
    return value_number(e->arena, name.n == 4 ? e->page : e->pages);
}

static const struct wharf_json *read_or(struct reader *r);

/* Follows what stands in brackets: an index or a key. */
static const struct wharf_json *follow_index(struct reader *r, const struct wharf_json *v)
{
    const struct wharf_json *key;
    double d;

    draw_expr_skip_blanks(r);
    if (peek(r, 0) == '"' || peek(r, 0) == '\'') {
        key = draw_expr_read_string(r);
    } else if (isdigit((unsigned char)peek(r, 0))) {
        key = draw_expr_read_number(r);
    } else {
        expr_fail(r->e, "an index is a whole number or a text in quotes");
        return NULL;
    }
    if (!draw_expr_take(r, "]"))
        expr_fail(r->e, "] is missing");
    if (json_is(v, JSON_ARRAY))
        return value_as_number(key, &d) && d == floor(d) && d < 1e9 ? json_at(v, (size_t)d) : NULL;
    return json_is(key, JSON_STRING) ? json_get_n(v, key->text) : NULL;
}

static const struct wharf_json *draw_expr_read_path(struct reader *r)
{
    const char *from = r->p;
    wharf_str name = take_name(r);
    const struct wharf_json *v = draw_expr_look_up(r->e, name);

    while (draw_expr_step(r)) {
        if (peek(r, 0) == '.' && draw_expr_is_name(peek(r, 1))) {
            r->p++;
            name = take_name(r);
            v = value_at(v, name);
        } else if (peek(r, 0) == '[') {
            r->p++;
            v = follow_index(r, v);
        } else {
            break;
        }
    }
    if ((!v || (r->e->null_is_missing && v->type == JSON_NULL)) && !r->e->lost.n)
        r->e->lost = arena_dup(r->e->arena, from, (size_t)(r->p - from));
    return v ? v : &value_null;
}

/* ---- the grammar, the tightest first ---- */

static const struct wharf_json *read_primary(struct reader *r)
{
    const struct wharf_json *v;
    char c;

    draw_expr_skip_blanks(r);
    c = peek(r, 0);
    if (!draw_expr_step(r))
        return &value_null;
    if (c == '"' || c == '\'')
        return draw_expr_read_string(r);
    if (isdigit((unsigned char)c))
        return draw_expr_read_number(r);
    if (draw_expr_take(r, "(")) {
        v = read_or(r);
        if (!draw_expr_take(r, ")"))
            expr_fail(r->e, ") is missing");
        return v;
    }
    if (draw_expr_take_word(r, "true"))
        return &value_true;
    if (draw_expr_take_word(r, "false"))
        return &value_false;
    if (draw_expr_take_word(r, "null"))
        return &value_null;
    if (draw_expr_is_name(c))
        return draw_expr_read_path(r);
    if (c)
        expr_fail(r->e, "a value is missing before %.1s", (unsigned char)c < 0x80 ? r->p : "?");
    else
        expr_fail(r->e, "a value is missing at the end");
    return &value_null;
}

static const struct wharf_json *read_unary(struct reader *r)
{
    const struct wharf_json *v;
    double d;

    if (!draw_expr_take(r, "-"))
        return read_primary(r);
    v = read_primary(r);
    return value_as_number(v, &d) ? value_number(r->e->arena, -d) : &value_null;
}

static const struct wharf_json *draw_expr_compute(
    struct reader *r, char op, const struct wharf_json *x, const struct wharf_json *y)
{
    double a, b;

    draw_expr_step(r);
    if (!value_as_number(x, &a) || !value_as_number(y, &b))
        return &value_null;
    switch (op) {
    case '+':
        return value_number(r->e->arena, a + b);
    case '-':
        return value_number(r->e->arena, a - b);
    case '*':
        return value_number(r->e->arena, a * b);
    case '/':
        return b == 0 ? &value_null : value_number(r->e->arena, a / b);
    default:
        return b == 0 ? &value_null : value_number(r->e->arena, fmod(a, b));
    }
}

static const struct wharf_json *read_product(struct reader *r)
{
    const struct wharf_json *v = read_unary(r);

    while (good(r)) {
        char op;

        draw_expr_skip_blanks(r);
        op = peek(r, 0);
        if (op != '*' && op != '/' && op != '%')
            break;
        r->p++;
        v = draw_expr_compute(r, op, v, read_unary(r));
    }
    return v;
}

/* Notes that a text is empty, or a part of it, for want of a path. */
static void draw_expr_note_missing(struct draw_eval *e)
{
    if (!e->missing.n)
        e->missing = e->lost;
}

static const struct wharf_json *draw_expr_join(
    struct reader *r, const struct wharf_json *x, const struct wharf_json *y)
{
    wharf_str a = value_as_text(r->e->arena, x), b = value_as_text(r->e->arena, y);
    char *to;

    if (x->type == JSON_NULL || y->type == JSON_NULL)
        draw_expr_note_missing(r->e);
    if (!draw_expr_step(r) || a.n + b.n > EXPR_TEXT_MAX) {
        expr_fail(r->e, "its text is longer than 64 KiB");
        return &value_null;
    }
    to = arena_alloc(r->e->arena, a.n + b.n + 1);
    memcpy(to, a.p, a.n);
    memcpy(to + a.n, b.p, b.n);
    return value_string(r->e->arena, (wharf_str){to, a.n + b.n});
}

static const struct wharf_json *read_sum(struct reader *r)
{
    const struct wharf_json *v = read_product(r);

    while (good(r)) {
        char op;

        draw_expr_skip_blanks(r);
        op = peek(r, 0);
        if (op != '+' && op != '-' && op != '~')
            break;
        r->p++;
        v = op == '~' ? draw_expr_join(r, v, read_product(r))
                      : draw_expr_compute(r, op, v, read_product(r));
    }
    return v;
}

static const struct wharf_json *draw_expr_truth(bool is)
{
    return is ? &value_true : &value_false;
}

/* Takes the comparison that stands next. Returns its place in the list, or -1. */
static int take_comparison(struct reader *r)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};

    for (int i = 0; i < 6; i++) {
        if (draw_expr_take(r, signs[i]))
            return i;
    }
    return draw_expr_take_word(r, "in") ? 6 : draw_expr_take_word(r, "contains") ? 7 : -1;
}

static const struct wharf_json *read_comparison(struct reader *r)
{
    const struct wharf_json *x = read_sum(r), *y;
    struct arena *a = r->e->arena;
    int op = good(r) ? take_comparison(r) : -1;

    if (op < 0)
        return x;
    y = read_sum(r);
    if (!step_list(r, op == 6 ? y : x))
        return &value_null;
    switch (op) {
    case 0:
        return draw_expr_truth(value_equal(x, y));
    case 1:
        return draw_expr_truth(!value_equal(x, y));
    case 2:
        return draw_expr_truth(value_order(a, x, y) <= 0);
    case 3:
        return draw_expr_truth(value_order(a, x, y) >= 0);
    case 4:
        return draw_expr_truth(value_order(a, x, y) < 0);
    case 5:
        return draw_expr_truth(value_order(a, x, y) > 0);
    case 6:
        return draw_expr_truth(value_contains(a, y, x));
    default:
        return draw_expr_truth(value_contains(a, x, y));
    }
}

static const struct wharf_json *read_not(struct reader *r)
{
    draw_expr_skip_blanks(r);
    if (peek(r, 0) == '!' && peek(r, 1) != '=') {
        r->p++;
        return draw_expr_truth(!value_truth(read_comparison(r)));
    }
    return read_comparison(r);
}

static const struct wharf_json *read_and(struct reader *r)
{
    const struct wharf_json *v = read_not(r);

    while (good(r) && draw_expr_take(r, "&&")) {
        const struct wharf_json *y = read_not(r);

        v = value_truth(v) ? y : v;
    }
    return v;
}

/* Reads an alternative: the first that is true is the value, else the last. A path before the last
 * may be missing: there is something in its place. */
static const struct wharf_json *read_or(struct reader *r)
{
    const wharf_str lost = r->e->lost;
    const struct wharf_json *v;

    if (++r->e->depth > EXPR_DEPTH_MAX)
        expr_fail(r->e, "it is nested deeper than %d", EXPR_DEPTH_MAX);
    v = good(r) ? read_and(r) : &value_null;
    while (good(r) && draw_expr_take(r, "||")) {
        const struct wharf_json *y;

        r->e->lost = lost;
        y = read_and(r);
        if (value_truth(v))
            r->e->lost = lost;
        v = value_truth(v) ? v : y;
    }
    r->e->depth--;
    return v;
}

/* ---- filters and placeholders ---- */

/* Reads an argument: a text in quotes, an expression in parentheses, or words as they stand. */
static const struct wharf_json *read_argument(struct reader *r)
{
    const char *from;
    wharf_str words;

    draw_expr_skip_blanks(r);
    if (peek(r, 0) == '"' || peek(r, 0) == '\'')
        return draw_expr_read_string(r);
    if (peek(r, 0) == '(')
        return read_primary(r);
    from = r->p;
    while (r->p < r->end && *r->p != ',' && *r->p != '|')
        r->p++;
    words = utf8_trim((wharf_str){from, (size_t)(r->p - from)});
    return value_string(r->e->arena, arena_dup_str(r->e->arena, words));
}

static const struct wharf_json *draw_expr_read_filters(struct reader *r, const struct wharf_json *v)
{
    while (good(r) && draw_expr_take(r, "|")) {
        const struct wharf_json *args[EXPR_ARGS_MAX];
        wharf_str name = take_name(r);
        size_t n = 0;

        draw_expr_step(r);
        if (draw_expr_take(r, ":")) {
            do {
                if (n == EXPR_ARGS_MAX)
                    expr_fail(r->e, "a filter has at most %d arguments", EXPR_ARGS_MAX);
                else
                    args[n++] = read_argument(r);
            } while (good(r) && draw_expr_take(r, ","));
        }
        if (!good(r) || !filter_apply(r->e, name, v, args, n, &v))
            return &value_null;
        if (filter_fills(name))
            r->e->lost = str_z("");
    }
    return v;
}

/* Reads an expression with its filters up to the end. Returns NULL when it is none. */
static const struct wharf_json *draw_expr_read_whole(
    struct draw_eval *e, const char *p, const char *end)
{
    struct reader r = {e, p, end};
    const struct wharf_json *v;

    e->lost = str_z("");
    v = draw_expr_read_filters(&r, read_or(&r));
    draw_expr_skip_blanks(&r);
    if (good(&r) && r.p < r.end)
        expr_fail(e, "\"%.*s\" stands where it should end",
            (int)(r.end - r.p < 40 ? r.end - r.p : 40), r.p);
    return e->wrong[0] ? NULL : v;
}

static void draw_expr_begin(struct draw_eval *e)
{
    e->wrong[0] = 0;
    e->operations = e->depth = 0;
    e->missing = e->lost = str_z("");
}

const char *expr_holder_end(const char *p, const char *end)
{
    for (char quote = 0; p + 1 < end; p++) {
        if (quote && *p == '\\')
            p++;
        else if (quote)
            quote = *p == quote ? 0 : quote;
        else if (*p == '"' || *p == '\'')
            quote = *p;
        else if (p[0] == '}' && p[1] == '}')
            return p;
    }
    return NULL;
}

bool expr_has(wharf_str text)
{
    return memmem(text.p, text.n, "{{", 2) != NULL;
}

const struct wharf_json *expr_value(struct draw_eval *e, wharf_str text)
{
    draw_expr_begin(e);
    text = utf8_trim(text);
    if (text.n >= 4 && !memcmp(text.p, "{{", 2) && !memcmp(text.p + text.n - 2, "}}", 2)) {
        text.p += 2;
        text.n -= 4;
    }
    return draw_expr_read_whole(e, text.p, text.p + text.n);
}

/* Computes the placeholder at *at, which stands behind the braces afterwards. */
static const struct wharf_json *draw_expr_take_holder(
    struct draw_eval *e, const char **at, const char *end)
{
    const char *from = *at + 2, *close = expr_holder_end(from, end);
    const struct wharf_json *v;

    if (!close) {
        expr_fail(e, "{{ has no }}");
        return NULL;
    }
    *at = close + 2;
    v = draw_expr_read_whole(e, from, close);
    if (v && (v->type == JSON_NULL || (v->type == JSON_STRING && !v->text.n)))
        draw_expr_note_missing(e);
    return v;
}

const struct wharf_json *expr_text(struct draw_eval *e, wharf_str text)
{
    const char *p = text.p, *end = text.p + text.n;
    const struct wharf_json *v = NULL;
    struct buf out;

    draw_expr_begin(e);
    if (text.n >= 4 && !memcmp(p, "{{", 2) && expr_holder_end(p + 2, end) == end - 2)
        return draw_expr_take_holder(e, &p, end);
    buf_init(&out, EXPR_TEXT_MAX);
    while (p < end && !e->wrong[0]) {
        if (end - p >= 3 && !memcmp(p, "\\{{", 3)) {
            buf_addz(&out, "{{");
            p += 3;
        } else if (end - p >= 2 && !memcmp(p, "{{", 2)) {
            v = draw_expr_take_holder(e, &p, end);
            buf_adds(&out, value_as_text(e->arena, v));
        } else {
            const char *next = p + 1;

            while (next < end && *next != '\\' && *next != '{')
                next++;
            buf_add(&out, p, (size_t)(next - p));
            p = next;
        }
    }
    if (out.failed)
        expr_fail(e, "its text is longer than 64 KiB");
    v = e->wrong[0] ? NULL : value_string(e->arena, arena_dup_str(e->arena, buf_str(&out)));
    buf_done(&out);
    return v;
}
