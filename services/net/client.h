/* client.h - outgoing HTTP: one loop per process (libcurl multi, c-ares, epoll) for any number
 * of transfers at once.
 *
 * A transfer goes through: wait for its host's turn, resolve, check every address, connect to a
 * checked address only, exchange, perhaps a redirect (then all of it again). No proxy, no
 * cookies, no netrc, no Alt-Svc, no HSTS, HTTP/1.1 and TLS >= 1.2 only; the certificate must be
 * the URL's host's. Rules: docs/spec/06-inference.md section 10,
 * docs/spec/07-events-and-webhooks.md section 9. What it leaves to others: meaning of statuses
 * and error codes (net_fetch.h), signing of deliveries, retries.
 *
 * Callers own queues. net_submit() gives a transfer to the loop; when it is over it appears in
 * its queue, exactly once, also when it was cancelled, and belongs to the caller again. Any
 * thread may submit, cancel and take. */
#ifndef WHARF_NET_CLIENT_H
#define WHARF_NET_CLIENT_H

#include "config/config.h"

struct net_client;
struct net_queue;
struct waker; /* util/waker.h */
struct net_transfer;

enum net_outcome {
    NET_DONE = 0, /* an answer of the last hop is complete, whatever its status */
    NET_BAD_URL, /* form of the URL, user info, literal address, port */
    NET_BAD_PROTOCOL, /* scheme */
    NET_BAD_HOST, /* a name that is never asked for */
    NET_BLOCKED, /* an address that is not public; nothing was sent to it */
    NET_NO_NAME, /* authoritatively no such name */
    NET_NO_ADDRESS, /* the name servers did not answer with an address */
    NET_NO_CONNECTION,
    NET_NO_TRUST, /* TLS: certificate or handshake */
    NET_TIMEOUT, /* connect, first byte, stall or total */
    NET_TOO_LARGE,
    NET_ENCODED, /* a Content-Encoding that was not asked for */
    NET_REDIRECTS, /* more than allowed */
    NET_BAD_HEADER, /* a header line that no caller may send; nothing was sent */
    NET_BROKEN, /* not HTTP, cut off, headers without end */
    NET_SINK, /* whoever takes the body refused it */
    NET_CANCELLED,
};
/* Returns a name as "blocked_address", for logs and delivery records. */
const char *net_outcome_name(enum net_outcome o);

enum net_flag {
    NET_HTTP = 1, /* http:// too */
    NET_PORT_80 = 2,
    NET_NO_FRAGMENT = 4,
    NET_GZIP = 8, /* take Content-Encoding: gzip and decode it; limits count decoded bytes */
    NET_REUSE = 16, /* keep the connection for the owner's next transfer to this host */
    NET_TRUSTED = 32, /* the operator's own settings name this host: no guard */
};

struct net_limits { /* 0: none */
    uint64_t bytes; /* of the body, announced or received */
    uint32_t connect_ms; /* per hop: name, connection, TLS */
    /* from connected to the first byte of the answer; 0: stall_ms holds there too */
    uint32_t first_byte_ms;
    uint32_t stall_ms, stall_bytes; /* fewer bytes than that within that time */
    uint32_t total_ms; /* all hops; waiting for the host's turn does not count */
};

struct net_request {
    const char *method; /* NULL: GET */
    wharf_str url;
    const char *const *headers; /* "Name: value" */
    size_t n_headers;
    /* whose it is: connections are shared with the same owner's transfers only. Empty: the
     * server itself */
    wharf_str owner;
    const void *body; /* must live until the transfer was taken back; NULL with body_fd */
    uint64_t body_size;
    int body_fd; /* with body NULL and body_size: read from body_offset on, by pread */
    uint64_t body_offset;
    unsigned flags;
    unsigned redirects; /* of GET and HEAD */
    unsigned per_host; /* transfers at once to one host and port; 0: net.per_host */
    struct net_limits limits;
    /* Where the body goes: sink (called on the loop's thread, false ends the transfer with
     * NET_SINK), or memory when NULL. */
    bool (*sink)(void *arg, const void *p, size_t n);
    void *sink_arg;
    const char *aws_sigv4, *credentials; /* CURLOPT_AWS_SIGV4 and "key:secret" */
    void *arg; /* the caller's */
};

/* Starts the client. Returns NULL and a problem (allocated in err) when net.allow, net.resolve or
 * net.dns can't be read. */
struct net_client *net_start(
    const struct config *config, struct arena *err, wharf_str *ret_problem);
/* Cancels what runs, joins the loop. Queues and transfers taken back stay with their owners. */
void net_stop(struct net_client *c);
const struct guard *net_guard(const struct net_client *c);

/* Makes a queue. waker: what its owner sleeps on, which a finished transfer ends; NULL: its own. */
struct net_queue *net_queue_new(struct waker *waker);
void net_queue_free(struct net_queue *q); /* all its transfers must have been taken */
/* Takes a finished transfer. Returns NULL after wait_us (0: at once, negative: without limit). */
struct net_transfer *net_queue_take(struct net_queue *q, int64_t wait_us);

/* Tells whether only the client itself may send this header: framing, Host, Connection and their
 * like. Every request of every caller is held to it; callers with better words for their users
 * ask before. */
bool net_header_reserved(wharf_str name);
/* Tells whether a header may be sent: the name is a token and not reserved, nothing in the value
 * can end the line. */
bool net_header_valid(wharf_str name, wharf_str value);

struct net_transfer *net_submit(
    struct net_client *c, struct net_queue *q, const struct net_request *r);
/* Cancels a transfer: soon afterwards it is in its queue, with NET_CANCELLED unless it was over
 * already. */
void net_cancel(struct net_client *c, struct net_transfer *t);

/* Returns how a transfer that was taken back ended; net_status() returns what was answered. */
enum net_outcome net_outcome(const struct net_transfer *t);
int net_status(const struct net_transfer *t); /* of the last answer; 0: none came */
/* Returns a header of the last answer, "" when it has none. Good until the transfer is freed or
 * the next call. */
const char *net_header(struct net_transfer *t, const char *name);
wharf_str net_text(const struct net_transfer *t); /* body, when there was no sink */
uint64_t net_received(const struct net_transfer *t);
void *net_arg(const struct net_transfer *t);
/* Returns what went wrong, for the operator's log, never for the client. */
const char *net_trouble(const struct net_transfer *t);
/* Returns status line and headers of the last answer, with CRLF. */
wharf_str net_head(const struct net_transfer *t);
int64_t net_elapsed_us(const struct net_transfer *t);
void net_transfer_free(struct net_transfer *t); /* NULL is accepted */

/* Submits a transfer and waits. It is cancelled at the monotonic time deadline_us (0: none), which
 * then is NET_TIMEOUT. Never returns NULL. */
struct net_transfer *net_run(
    struct net_client *c, const struct net_request *r, int64_t deadline_us);

#endif
