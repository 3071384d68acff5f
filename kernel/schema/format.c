/* format.c - the values of the keyword `format`, asserted. Leaves to others: dates of request
 * bodies, whose grammar is narrower (util/time.h), and addresses of the outside world (URIs in
 * uri.c).
 *
 * Grammars: RFC 3339 (dates), RFC 5321 (e-mail), RFC 1123 (host names), RFC 4291 (IPv6), RFC
 * 9562 (UUID), RFC 6901. */
#include <arpa/inet.h>
#include <stdlib.h>

#include "schema/node.h"
#include "schema/uri.h"
#include "util/str.h"
#include "util/time.h"
#include "wharf/civil.h"

struct format {
    const char *name;
    bool (*match)(wharf_str s);
    const char *article;
};

static bool format_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool format_is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}
static bool format_is_hex(char c)
{
    return format_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Reads n digits at p. Returns -1 when they are none. The text has at least n bytes there. */
static int format_digits(const char *p, int n)
{
    int v = 0;

    for (int i = 0; i < n; i++) {
        if (!format_is_digit(p[i]))
            return -1;
        v = v * 10 + (p[i] - '0');
    }
    return v;
}

/* Matches what PostgreSQL holds, too: there is no year 0. */
static bool match_date(wharf_str s)
{
    int year, month, day;

    if (s.n != 10 || s.p[4] != '-' || s.p[7] != '-')
        return false;
    year = format_digits(s.p, 4);
    month = format_digits(s.p + 5, 2);
    day = format_digits(s.p + 8, 2);
    return year > 0 && wharf_date_good(year, month, day);
}

/* Reads "Z" or "+hh:mm"; *ret_east: minutes east of UTC. */
static bool read_zone(const char *p, size_t n, int *ret_east)
{
    int hour, minute;

    *ret_east = 0;
    if (n == 1)
        return *p == 'Z' || *p == 'z';
    if (n != 6 || (*p != '+' && *p != '-') || p[3] != ':')
        return false;
    hour = format_digits(p + 1, 2);
    minute = format_digits(p + 4, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
        return false;
    *ret_east = (hour * 60 + minute) * (*p == '-' ? -1 : 1);
    return true;
}

static bool match_time(wharf_str s)
{
    int hour, minute, second, east;
    size_t at = 8;

    if (s.n < 9 || s.p[2] != ':' || s.p[5] != ':')
        return false;
    hour = format_digits(s.p, 2);
    minute = format_digits(s.p + 3, 2);
    second = format_digits(s.p + 6, 2);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    if (s.p[at] == '.') {
        for (at++; at < s.n && format_is_digit(s.p[at]); at++)
            ;
        if (at == 9)
            return false;
    }
    if (at >= s.n || !read_zone(s.p + at, s.n - at, &east))
        return false;
    /* A leap second ends a day of UTC. */
    return second < 60 || ((hour * 60 + minute - east) % 1440 + 1440) % 1440 == 1439;
}

/* Matches what PostgreSQL holds, too: nothing is 16 hours or more from UTC. */
static bool match_date_time(wharf_str s)
{
    int east;

    if (s.n <= 11 || (s.p[10] != 'T' && s.p[10] != 't') || !match_date((wharf_str){s.p, 10}) ||
        !match_time((wharf_str){s.p + 11, s.n - 11}))
        return false;
    return s.n < 6 + 11 || !read_zone(s.p + s.n - 6, 6, &east) || abs(east) < 16 * 60;
}

/* Reads number and unit pairs in the order of units; each at most once. Returns how many, SIZE_MAX
 * when the text is not such. */
static size_t duration_parts(const char **p, const char *end, const char *units)
{
    size_t count = 0;

    while (*p < end && **p != 'T') {
        const char *from = *p, *unit;

        while (*p < end && format_is_digit(**p))
            (*p)++;
        if (*p == from || *p == end)
            return SIZE_MAX;
        unit = **p ? strchr(units, **p) : NULL;
        if (!unit)
            return SIZE_MAX;
        /* RFC 3339 appendix A: no unit may be left out between two others. */
        if (count && unit != units)
            return SIZE_MAX;
        units = unit + 1;
        count++;
        (*p)++;
    }
    return count;
}

static bool match_duration(wharf_str s)
{
    const char *p = s.p + 1, *end = s.p + s.n;
    size_t days, times = 0;

    if (s.n < 3 || *s.p != 'P')
        return false;
    if (end[-1] == 'W') {
        for (; p < end - 1; p++)
            if (!format_is_digit(*p))
                return false;
        return true;
    }
    days = duration_parts(&p, end, "YMD");
    if (days == SIZE_MAX)
        return false;
    if (p < end) {
        p++;
        times = duration_parts(&p, end, "HMS");
        if (times == SIZE_MAX || times == 0 || p < end)
            return false;
    }
    return days + times > 0;
}

static bool match_hostname(wharf_str s)
{
    size_t label = 0;

    if (s.n == 0 || s.n > 253)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (c == '.') {
            if (label == 0 || s.p[i - 1] == '-')
                return false;
            label = 0;
            continue;
        }
        if (!format_is_letter(c) && !format_is_digit(c) && !(c == '-' && label > 0))
            return false;
        if (++label > 63)
            return false;
    }
    return label > 0 && s.p[s.n - 1] != '-';
}

static bool match_ipv4(wharf_str s)
{
    struct in_addr out;

    return s.n <= 15 && strlen(s.p) == s.n && inet_pton(AF_INET, s.p, &out) == 1;
}

static bool match_ipv6(wharf_str s)
{
    struct in6_addr out;

    return s.n <= 45 && strlen(s.p) == s.n && inet_pton(AF_INET6, s.p, &out) == 1;
}

static bool is_atom(char c)
{
    return format_is_letter(c) || format_is_digit(c) || (c && strchr("!#$%&'*+-/=?^_`{|}~", c));
}

static bool match_local_part(const char *p, size_t n)
{
    if (n == 0 || n > 64)
        return false;
    if (*p == '"') {
        if (n < 2 || p[n - 1] != '"')
            return false;
        for (size_t i = 1; i < n - 1; i++) {
            if (p[i] < ' ' || p[i] > '~' || p[i] == '"')
                return false;
            if (p[i] == '\\' && ++i >= n - 1)
                return false;
        }
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        bool dot = p[i] == '.' && i > 0 && i < n - 1 && p[i - 1] != '.';

        if (!dot && !is_atom(p[i]))
            return false;
    }
    return true;
}

/* Matches "[127.0.0.1]" or "[IPv6:::1]". */
static bool match_address_literal(const char *p, size_t n)
{
    char address[64];
    wharf_str s = {address, n - 2};

    if (n < 3 || n > sizeof(address) || p[n - 1] != ']')
        return false;
    memcpy(address, p + 1, n - 2);
    address[n - 2] = 0;
    if (str_starts(s, "IPv6:"))
        return match_ipv6((wharf_str){address + 5, s.n - 5});
    return match_ipv4(s);
}

static bool match_email(wharf_str s)
{
    const char *at = memrchr(s.p, '@', s.n);
    size_t local;
    wharf_str domain;

    if (!at || s.n > 254)
        return false;
    local = (size_t)(at - s.p);
    domain = (wharf_str){at + 1, s.n - local - 1};
    if (!match_local_part(s.p, local) || domain.n == 0)
        return false;
    if (*domain.p == '[')
        return match_address_literal(domain.p, domain.n);
    return match_hostname(domain);
}

static bool match_uuid(wharf_str s)
{
    if (s.n != 36)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? s.p[i] != '-' : !format_is_hex(s.p[i]))
            return false;
    }
    return true;
}

static bool match_json_pointer(wharf_str s)
{
    if (s.n && *s.p != '/')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1')))
            return false;
    return true;
}

static const struct format FORMATS[] = {
    {"date", match_date, "a date like 2024-01-31"},
    {"date-time", match_date_time,
        "a date and time with Z or a UTC offset, like 2024-01-31T12:00:00Z"},
    {"duration", match_duration, "a duration like P1DT12H"},
    {"email", match_email, "an e-mail address"},
    {"hostname", match_hostname, "a host name"},
    {"ipv4", match_ipv4, "an IPv4 address"},
    {"ipv6", match_ipv6, "an IPv6 address"},
    {"json-pointer", match_json_pointer, "a JSON pointer like /a/0"},
    {"time", match_time, "a time with Z or a UTC offset, like 12:00:00Z"},
    {"uri", uri_absolute, "an address with a scheme, like https://example.com/"},
    {"uri-reference", uri_reference, "an address"},
    {"uuid", match_uuid, "a UUID"},
};

const struct format *format_find(wharf_str name)
{
    for (size_t i = 0; i < sizeof(FORMATS) / sizeof(*FORMATS); i++)
        if (str_eqz(name, FORMATS[i].name))
            return &FORMATS[i];
    return NULL;
}

bool format_match(const struct format *f, wharf_str text)
{
    return f->match(text);
}

const char *format_article(const struct format *f)
{
    return f->article;
}
