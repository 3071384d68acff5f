/* network.h - IP addresses and networks as 16 bytes: an IPv4 address is its mapped IPv6 form, so
 * that one comparison serves both. */
#ifndef WHARF_UTIL_NETWORK_H
#define WHARF_UTIL_NETWORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct ip {
    uint8_t b[16];
};

struct network {
    struct ip ip;
    unsigned bits; /* of the 128 that count */
};

/* Reads "192.0.2.1" or "2001:db8::1", n bytes. Returns false when the text is neither. */
bool ip_parse(const char *text, unsigned n, struct ip *ret);
/* Reads "192.0.2.0/24", "2001:db8::/32", or an address alone. Returns false when the text is none
 * of them, or the length is beyond the family's. */
bool network_parse(const char *text, struct network *ret);
bool network_has(const struct network *n, const struct ip *ip);
/* Takes the IP address out of a. Returns false for a family that is not IP. */
bool ip_of(const struct sockaddr *a, struct ip *ret);
bool ip_is_v4(const struct ip *ip);
enum { IP_TEXT = 46 };
void ip_text(const struct ip *ip, char out[IP_TEXT]);

#endif
