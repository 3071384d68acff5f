/* draw_filter_format.c - filters that write numbers, money, measures and dates, see
 * draw_filter.h. English, whatever the machine speaks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_filter.h"
#include "util/str.h"
#include "util/time.h"
#include "util/zone.h"

enum {
    DECIMALS_MAX = 12, /* places after the point */
    FIXED = 400
};

/* ---- numbers ---- */

/* Adds one to the digits of a decimal text; what runs over is put before them. */
static void count_up(char *digits)
{
    size_t i = strlen(digits);

    while (i-- > 0) {
        if (digits[i] == '.')
            continue;
        if (digits[i] != '9') {
            digits[i]++;
            return;
        }
        digits[i] = '0';
    }
    memmove(digits + 1, digits, strlen(digits) + 1);
    digits[0] = '1';
}

/* Writes a number with so many decimals, rounded half away from zero by its decimal digits.
 * Returns false when it is out of range. */
static bool fixed(double d, int decimals, char out[FIXED])
{
    struct buf plain;
    char text[40], *point, *digits = out + (d < 0);
    bool fits, up;

    snprintf(text, sizeof(text), "%.15g", fabs(d));
    buf_init(&plain, FIXED - 32);
    fits = json_number_canonical(str_z(text), FIXED - 64, &plain) && !plain.failed;
    out[0] = '-';
    snprintf(
        digits, FIXED - 8, "%s%s", fits ? plain.p : "0", fits && strchr(plain.p, '.') ? "" : ".");
    buf_done(&plain);
    point = strchr(digits, '.');
    up = (int)strlen(point + 1) > decimals && point[1 + decimals] >= '5';
    for (int have = (int)strlen(point + 1); have < decimals; have++)
        memcpy(point + 1 + have, "0", 2);
    point[1 + decimals] = 0;
    if (up)
        count_up(digits);
    if (!decimals)
        digits[strlen(digits) - 1] = 0; /* the point */
    if (strspn(digits, "0.") == strlen(digits) && digits > out)
        memmove(out, digits, strlen(digits) + 1); /* no minus before zero */
    return fits;
}

/* Puts commas between the thousands. */
static void grouped(const char *text, struct buf *out)
{
    size_t minus = text[0] == '-', whole = strspn(text + minus, "0123456789");

    buf_add(out, text, minus);
    for (size_t i = 0; i < whole; i++) {
        if (i && (whole - i) % 3 == 0)
            buf_addc(out, ',');
        buf_addc(out, text[minus + i]);
    }
    buf_addz(out, text + minus + whole);
}

static const struct wharf_json *draw_filter_format_text_of(const struct filter *f, struct buf *b)
{
    const struct wharf_json *v = value_string(f->e->arena, arena_dup_str(f->e->arena, buf_str(b)));

    buf_done(b);
    return v;
}

const struct wharf_json *filter_number(const struct filter *f)
{
    char text[FIXED];
    int decimals = 0;
    struct buf out;
    double d;

    if (!filter_count(f, 0, DECIMALS_MAX, &decimals) || !value_as_number(f->v, &d) ||
        !fixed(d, decimals, text))
        return &value_null;
    buf_init(&out, 2 * FIXED);
    grouped(text, &out);
    return draw_filter_format_text_of(f, &out);
}

const struct wharf_json *filter_round(const struct filter *f)
{
    char text[FIXED];
    int decimals = 0;
    double d;

    if (!filter_count(f, 0, DECIMALS_MAX, &decimals) || !value_as_number(f->v, &d) ||
        !fixed(d, decimals, text))
        return &value_null;
    return value_number(f->e->arena, strtod(text, NULL));
}

const struct wharf_json *filter_currency(const struct filter *f)
{
    static const struct {
        const char *code, *sign;
        int decimals;
    } known[] = {{"USD", "$", 2}, {"EUR", "\xe2\x82\xac", 2}, {"GBP", "\xc2\xa3", 2},
        {"JPY", "\xc2\xa5", 0}, {"CAD", "CA$", 2}, {"AUD", "A$", 2}, {"INR", "\xe2\x82\xb9", 2},
        {"KRW", "\xe2\x82\xa9", 0}, {"CNY", "CN\xc2\xa5", 2}, {"MXN", "MX$", 2}};
    wharf_str code = filter_text(f, 0, "");
    const char *sign = NULL;
    char text[FIXED];
    int decimals = 2;
    struct buf out;
    double d;

    if (!value_as_number(f->v, &d))
        return &value_null;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eqz(code, known[i].code)) {
            sign = known[i].sign;
            decimals = known[i].decimals;
        }
    }
    if (!fixed(d, decimals, text))
        return &value_null;
    buf_init(&out, 2 * FIXED);
    if (text[0] == '-')
        buf_addc(&out, '-');
    if (sign)
        buf_addz(&out, sign);
    else
        buf_addf(&out, "%.*s ", (int)(code.n < 8 ? code.n : 8), code.p);
    grouped(text + (text[0] == '-'), &out);
    return draw_filter_format_text_of(f, &out);
}

/* ---- measures ---- */

struct unit {
    const char *name;
    double size; /* in the first unit of its list */
};

static const struct unit *find_unit(const struct unit *units, wharf_str name)
{
    for (; units->name; units++) {
        if (str_eqz(name, units->name))
            return units;
    }
    return NULL;
}

static const struct wharf_json *draw_filter_format_measure(
    const struct filter *f, const struct unit *units)
{
    wharf_str name = filter_text(f, 0, "");
    const struct unit *to = find_unit(units, name), *from = to;
    const struct wharf_json *v = f->v;
    char text[FIXED];
    double d;

    if (!to) {
        expr_fail(
            f->e, "%s knows no unit %.*s", f->name.p, (int)(name.n < 20 ? name.n : 20), name.p);
        return &value_null;
    }
    if (json_is(v, JSON_OBJECT)) {
        from = find_unit(units, json_text_or(v, "unit", name.p));
        v = json_get(v, "value");
    }
    if (!from || !value_as_number(v, &d) || !fixed(d * from->size / to->size, 3, text))
        return &value_null;
    v = value_number(f->e->arena, strtod(text, NULL));
    return value_string(
        f->e->arena, arena_printf(f->e->arena, "%.*s %s", STR_ARG(v->text), to->name));
}

const struct wharf_json *filter_weight(const struct filter *f)
{
    static const struct unit units[] = {
        {"g", 1}, {"kg", 1000}, {"t", 1e6}, {"oz", 28.349523125}, {"lb", 453.59237}, {NULL, 0}};

    return draw_filter_format_measure(f, units);
}

const struct wharf_json *filter_length(const struct filter *f)
{
    static const struct unit units[] = {
        {"mm", 1}, {"cm", 10}, {"m", 1000}, {"in", 25.4}, {"ft", 304.8}, {"yd", 914.4}, {NULL, 0}};

    return draw_filter_format_measure(f, units);
}

/* ---- dates ---- */

static const char *const months[] = {"January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December"};
static const char *const days[] = {
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

/* Reads the time. A date alone has no zone: it stays the day that it is. */
static bool draw_filter_format_read_time(const struct filter *f, int64_t *ret_s, bool *ret_day)
{
    double d;
    int64_t us;
    int n = 0;
    long long year;
    struct civil c = {0};

    *ret_day = false;
    if (json_is(f->v, JSON_NUMBER) && value_as_number(f->v, &d) && fabs(d) < 1e11) {
        *ret_s = (int64_t)floor(d);
        return true;
    }
    if (!json_is(f->v, JSON_STRING))
        return false;
    if (time_parse_iso(f->v->text, false, &us)) {
        *ret_s = us / 1000000 - (us % 1000000 < 0);
        return true;
    }
    if (f->v->text.n != 10 ||
        sscanf(f->v->text.p, "%4lld-%2d-%2d%n", &year, &c.month, &c.day, &n) != 3 || n != 10 ||
        year < 0 || c.month < 1 || c.month > 12 || c.day < 1 || c.day > 31)
        return false;
    c.year = year;
    *ret_s = civil_seconds(&c);
    *ret_day = true;
    return civil_of(*ret_s).day == c.day; /* 30 February would be a day of March */
}

/* Finds the file of a zone, which is read when it is not the one that was used last. Returns NULL
 * when there is no such zone. */
static const struct draw_zones *zone_named(const struct filter *f, const char *name)
{
    struct draw_zones *z = f->e->zones;

    if (!z || !zone_name_good(name))
        return NULL;
    if (!z->bytes || strcmp(z->name, name) != 0) {
        z->bytes = z->bytes ? z->bytes : arena_alloc(f->e->arena, ZONE_BYTES_MAX);
        snprintf(z->name, sizeof(z->name), "%s", name);
        z->n = z->read(name, z->bytes);
    }
    return z->n ? z : NULL;
}

static bool to_zone(const struct filter *f, int64_t s, struct zone_offset *ret)
{
    wharf_str zone = filter_text(f, 1, "UTC");
    const struct draw_zones *z;

    *ret = (struct zone_offset){0, "UTC"};
    if (str_eqz(zone, "UTC") || !zone.n)
        return true;
    z = zone_named(f, zone.p);
    return (z && zone_at(z->bytes, z->n, s, ret)) ||
           expr_fail(f->e, "there is no time zone %.*s", (int)(zone.n < 40 ? zone.n : 40), zone.p);
}

/* Writes one word of the pattern. Returns its length, 0 when none stands there. */
static size_t date_word(
    const char *p, size_t n, const struct civil *c, int32_t east, struct buf *out)
{
    static const char *const words[] = {"YYYY", "YY", "MMMM", "MMM", "MM", "M", "DD", "D", "dddd",
        "ddd", "HH", "H", "hh", "h", "mm", "ss", "A", "a", "Z"};
    int values[] = {(int)c->year, (int)(c->year % 100), 0, 0, c->month, c->month, c->day, c->day, 0,
        0, c->hour, c->hour, (c->hour + 11) % 12 + 1, (c->hour + 11) % 12 + 1, c->minute, c->second,
        0, 0, 0};
    size_t i = 0, length;

    while (i < 19 && (strlen(words[i]) > n || memcmp(p, words[i], strlen(words[i])) != 0))
        i++;
    if (i == 19)
        return 0;
    length = strlen(words[i]);
    if (i == 2 || i == 3)
        buf_addf(out, "%.*s", i == 2 ? 20 : 3, months[c->month - 1]);
    else if (i == 8 || i == 9)
        buf_addf(out, "%.*s", i == 8 ? 20 : 3, days[c->weekday]);
    else if (i == 16)
        buf_addz(out, c->hour < 12 ? "AM" : "PM");
    else if (i == 17)
        buf_addz(out, c->hour < 12 ? "am" : "pm");
    else if (i == 18)
        buf_addf(out, "%c%02d:%02d", east < 0 ? '-' : '+', abs(east) / 3600, abs(east) / 60 % 60);
    else
        buf_addf(out, "%0*d", (int)length, values[i]);
    return length;
}

const struct wharf_json *filter_date(const struct filter *f)
{
    wharf_str pattern = filter_text(f, 0, "YYYY-MM-DD");
    struct zone_offset offset = {0};
    struct civil c;
    struct buf out;
    int64_t s;
    bool day;

    if (!draw_filter_format_read_time(f, &s, &day) || (!day && !to_zone(f, s, &offset)))
        return &value_null;
    c = civil_of(s + offset.east);
    buf_init(&out, EXPR_TEXT_MAX);
    for (size_t i = 0, n; i < pattern.n; i += n) {
        const char *close = pattern.p[i] == '[' ? memchr(pattern.p + i, ']', pattern.n - i) : NULL;

        n = close ? 0 : date_word(pattern.p + i, pattern.n - i, &c, offset.east, &out);
        if (close) {
            n = (size_t)(close - pattern.p) - i + 1;
            buf_add(&out, pattern.p + i + 1, n - 2);
        } else if (!n) {
            buf_addc(&out, pattern.p[i]);
            n = 1;
        }
    }
    return draw_filter_format_text_of(f, &out);
}
