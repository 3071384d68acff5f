/* reply.c - see reply.h. */
#include "reply.h"

#include <string.h>
#include <strings.h>

#include "wharf/civil.h"

enum kind { SECONDS_OR_DATE, RESET, RESET_AFTER };
enum { DIGITS_MAX = 15, BILLION = 1000000000 };

static bool reply_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- lines ---- */

static wharf_str reply_trimmed(const char *from, const char *to)
{
    while (from < to && (*from == ' ' || *from == '\t'))
        from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
        to--;
    return (wharf_str){from, (size_t)(to - from)};
}

bool reply_line(wharf_str head, size_t *at, wharf_str *ret_name, wharf_str *ret_value)
{
    while (*at < head.n) {
        const char *line = head.p + *at, *end = memchr(line, '\n', head.n - *at), *colon;

        if (!end)
            end = head.p + head.n;
        *at = (size_t)(end - head.p) + 1;
        colon = memchr(line, ':', (size_t)(end - line));
        if (!colon || (end - line > 5 && !memcmp(line, "HTTP/", 5)))
            continue;
        *ret_name = reply_trimmed(line, colon);
        *ret_value = reply_trimmed(colon + 1, end);
        return true;
    }
    return false;
}

static bool reply_named(wharf_str name, const char *z)
{
    return name.n == strlen(z) && strncasecmp(name.p, z, name.n) == 0;
}

/* ---- dates ---- */

struct moment {
    int64_t year, month, day, hour, minute, second, us;
};

static bool to_us(const struct moment *m, int64_t *ret_us)
{
    if (!wharf_date_good(m->year, m->month, m->day) || m->hour > 23 || m->minute > 59 ||
        m->second > 60)
        return false;
    *ret_us = (wharf_days_of(m->year, (int)m->month, m->day) * 86400 + m->hour * 3600 +
                  m->minute * 60 + m->second) *
                  1000000 +
              m->us;
    return true;
}

struct scan {
    const char *p, *end;
};

static bool reply_number(struct scan *s, int digits, int64_t *ret)
{
    *ret = 0;
    for (int i = 0; i < digits; i++) {
        if (s->p == s->end || !reply_is_digit(*s->p))
            return false;
        *ret = *ret * 10 + (*s->p++ - '0');
    }
    return true;
}

static bool reply_letter(struct scan *s, char c)
{
    if (s->p == s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

static bool month_name(struct scan *s, int64_t *ret)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    for (int i = 0; s->end - s->p >= 3 && i < 12; i++) {
        if (memcmp(s->p, names + 3 * i, 3) == 0) {
            s->p += 3;
            *ret = i + 1;
            return true;
        }
    }
    return false;
}

static bool time_of_day(struct scan *s, struct moment *m)
{
    return reply_number(s, 2, &m->hour) && reply_letter(s, ':') && reply_number(s, 2, &m->minute) &&
           reply_letter(s, ':') && reply_number(s, 2, &m->second);
}

static bool gmt(struct scan *s)
{
    return s->end - s->p == 4 && memcmp(s->p, " GMT", 4) == 0;
}

/* Returns the full year (RFC 9110 section 5.6.7): a year of two digits more than 50 years ahead is
 * of the century before. */
static int64_t full_year(int64_t two, int64_t now_us)
{
    int64_t now_year = 1970 + now_us / 1000000 / 31556952, year = now_year / 100 * 100 + two;

    return year > now_year + 50 ? year - 100 : year;
}

/* Reads "Nov  6 08:49:37 1994", behind the name of the day. */
static bool asctime_date(struct scan s, struct moment *m)
{
    if (!month_name(&s, &m->month) || !reply_letter(&s, ' '))
        return false;
    if (!(reply_letter(&s, ' ') ? reply_number(&s, 1, &m->day) : reply_number(&s, 2, &m->day)) ||
        !reply_letter(&s, ' '))
        return false;
    return time_of_day(&s, m) && reply_letter(&s, ' ') && reply_number(&s, 4, &m->year) &&
           s.p == s.end;
}

/* Reads "06 Nov 1994 08:49:37 GMT". */
static bool fixed_date(struct scan s, struct moment *m)
{
    return reply_number(&s, 2, &m->day) && reply_letter(&s, ' ') && month_name(&s, &m->month) &&
           reply_letter(&s, ' ') && reply_number(&s, 4, &m->year) && reply_letter(&s, ' ') &&
           time_of_day(&s, m) && gmt(&s);
}

/* Reads "06-Nov-94 08:49:37 GMT". */
static bool old_date(struct scan s, int64_t now_us, struct moment *m)
{
    if (!reply_number(&s, 2, &m->day) || !reply_letter(&s, '-') || !month_name(&s, &m->month) ||
        !reply_letter(&s, '-') || !reply_number(&s, 2, &m->year))
        return false;
    m->year = full_year(m->year, now_us);
    return reply_letter(&s, ' ') && time_of_day(&s, m) && gmt(&s);
}

/* Reads "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37
 * 1994". */
static bool http_date(wharf_str text, int64_t now_us, struct moment *m)
{
    const char *comma = memchr(text.p, ',', text.n);
    struct scan s = {comma ? comma + 1 : text.p + (text.n > 4 ? 4 : text.n), text.p + text.n};

    if (!comma)
        return asctime_date(s, m);
    return reply_letter(&s, ' ') && (fixed_date(s, m) || old_date(s, now_us, m));
}

/* Reads a fraction as microseconds; what is finer is cut off. */
static bool fraction(struct scan *s, int64_t *ret)
{
    int64_t unit = 100000;

    if (!reply_letter(s, '.'))
        return true;
    if (s->p == s->end || !reply_is_digit(*s->p))
        return false;
    for (; s->p < s->end && reply_is_digit(*s->p); s->p++, unit /= 10)
        *ret += (*s->p - '0') * unit;
    return true;
}

static bool offset(struct scan *s, int64_t *ret_us)
{
    int64_t hours, minutes;
    bool west;

    if (reply_letter(s, 'Z'))
        return s->p == s->end;
    west = reply_letter(s, '-');
    if (!west && !reply_letter(s, '+'))
        return false;
    if (!reply_number(s, 2, &hours))
        return false;
    reply_letter(s, ':');
    if (!reply_number(s, 2, &minutes) || s->p != s->end)
        return false;
    *ret_us = (hours * 3600 + minutes * 60) * (west ? 1000000LL : -1000000LL);
    return true;
}

static bool iso_date(wharf_str text, struct moment *m, int64_t *ret_offset_us)
{
    struct scan s = {text.p, text.p + text.n};

    return reply_number(&s, 4, &m->year) && reply_letter(&s, '-') &&
           reply_number(&s, 2, &m->month) && reply_letter(&s, '-') &&
           reply_number(&s, 2, &m->day) && reply_letter(&s, 'T') && time_of_day(&s, m) &&
           fraction(&s, &m->us) && offset(&s, ret_offset_us);
}

bool reply_date(wharf_str text, int64_t now_us, bool iso, int64_t *ret_us)
{
    struct moment m = {0};
    int64_t shift = 0;

    if (iso && text.n > 10 && reply_is_digit(text.p[0])) {
        if (!iso_date(text, &m, &shift) || !to_us(&m, ret_us))
            return false;
        *ret_us += shift;
        return true;
    }
    return http_date(text, now_us, &m) && to_us(&m, ret_us);
}

/* ---- values ---- */

/* Reads a non-negative decimal, as thousandths; what is finer is rounded up. */
static bool decimal_ms(wharf_str s, int64_t *ret_ms)
{
    int64_t whole = 0, part = 0, unit = 100;
    bool finer = false;
    size_t i = 0;

    for (; i < s.n && reply_is_digit(s.p[i]); i++) {
        if (i == DIGITS_MAX)
            return false;
        whole = whole * 10 + (s.p[i] - '0');
    }
    if (!i || (i < s.n && s.p[i] != '.') || i + 1 == s.n)
        return false;
    for (i++; i < s.n; i++) {
        if (!reply_is_digit(s.p[i]))
            return false;
        part += (s.p[i] - '0') * unit;
        finer |= !unit && s.p[i] != '0';
        unit /= 10;
    }
    *ret_ms = whole * 1000 + part + finer;
    return true;
}

static bool date_ms(wharf_str s, int64_t now_us, bool iso, int64_t *ret_ms)
{
    int64_t at;

    if (!reply_date(s, now_us, iso, &at))
        return false;
    *ret_ms = at > now_us ? (at - now_us + 999) / 1000 : 0;
    return true;
}

/* Reads a number of a -Reset header: seconds from now, a moment in seconds, or one in
 * milliseconds, by its size. */
static int64_t reset_ms(int64_t thousandths, int64_t now_us)
{
    if (thousandths < BILLION * 1000LL)
        return thousandths;
    if (thousandths < BILLION * 1000000LL)
        return thousandths - now_us / 1000;
    return thousandths / 1000 - now_us / 1000;
}

static bool value_ms(enum kind kind, wharf_str s, int64_t now_us, int64_t *ret_ms)
{
    if (decimal_ms(s, ret_ms)) {
        if (kind == RESET)
            *ret_ms = reset_ms(*ret_ms, now_us);
        return true;
    }
    return kind != RESET_AFTER && date_ms(s, now_us, kind == RESET, ret_ms);
}

static bool header_ms(
    wharf_str head, const char *name, enum kind kind, int64_t now_us, int64_t *ret_ms)
{
    wharf_str n, v;
    size_t at = 0;
    bool found = false;
    int64_t ms;

    while (reply_line(head, &at, &n, &v)) {
        if (!reply_named(n, name) || !value_ms(kind, v, now_us, &ms))
            continue;
        *ret_ms = found && *ret_ms > ms ? *ret_ms : ms;
        found = true;
    }
    return found;
}

static int64_t between(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

bool reply_pause(wharf_str head, int64_t now_us, int64_t *ret_ms)
{
    static const struct {
        const char *name;
        enum kind kind;
    } order[] = {{"Retry-After", SECONDS_OR_DATE}, {"RateLimit-Reset", RESET},
        {"X-RateLimit-Reset", RESET}, {"RateLimit-Reset-After", RESET_AFTER},
        {"X-RateLimit-Reset-After", RESET_AFTER}};

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (header_ms(head, order[i].name, order[i].kind, now_us, ret_ms)) {
            *ret_ms = between(*ret_ms, REPLY_PAUSE_MIN_MS, REPLY_PAUSE_MAX_MS);
            return true;
        }
    }
    return false;
}

bool reply_later(wharf_str head, int64_t now_us, int64_t *ret_ms)
{
    if (!header_ms(head, "Retry-After", SECONDS_OR_DATE, now_us, ret_ms))
        return false;
    *ret_ms = between(*ret_ms, 0, REPLY_LATER_MAX_MS);
    return true;
}

void reply_directives(wharf_str head, bool *ret_abort, bool *ret_disable)
{
    wharf_str n, v;
    size_t at = 0;

    *ret_abort = *ret_disable = false;
    while (reply_line(head, &at, &n, &v)) {
        if (!reply_named(n, "webhook-delivery"))
            continue;
        *ret_abort |= reply_named(v, "abort-message");
        *ret_disable |= reply_named(v, "disable");
    }
}
