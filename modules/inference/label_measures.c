/* label_measures.c - weights and dimensions as they are printed (docs/spec/06-inference.md section
 * 8.5): a number without a unit is none. See label_inside.h. */
#include "label_inside.h"

enum { OUNCES = 16, MEASURE_MOST = 100000 /* of any unit */, SIDES = 3 };

static size_t label_skip_blanks(wharf_str s, size_t i)
{
    while (i < s.n && s.p[i] == ' ')
        i++;
    return i;
}

/* Returns the unit that a text begins with, and how long it is; NULL: none. */
static const char *label_unit_of(const struct label_env *env, wharf_str text, size_t *ret_n)
{
    size_t from = 0, n;
    wharf_str key;

    while (from < text.n && text.p[from] == ' ')
        from++;
    n = from;
    while (n < text.n &&
           ((text.p[n] >= 'a' && text.p[n] <= 'z') || (text.p[n] >= 'A' && text.p[n] <= 'Z') ||
               (n == from && text.p[n] == '|')))
        n++;
    *ret_n = n;
    if (n == from) {
        *ret_n = from + 1;
        return from < text.n && text.p[from] == '#' ? "lb" : NULL;
    }
    /* of "|b" the first letter is an l */
    if (text.p[from] == '|')
        key = label_format(env, "l%.*s", (int)(n - from < 8 ? n - from - 1 : 7), text.p + from + 1);
    else
        key = (wharf_str){text.p + from, n - from};
    key = label_key(env, key);
    for (size_t i = 0; i < label_words_count; i++) {
        if (label_words[i].kind == LABEL_UNIT && is(key, label_words[i].key))
            return label_names[label_words[i].ref];
    }
    return NULL;
}

static bool label_is_weight_unit(const char *unit)
{
    return unit && (!strcmp(unit, "lb") || !strcmp(unit, "oz") || !strcmp(unit, "kg") ||
                       !strcmp(unit, "g"));
}

/* Counts the bytes of a second number, "3.5 / 3.5 kg": the unit behind it is of both. */
static size_t label_second_number(wharf_str s)
{
    size_t i = label_skip_blanks(s, 0);
    int64_t unused;

    if (i >= s.n || s.p[i] != '/')
        return 0;
    i = label_skip_blanks(s, i + 1);
    return i < s.n && label_decimal((wharf_str){s.p + i, s.n - i}, &unused)
               ? i + label_decimal((wharf_str){s.p + i, s.n - i}, &unused)
               : 0;
}

/* Reads "12.5 LBS", "1 LB 4 OZ", "2,5KG" at the begin of a text. Returns how many bytes it is; 0:
 * none. */
size_t label_weight_read(
    const struct label_env *env, wharf_str text, int64_t *ret_value, const char **ret_unit)
{
    size_t n = label_decimal(text, ret_value), k, m;
    wharf_str rest;
    int64_t ounces;
    const char *unit;

    if (!n)
        return 0;
    rest = (wharf_str){text.p + n, text.n - n};
    k = label_second_number(rest);
    n += k;
    rest = (wharf_str){rest.p + k, rest.n - k};
    *ret_unit = label_unit_of(env, rest, &k);
    if (!label_is_weight_unit(*ret_unit) || *ret_value <= 0 ||
        *ret_value > (int64_t)MEASURE_MOST * 1000)
        return 0;
    n += k;
    if (strcmp(*ret_unit, "lb") != 0)
        return n;
    while (n < text.n && (text.p[n] == ' ' || text.p[n] == ',' || text.p[n] == '.'))
        n++;
    rest = (wharf_str){text.p + n, text.n - n};
    m = label_decimal(rest, &ounces);
    unit = m ? label_unit_of(env, (wharf_str){rest.p + m, rest.n - m}, &k) : NULL;
    if (unit && !strcmp(unit, "oz") && ounces < OUNCES * 1000) {
        *ret_value += (ounces + OUNCES / 2) / OUNCES;
        n += m + k;
    }
    return n;
}

static bool label_is_side_unit(const char *unit)
{
    return unit && (!strcmp(unit, "in") || !strcmp(unit, "cm") || !strcmp(unit, "mm"));
}

/* Reads "12 X 10 X 8". Returns how many bytes it is; 0: it is none. */
static size_t label_sides_read(wharf_str s, int64_t side[SIDES])
{
    size_t i = 0;

    for (size_t n = 0; n < SIDES; n++) {
        size_t digits;

        if (n) {
            i = label_skip_blanks(s, i);
            if (i >= s.n || !strchr("xX*", s.p[i]))
                return 0;
            i = label_skip_blanks(s, i + 1);
        }
        digits = i < s.n ? label_decimal((wharf_str){s.p + i, s.n - i}, &side[n]) : 0;
        if (!digits || !side[n])
            return 0;
        i += digits;
    }
    return i;
}

/* Reads "12 X 10 X 8 IN" anywhere in a text. */
bool label_dimensions_read(
    const struct label_env *env, wharf_str text, struct label_dimensions *ret)
{
    for (size_t from = 0; from < text.n; from++) {
        wharf_str s = {text.p + from, text.n - from}, rest;
        int64_t side[SIDES];
        size_t n, unused;
        const char *unit;

        if (from && strchr("0123456789.,", text.p[from - 1]))
            continue;
        n = label_sides_read(s, side);
        if (!n)
            continue;
        rest = (wharf_str){s.p + n, s.n - n};
        unit = rest.n && *rest.p == '"' ? "in" : label_unit_of(env, rest, &unused);
        if (!label_is_side_unit(unit))
            continue;
        *ret = (struct label_dimensions){
            .length = side[0], .width = side[1], .height = side[2], .unit = unit};
        return true;
    }
    return false;
}
