/* network.c - see network.h. */
#include "util/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPED = 12 }; /* bytes before the IPv4 address */

static void network_map_v4(const void *four, struct ip *ret)
{
    memset(ret->b, 0, 10);
    ret->b[10] = ret->b[11] = 0xff;
    memcpy(ret->b + MAPPED, four, 4);
}

bool ip_parse(const char *text, unsigned n, struct ip *ret)
{
    char copy[IP_TEXT];
    uint8_t four[4];

    if (n == 0 || n >= sizeof(copy))
        return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    if (inet_pton(AF_INET, copy, four) == 1) {
        network_map_v4(four, ret);
        return true;
    }
    return inet_pton(AF_INET6, copy, ret->b) == 1;
}

bool network_parse(const char *text, struct network *ret)
{
    const char *slash = strchr(text, '/'), *digits = slash ? slash + 1 : "";
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    unsigned long bits = 128;
    unsigned family;

    if (n >= IP_TEXT || !ip_parse(text, (unsigned)n, &ret->ip))
        return false;
    family = memchr(text, ':', n) ? 128 : 32;
    ret->bits = 128;
    if (!slash)
        return true;
    if (!*digits || strlen(digits) > 3 || strspn(digits, "0123456789") != strlen(digits))
        return false;
    bits = strtoul(digits, NULL, 10);
    ret->bits = (unsigned)bits + 128 - family;
    return bits <= family;
}

bool network_has(const struct network *n, const struct ip *ip)
{
    unsigned whole = n->bits / 8, rest = n->bits % 8;
    uint8_t mask = (uint8_t)(0xff00 >> rest);

    return memcmp(n->ip.b, ip->b, whole) == 0 &&
           (!rest || ((n->ip.b[whole] ^ ip->b[whole]) & mask) == 0);
}

bool ip_of(const struct sockaddr *a, struct ip *ret)
{
    if (a->sa_family == AF_INET)
        network_map_v4(&((const struct sockaddr_in *)(const void *)a)->sin_addr, ret);
    else if (a->sa_family == AF_INET6)
        memcpy(ret->b, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, sizeof(ret->b));
    else
        return false;
    return true;
}

bool ip_is_v4(const struct ip *ip)
{
    static const uint8_t head[MAPPED] = {[10] = 0xff, [11] = 0xff};

    return memcmp(ip->b, head, MAPPED) == 0;
}

void ip_text(const struct ip *ip, char out[IP_TEXT])
{
    if (ip_is_v4(ip))
        inet_ntop(AF_INET, ip->b + MAPPED, out, IP_TEXT);
    else
        inet_ntop(AF_INET6, ip->b, out, IP_TEXT);
}
