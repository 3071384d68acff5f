/* listen.h - the listening sockets, owned by the supervisor for its whole life. */
#ifndef WHARF_SUPERVISOR_LISTEN_H
#define WHARF_SUPERVISOR_LISTEN_H

#include <stddef.h>

#include "util/arena.h"

enum { LISTEN_BACKLOG = 1024 };

struct listen_address {
    char host[64]; /* "127.0.0.1", "::1", "*" */
    unsigned port; /* the real one, also when 0 was asked for */
};

/* Opens n listening sockets of one address ("127.0.0.1:8080", "[::1]:8080", "*:8080"; port 0
 * takes a free one): SO_REUSEPORT, non-blocking, close-on-exec. False and a message that says
 * what to do; then none is open. */
bool listen_open(const char *address, size_t n, int *ret_fds, struct listen_address *ret_address,
    struct arena *a, wharf_str *ret_error);

#endif
