/* address.c - socket addresses as text. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "http/exchange.h"

bool address_text(const struct sockaddr *a, char *out, size_t size)
{
    if (a->sa_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, out, (socklen_t)size) !=
               NULL;
    if (a->sa_family == AF_INET6)
        return inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, out, (socklen_t)size) !=
               NULL;
    return false;
}
