/* url.c - see url.h. */
#include "net/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/str.h"

static bool url_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool url_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the length of the scheme in front of ':', or 0. */
static size_t scheme_length(wharf_str s)
{
    size_t n = 0;

    while (n < s.n && (url_letter(s.p[n]) || (n && (url_digit(s.p[n]) || strchr("+.-", s.p[n])))))
        n++;
    return n && n < s.n && s.p[n] == ':' ? n : 0;
}

/* Tells whether the text has no control characters, no space, no backslash (which some parsers
 * take for a slash), and is well-formed UTF-8. */
static bool text_clean(wharf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c <= ' ' || c == 0x7f || c == '\\')
            return false;
    }
    return s.n <= URL_TEXT_MAX && utf8_valid(s.p, s.n);
}

static bool read_port(const char *p, size_t n, uint16_t *ret)
{
    unsigned value = 0;

    if (!n || n > 5)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!url_digit(p[i]))
            return false;
        value = value * 10 + (unsigned)(p[i] - '0');
    }
    *ret = (uint16_t)value;
    return value > 0 && value <= 65535;
}

/* Splits "host:port" or "[address]:port" into the struct. */
static bool split_authority(wharf_str a, struct net_url *url)
{
    const char *colon, *host = a.p;
    size_t n = a.n;

    if (a.n && a.p[0] == '[') {
        const char *close = memchr(a.p, ']', a.n);

        if (!close)
            return false;
        host = a.p + 1;
        n = (size_t)(close - host);
        colon = close + 1 < a.p + a.n ? close + 1 : NULL;
        if (colon && *colon != ':')
            return false;
        url->literal = true;
    } else {
        colon = memchr(a.p, ':', a.n);
        if (colon)
            n = (size_t)(colon - a.p);
    }
    if (!n || n > HOST_TEXT_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        url->host[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] + 32 : host[i]);
    url->host[n] = 0;
    return !colon || read_port(colon + 1, (size_t)(a.p + a.n - colon - 1), &url->port);
}

/* Tells whether a host has labels of letters, digits, '-' and '_'. Anything else (percent signs,
 * full-width digits, a dot at the end) has more than one reading somewhere. */
static bool name_shape(const char *host)
{
    size_t n = strlen(host), label = 0;

    if (strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != n)
        return false;
    for (size_t i = 0; i <= n; i++) {
        if (i < n && host[i] != '.') {
            label++;
            continue;
        }
        if (!label || label > 63)
            return false;
        label = 0;
    }
    return true;
}

/* Tells whether a host has the form of a number: a last label of digits, or one that begins as a
 * hexadecimal number, makes resolvers read the whole as an IPv4 address. */
static bool url_number_form(const char *host)
{
    const char *dot = strrchr(host, '.'), *last = dot ? dot + 1 : host;

    return strspn(last, "0123456789") == strlen(last) || (last[0] == '0' && last[1] == 'x');
}

static enum net_outcome judge_literal(
    const struct guard *g, unsigned flags, struct net_url *url, bool *ret_port_named)
{
    if (!address_parse(url->host, url->port, &url->address))
        return NET_BAD_URL;
    url->literal = true;
    if (flags & NET_TRUSTED)
        return NET_DONE;
    return guard_literal(g, (struct sockaddr *)&url->address, ret_port_named) ? NET_DONE
                                                                              : NET_BAD_URL;
}

static enum net_outcome judge_host(const struct guard *g, unsigned flags, struct net_url *url)
{
    bool port_named = false;
    enum net_outcome o = NET_DONE;
    bool port_ok = url->port == 443 || url->port >= 1024 ||
                   (url->port == 80 && (flags & (NET_HTTP | NET_PORT_80)));

    if (url->literal || (name_shape(url->host) && url_number_form(url->host)))
        o = judge_literal(g, flags, url, &port_named);
    else if (!name_shape(url->host))
        o = NET_BAD_URL;
    else if (flags & NET_TRUSTED)
        url->open = true;
    else
        url->open = guard_host(g, url->host, url->port, &port_named);
    if (o != NET_DONE || (flags & NET_TRUSTED))
        return o;
    if (!port_ok && !port_named)
        return NET_BAD_URL;
    return !url->literal && !url->open && host_name_refused(url->host) ? NET_BAD_HOST : NET_DONE;
}

static bool part_is(CURLU *u, CURLUPart part, const char *want, unsigned flags)
{
    char *text = NULL;
    bool same = curl_url_get(u, part, &text, flags) == CURLUE_OK && strcasecmp(text, want) == 0;

    curl_free(text);
    return same;
}

/* Tells whether libcurl agrees. It reads the same text; where it sees another host or port than we
 * did, nobody goes anywhere. */
static bool curl_agrees(wharf_str text, struct net_url *url)
{
    char port[8], host[HOST_TEXT_MAX + 3];

    snprintf(port, sizeof(port), "%u", url->port);
    snprintf(host, sizeof(host), strchr(url->host, ':') ? "[%s]" : "%s", url->host);
    url->handle = curl_url();
    if (url->handle &&
        curl_url_set(url->handle, CURLUPART_URL, text.p, CURLU_URLENCODE) == CURLUE_OK &&
        curl_url_set(url->handle, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
        part_is(url->handle, CURLUPART_SCHEME, url->https ? "https" : "http", 0) &&
        part_is(url->handle, CURLUPART_PORT, port, CURLU_DEFAULT_PORT) &&
        part_is(url->handle, CURLUPART_HOST, host, 0))
        return true;
    net_url_done(url);
    return false;
}

enum net_outcome net_url_parse(
    const struct guard *g, wharf_str text, unsigned flags, struct net_url *url)
{
    size_t scheme = scheme_length(text), n;
    wharf_str authority;
    enum net_outcome o;

    memset(url, 0, sizeof(*url));
    if (!scheme)
        return NET_BAD_URL;
    url->https = scheme == 5 && strncasecmp(text.p, "https", 5) == 0;
    if (!url->https && !((flags & NET_HTTP) && scheme == 4 && strncasecmp(text.p, "http", 4) == 0))
        return NET_BAD_PROTOCOL;
    if (!text_clean(text) || text.n < scheme + 3 || memcmp(text.p + scheme, "://", 3) != 0)
        return NET_BAD_URL;
    if ((flags & NET_NO_FRAGMENT) && memchr(text.p, '#', text.n))
        return NET_BAD_URL;
    authority.p = text.p + scheme + 3;
    n = text.n - scheme - 3;
    authority.n = 0;
    while (authority.n < n && !strchr("/?#", authority.p[authority.n]))
        authority.n++;
    url->port = url->https ? 443 : 80;
    if (!split_authority(authority, url))
        return NET_BAD_URL;
    o = judge_host(g, flags, url);
    if (o != NET_DONE)
        return o;
    return curl_agrees(text, url) ? NET_DONE : NET_BAD_URL;
}

void net_url_done(struct net_url *url)
{
    curl_url_cleanup(url->handle);
    url->handle = NULL;
}
