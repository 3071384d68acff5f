/* wharf/moment.h - moments as clients send them (docs/spec/01-platform.md section 11.2). For
 * modules; header only, [any], nothing of it is ABI. */
#ifndef WHARF_MOMENT_H
#define WHARF_MOMENT_H

#include <stdlib.h>
#include <string.h>

#include "wharf/civil.h"

/* Reads n digits. */
static inline bool wharf_moment_digits(const char **p, size_t n, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < n; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return false;
        *ret = *ret * 10 + (**p - '0');
    }
    return true;
}

/* Reads Z or an offset from UTC, in seconds. */
static inline bool wharf_moment_zone(const char *p, int64_t *ret_seconds)
{
    int64_t hours, minutes;
    char sign = *p++;

    *ret_seconds = 0;
    if (sign == 'Z' || sign == 'z')
        return !*p;
    if (sign != '+' && sign != '-')
        return false;
    if (!wharf_moment_digits(&p, 2, &hours) || *p++ != ':' ||
        !wharf_moment_digits(&p, 2, &minutes) || *p || hours > 23 || minutes > 59)
        return false;
    *ret_seconds = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
    return true;
}

/* Reads a day, as days since 1970. Returns false when there is no such day. */
static inline bool wharf_moment_day(const char **p, int64_t *ret_day)
{
    int64_t y, m, d;

    if (!wharf_moment_digits(p, 4, &y) || *(*p)++ != '-' || !wharf_moment_digits(p, 2, &m) ||
        *(*p)++ != '-' || !wharf_moment_digits(p, 2, &d) || y < 1 || !wharf_date_good(y, m, d))
        return false;
    *ret_day = wharf_days_of(y, (int)m, d);
    return true;
}

/* Reads a time as milliseconds of the day. */
static inline bool wharf_moment_time(const char **p, int64_t *ret_ms)
{
    int64_t h, m, s, ms = 0;

    if (!wharf_moment_digits(p, 2, &h) || *(*p)++ != ':' || !wharf_moment_digits(p, 2, &m) ||
        *(*p)++ != ':' || !wharf_moment_digits(p, 2, &s))
        return false;
    if (**p == '.') {
        (*p)++;
        if (!wharf_moment_digits(p, 3, &ms))
            return false;
    }
    *ret_ms = ((h * 60 + m) * 60 + s) * 1000 + ms;
    return h < 24 && m < 60 && s < 60;
}

/* Reads a moment (docs/spec/01-platform.md section 11.2): RFC 3339 with seconds, or seconds or
 * milliseconds since 1970. */
static inline bool wharf_moment_read(const char *text, int64_t *ret_us)
{
    enum { SECONDS_DIGITS = 11, MILLIS_DIGITS = 14 };
    int64_t day, ms, zone;
    const char *p = text;
    size_t n = strspn(text, "0123456789");

    if (n && !text[n] && n <= MILLIS_DIGITS && (n == 1 || text[0] != '0')) {
        *ret_us = strtoll(text, NULL, 10) * (n <= SECONDS_DIGITS ? 1000000 : 1000);
        return true;
    }
    if (!wharf_moment_day(&p, &day) || (*p != 'T' && *p != 't'))
        return false;
    p++;
    if (!wharf_moment_time(&p, &ms) || !wharf_moment_zone(p, &zone))
        return false;
    *ret_us = ((day * 86400 - zone) * 1000 + ms) * 1000;
    return true;
}

#endif
