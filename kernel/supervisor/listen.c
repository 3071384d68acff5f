/* listen.c - see listen.h. */
#include "supervisor/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t length_of(const union address *at)
{
    return at->any.sa_family == AF_INET6 ? sizeof(at->v6) : sizeof(at->v4);
}

static void set_port(union address *at, unsigned port)
{
    if (at->any.sa_family == AF_INET6)
        at->v6.sin6_port = htons((uint16_t)port);
    else
        at->v4.sin_port = htons((uint16_t)port);
}

static bool ipv6_works(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool parse(const char *text, union address *at, struct listen_address *ret)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    char *end = NULL;
    unsigned long port;

    if (!n || !colon[1] || n >= sizeof(ret->host))
        return false;
    port = strtoul(colon + 1, &end, 10);
    if (*end || port > 65535 || colon[1] < '0' || colon[1] > '9')
        return false;
    if (text[0] == '[' && text[n - 1] == ']')
        snprintf(ret->host, sizeof(ret->host), "%.*s", (int)n - 2, text + 1);
    else
        snprintf(ret->host, sizeof(ret->host), "%.*s", (int)n, text);
    if (strcmp(ret->host, "localhost") == 0)
        snprintf(ret->host, sizeof(ret->host), "127.0.0.1");
    ret->port = (unsigned)port;
    memset(at, 0, sizeof(*at));
    if (strcmp(ret->host, "*") == 0)
        at->any.sa_family = ipv6_works() ? AF_INET6 : AF_INET; /* :: takes IPv4 too */
    else if (inet_pton(AF_INET, ret->host, &at->v4.sin_addr) == 1)
        at->any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, ret->host, &at->v6.sin6_addr) == 1)
        at->any.sa_family = AF_INET6;
    else
        return false;
    set_port(at, ret->port);
    return true;
}

static int open_one(const union address *at, int option)
{
    int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1,
        off = 0, error;

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        (!option || setsockopt(fd, SOL_SOCKET, option, &on, sizeof(on)) == 0) &&
        (at->any.sa_family != AF_INET6 ||
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) == 0) &&
        bind(fd, &at->any, length_of(at)) == 0 && listen(fd, LISTEN_BACKLOG) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Opens the address once without SO_REUSEPORT: another server of this user on the same port would
 * else share it silently. */
static bool listen_probe(union address *at, unsigned *ret_port)
{
    int fd = open_one(at, 0);
    union address real = *at;
    socklen_t n = sizeof(real);

    if (fd < 0)
        return false;
    if (getsockname(fd, &real.any, &n) == 0)
        *ret_port = ntohs(real.any.sa_family == AF_INET6 ? real.v6.sin6_port : real.v4.sin_port);
    close(fd);
    set_port(at, *ret_port);
    return true;
}

bool listen_open(const char *address, size_t n, int *ret_fds, struct listen_address *ret_address,
    struct arena *a, wharf_str *ret_error)
{
    union address at;
    size_t open = 0;

    if (!parse(address, &at, ret_address)) {
        *ret_error = arena_printf(a,
            "\"%s\" is no address to listen on; write HOST:PORT, like 127.0.0.1:8080, [::1]:8080 "
            "or *:8080",
            address);
        return false;
    }
    if (listen_probe(&at, &ret_address->port))
        while (open < n && (ret_fds[open] = open_one(&at, SO_REUSEPORT)) >= 0)
            open++;
    if (open == n)
        return true;
    *ret_error = arena_printf(a, "%s can't be listened on: %s%s", address, strerror(errno),
        errno == EADDRINUSE ? "; choose another with --listen, or stop the program that uses it"
                            : "");
    while (open)
        close(ret_fds[--open]);
    return false;
}
