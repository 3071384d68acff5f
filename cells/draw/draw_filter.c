/* draw_filter.c - filters of placeholders: `{{ path | filter:argument,argument }}`, see
 * draw_expr.h. One table at the end says them all. Leaves to others: dates, money and measures
 * (draw_filter_format.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "draw_code.h"
#include "draw_filter.h"
#include "util/str.h"

static const struct wharf_json *draw_filter_text_value(const struct filter *f, struct buf *b)
{
    const struct wharf_json *v = value_string(f->e->arena, arena_dup_str(f->e->arena, buf_str(b)));

    if (b->failed)
        expr_fail(f->e, "its text is longer than 64 KiB");
    buf_done(b);
    return v;
}

static wharf_str own_text(const struct filter *f)
{
    return value_as_text(f->e->arena, f->v);
}

wharf_str filter_text(const struct filter *f, size_t i, const char *fallback)
{
    return i < f->n ? value_as_text(f->e->arena, f->args[i]) : str_z(fallback);
}

bool filter_count(const struct filter *f, size_t i, int most, int *ret)
{
    double d;

    if (i >= f->n)
        return true;
    if (!value_as_number(f->args[i], &d) || d != floor(d) || d < 0 || d > most)
        return expr_fail(
            f->e, "argument %zu of %s is a whole number from 0 to %d", i + 1, f->name.p, most);
    *ret = (int)d;
    return true;
}

/* ---- letters ---- */

enum letters { LETTERS_UPPER, LETTERS_LOWER, LETTERS_TITLE };

static const struct wharf_json *change_letters(const struct filter *f, enum letters how)
{
    wharf_str s = own_text(f);
    bool begins = true;
    struct buf out;

    buf_init(&out, EXPR_TEXT_MAX);
    for (size_t i = 0, n; i < s.n; i += n) {
        utf8proc_uint8_t text[4];
        utf8proc_int32_t c;
        uint32_t letter;

        n = utf8_step(s.p + i, s.n - i, &letter);
        if (!n)
            break;
        c = (utf8proc_int32_t)letter;
        c = how == LETTERS_UPPER             ? utf8proc_toupper(c)
            : how == LETTERS_TITLE && begins ? utf8proc_totitle(c)
                                             : utf8proc_tolower(c);
        begins = letter == ' ' || letter == '-' || letter == '\t' || letter == '\n';
        buf_add(&out, text, (size_t)utf8proc_encode_char(c, text));
    }
    return draw_filter_text_value(f, &out);
}

static const struct wharf_json *f_upper(const struct filter *f)
{
    return change_letters(f, LETTERS_UPPER);
}

static const struct wharf_json *f_lower(const struct filter *f)
{
    return change_letters(f, LETTERS_LOWER);
}

static const struct wharf_json *f_title(const struct filter *f)
{
    return change_letters(f, LETTERS_TITLE);
}

static const struct wharf_json *f_trim(const struct filter *f)
{
    return value_string(f->e->arena, arena_dup_str(f->e->arena, utf8_trim(own_text(f))));
}

/* Counts the bytes of the first letters. */
static size_t draw_filter_bytes_of(wharf_str s, int letters)
{
    size_t at = 0;
    uint32_t c;

    for (size_t n = 1; letters-- > 0 && at < s.n && n; at += n)
        n = utf8_step(s.p + at, s.n - at, &c);
    return at;
}

static const struct wharf_json *f_truncate(const struct filter *f)
{
    wharf_str s = own_text(f);
    struct buf out;
    int most = 30;

    if (!filter_count(f, 0, EXPR_TEXT_MAX, &most) || utf8_length(s.p, s.n) <= (size_t)most)
        return value_string(f->e->arena, s);
    buf_init(&out, EXPR_TEXT_MAX);
    buf_add(&out, s.p, draw_filter_bytes_of(s, most - 1));
    if (most > 0)
        buf_addz(&out, "\xe2\x80\xa6");
    return draw_filter_text_value(f, &out);
}

static const struct wharf_json *f_replace(const struct filter *f)
{
    wharf_str s = own_text(f), what = filter_text(f, 0, ""), by = filter_text(f, 1, "");
    struct buf out;

    if (!what.n)
        return f->v;
    buf_init(&out, EXPR_TEXT_MAX);
    while (s.n && !out.failed) {
        const char *at = memmem(s.p, s.n, what.p, what.n);
        size_t n = at ? (size_t)(at - s.p) : s.n;

        buf_add(&out, s.p, n);
        if (at)
            buf_adds(&out, by);
        n += at ? what.n : 0;
        s = (wharf_str){s.p + n, s.n - n};
    }
    return draw_filter_text_value(f, &out);
}

/* Fills up on the left. */
static const struct wharf_json *f_pad(const struct filter *f)
{
    wharf_str s = own_text(f), with = filter_text(f, 1, "0");
    struct buf out;
    int width = 0;

    if (!filter_count(f, 0, 10000, &width))
        return &value_null;
    with.n = draw_filter_bytes_of(with, 1);
    buf_init(&out, EXPR_TEXT_MAX);
    for (size_t have = utf8_length(s.p, s.n); with.n && have < (size_t)width; have++)
        buf_adds(&out, with);
    buf_adds(&out, s);
    return draw_filter_text_value(f, &out);
}

static const struct wharf_json *f_escape(const struct filter *f)
{
    struct buf out;

    buf_init(&out, EXPR_TEXT_MAX);
    buf_add_html(&out, own_text(f));
    return draw_filter_text_value(f, &out);
}

static const struct wharf_json *f_json(const struct filter *f)
{
    wharf_str s = jw_text(f->e->arena, f->v);

    if (s.n > EXPR_TEXT_MAX)
        expr_fail(f->e, "its text is longer than 64 KiB");
    return value_string(f->e->arena, s);
}

static const struct wharf_json *f_default(const struct filter *f)
{
    bool empty = f->v->type == JSON_NULL || (f->v->type == JSON_STRING && !f->v->text.n);

    return empty && f->n ? f->args[0] : f->v;
}

/* ---- lists ---- */

static const struct wharf_json *f_join(const struct filter *f)
{
    wharf_str with = filter_text(f, 0, ", "), field = filter_text(f, 1, "");
    struct buf out;

    if (!json_is(f->v, JSON_ARRAY))
        return f->v;
    buf_init(&out, EXPR_TEXT_MAX);
    for (const struct wharf_json *c = f->v->child; c && !out.failed; c = c->next) {
        buf_adds(&out, value_as_text(f->e->arena, field.n ? value_at(c, field) : c));
        if (c->next)
            buf_adds(&out, with);
    }
    return draw_filter_text_value(f, &out);
}

static const struct wharf_json *f_first(const struct filter *f)
{
    if (!json_is(f->v, JSON_ARRAY))
        return f->v;
    return f->v->child ? f->v->child : &value_null;
}

static const struct wharf_json *f_last(const struct filter *f)
{
    const struct wharf_json *last = json_is(f->v, JSON_ARRAY) ? f->v->child : f->v;

    while (json_is(f->v, JSON_ARRAY) && last && last->next)
        last = last->next;
    return last ? last : &value_null;
}

static const struct wharf_json *f_count(const struct filter *f)
{
    size_t n = 0;

    if (json_is(f->v, JSON_ARRAY) || json_is(f->v, JSON_OBJECT))
        n = f->v->count;
    else if (f->v->type == JSON_STRING)
        n = utf8_length(f->v->text.p, f->v->text.n);
    return value_number(f->e->arena, (double)n);
}

static const struct wharf_json *f_sum(const struct filter *f)
{
    wharf_str field = filter_text(f, 0, "");
    double sum = 0, d;

    if (!json_is(f->v, JSON_ARRAY))
        return &value_null;
    for (const struct wharf_json *c = f->v->child; c; c = c->next) {
        if (value_as_number(value_at(c, field), &d))
            sum = strtod(value_number(f->e->arena, sum + d)->text.p, NULL);
    }
    return value_number(f->e->arena, sum);
}

/* Copies an element, so that it can stand in another list. */
static struct wharf_json *copy_node(struct arena *a, const struct wharf_json *v)
{
    struct wharf_json *copy = ARENA_NEW(a, struct wharf_json);

    *copy = *v;
    copy->next = NULL;
    return copy;
}

static void list_add(
    struct arena *a, struct wharf_json *list, struct wharf_json **last, const struct wharf_json *v)
{
    struct wharf_json *copy = copy_node(a, v);

    if (*last)
        (*last)->next = copy;
    else
        list->child = copy;
    *last = copy;
    list->count++;
}

static struct wharf_json *new_list(struct arena *a)
{
    struct wharf_json *list = ARENA_NEW(a, struct wharf_json);

    list->type = JSON_ARRAY;
    return list;
}

struct sorted {
    const struct wharf_json *v;
    wharf_str text;
    double number;
    bool is_number;
    size_t place;
};

static int by_value(const void *x, const void *y)
{
    const struct sorted *a = x, *b = y;
    int order = a->is_number && b->is_number ? (a->number > b->number) - (a->number < b->number)
                                             : str_order(a->text, b->text);

    return order ? order : (a->place > b->place) - (a->place < b->place);
}

/* Sorts by a field, numbers as numbers when all are. */
static const struct wharf_json *f_sort(const struct filter *f)
{
    wharf_str field = filter_text(f, 0, "");
    struct wharf_json *list, *last = NULL;
    struct sorted *all;
    bool numbers = true;
    size_t n = 0;

    if (!json_is(f->v, JSON_ARRAY))
        return f->v;
    all = ARENA_ARRAY(f->e->arena, struct sorted, f->v->count + 1);
    for (const struct wharf_json *c = f->v->child; c; c = c->next, n++) {
        const struct wharf_json *key = value_at(c, field);

        all[n] = (struct sorted){c, value_as_text(f->e->arena, key), .place = n};
        numbers = value_as_number(key, &all[n].number) && numbers;
    }
    for (size_t i = 0; i < n; i++)
        all[i].is_number = numbers;
    if (n > 1)
        qsort(all, n, sizeof(*all), by_value);
    list = new_list(f->e->arena);
    for (size_t i = 0; i < n; i++)
        list_add(f->e->arena, list, &last, all[i].v);
    return list;
}

static const struct wharf_json *f_where(const struct filter *f)
{
    wharf_str field = filter_text(f, 0, ""), want = filter_text(f, 1, "");
    struct wharf_json *list, *last = NULL;

    if (!json_is(f->v, JSON_ARRAY))
        return f->v;
    list = new_list(f->e->arena);
    for (const struct wharf_json *c = f->v->child; c; c = c->next) {
        const struct wharf_json *key = value_at(c, field);

        if (key && str_eq(value_as_text(f->e->arena, key), want))
            list_add(f->e->arena, list, &last, c);
    }
    return list;
}

/* ---- check digits ---- */

/* Tells whether a text has letters from `first` to `last` only; else the expression is wrong.
 * what: their name in the message. */
static bool has_only(const struct filter *f, wharf_str s, char first, char last, const char *what)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < first || s.p[i] > last)
            return expr_fail(f->e, "%s takes %s only", f->name.p, what);
    }
    return true;
}

/* Puts the check digit of GS1 behind the digits. */
static const struct wharf_json *f_mod10(const struct filter *f)
{
    wharf_str s = own_text(f);

    if (!has_only(f, s, '0', '9', "digits"))
        return &value_null;
    return value_string(
        f->e->arena, arena_printf(f->e->arena, "%.*s%c", STR_ARG(s), code_check_digit(s.p, s.n)));
}

/* Computes the check character of Code 128, code set B, as a number. */
static const struct wharf_json *f_mod103(const struct filter *f)
{
    wharf_str s = own_text(f);
    unsigned sum = 104;

    if (!has_only(f, s, ' ', '~', "printable ASCII"))
        return &value_null;
    for (size_t i = 0; i < s.n; i++)
        sum = (sum + (unsigned)(s.p[i] - ' ') * (unsigned)((i + 1) % 103)) % 103;
    return value_number(f->e->arena, sum);
}

/* ---- all of them ---- */

static const struct {
    const char *name;
    const struct wharf_json *(*fn)(const struct filter *f);
    unsigned least, most; /* arguments */
} filters[] = {{"upper", f_upper, 0, 0}, {"lower", f_lower, 0, 0}, {"title", f_title, 0, 0},
    {"trim", f_trim, 0, 0}, {"truncate", f_truncate, 1, 1}, {"default", f_default, 1, 1},
    {"replace", f_replace, 1, 2}, {"pad", f_pad, 1, 2}, {"join", f_join, 0, 2},
    {"first", f_first, 0, 0}, {"last", f_last, 0, 0}, {"count", f_count, 0, 0},
    {"sum", f_sum, 0, 1}, {"sort", f_sort, 0, 1}, {"where", f_where, 2, 2},
    {"number", filter_number, 0, 1}, {"currency", filter_currency, 1, 1},
    {"date", filter_date, 0, 2}, {"round", filter_round, 0, 1}, {"weight", filter_weight, 1, 1},
    {"length", filter_length, 1, 1}, {"json", f_json, 0, 0}, {"escape", f_escape, 0, 0},
    {"mod10", f_mod10, 0, 0}, {"mod103", f_mod103, 0, 0}};

bool filter_fills(wharf_str name)
{
    return str_eqz(name, "default");
}

bool filter_apply(struct draw_eval *e, wharf_str name, const struct wharf_json *v,
    const struct wharf_json *const *args, size_t n_args, const struct wharf_json **ret)
{
    *ret = &value_null;
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        struct filter f = {e, str_z(filters[i].name), v, args, n_args};

        if (!str_eqz(name, filters[i].name))
            continue;
        if (n_args < filters[i].least || n_args > filters[i].most)
            return expr_fail(e, "the filter %s takes %u to %u arguments", filters[i].name,
                filters[i].least, filters[i].most);
        /* a list costs as much as it has elements */
        e->operations += json_is(v, JSON_ARRAY) ? v->count : 0;
        if (e->operations > EXPR_OPERATIONS_MAX)
            return expr_fail(e, "it takes more than %d operations", EXPR_OPERATIONS_MAX);
        *ret = filters[i].fn(&f);
        return !e->wrong[0];
    }
    return expr_fail(e, "there is no filter %.*s", (int)(name.n < 40 ? name.n : 40), name.p);
}
