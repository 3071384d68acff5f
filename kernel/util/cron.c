/* cron.c - see cron.h. */
#include "util/cron.h"

#include <stdlib.h>
#include <string.h>

#include "util/zone.h"

enum {
    MINUTE = 60,
    DAY = 86400,
    DAYS_AHEAD = 41 * 366 /* 29 February on a Sunday comes within 40 years */
};

/* ---- reading ---- */

struct field {
    int first, last;
    const char *names; /* three letters each, from `first` on; or NULL */
    const char *problem;
};

static const struct field fields[] = {
    {0, 59, NULL, "a minute is 0 to 59"},
    {0, 23, NULL, "an hour is 0 to 23"},
    {1, 31, NULL, "a day of the month is 1 to 31"},
    {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", "a month is 1 to 12 or jan to dec"},
    {0, 7, "sunmontuewedthufrisat", "a day of the week is 0 to 7 or sun to sat"},
};
enum { FIELDS = 5 };

static const struct {
    const char *name, *fields;
} short_forms[] = {{"@hourly", "0 * * * *"}, {"@daily", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}};

/* Reads a number of up to three digits; *p stands behind it. Returns -1 when there is none. */
static int cron_number(const char **p, const char *end)
{
    int v = -1;

    for (int digits = 0; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
        if (++digits > 3)
            return -1;
        v = (v < 0 ? 0 : v * 10) + (**p - '0');
    }
    return v;
}

static int cron_value(const struct field *f, const char **p, const char *end)
{
    char three[3];

    if (!f->names || end - *p < 3 || (**p >= '0' && **p <= '9'))
        return cron_number(p, end);
    for (int i = 0; i < 3; i++)
        three[i] = (char)((*p)[i] >= 'A' && (*p)[i] <= 'Z' ? (*p)[i] + 32 : (*p)[i]);
    for (int i = 0; f->names[i * 3]; i++) {
        if (!memcmp(f->names + (size_t)i * 3, three, 3)) {
            *p += 3;
            return f->first + i;
        }
    }
    return -1;
}

/* Reads one part of a list: `*`, 5, 1-5, each but the second with a step. */
static bool cron_part(const struct field *f, const char **p, const char *end, uint64_t *bits,
    const char **ret_problem)
{
    int first, last, step = 1;
    bool many = true;

    if (*p < end && **p == '*') {
        first = f->first;
        last = f->last;
        (*p)++;
    } else {
        first = last = cron_value(f, p, end);
        many = *p < end && **p == '-';
        if (many) {
            (*p)++;
            last = cron_value(f, p, end);
        }
    }
    *ret_problem = f->problem;
    if (first < f->first || last < first || last > f->last)
        return false;
    if (*p < end && **p == '/') {
        (*p)++;
        step = cron_number(p, end);
        *ret_problem = "a step is a number of at least 1 behind * or a range, such as */15";
        if (!many || step < 1)
            return false;
    }
    for (int i = first; i <= last; i += step)
        *bits |= (uint64_t)1 << i;
    return true;
}

static bool cron_list(const struct field *f, const char **p, const char *end, uint64_t *ret_bits,
    const char **ret_problem)
{
    *ret_bits = 0;
    for (;;) {
        if (!cron_part(f, p, end, ret_bits, ret_problem))
            return false;
        if (*p == end || **p == ' ')
            return true;
        *ret_problem = f->problem;
        if (**p != ',')
            return false;
        (*p)++;
    }
}

static bool cron_read_fields(wharf_str text, struct cron *c, const char **ret_problem)
{
    static const char five[] =
        "a schedule has five fields: minute, hour, day of the month, month, day of the week";
    const char *p = text.p, *end = text.p + text.n;
    uint64_t bits[FIELDS];

    for (int i = 0; i < FIELDS; i++) {
        while (p < end && *p == ' ')
            p++;
        *ret_problem = five;
        if (p == end)
            return false;
        if (i == 2)
            c->any_day = *p == '*';
        if (i == 4)
            c->any_weekday = *p == '*';
        if (!cron_list(&fields[i], &p, end, &bits[i], ret_problem))
            return false;
    }
    while (p < end && *p == ' ')
        p++;
    *ret_problem = five;
    if (p < end)
        return false;
    c->minutes = bits[0];
    c->hours = (uint32_t)bits[1];
    c->days = (uint32_t)bits[2];
    c->months = (uint32_t)bits[3];
    c->weekdays = (uint32_t)(bits[4] | bits[4] >> 7) & 127;
    return true;
}

bool cron_parse(wharf_str text, struct cron *ret_cron, const char **ret_problem)
{
    *ret_cron = (struct cron){0};
    if (text.n && text.p[0] == '@') {
        for (size_t i = 0; i < sizeof(short_forms) / sizeof(short_forms[0]); i++) {
            if (str_eqz(text, short_forms[i].name))
                return cron_read_fields(str_z(short_forms[i].fields), ret_cron, ret_problem);
        }
        *ret_problem = "the short forms are @hourly, @daily, @weekly, @monthly and @yearly";
        return false;
    }
    if (!cron_read_fields(text, ret_cron, ret_problem))
        return false;
    *ret_problem = "no day of any year is like that";
    return cron_next(ret_cron, NULL, 0, 0) != INT64_MAX;
}

/* ---- due ---- */

static bool day_matches(const struct cron *c, const struct civil *d)
{
    bool day = c->days >> d->day & 1, weekday = c->weekdays >> d->weekday & 1;

    if (!(c->months >> d->month & 1))
        return false;
    return c->any_day || c->any_weekday ? day && weekday : day || weekday;
}

/* Returns the first minute of the day from `from` on, or -1. */
static int minute_of_day(const struct cron *c, int from)
{
    for (int hour = from / 60; hour < 24; hour++) {
        if (!(c->hours >> hour & 1))
            continue;
        for (int minute = hour == from / 60 ? from % 60 : 0; minute < 60; minute++) {
            if (c->minutes >> minute & 1)
                return hour * 60 + minute;
        }
    }
    return -1;
}

/* Returns the first local time from `from` on, which is the begin of a minute; INT64_MAX: none. */
static int64_t next_local(const struct cron *c, int64_t from)
{
    int64_t in_day = (from % DAY + DAY) % DAY, day = from - in_day;

    for (int i = 0; i < DAYS_AHEAD; i++, day += DAY, in_day = 0) {
        struct civil d = civil_of(day);
        int minute = day_matches(c, &d) ? minute_of_day(c, (int)(in_day / MINUTE)) : -1;

        if (minute >= 0)
            return day + (int64_t)minute * MINUTE;
    }
    return INT64_MAX;
}

int64_t cron_next(const struct cron *c, const void *zone, size_t n, int64_t after)
{
    struct zone_offset offset = {0};
    int64_t local, moment;

    if (zone && !zone_at(zone, n, after, &offset))
        zone = NULL;
    local = after + offset.east;
    local -= (local % MINUTE + MINUTE) % MINUTE;
    for (;;) { /* what a clock shows later comes later; what it shows again came before */
        bool skipped = false;

        local = next_local(c, local + MINUTE);
        if (local == INT64_MAX)
            return INT64_MAX;
        moment = local;
        if (zone && !zone_moment(zone, n, local, &moment, &skipped))
            return INT64_MAX;
        if (moment > after)
            return moment;
    }
}

int64_t cron_last(const struct cron *c, const void *zone, size_t n, int64_t at)
{
    static const int64_t back[] = {
        2 * 3600, 2 * DAY, 40 * DAY, 400 * DAY, (int64_t)DAYS_AHEAD * DAY};

    for (size_t i = 0; i < sizeof(back) / sizeof(back[0]); i++) {
        int64_t t = cron_next(c, zone, n, at - back[i]), last = INT64_MIN;

        for (; t <= at; t = cron_next(c, zone, n, t))
            last = t;
        if (last != INT64_MIN)
            return last;
    }
    return INT64_MIN;
}

static bool zone_there(wharf_str zone)
{
    char *bytes;
    bool there;

    if (!zone.n || str_eqz(zone, "UTC"))
        return true;
    bytes = zone_name_good(zone.p) ? malloc(ZONE_BYTES_MAX) : NULL;
    there = bytes && zone_read(zone.p, bytes, ZONE_BYTES_MAX) > 0;
    free(bytes);
    return there;
}

const char *cron_problem(wharf_str text, wharf_str zone)
{
    const char *problem = NULL;
    struct cron c;

    if (!cron_parse(text, &c, &problem))
        return problem;
    return zone_there(zone) ? NULL
                            : "there is no such time zone; it is a name such as Europe/Berlin";
}
