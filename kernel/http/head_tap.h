/* head_tap.h - stands between the sockets of clients and libmicrohttpd: what the library reads
 * has gone through head.h.
 *
 * The library reads by recv() and gnutls_record_recv(), which the program defines itself: the
 * dynamic linker gives the library the program's. They know the descriptors of clients; for all
 * others they are what they were. This costs no system call; a socket pair before each
 * connection costs four for a request. head_tap_check() proves at start that it is so, and a
 * request that the filter did not let through is refused (exchange.c). docs/internals/http.md
 * section "How". All of it: [loop] */
#ifndef WHARF_HTTP_HEAD_TAP_H
#define WHARF_HTTP_HEAD_TAP_H

#include "http/head.h"

struct head_tap { /* of a connection */
    struct head head;
    void *tls; /* its gnutls_session_t, or NULL */
    /* owned: canonical bytes that found no room yet, or the beginning of a head or line; NULL:
     * nothing */
    char *kept;
    size_t ready, n, cap; /* bytes of `kept` that are canonical, all of them, its room */
    size_t dropped; /* bytes that came behind the end */
};

/* Leads what is read from fd through the tap from here on. The tap must stay where it is until it
 * is taken off. Returns false when the descriptor's number is too large or there is no memory;
 * then the connection must not be served. */
bool head_tap_put(int fd, void *tls, struct head_tap *tap);
/* Takes the tap off. Must be called before fd is closed. */
void head_tap_off(int fd, struct head_tap *tap);
/* Returns the refusal that request number n of the connection gets, or NULL. */
const struct head_refusal *head_tap_refusal(const struct head_tap *tap, uint64_t request);
/* Tells whether bytes of a head came and its end did not. */
bool head_tap_waits(const struct head_tap *tap);

/* Tells whether libmicrohttpd reads through the tap. Else *ret_why says what is wrong and what to
 * do. tls: judges gnutls_record_recv() too. */
bool head_tap_check(bool tls, const char **ret_why);

#endif
