/* tls.h - the certificate of the main listener, and bytes sent past libmicrohttpd on its
 * connections.
 *
 * docs/spec/01-platform.md section 17: TLS by configuration (tls.certificate, tls.key). The
 * supervisor reads and checks the pair at start and at each reload and hands it to workers in a
 * memfd: a worker that is started again after a crash serves with the pair that was good,
 * whatever the files hold by then. TLS 1.2 at least. Leaves to others: the handshake and
 * everything else of a connection (libmicrohttpd with GnuTLS). */
#ifndef WHARF_HTTP_TLS_H
#define WHARF_HTTP_TLS_H

#include "config/config.h"

struct tls_pair {
    char *certificate, *key; /* PEM texts; both NULL: no TLS */
};

extern const char tls_priorities[]; /* GnuTLS priority string of the listener */

/* Reads the files of tls.certificate and tls.key and checks that they belong together and are
 * valid now. *ret_fd: a descriptor for tls_receive(), or -1 when the settings ask for no TLS.
 * False: *ret_error says what is wrong and with which file. */
bool tls_open(const struct config *c, int *ret_fd, struct arena *a, wharf_str *ret_error);
/* Reads the pair behind a descriptor of tls_open(); fd -1: both are NULL. Returns false when it
 * can't be read. Closes nothing. */
bool tls_receive(int fd, struct tls_pair *ret);
/* Returns when the certificate ends, in seconds since 1970; 0: there is none. */
int64_t tls_until(const struct tls_pair *p);
/* Wipes the key. */
void tls_forget(struct tls_pair *p);

/* Sends what the connection takes at once, without waiting. tls: its gnutls_session_t, or NULL
 * for plain bytes. False: nothing was sent. [loop] */
bool tls_send(void *tls, int fd, const char *p, size_t n);
/* Ends our side: a close_notify where there is TLS, then the socket's sending side. [loop] */
void tls_end(void *tls, int fd);

#endif
