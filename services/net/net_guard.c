/* net_guard.c - see net_guard.h. */
#include "net/net_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/str.h"

struct network {
    unsigned char address[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned bits;
};

/* IPv4 that is not public; lengths count from the start of the mapped form, hence 96 more. */
#define V4(a, b, c, d, bits)                                                                       \
    {                                                                                              \
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, (a), (b), (c), (d)}, 96 + (bits)                \
    }
static const struct network refused_v4[] = {
    V4(0, 0, 0, 0, 8),
    V4(10, 0, 0, 0, 8),
    V4(100, 64, 0, 0, 10),
    V4(127, 0, 0, 0, 8),
    V4(168, 63, 129, 16, 32), /* the platform address of one cloud, inside its public range */
    V4(169, 254, 0, 0, 16),
    V4(172, 16, 0, 0, 12),
    V4(192, 0, 0, 0, 24),
    V4(192, 0, 2, 0, 24),
    V4(192, 88, 99, 0, 24),
    V4(192, 168, 0, 0, 16),
    V4(198, 18, 0, 0, 15),
    V4(198, 51, 100, 0, 24),
    V4(203, 0, 113, 0, 24),
    V4(224, 0, 0, 0, 3),
};

/* IPv6 inside 2000::/3, the only range that is given out; everything outside it is refused, but
 * for translations. */
static const struct network refused_v6[] = {
    {{0x20, 0x01}, 23},
    {{0x20, 0x01, 0x0d, 0xb8}, 32},
    {{0x3f, 0xff}, 20},
};

/* Where an IPv4 address stands in an IPv6 one. */
static const struct {
    struct network network;
    unsigned at;
} carriers[] = {
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, 12}, /* mapped */
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}, 96}, 12}, /* translated, RFC 2765 */
    {{{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}, 96}, 12}, /* NAT64 */
    {{{0x20, 0x02}, 16}, 2}, /* 6to4 */
};

static bool net_guard_inside(const unsigned char address[16], const struct network *n)
{
    unsigned whole = n->bits / 8, rest = n->bits % 8;

    if (memcmp(address, n->address, whole) != 0)
        return false;
    return !rest || ((address[whole] ^ n->address[whole]) >> (8 - rest)) == 0;
}

static void net_guard_map_v4(const unsigned char v4[4], unsigned char out[16])
{
    memset(out, 0, 10);
    out[10] = out[11] = 0xff;
    memcpy(out + 12, v4, 4);
}

/* Writes the 16 bytes of an address, IPv4 in mapped form. */
static bool net_guard_bytes_of(const struct sockaddr *sa, unsigned char out[16])
{
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)sa;
        unsigned char v4[4];

        memcpy(v4, &in->sin_addr, sizeof(v4));
        net_guard_map_v4(v4, out);
        return true;
    }
    if (sa->sa_family == AF_INET6) {
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, 16);
        return true;
    }
    return false;
}

static bool public_v4(const unsigned char v4[4])
{
    unsigned char mapped[16];

    net_guard_map_v4(v4, mapped);
    for (size_t i = 0; i < sizeof(refused_v4) / sizeof(refused_v4[0]); i++) {
        if (net_guard_inside(mapped, &refused_v4[i]))
            return false;
    }
    return true;
}

/* Tells whether it is an interface identifier of ISATAP, which names the IPv4 host behind a
 * tunnel. */
static bool isatap(const unsigned char a[16])
{
    return (a[8] & 0xfd) == 0 && a[9] == 0 && a[10] == 0x5e && a[11] == 0xfe;
}

static bool public_bytes(const unsigned char a[16])
{
    for (size_t i = 0; i < sizeof(carriers) / sizeof(carriers[0]); i++) {
        if (net_guard_inside(a, &carriers[i].network))
            return public_v4(a + carriers[i].at);
    }
    if ((a[0] & 0xe0) != 0x20 || (isatap(a) && !public_v4(a + 12)))
        return false;
    for (size_t i = 0; i < sizeof(refused_v6) / sizeof(refused_v6[0]); i++) {
        if (net_guard_inside(a, &refused_v6[i]))
            return false;
    }
    return true;
}

bool address_public(const struct sockaddr *sa)
{
    unsigned char a[16];

    return net_guard_bytes_of(sa, a) && public_bytes(a);
}

uint16_t address_port(const struct sockaddr *sa)
{
    if (sa->sa_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)(const void *)sa)->sin_port);
    if (sa->sa_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)sa)->sin6_port);
    return 0;
}

bool address_same(const struct sockaddr *a, const struct sockaddr *b)
{
    unsigned char left[16], right[16];

    return net_guard_bytes_of(a, left) && net_guard_bytes_of(b, right) &&
           memcmp(left, right, sizeof(left)) == 0;
}

bool address_parse(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;

    memset(ret, 0, sizeof(*ret));
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return true;
    }
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) != 1)
        return false;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    return true;
}

/* ---- the operator's list ---- */

struct entry {
    struct network network; /* host empty */
    char host[256]; /* lower case; "*.example.com": everything below */
    uint16_t port; /* 0: all */
};

struct guard {
    size_t count;
    struct entry entries[];
};

/* Takes ":port" off the end of text. False: what stands there is no port. */
static bool split_port(char *text, uint16_t *ret_port)
{
    char *colon = strrchr(text, ':'), *close = strrchr(text, ']'), *end;
    unsigned long port;

    *ret_port = 0;
    if (text[0] == '[' && close) {
        memmove(text, text + 1, (size_t)(close - text - 1));
        text[close - text - 1] = 0;
        colon = close[1] == ':' ? close + 1 : NULL;
        if (!colon)
            return close[1] == 0;
    } else if (!colon || strchr(text, ':') != colon) {
        return true; /* none, or an IPv6 address without brackets */
    }
    port = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end || port == 0 || port > 65535)
        return false;
    *colon = 0;
    *ret_port = (uint16_t)port;
    return true;
}

static bool read_bits(char *text, bool *ret_given, unsigned *ret_bits)
{
    char *slash = strchr(text, '/'), *end;
    unsigned long bits;

    *ret_given = slash != NULL;
    if (!slash)
        return true;
    bits = strtoul(slash + 1, &end, 10);
    if (slash[1] < '0' || slash[1] > '9' || *end || bits > 128)
        return false;
    *slash = 0;
    *ret_bits = (unsigned)bits;
    return true;
}

static bool host_shape(const char *host)
{
    size_t n = strlen(host), start = str_starts(str_z(host), "*.") ? 2 : 0;

    return n > start && n < 254 && host[start] != '.' && host[n - 1] != '.' &&
           strspn(host + start, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == n - start;
}

/* Reads 10.0.0.0/8, 127.0.0.1:8080, [::1]:80, fd00::/8, host, *.host, host:port. */
static bool net_guard_read_entry(const char *text, struct entry *e)
{
    struct sockaddr_storage address;
    bool with_bits = false;
    unsigned bits = 0;
    char copy[256];
    size_t n = strlen(text);

    if (!n || n >= sizeof(copy))
        return false;
    for (size_t i = 0; i <= n; i++)
        copy[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    if (!split_port(copy, &e->port) || !read_bits(copy, &with_bits, &bits))
        return false;
    if (!address_parse(copy, 0, &address)) {
        memcpy(e->host, copy, sizeof(copy));
        return !with_bits && host_shape(copy);
    }
    net_guard_bytes_of((struct sockaddr *)&address, e->network.address);
    if (address.ss_family == AF_INET && with_bits && bits > 32)
        return false;
    e->network.bits = !with_bits ? 128 : address.ss_family == AF_INET ? bits + 96 : bits;
    return true;
}

struct guard *guard_new(const struct config_list *allow, struct arena *err, wharf_str *ret_problem)
{
    struct guard *g = calloc(1, sizeof(*g) + allow->count * sizeof(g->entries[0]));

    if (!g)
        abort();
    for (size_t i = 0; i < allow->count; i++) {
        if (!net_guard_read_entry(allow->items[i], &g->entries[g->count++])) {
            *ret_problem = arena_printf(err,
                "net.allow: \"%s\" is neither an address, a network like 10.0.0.0/8, a host nor "
                "host:port",
                allow->items[i]);
            guard_free(g);
            return NULL;
        }
    }
    return g;
}

void guard_free(struct guard *g)
{
    free(g);
}

bool guard_literal(const struct guard *g, const struct sockaddr *sa, bool *ret_port_named)
{
    unsigned char a[16];
    uint16_t port = address_port(sa);
    bool found = false;

    *ret_port_named = false;
    if (!net_guard_bytes_of(sa, a))
        return false;
    for (size_t i = 0; i < g->count; i++) {
        const struct entry *e = &g->entries[i];

        if (e->host[0] || (e->port && e->port != port) || !net_guard_inside(a, &e->network))
            continue;
        found = true;
        *ret_port_named |= e->port != 0;
    }
    return found;
}

bool guard_address(const struct guard *g, const struct sockaddr *sa)
{
    bool port_named;

    return address_public(sa) || guard_literal(g, sa, &port_named);
}

static bool name_matches(const char *pattern, const char *host)
{
    if (str_starts(str_z(pattern), "*."))
        return str_ends(str_z(host), pattern + 1) && strlen(host) > strlen(pattern) - 1;
    return strcmp(pattern, host) == 0;
}

bool guard_host(const struct guard *g, const char *host, uint16_t port, bool *ret_port_named)
{
    bool found = false;

    *ret_port_named = false;
    for (size_t i = 0; i < g->count; i++) {
        const struct entry *e = &g->entries[i];

        if (!e->host[0] || (e->port && e->port != port) || !name_matches(e->host, host))
            continue;
        found = true;
        *ret_port_named |= e->port != 0;
    }
    return found;
}

bool host_name_refused(const char *host)
{
    /* metadata.google.internal, metadata.azure.internal and instance-data.ec2.internal are
     * inside .internal */
    static const char *const zones[] = {
        ".localhost", ".localdomain", ".local", ".internal", ".arpa"};
    wharf_str name = str_z(host);

    if (!strchr(host, '.'))
        /* localhost, metadata, instance-data, ip6-localhost, names of the local network */
        return true;
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        if (str_ends(name, zones[i]))
            return true;
    }
    return false;
}
