/* time.c - instants and their texts, see time.h. Leaves to others: the clock (clock.c), time
 * zones other than UTC. */
#include "util/time.h"

#include <stdio.h>

#include "util/str.h"
#include "wharf/civil.h"

static const int64_t SECOND = 1000000, DAY = 86400;
static const int64_t FIRST_US = -62135596800 * 1000000; /* 0001-01-01T00:00:00Z */
static const int64_t LAST_US = 253402300800 * 1000000 - 1; /* 9999-12-31T23:59:59.999999Z */

/* Reads n digits at p. Returns -1 when they are none. */
static int time_digits(const char *p, int n)
{
    int v = 0;

    for (int i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        v = v * 10 + (p[i] - '0');
    }
    return v;
}

/* Reads "YYYY-MM-DD?hh:mm:ss", 19 bytes; the byte between is the caller's to check. 60 seconds are
 * let through. */
static bool read_stamp(const char *p, int64_t *ret_s, int *ret_second)
{
    int year = time_digits(p, 4), month = time_digits(p + 5, 2), day = time_digits(p + 8, 2);
    int hour = time_digits(p + 11, 2), minute = time_digits(p + 14, 2),
        second = time_digits(p + 17, 2);

    if (p[4] != '-' || p[7] != '-' || p[13] != ':' || p[16] != ':')
        return false;
    if (year < 1 || !wharf_date_good(year, month, day))
        return false;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    *ret_s = wharf_days_of(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
    *ret_second = second;
    return true;
}

/* Reads "Z" or "+hh:mm", the whole rest of the text; *ret_east: seconds east of UTC. */
static bool read_offset(const char *p, size_t n, bool space_is_plus, int64_t *ret_east)
{
    int hour, minute;

    if (n == 1 && (*p | 0x20) == 'z') {
        *ret_east = 0;
        return true;
    }
    if (n != 6 || (*p != '+' && *p != '-' && !(space_is_plus && *p == ' ')) || p[3] != ':')
        return false;
    hour = time_digits(p + 1, 2);
    minute = time_digits(p + 4, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
        return false;
    *ret_east = (hour * 3600 + minute * 60) * (*p == '-' ? -1 : 1);
    return true;
}

bool time_parse_iso(wharf_str s, bool space_is_plus, int64_t *ret_us)
{
    int64_t seconds, east, us;
    int second, fraction = 0;
    size_t at = 19;

    if (s.n < 20 || (s.p[10] | 0x20) != 't' || !read_stamp(s.p, &seconds, &second))
        return false;
    if (s.p[at] == '.') {
        if (s.n < 24)
            return false;
        fraction = time_digits(s.p + 20, 3);
        at = 23;
        if (fraction < 0)
            return false;
    }
    if (!read_offset(s.p + at, s.n - at, space_is_plus, &east))
        return false;
    seconds -= east;
    if (second == 60 && seconds % DAY != 0) /* a leap second ends a day of UTC */
        return false;
    us = seconds * SECOND + fraction * 1000;
    if (us < FIRST_US || us > LAST_US)
        return false;
    *ret_us = us;
    return true;
}

bool time_parse(wharf_str s, bool space_is_plus, int64_t *ret_us)
{
    int64_t v = 0;

    if (s.n > 14 || s.n == 0)
        return time_parse_iso(s, space_is_plus, ret_us);
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        v = v * 10 + (s.p[i] - '0');
    }
    if (s.p[0] == '0' && s.n > 1)
        return false;
    *ret_us = v * (s.n <= 11 ? SECOND : 1000);
    return true;
}

bool time_parse_pg(wharf_str s, int64_t *ret_us)
{
    int64_t seconds, us = 0, unit = SECOND / 10;
    int second;
    size_t at = 19;

    if (s.n < 22 || s.p[10] != ' ' || !read_stamp(s.p, &seconds, &second) || second == 60)
        return false;
    if (s.p[at] == '.') {
        for (at++; at < s.n && s.p[at] >= '0' && s.p[at] <= '9'; at++) {
            us += (s.p[at] - '0') * unit;
            unit /= 10;
        }
        if (at == 20 || at > 26)
            return false;
    }
    if (s.n - at != 3 || memcmp(s.p + at, "+00", 3) != 0)
        return false;
    *ret_us = seconds * SECOND + us;
    return true;
}

static void time_put(char *p, int n, int v)
{
    while (n--) {
        p[n] = (char)('0' + v % 10);
        v /= 10;
    }
}

void time_format_iso(int64_t us, char out[ISO_MS_LEN + 1])
{
    int64_t seconds, days, year;
    int month, day, rest, ms;

    if (us < FIRST_US)
        us = FIRST_US;
    if (us > LAST_US)
        us = LAST_US;
    seconds = (us >= 0 ? us : us - (SECOND - 1)) / SECOND;
    ms = (int)((us - seconds * SECOND) / 1000);
    days = (seconds >= 0 ? seconds : seconds - (DAY - 1)) / DAY;
    rest = (int)(seconds - days * DAY);
    wharf_date_of(days, &year, &month, &day);
    memcpy(out, "0000-00-00T00:00:00.000Z", ISO_MS_LEN + 1);
    time_put(out, 4, (int)year);
    time_put(out + 5, 2, month);
    time_put(out + 8, 2, day);
    time_put(out + 11, 2, rest / 3600);
    time_put(out + 14, 2, rest / 60 % 60);
    time_put(out + 17, 2, rest % 60);
    time_put(out + 20, 3, ms);
}

wharf_str time_iso(struct arena *a, int64_t us)
{
    char *p = arena_alloc(a, ISO_MS_LEN + 1);

    time_format_iso(us, p);
    return (wharf_str){p, ISO_MS_LEN};
}

void time_format_http(int64_t us, char out[HTTP_DATE_LEN + 1])
{
    static const char names[] = "ThuFriSatSunMonTueWed",
                      months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char iso[ISO_MS_LEN + 1];
    int64_t seconds = (us >= 0 ? us : us - (SECOND - 1)) / SECOND;
    int64_t days = (seconds >= 0 ? seconds : seconds - (DAY - 1)) / DAY; /* 0 was a Thursday */
    int month;

    time_format_iso(us, iso);
    month = (iso[5] - '0') * 10 + iso[6] - '0';
    snprintf(out, HTTP_DATE_LEN + 1, "%.3s, %.2s %.3s %.4s %.8s GMT",
        names + 3 * ((days % 7 + 7) % 7), iso + 8, months + 3 * (month - 1), iso, iso + 11);
}
