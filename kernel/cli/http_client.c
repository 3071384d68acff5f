/* http_client.c - see http_client.h. Loopback only: no names, no TLS, no redirects, no chunked answers. */
#include "cli/http_client.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/str.h"

enum { ANSWER_MAX = 4 * 1024 * 1024, WAIT_S = 10 };

/* "http://[::1]:8080" to host and port. */
static bool split(const char *base_url, char host[64], char port[8])
{
    const char *p = strncmp(base_url, "http://", 7) == 0 ? base_url + 7 : base_url, *colon = strrchr(p, ':');
    size_t n = colon ? (size_t)(colon - p) : 0;
    bool brackets = p[0] == '[';

    if (n < 3 || n >= 64 || strlen(colon + 1) > 5)
        return false;
    snprintf(host, 64, "%.*s", (int)(brackets ? n - 2 : n), brackets ? p + 1 : p);
    snprintf(port, 8, "%s", colon + 1);
    return true;
}

static int connect_to(const char *base_url)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *at = NULL;
    struct timeval limit = {.tv_sec = WAIT_S};
    char host[64], port[8];
    int fd = -1;

    if (!split(base_url, host, port) || getaddrinfo(host, port, &hints, &at) != 0)
        return -1;
    fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(at);
    return fd;
}

static bool send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* The answer ends with the connection. */
static void read_all(int fd, struct buf *to)
{
    ssize_t n = 1;

    while (n > 0) {
        char *room = buf_room(to, 16384);

        n = room ? recv(fd, room, 16384, 0) : 0;
        if (n > 0)
            buf_add(to, room, (size_t)n);
    }
}

struct http_reply http_call(
    struct arena *a, const char *base_url, const char *key, const char *method, const char *path, wharf_str body)
{
    struct http_reply reply = {.body = {"", 0}};
    wharf_str head = arena_printf(a,
        "%s %s HTTP/1.1\r\nHost: %s\r\nSVC-API-KEY: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
        "Connection: close\r\n\r\n",
        method, path, base_url + strlen("http://"), key, body.n);
    int fd = connect_to(base_url);
    const char *end;
    struct buf answer;

    if (fd < 0)
        return reply;
    buf_init(&answer, ANSWER_MAX);
    if (send_all(fd, head.p, head.n) && send_all(fd, body.p, body.n))
        read_all(fd, &answer);
    close(fd);
    end = answer.p ? strstr(answer.p, "\r\n\r\n") : NULL;
    if (end && strncmp(answer.p, "HTTP/1.", 7) == 0 && answer.n > 12) {
        reply.status = (int)strtol(answer.p + 9, NULL, 10);
        reply.body = arena_dupz(a, end + 4);
    }
    buf_done(&answer);
    return reply;
}
