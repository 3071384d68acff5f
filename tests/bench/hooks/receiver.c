/* receiver.c - answers every POST with 200, on keep-alive connections, and counts them: what
 * deliveries are measured against.
 *
 *   receiver [DELAY_MS]    prints its port; for each line on standard input prints how many
 *                          requests it has answered */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 1 << 17, CONNECTIONS = 65536, EVENTS = 256 };

struct connection {
    char *in;
    size_t n;
};
static struct connection connections[CONNECTIONS];
static unsigned long answered;
static long delay_ms;

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/* Bytes of the first whole request; 0: not all of it is there. */
static size_t whole(struct connection *c)
{
    char *end = memmem(c->in, c->n, "\r\n\r\n", 4), *length;
    size_t head, body = 0;

    if (!end)
        return 0;
    head = (size_t)(end - c->in) + 4;
    *end = 0;
    length = strcasestr(c->in, "\ncontent-length:");
    if (length)
        body = strtoul(length + 16, NULL, 10);
    *end = '\r';
    return c->n >= head + body ? head + body : 0;
}

static bool serve(int fd, struct connection *c)
{
    ssize_t got = read(fd, c->in + c->n, ROOM - c->n);
    size_t used;

    if (got <= 0)
        return false;
    c->n += (size_t)got;
    while ((used = whole(c))) {
        if (delay_ms)
            nanosleep(&(struct timespec){delay_ms / 1000, delay_ms % 1000 * 1000000}, NULL);
        if (write(fd, answer, sizeof(answer) - 1) < 0)
            return false;
        answered++;
        memmove(c->in, c->in + used, c->n - used);
        c->n -= used;
    }
    return c->n < ROOM;
}

static void take(int epoll, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), one = 1;
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

    if (fd < 0 || fd >= CONNECTIONS)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    connections[fd] = (struct connection){.in = malloc(ROOM + 1)};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

int main(int argc, char **argv)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0), n;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    struct epoll_event events[EVENTS], e = {.events = EPOLLIN, .data.fd = listener};
    char line[64];

    delay_ms = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    if (bind(listener, (struct sockaddr *)&at, size) < 0 || listen(listener, 4096) < 0)
        return 1;
    getsockname(listener, (struct sockaddr *)&at, &size);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &e);
    e.data.fd = 0;
    epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &e);
    while ((n = epoll_wait(epoll, events, EVENTS, -1)) >= 0) {
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;

            if (fd == listener) {
                take(epoll, listener);
            } else if (fd == 0) {
                if (read(0, line, sizeof(line)) <= 0)
                    return 0;
                printf("%lu\n", answered);
                fflush(stdout);
            } else if (!serve(fd, &connections[fd])) {
                free(connections[fd].in);
                close(fd);
            }
        }
    }
    return 0;
}
