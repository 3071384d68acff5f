/* filter_compare.c - date and number filters (01 sections 11.1 and 11.2). */
#include "query/filter.h"
#include "util/json.h"
#include "util/str.h"
#include "util/time.h"

enum { NUMBER_FRACTION = 4 };

/* Tells whether s has the form [ "-" ] ( "0" | nz {digit} ) [ "." 1*4digit ]. */
static bool filter_compare_number_form(wharf_str s)
{
    size_t i = 0, start, fraction;

    if (s.n && s.p[0] == '-')
        i++;
    start = i;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    if (i == start || (s.p[start] == '0' && i - start > 1))
        return false;
    if (i == s.n)
        return true;
    if (s.p[i++] != '.')
        return false;
    fraction = i;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
        i++;
    return i == s.n && i > fraction && i - fraction <= NUMBER_FRACTION;
}

static const char *filter_compare_read_numbers(wharf_str *values, size_t n, int *ret_order)
{
    for (size_t i = 0; i < n; i++) {
        if (!filter_compare_number_form(values[i]))
            return "must be a number with at most 4 digits after the point";
    }
    *ret_order = n == 2 ? json_number_compare(values[0], values[1]) : 0;
    return NULL;
}

static const char *read_dates(struct arena *a, wharf_str *values, size_t n, int *ret_order)
{
    int64_t us, first = 0;

    for (size_t i = 0; i < n; i++) {
        if (!time_parse(values[i], true, &us))
            return "must be a date and time with Z or a UTC offset, or seconds or milliseconds "
                   "since 1970";
        *ret_order = (first > us) - (first < us);
        first = us;
        values[i] = time_iso(a, us);
    }
    return NULL;
}

static const char *read_values(struct arena *a, wharf_str list, bool dates, struct condition *c)
{
    size_t n, most = dates ? FILTER_DATES : FILTER_ITEMS;
    const wharf_str *items = filter_items(a, list, false, NULL, &n);
    bool pair = c->kind == COND_BETWEEN || c->kind == COND_WITHIN;
    wharf_str *values;
    const char *problem;
    int order = 0;

    if (!items || n > most)
        return dates ? "must have 1 to 100 values, none of them empty"
                     : "must have 1 to 500 values, none of them empty";
    if (pair && n != 2)
        return "must have exactly two values with bwe and bwi";
    if (!pair && c->kind != COND_IN && n != 1)
        return "must have one value with this operator";
    values = ARENA_ARRAY(a, wharf_str, n);
    memcpy(values, items, n * sizeof(*values));
    problem = dates ? read_dates(a, values, n, &order)
                    : filter_compare_read_numbers(values, n, &order);
    if (!problem && pair && order >= 0)
        problem = "must have its smaller value first";
    c->values = values;
    c->n_values = n;
    return problem;
}

/* Tells whether an operator takes one value: "in:" takes many, "eq:" and no operator take one. */
static bool takes_one(wharf_str word)
{
    return word.n == 0 || str_ends(word, "eq") || str_ends(word, "equals");
}

const char *filter_compare(struct arena *a, const struct filter_pair *p, struct condition *c)
{
    bool dates = p->filter->type == FILTER_DATE;
    wharf_str list = p->value, word = {"", 0};
    const char *colon, *problem;

    c->kind = COND_IN;
    if (p->form == KEY_LIST)
        return "must name an operator in its brackets";
    if (p->form == KEY_BRACKET) {
        word = p->inner;
        if (!filter_op(OPS_COMPARE, word, &c->kind, &c->negated))
            return "must have one of the operators eq, gt, gte, lt, lte, bwe, bwi, in";
    } else if (filter_nullness(p->value, &c->negated)) {
        c->kind = COND_NULL;
        return p->filter->nullable ? NULL : "is never null";
    } else if ((colon = memchr(list.p, ':', list.n)) != NULL) {
        word = (wharf_str){list.p, (size_t)(colon - list.p)};
        if (filter_op(OPS_COMPARE, word, &c->kind, &c->negated))
            list = (wharf_str){colon + 1, list.n - word.n - 1};
        else
            word = (wharf_str){"", 0};
    }
    problem = read_values(a, list, dates, c);
    if (!problem && c->kind == COND_IN && c->n_values > 1 && takes_one(word))
        problem = "must have one value; several go with in";
    return problem;
}
