/* uri.c - see uri.h. */
#include "schema/uri.h"

#include <arpa/inet.h>

static bool uri_is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}
static bool uri_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool uri_is_hex(char c)
{
    return uri_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Tells whether all characters are unreserved, sub-delims, one of extra, or percent-encoded. */
static bool uri_all_of(const char *p, const char *end, const char *extra)
{
    for (; p < end; p++) {
        if (uri_is_letter(*p) || uri_is_digit(*p) ||
            (*p && (strchr("-._~!$&'()*+,;=", *p) || strchr(extra, *p))))
            continue;
        if (*p != '%' || end - p < 3 || !uri_is_hex(p[1]) || !uri_is_hex(p[2]))
            return false;
        p += 2;
    }
    return true;
}

/* Judges what stands between [ and ]. */
static bool ip_literal(const char *p, const char *end)
{
    char text[64];
    struct in6_addr out;
    size_t n = (size_t)(end - p);

    if (n && (*p | 0x20) == 'v') {
        const char *dot = memchr(p, '.', n);

        if (!dot || dot == p + 1 || dot + 1 == end)
            return false;
        for (const char *h = p + 1; h < dot; h++)
            if (!uri_is_hex(*h))
                return false;
        return !memchr(dot, '%', (size_t)(end - dot)) && uri_all_of(dot + 1, end, ":");
    }
    if (n >= sizeof(text))
        return false;
    memcpy(text, p, n);
    text[n] = 0;
    return strlen(text) == n && inet_pton(AF_INET6, text, &out) == 1;
}

/* Judges [ userinfo "@" ] host [ ":" port ]. */
static bool authority(const char *p, const char *end)
{
    const char *at = memchr(p, '@', (size_t)(end - p)), *host_end;

    if (at) {
        if (!uri_all_of(p, at, ":"))
            return false;
        p = at + 1;
    }
    if (p < end && *p == '[') {
        const char *close = memchr(p, ']', (size_t)(end - p));

        if (!close || !ip_literal(p + 1, close))
            return false;
        host_end = close + 1;
    } else {
        host_end = memchr(p, ':', (size_t)(end - p));
        if (!host_end)
            host_end = end;
        if (!uri_all_of(p, host_end, ""))
            return false;
    }
    if (host_end == end)
        return true;
    if (*host_end != ':')
        return false;
    for (p = host_end + 1; p < end; p++)
        if (!uri_is_digit(*p))
            return false;
    return true;
}

static const char *uri_find(const char *p, const char *end, const char *any)
{
    while (p < end && (!*p || !strchr(any, *p)))
        p++;
    return p;
}

/* Judges what stands behind the scheme: [ "//" authority ] path [ "?" query ] [ "#" fragment ]. */
static bool hier_part(const char *p, const char *end)
{
    const char *stop;

    if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
        stop = uri_find(p + 2, end, "/?#");
        if (!authority(p + 2, stop))
            return false;
        p = stop;
    }
    stop = uri_find(p, end, "?#");
    if (!uri_all_of(p, stop, ":@/"))
        return false;
    p = stop;
    if (p < end && *p == '?') {
        stop = uri_find(p, end, "#");
        if (!uri_all_of(p + 1, stop, ":@/?"))
            return false;
        p = stop;
    }
    return p == end || uri_all_of(p + 1, end, ":@/?");
}

/* Returns the length of "scheme:", 0 when there is none. */
static size_t scheme(wharf_str s)
{
    size_t i = 0;

    if (!s.n || !uri_is_letter(*s.p))
        return 0;
    while (i < s.n && (uri_is_letter(s.p[i]) || uri_is_digit(s.p[i]) || s.p[i] == '+' ||
                          s.p[i] == '-' || s.p[i] == '.'))
        i++;
    return i < s.n && s.p[i] == ':' ? i + 1 : 0;
}

bool uri_absolute(wharf_str s)
{
    size_t n = scheme(s);

    return n && hier_part(s.p + n, s.p + s.n);
}

bool uri_reference(wharf_str s)
{
    size_t n = scheme(s);
    const char *end = s.p + s.n, *segment = uri_find(s.p, end, "/?#");

    /* A relative path must not begin with a segment that looks like a scheme. */
    if (!n && memchr(s.p, ':', (size_t)(segment - s.p)))
        return false;
    return hier_part(s.p + n, end);
}
