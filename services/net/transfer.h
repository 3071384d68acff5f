/* transfer.h - one transfer and the loop, as the files of this folder see them. See client.h. */
#ifndef WHARF_NET_TRANSFER_H
#define WHARF_NET_TRANSFER_H

#include <ares.h>
#include <pthread.h>
#include <stdatomic.h>

#include "net/client.h"
#include "util/waker.h"
#include "net/url.h"
#include "util/buf.h"

enum {
    NET_POOLS_MAX = 1024,
    ADDRESSES_MAX = 16, /* addresses of a host that are tried */
    HEADERS_MAX_BYTES = 64 * 1024, /* bytes of headers that are read */
    HOST_BUCKETS = 512,
    MEMORY_BODY_MAX = 64 << 20
};

enum transfer_state { T_NEW, T_WAITING, T_RESOLVING, T_RESOLVED, T_RUNNING, T_OVER };

struct host { /* "name:port": how many transfers it has at once */
    char key[HOST_TEXT_MAX + 8];
    unsigned active;
    struct net_transfer *first, **last; /* waiting, by `next` */
    struct host *next;
};

struct net_pool { /* of one owner: its connections */
    struct net_client *client;
    size_t slot;
    char owner[64];
    size_t owner_size;
    CURLM *multi;
    unsigned active; /* transfers that run now */
    int64_t due_us; /* libcurl wants a turn then; -1: no */
    int64_t idle_since_us; /* while active is 0 */
};

struct query; /* net_resolve.c: a question to the name servers */

struct net_transfer {
    struct net_client *client;
    struct net_queue *queue;
    struct net_request r; /* url, headers, method: copies */
    enum transfer_state state;
    enum net_outcome outcome;
    atomic_bool cancel;

    struct net_url url; /* of this hop */
    struct host *host;
    unsigned hops;
    struct query *query;
    /* checked: the only ones that may be connected to */
    struct sockaddr_storage addresses[ADDRESSES_MAX];
    unsigned n_addresses;
    bool mapped; /* by net.resolve: not judged */
    char mapped_to[64]; /* "127.0.0.1:8443" */

    struct net_pool *pool; /* while it runs */
    CURL *easy;
    CURLSH *share; /* a DNS cache of its own: what is pinned here is nobody else's business */
    struct curl_slist *headers, *pins;
    char curl_error[CURL_ERROR_SIZE];
    int status;
    struct buf head, body;
    char header_value[2048];
    uint64_t received, sent, skipped;

    int64_t start_us, end_us; /* 0: not started */
    int64_t hop_us; /* this hop began */
    int64_t connected_us, window_us; /* of this hop; 0: not yet */
    uint64_t window_bytes;
    bool answered; /* first byte of this hop's answer */

    struct net_transfer *next, *prev; /* active list of the loop, or a queue */
};

struct net_queue { /* guarded by the waker's lock */
    struct waker *waker, own;
    struct net_transfer *first, **last;
};

struct mapping { /* net.resolve */
    char host[HOST_TEXT_MAX + 1];
    struct sockaddr_storage address; /* port 0: the URL's */
};

struct net_client {
    const struct config *config;
    struct guard *guard;
    struct mapping *mappings;
    size_t n_mappings;
    const char *ca_file; /* or NULL */
    unsigned per_host, max_active;

    pthread_t thread;
    bool running;
    int epoll_fd, wake_fd;
    ares_channel ares;

    pthread_mutex_t lock; /* of the next three */
    struct net_transfer *incoming, **incoming_last;
    bool cancels, stop;

    /* The rest belongs to the loop's thread. */
    struct net_transfer *pending, **pending_last; /* no room yet */
    struct net_transfer *active; /* all that have a turn */
    unsigned n_active;
    struct host *hosts[HOST_BUCKETS];
    struct net_pool *pools[NET_POOLS_MAX]; /* by slot; all below n_pools */
    size_t n_pools;
};

/* Sets up the resolver (net_resolve.c). */
bool resolve_setup(struct net_client *c, struct arena *err, wharf_str *ret_problem);
/* Goes on with state T_RESOLVED (addresses, or an outcome), now or later. */
void resolve_start(struct net_client *c, struct net_transfer *t);
void resolve_forget(struct net_transfer *t);

/* Begins this hop on the libcurl side (transfer.c). */
/* Begins this hop; false: outcome is set. */
bool transfer_run(struct net_client *c, struct net_transfer *t);
void transfer_hop_over(struct net_transfer *t);
/* Ends a hop after libcurl finished. Returns true when another hop follows (t->url is its URL),
 * else the outcome is set. */
bool transfer_finish(struct net_client *c, struct net_transfer *t, CURLcode code);
/* Judges the time limits. Returns NET_DONE when the transfer is within them. */
enum net_outcome transfer_overdue(struct net_transfer *t, int64_t now_us);

/* net_pool.c: connections by owner */
/* Returns the owner's pool, counted as in use until pool_leave(); NULL when there is no room or
 * no memory for one. */
struct net_pool *pool_enter(struct net_client *c, wharf_str owner);
void pool_leave(struct net_pool *p);
/* Passes an epoll event on to libcurl; false when the tag is not of a pool. mask:
 * CURL_CSELECT_*. */
bool pool_serve(struct net_client *c, uint64_t tag, int fd, int mask);
/* Gives each pool that wants it a turn, and ends those that have been idle for a minute. */
void pools_run_due(struct net_client *c, int64_t now_us);
/* Returns when the next pool wants a turn; -1: none does. */
int64_t pools_due_us(const struct net_client *c);
void pools_free(struct net_client *c);

/* Takes a turn at the host (hosts.c). */
struct host *host_enter(struct net_client *c, struct net_transfer *t); /* or NULL: t waits there */
/* Gives the turn back; returns a transfer that waited for it, or NULL. */
struct net_transfer *host_leave(struct net_client *c, struct net_transfer *t);
void host_unwait(struct net_client *c, struct net_transfer *t);

/* Makes a transfer (net_request.c). */
struct net_transfer *transfer_new(
    struct net_client *c, struct net_queue *q, const struct net_request *r);

/* Puts a finished transfer into its queue (net_queue.c). */
void queue_put(struct net_queue *q, struct net_transfer *t);

#endif
