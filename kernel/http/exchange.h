/* exchange.h - one request and its answer on a libmicrohttpd connection; everything the files of
 * this folder share.
 *
 * An exchange lives from the request line to the end of the answer. It belongs to the event loop
 * except while a worker thread runs it (state ON_THREAD). Leaves to others: what the request
 * means (resource/), connections to the database (db/lane.h). */
#ifndef WHARF_HTTP_EXCHANGE_H
#define WHARF_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <pthread.h>

#include "config/config.h"
#include "http/head_tap.h"
#include "resource/plan.h"
#include "process/board.h"
#include "process/limits.h"
#include "process/worker.h"
#include "util/network.h"

enum {
    /* libmicrohttpd zeroes all of it after each request: URI, headers and their list fit, and no
     * more */
    CONNECTION_MEMORY = 56 * 1024,
    CONNECTION_TOUCHED = 8 * 1024, /* of that, by most requests: two pages */
    DRAIN_MAX = 64 * 1024, /* bytes read of a body that is not wanted */
    /* Read and dropped after an answer, before the connection is cut. Clients that send all before
     * they read see a broken connection then, and no answer; under TLS also one whose answer came
     * in time. */
    DROP_MAX = 64 * 1024 * 1024, /* bytes dropped of a body after its refusal */
    DROP_US = 30000000, /* and for how long */
    REFUSED_WAIT_US = 1000000, /* a refused body that pauses this long is not waited for */
    /* of a body whose key and scope were good: most clients send all of it before they read */
    DRAIN_TOO_LARGE = 8 * 1024 * 1024, /* bytes read of a body that is too large */
    LARGE_BODY = 64 << 20, /* bytes of a body on routes with large_body */
    LOOP_BODY = 16 * 1024, /* what the event loop reads by itself */
    GZIP_FROM = 1024, /* bytes from which on answers are packed */
    KEPT_FROM = 256 * 1024,
    LANES_MIN = 3, /* one for each kind of statement */
    LANES_MAX = 16, /* lanes of a web worker */
    ETAG_MAX = 48,
    ARENAS_KEPT = 64,
    KEPT_BUF_MAX = 32 * 1024 /* larger buffers are not kept */
};

enum exchange_state {
    X_NEW, /* headers not looked at */
    X_ASKED, /* request hooks have seen it */
    X_AUTH, /* waiting for the key's row */
    X_KEYED, /* the key's row has come */
    X_BODY, /* headers are good, body is being read */
    X_REFUSED, /* a problem is known, body is being drained */
    X_ON_LANES, /* waiting for statements */
    X_ON_THREAD, /* a worker thread runs it */
    X_PARKED, /* its handler waits to be run again (channel_wait.c) */
    X_ANSWER, /* ready to be answered */
    X_QUEUED, /* the answer was given to libmicrohttpd */
    /* the answer was written to the socket while the body was still coming; the rest is dropped */
    X_CUT,
};

enum exchange_stage { /* what a worker thread is asked for, or was asked for last */
    STAGE_RUN,
    STAGE_REQUEST, /* request hooks */
    STAGE_RESPONSE /* response hooks; also after the handler */
};

struct server;
struct peer;

struct charge { /* a token taken of a bucket */
    enum limit_reason reason; /* its name is limit_reasons[] */
    struct limit_rate rate;
    uint64_t owner;
    int64_t left, wait_us; /* see limit_take() */
};
enum { CHARGES_MAX = 4 };

struct networks {
    struct network *items;
    size_t n;
};

struct exchange {
    struct wharf_req req;
    struct server *server;
    struct MHD_Connection *connection;
    struct peer *peer;
    enum exchange_state state;
    enum exchange_stage stage;
    uint64_t number; /* of the request on its connection, from 1 */
    const char *raw_uri; /* as libmicrohttpd holds it */
    const char *uri; /* raw, of the request line */
    size_t uri_len;
    struct buf body;
    size_t body_limit, drained;
    int64_t cut_us; /* in state X_CUT: when the answer went out */
    bool body_read; /* read_body() was done, on the loop or on a thread */
    bool reading; /* the body reader has it, or gave it back a moment ago */
    bool gzip_body, gzip_answer, head_only, close_after, suspended, abandoned, detached, expects;
    bool streams; /* the answer is a stream */
    uint8_t held; /* turns for which it may still wait without being suspended; 0: it does not */
    int64_t body_idle_us; /* last byte of the body */
    unsigned char key_hash[KEY_HASH];
    struct charge charges[CHARGES_MAX];
    size_t n_charges;
    uint64_t flight; /* counted as in flight of this owner; 0: not */
    bool has_ip;
    struct ip ip;
    const char *allow; /* 405, OPTIONS */
    struct file_row *upload; /* whose bytes the body is, or NULL */
    bool sends_file; /* it is counted in server.files_sent */
    char etag[ETAG_MAX]; /* without quotes; empty: none */
    wharf_str origin; /* CORS: value of Access-Control-Allow-Origin, or empty */
    struct plan plan;
    struct lane_job jobs[PLAN_STATEMENTS];
    PGresult *results[PLAN_STATEMENTS];
    struct db_error errors[PLAN_STATEMENTS];
    size_t pending;
    const struct deprecation *deprecated; /* what the request used of that kind, or NULL */
    size_t answer_bytes;
    int answer_status;
    struct exchange *next, *prev; /* list of all; `next_done` for finished thread work */
    struct exchange *next_done;
    int64_t turn_by_us; /* of tenant_threads.c: then it has waited long enough; 0: it does not */
    /* threads.c: of which plugin's threads it takes one, its index and 1; 0: nobody's */
    unsigned share;
};

struct peer { /* a TCP connection */
    int fd;
    void *tls; /* its gnutls_session_t, or NULL */
    struct head_tap tap;
    uint64_t n_requests; /* that libmicrohttpd has seen */
    int64_t head_since_us; /* since then a head is not complete; 0: none is begun */
    int64_t since_us; /* connected, or the last exchange ended */
    bool busy, used;
    struct peer *next, *prev;
};

struct threads;
struct tenant_threads;
struct body_reader;

struct server {
    struct engine *engine;
    const struct config *config;
    const struct worker_boot *boot;
    struct networks proxies, exempt; /* http.trusted_proxies, rate_limit.ip_exempt */
    struct MHD_Daemon *daemon;
    struct MHD_Daemon *draining_daemon;
    int epoll_fd, mhd_fd, wake_fd, term_fd;
    struct lane *lanes[LANES_MAX];
    size_t n_lanes;
    bool lane_ready[LANES_MAX];
    size_t next_slow;
    struct threads *threads;
    struct tenant_threads *tenants; /* or NULL */
    struct body_reader *reader; /* body_reader.h */
    struct exchange *exchanges; /* list of all */
    struct peer *peers;
    struct arena *arenas[ARENAS_KEPT];
    size_t n_arenas;
    int64_t memory_kept, memory_clients; /* as counted last */
    /* of answers that went out: an answer is written where one was */
    struct buf kept_bufs[2 * ARENAS_KEPT];
    size_t n_kept_bufs;
    struct buf packed; /* the last large answer of a route of the kernel, by gzip, and its tag */
    char packed_tag[ETAG_MAX];
    size_t in_flight;
    size_t n_held; /* exchanges that wait for a read without being suspended */
    bool run_again; /* the library was given answers or bytes that it goes on with at once */
    bool bulk_came; /* bytes of a file that somebody brings came in this round */
    unsigned files_sent; /* exchanges whose answer is a file on its way */
    struct buf access; /* access log lines of this turn */
    int access_fd;
    struct request_log *requests; /* or NULL */
    struct stream_hub *streams; /* or NULL */
    uint64_t log_turn; /* of the board, when the logs were opened last */
    bool draining, quiet; /* quiet: nothing new is accepted */
    int64_t accept_until_us, drain_until_us;
    int64_t turn_us; /* monotonic time of this turn */
    void (*on_drain)(void *arg); /* or NULL: called once, when a drain begins */
    void *on_drain_arg;
};

/* Makes the exchange of a request. exchange.c has libmicrohttpd's callbacks. */
struct exchange *exchange_new(struct server *s, const char *uri);
/* Gives an empty buffer for up to `max` bytes, with memory that was kept if there is some;
 * kept_buf_give() takes it back. */
void kept_buf_take(struct server *s, struct buf *b, size_t max);
void kept_buf_give(struct server *s, struct buf *b);
void exchange_release(struct exchange *x); /* frees unless a thread still has it */
enum MHD_Result exchange_handle(void *cls, struct MHD_Connection *c, const char *url,
    const char *method, const char *version, const char *upload_data, size_t *upload_data_size,
    void **con_cls);
void exchange_cut(struct exchange *x); /* answers a refused request whose body is still coming */
void exchange_resume(struct exchange *x); /* from the loop: the state is X_ANSWER or X_BODY */

/* Runs checks 1 to 6 of 01 section 2.1 on the headers (http_check.c). Those that judge return
 * false when a problem is on the request. wait: the key must be read first. */
bool takes_body(const struct exchange *x);
void read_form(struct exchange *x); /* what headers say that no check asks for */
bool check_its_route(struct exchange *x);
bool check_key(struct exchange *x, bool *ret_wait);
bool check_after_key(struct exchange *x);
bool address_allowed(struct exchange *x); /* may the key be used from there? */

bool route_is_long(const struct route *r); /* it has http.long_timeout */
bool raw_body(const struct route *r); /* any media type; the handler gets {} */
void keep_address(struct exchange *x); /* the client's, for rules that limit creates by it */
void keep_request(struct exchange *x); /* headers and address, for who is shown them */
bool takes_file(const struct route *r); /* the kernel's own route of uploads: the body is a file */
/* Refuses the request as everywhere when the handler wanted a key where none is needed, and there
 * was no good one. */
void offer_missed(struct exchange *x);
/* Reads the decoded and parsed body and the query pairs (http_body.c). Returns false after a
 * problem. Needs no connection: what it wants of it was kept before. */
bool read_body(struct exchange *x);
/* Tells whether the body reader must parse the body: on the event loop all others would wait. */
bool body_is_large(const struct exchange *x);

/* Gives the answer its tag, if it takes one (etag.c). Returns true when the client has that answer
 * already. */
bool etag_build(struct exchange *x);

/* Makes the answer of the exchange (http_answer.c). */
struct MHD_Response *answer_build(struct exchange *x, int *ret_status);
void answer_raw(struct exchange *x); /* the refusal, written to the socket itself */
void answer_late(struct exchange *x); /* 504 while a handler still runs */
void answer_unsent(struct peer *p); /* 408 while headers are still missing */

/* Passes a complete request on to lanes or threads, or answers at once (http_dispatch.c). Returns
 * true when it is answered already. */
bool dispatch(struct exchange *x);
void dispatch_read(struct exchange *x); /* whose body was read: on to the worker threads */
void dispatch_again(struct exchange *x); /* whose handler has run, and was parked */
void dispatch_auth(struct exchange *x);

/* Returns how many lanes a worker opens: database.lanes, within LANES_MIN and LANES_MAX. */
size_t lanes_wanted(const struct config *c);

/* Starts n worker threads (threads.c). */
struct threads *threads_start(struct server *s, size_t n);
/* Returns how many threads there are. Their last activities have the indexes 1 to this; the next
 * one is the body reader's. */
size_t threads_count(const struct threads *t);
/* Counts the threads that have a connection to the database. */
size_t threads_connected(const struct threads *t);
/* Makes the threads look at their connections: one of the database has ended, perhaps all of them.
 * None counts as connected before it has looked. */
void threads_doubt(struct threads *t);
bool threads_push(struct threads *t, struct exchange *x); /* false: the queue is full */
/* Runs the stage of an exchange on the calling thread, with what the thread has. */
void threads_run(struct thread_ctx *ctx, struct exchange *x);
/* Gives a finished exchange back to the event loop. From any thread. */
void threads_give_back(struct threads *t, struct exchange *x);
struct exchange *threads_done(struct threads *t); /* list by next_done */
/* Runs what is queued and joins the threads; finished exchanges can still be taken. */
void threads_stop(struct threads *t);
void threads_free(struct threads *t);

/* Makes threads for requests in which code of organizations runs (tenant_threads.c); none runs
 * yet. home takes what is done. Their activities have the indexes from first_activity on. NULL:
 * there is no such code. */
struct tenant_threads *tenant_threads_new(
    struct server *s, struct threads *home, unsigned first_activity);
/* Tells whether code of an organization will run in the request. [event loop] */
bool tenant_threads_want(const struct exchange *x);
/* Queues the request. False: its turn can't come in time; the request says so, and when. */
bool tenant_threads_push(struct tenant_threads *t, struct exchange *x);
/* Takes a request out of the queue that has waited long enough, and refuses it. False: it runs. */
bool tenant_threads_withdraw(struct tenant_threads *t, struct exchange *x);
/* Runs what is queued and waits for the threads to end. */
void tenant_threads_stop(struct tenant_threads *t);
void tenant_threads_free(struct tenant_threads *t);

/* Finds the IP address of the client (http_address.c). Returns false when it has none. */
bool client_ip(struct exchange *x, struct ip *ret);
bool networks_have(const struct networks *list, const struct ip *ip);
/* Reads the networks of a setting. Returns false and what is wrong when it is no list of
 * networks. */
bool networks_read(const struct config_list *from, const char *setting, struct arena *a,
    struct networks *ret, wharf_str *ret_error);

/* Limits requests (limit.c). Those that judge return false when a problem is on the request. */
uint64_t limit_owner(const struct board *b, char kind, wharf_str id); /* of a bucket or a count */
bool limit_request(struct exchange *x); /* of a good key, once per request */
bool limit_failure(struct exchange *x); /* a missing or refused key is counted */
void limit_uncharge(struct exchange *x); /* the answer is one that costs nothing */
void limit_done(struct exchange *x);
void limit_headers(const struct exchange *x, struct MHD_Response *r);

/* Writes the access log (http_access.c). */
void access_line(struct exchange *x);
void access_flush(struct server *s);
void access_renew(struct server *s); /* log files that were renamed are let go */

#endif
