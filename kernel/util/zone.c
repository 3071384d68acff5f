/* zone.c - see zone.h. */
#include "util/zone.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wharf/civil.h"

enum { DAY = 86400, HEAD = 44, WEEK = 7 };

/* ---- civil time ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

struct civil civil_of(int64_t s)
{
    int64_t days = floor_div(s, DAY), in_day = s - days * DAY;
    struct civil c = {0};

    wharf_date_of(days, &c.year, &c.month, &c.day);
    c.hour = (int)(in_day / 3600);
    c.minute = (int)(in_day / 60 % 60);
    c.second = (int)(in_day % 60);
    c.weekday = (int)((days % WEEK + 4 + WEEK) % WEEK);
    c.yearday = (int)(days - wharf_days_of(c.year, 1, 1));
    return c;
}

int64_t civil_seconds(const struct civil *c)
{
    int64_t months = c->year * 12 + c->month - 1, year = floor_div(months, 12);
    int64_t days = wharf_days_of(year, (int)(months - year * 12) + 1, 1) + c->day - 1;

    return days * DAY + (int64_t)c->hour * 3600 + (int64_t)c->minute * 60 + c->second;
}

bool zone_name_good(const char *name)
{
    size_t n = strlen(name);

    if (!n || n > 64 || !isalpha((unsigned char)name[0]) || name[n - 1] == '/' ||
        strstr(name, "//"))
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-_/") == n;
}

size_t zone_read(const char *name, char *bytes, size_t size)
{
    char path[128];
    FILE *f;
    size_t n;

    if (!zone_name_good(name))
        return 0;
    snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
    f = fopen(path, "re");
    n = f ? fread(bytes, 1, size, f) : 0;
    if (f)
        fclose(f);
    return n < size ? n : 0;
}

/* ---- the footer: the rule for all time after the table, "CET-1CEST,M3.5.0,M10.5.0/3" ---- */

struct rule { /* of a change within a year */
    char kind; /* 'M': month, week, weekday; 'J': day 1-365 without 29 February; 'D': day 0-365 */
    int month, week, day;
    int64_t at; /* seconds after midnight, of the clock before the change */
};

struct footer {
    struct zone_offset standard, summer;
    bool has_summer;
    struct rule begin, end;
};

static const char *footer_name(const char *p, char *name)
{
    size_t n;

    if (*p == '<') {
        n = strcspn(++p, ">");
        if (!p[n] || n >= 8)
            return NULL;
        memcpy(name, p, n);
        name[n] = 0;
        return p + n + 1;
    }
    n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (n < 3 || n >= 8)
        return NULL;
    memcpy(name, p, n);
    name[n] = 0;
    return p + n;
}

/* Reads [+-]hh[:mm[:ss]]. */
static const char *footer_time(const char *p, int64_t *ret_s)
{
    int sign = *p == '-' ? -1 : 1;
    int64_t s = 0, unit = 3600;

    p += *p == '-' || *p == '+';
    if (!isdigit((unsigned char)*p))
        return NULL;
    for (;; unit /= 60) {
        char *end;
        long v = strtol(p, &end, 10);

        if (v > 999)
            return NULL;
        s += v * unit;
        p = end;
        if (*p != ':' || unit == 1 || !isdigit((unsigned char)p[1]))
            break;
        p++;
    }
    *ret_s = sign * s;
    return p;
}

static const char *footer_rule(const char *p, struct rule *r)
{
    char *end;

    r->kind = *p == 'M' || *p == 'J' ? *p++ : 'D';
    if (!isdigit((unsigned char)*p))
        return NULL;
    r->day = (int)strtol(p, &end, 10);
    p = end;
    if (r->kind == 'M') {
        r->month = r->day;
        if (*p != '.')
            return NULL;
        r->week = (int)strtol(p + 1, &end, 10);
        if (*end != '.')
            return NULL;
        r->day = (int)strtol(end + 1, &end, 10);
        p = end;
        if (r->month < 1 || r->month > 12 || r->week < 1 || r->week > 5 || r->day < 0 || r->day > 6)
            return NULL;
    }
    r->at = 7200;
    return *p == '/' ? footer_time(p + 1, &r->at) : p;
}

static bool footer_read(const char *p, struct footer *f)
{
    int64_t s;

    memset(f, 0, sizeof(*f));
    p = footer_name(p, f->standard.name);
    p = p ? footer_time(p, &s) : NULL;
    if (!p)
        return false;
    f->standard.east = (int32_t)-s;
    if (!*p)
        return true;
    p = footer_name(p, f->summer.name);
    if (!p)
        return false;
    f->summer.east = f->standard.east + 3600;
    if (*p != ',') {
        p = footer_time(p, &s);
        if (!p)
            return false;
        f->summer.east = (int32_t)-s;
    }
    p = *p == ',' ? footer_rule(p + 1, &f->begin) : NULL;
    p = p && *p == ',' ? footer_rule(p + 1, &f->end) : NULL;
    f->has_summer = p && !*p;
    return f->has_summer;
}

/* Returns the local seconds of the change in this year. */
static int64_t rule_local(const struct rule *r, int64_t year)
{
    int64_t days;

    if (r->kind == 'M') {
        int64_t first = wharf_days_of(year, r->month, 1);
        int weekday = (int)((first % WEEK + 4 + WEEK) % WEEK);
        int64_t next = r->month == 12 ? wharf_days_of(year + 1, 1, 1)
                                      : wharf_days_of(year, r->month + 1, 1);

        days = first + (r->day - weekday + WEEK) % WEEK + (int64_t)(r->week - 1) * WEEK;
        if (days >= next)
            days -= WEEK;
    } else {
        days = wharf_days_of(year, 1, 1) + r->day;
        if (r->kind == 'J')
            days += (wharf_leap_year(year) && r->day > 59) - 1;
    }
    return days * DAY + r->at;
}

static struct zone_offset footer_at(const struct footer *f, int64_t s)
{
    int64_t year, begin, end;
    bool summer;

    if (!f->has_summer)
        return f->standard;
    year = civil_of(s + f->standard.east).year;
    begin = rule_local(&f->begin, year) - f->standard.east;
    end = rule_local(&f->end, year) - f->summer.east;
    summer = begin < end ? s >= begin && s < end : s >= begin || s < end;
    return summer ? f->summer : f->standard;
}

/* ---- the table ---- */

struct table {
    const unsigned char *times, *kinds, *types, *names;
    size_t n_times, n_types, n_names;
    const char *footer; /* not ended; or NULL */
    size_t n_footer;
};

static uint32_t zone_u32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t i64(const unsigned char *p)
{
    return (int64_t)((uint64_t)zone_u32(p) << 32 | zone_u32(p + 4));
}

/* Returns the bytes of the data block behind a head, with times of so many bytes. */
static uint64_t block_size(const unsigned char *head, unsigned width)
{
    return (uint64_t)zone_u32(head + 32) * (width + 1) + (uint64_t)zone_u32(head + 36) * 6 +
           zone_u32(head + 40) + (uint64_t)zone_u32(head + 28) * (width + 4) + zone_u32(head + 24) +
           zone_u32(head + 20);
}

static bool zone_open_table(const unsigned char *p, size_t n, struct table *t)
{
    const unsigned char *end = p + n;
    uint64_t size;

    if (n < HEAD || memcmp(p, "TZif", 4) != 0 || p[4] < '2')
        return false;
    size = block_size(p, 4);
    if (size > n - HEAD || n - HEAD - size < HEAD)
        return false;
    p += HEAD + size;
    size = block_size(p, 8);
    if (memcmp(p, "TZif", 4) != 0 || size > (uint64_t)(end - p) - HEAD)
        return false;
    t->n_times = zone_u32(p + 32);
    t->n_types = zone_u32(p + 36);
    t->n_names = zone_u32(p + 40);
    t->times = p + HEAD;
    t->kinds = t->times + t->n_times * 8;
    t->types = t->kinds + t->n_times;
    t->names = t->types + t->n_types * 6;
    p += HEAD + size;
    t->footer = NULL;
    t->n_footer = 0;
    if (p < end && *p == '\n') {
        const unsigned char *stop = memchr(p + 1, '\n', (size_t)(end - p - 1));

        t->footer = stop ? (const char *)p + 1 : NULL;
        t->n_footer = stop ? (size_t)(stop - p - 1) : 0;
    }
    return t->n_types > 0 && t->n_names > 0;
}

static bool offset_of(const struct table *t, size_t type, struct zone_offset *out)
{
    const unsigned char *p = t->types + type * 6;
    size_t at, n;

    if (type >= t->n_types || p[5] >= t->n_names)
        return false;
    out->east = (int32_t)zone_u32(p);
    at = p[5];
    n = strnlen((const char *)t->names + at, t->n_names - at);
    if (n >= sizeof(out->name))
        n = sizeof(out->name) - 1;
    memcpy(out->name, t->names + at, n);
    out->name[n] = 0;
    return true;
}

bool zone_at(const void *bytes, size_t n, int64_t s, struct zone_offset *ret_offset)
{
    struct table t;
    size_t low = 0, high;

    if (!zone_open_table(bytes, n, &t))
        return false;
    high = t.n_times;
    while (low < high) { /* the number of changes up to s */
        size_t middle = (low + high) / 2;

        if (i64(t.times + middle * 8) <= s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == t.n_times && t.n_footer > 0 && t.n_footer < 80 && t.footer) {
        char text[80];
        struct footer f;

        memcpy(text, t.footer, t.n_footer);
        text[t.n_footer] = 0;
        if (footer_read(text, &f)) {
            *ret_offset = footer_at(&f, s);
            return true;
        }
    }
    return offset_of(&t, low ? t.kinds[low - 1] : 0, ret_offset);
}

bool zone_moment(const void *bytes, size_t n, int64_t local, int64_t *ret_s, bool *ret_skipped)
{
    struct zone_offset before, after;
    int64_t low, high;

    if (!zone_at(bytes, n, local - DAY, &before) || !zone_at(bytes, n, local + DAY, &after))
        return false;
    *ret_skipped = false;
    /* with the offset before a change, the first of two moments is found; then the one after it */
    for (int i = 0; i < 2; i++) {
        struct zone_offset there;
        int64_t s = local - (i ? after.east : before.east);

        if (zone_at(bytes, n, s, &there) && s + there.east == local) {
            *ret_s = s;
            return true;
        }
    }
    *ret_skipped = true;
    low = local - DAY * 2;
    high = local + DAY * 2;
    /* the last moment that shows less than local lies just before the change */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        struct zone_offset there;

        if (!zone_at(bytes, n, middle, &there))
            return false;
        if (middle + there.east < local)
            low = middle;
        else
            high = middle;
    }
    *ret_s = high;
    return true;
}
