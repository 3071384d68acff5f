/* label_dates.c - numbers and dates as they are printed (docs/spec/06-inference.md section 8.5).
 * Two digits for the day and two for the month stand in the order of the organization's country.
 * See label_inside.h. */
#include "label_inside.h"

enum { DECIMAL_DIGITS = 9, DATE_PARTS = 3 };

/* Reads a number with up to three decimals behind a point or comma. */
size_t label_decimal(wharf_str text, int64_t *ret)
{
    int64_t value = 0, scale = 1000;
    size_t i = 0, digits = 0;

    while (i < text.n && text.p[i] >= '0' && text.p[i] <= '9' && digits++ < DECIMAL_DIGITS)
        value = value * 10 + (text.p[i++] - '0');
    if (!digits || digits > DECIMAL_DIGITS)
        return 0;
    value *= scale;
    if (i + 1 < text.n && (text.p[i] == '.' || text.p[i] == ',') && text.p[i + 1] >= '0' &&
        text.p[i + 1] <= '9') {
        for (i++; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++) {
            scale /= 10;
            value += (text.p[i] - '0') * scale;
        }
    }
    *ret = value;
    return i;
}

/* ---- dates ---- */

struct label_parts { /* of a date: runs of digits and of letters */
    int64_t number[DATE_PARTS];
    size_t digits[DATE_PARTS];
    int month; /* a name, at the place at */
    size_t at, n;
    char mark; /* between the parts */
};

static bool label_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (uint8_t)c >= 0x80;
}

static int label_month_of(const struct label_env *env, wharf_str name)
{
    uint32_t n, length;
    const struct label_token *t = label_tokens(env, name, 0, &n);
    const struct label_word *w = n == 1 ? label_phrase(t, n, 0, LABEL_BIT(LABEL_MONTH), &length)
                                        : NULL;

    return w ? w->ref : 0;
}

/* Tells whether the letter at i is a nought that OCR took for one: "1OMAR26", but not "1OCT26". */
static bool label_is_nought(const struct label_env *env, wharf_str s, size_t i)
{
    size_t end = i;

    if (s.p[i] != 'O')
        return false;
    while (end < s.n && label_is_letter(s.p[end]))
        end++;
    return !label_month_of(env, (wharf_str){s.p + i, end - i});
}

/* Tells whether the nought at i begins "0CT", which is October. */
static bool label_is_october(wharf_str s, size_t i)
{
    return i + 2 < s.n && s.p[i] == '0' && (s.p[i + 1] | 0x20) == 'c' &&
           (s.p[i + 2] | 0x20) == 't' && (i + 3 == s.n || !label_is_letter(s.p[i + 3]));
}

/* Returns where the letters of a month end: a nought between two of them is an O, "N0V". */
static size_t label_date_letters(wharf_str s, size_t i)
{
    i += label_is_october(s, i);
    while (i < s.n && (label_is_letter(s.p[i]) ||
                          (s.p[i] == '0' && i + 1 < s.n && label_is_letter(s.p[i + 1]))))
        i++;
    return i;
}

static size_t label_date_digits(
    const struct label_env *env, wharf_str s, size_t i, struct label_parts *p)
{
    size_t from = i;

    while (i < s.n && i - from < 8 && !label_is_october(s, i) &&
           ((s.p[i] >= '0' && s.p[i] <= '9') || label_is_nought(env, s, i))) {
        p->number[p->n] = p->number[p->n] * 10 + (s.p[i] == 'O' ? 0 : s.p[i] - '0');
        i++;
    }
    p->digits[p->n] = i - from;
    return i;
}

/* Skips what stands behind a number: "12th", "3." */
static size_t label_date_gap(wharf_str s, size_t i, struct label_parts *p)
{
    static const char *const ends[] = {"st", "nd", "rd", "th"};

    for (size_t k = 0; k < 4; k++) {
        if (i + 2 <= s.n && !memcmp(s.p + i, ends[k], 2) &&
            (i + 2 == s.n || !label_is_letter(s.p[i + 2])))
            i += 2;
    }
    while (i < s.n && strchr(" ./,-", s.p[i])) {
        if (s.p[i] != ' ')
            p->mark = s.p[i];
        i++;
    }
    return i;
}

/* Tells whether a number begins with a nought that OCR took for an O: "O5MAR26". */
static bool label_begins_nought(wharf_str s, size_t i)
{
    return s.p[i] == 'O' && i + 1 < s.n && s.p[i + 1] >= '0' && s.p[i + 1] <= '9';
}

/* Reads the parts that a date has, up to three. */
static bool label_date_parts(const struct label_env *env, wharf_str s, struct label_parts *p)
{
    size_t i = 0;

    memset(p, 0, sizeof(*p));
    while (i < s.n && p->n < DATE_PARTS) {
        if (!label_is_october(s, i) &&
            ((s.p[i] >= '0' && s.p[i] <= '9') || label_begins_nought(s, i))) {
            i = label_date_digits(env, s, i, p);
        } else if ((label_is_letter(s.p[i]) || label_is_october(s, i)) && !p->month) {
            size_t from = i;

            i = label_date_letters(s, i);
            p->month = label_month_of(env, (wharf_str){s.p + from, i - from});
            p->at = p->n;
            if (!p->month)
                return false;
        } else {
            break;
        }
        p->n++;
        i = label_date_gap(s, i, p);
    }
    return p->n == DATE_PARTS || (p->n == 1 && p->digits[0] == 8);
}

static int64_t label_year_of(int64_t year, size_t digits)
{
    return digits == 4 ? year : digits == 2 ? 2000 + year : -1;
}

/* Tells whether the country writes the month before the day. */
static bool label_month_first(const char *country)
{
    return !strcmp(country, "US") || !strcmp(country, "PH") || !strcmp(country, "FM") ||
           !strcmp(country, "PR");
}

/* Decides which part is which. Returns false where the order can't be told. */
static bool label_date_order(
    const struct label_env *env, const struct label_parts *p, int64_t ret[DATE_PARTS])
{
    const int64_t *n = p->number;

    if (p->n == 1) { /* 20240220 */
        ret[0] = n[0] / 10000;
        ret[1] = n[0] / 100 % 100;
        ret[2] = n[0] % 100;
        return true;
    }
    if (p->month) {
        size_t day = p->at == 0 ? 1 : 0, year = 2;

        if (p->at == 2)
            return false;
        if (p->digits[day] == 4) { /* 2024 FEB 20 */
            day = 2;
            year = 0;
        }
        ret[0] = label_year_of(n[year], p->digits[year]);
        ret[1] = p->month;
        ret[2] = n[day];
        return p->digits[day] <= 2;
    }
    if (p->digits[0] == 4) {
        ret[0] = n[0];
        ret[1] = n[1];
        ret[2] = n[2];
        return true;
    }
    if (!p->mark || p->digits[0] > 2 || p->digits[1] > 2 ||
        (!*env->country && n[0] < 13 && n[1] < 13 && n[0] != n[1]))
        return false;
    ret[0] = label_year_of(n[2], p->digits[2]);
    /* what can be no month is the day */
    if (n[0] > 12 || (n[1] <= 12 && (p->mark == '.' || !label_month_first(env->country)))) {
        ret[1] = n[1];
        ret[2] = n[0];
    } else {
        ret[1] = n[0];
        ret[2] = n[1];
    }
    return true;
}

bool label_date(const struct label_env *env, wharf_str text, int64_t span, int64_t *ret_days)
{
    struct label_parts p;
    int64_t at[DATE_PARTS], days;

    if (!label_date_parts(env, label_trim(text), &p) || !label_date_order(env, &p, at) ||
        !wharf_date_good(at[0], at[1], at[2]))
        return false;
    days = wharf_days_of(at[0], (int)at[1], at[2]);
    if (days > env->today + span || days < env->today - span)
        return false;
    *ret_days = days;
    return true;
}

wharf_str label_date_text(const struct label_env *env, int64_t days)
{
    int64_t year;
    int month, day;

    wharf_date_of(days, &year, &month, &day);
    return label_format(env, "%04lld-%02d-%02d", (long long)year, month, day);
}
