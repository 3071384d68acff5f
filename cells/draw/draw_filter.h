/* draw_filter.h - inside of the filters (draw_filter.c, draw_filter_format.c). */
#ifndef WHARF_CELL_DRAW_FILTER_H
#define WHARF_CELL_DRAW_FILTER_H

#include "draw_expr.h"

/* One use of a filter. */
struct filter {
    struct draw_eval *e;
    wharf_str name;
    const struct wharf_json *v;
    const struct wharf_json *const *args;
    size_t n;
};

wharf_str filter_text(const struct filter *f, size_t i, const char *fallback);
/* Reads argument i as a whole number from 0 to most; *ret stays when it is not given. Returns
 * false when it is something else, which is noted. */
bool filter_count(const struct filter *f, size_t i, int most, int *ret);

/* ---- draw_filter_format.c ---- */

/* Writes 1234.5 with two decimals as "1,234.50". */
const struct wharf_json *filter_number(const struct filter *f);
/* Writes "$1,234.50"; currencies without a sign of their own: "CHF 1,234.50". */
const struct wharf_json *filter_currency(const struct filter *f);
/* Rounds half away from zero, as the digits are written. */
const struct wharf_json *filter_round(const struct filter *f);
/* Writes a time (RFC 3339, a date, or seconds since 1970) by a pattern: YYYY YY MMMM MMM MM M
 * DD D dddd ddd HH H hh h mm ss A a Z; text in [brackets] stays. */
const struct wharf_json *filter_date(const struct filter *f);
/* Writes the unit behind a number; {value, unit} is converted to it: "3.2 kg". */
const struct wharf_json *filter_weight(const struct filter *f);
const struct wharf_json *filter_length(const struct filter *f);

#endif
