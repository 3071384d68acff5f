/* head_tap.c - see head_tap.h. */
#include "http/head_tap.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PAGE = 4096, /* descriptors of one page of the table */
    PAGES = 1024,
    KEPT_FIRST = 2048,
    KEPT_LAST = 64 * 1024, /* leaves room to read behind the largest beginning of a head */
    ROOM_MIN = 512, /* with less room in the caller's buffer bytes are read into one of ours */
    DROPPED_MAX = 1024 * 1024 /* read and dropped behind the end, before the connection is cut */
};
_Static_assert(KEPT_LAST > HEAD_KEPT_MAX + 8 * 1024, "a head that is kept leaves room to read");

/* Holds the taps by descriptor: other threads look their own descriptors up here while the loop
 * puts and takes those of clients. */
static _Atomic(_Atomic(struct head_tap *) *) pages[PAGES];

__attribute__((visibility("default"))) ssize_t head_tap_recv(
    int fd, void *buf, size_t n, int flags) __asm__("recv");
__attribute__((visibility("default"))) ssize_t head_tap_record_recv(
    gnutls_session_t session, void *buf, size_t n) __asm__("gnutls_record_recv");

/* ---- the table ---- */

static struct head_tap *tap_of(int fd)
{
    _Atomic(struct head_tap *) *page;

    if (fd < 0 || fd >= PAGE * PAGES)
        return NULL;
    page = atomic_load_explicit(&pages[fd / PAGE], memory_order_acquire);
    return page ? atomic_load_explicit(&page[fd % PAGE], memory_order_acquire) : NULL;
}

bool head_tap_put(int fd, void *tls, struct head_tap *tap)
{
    _Atomic(struct head_tap *) *page;

    *tap = (struct head_tap){.tls = tls};
    head_init(&tap->head);
    if (fd < 0 || fd >= PAGE * PAGES)
        return false;
    page = atomic_load_explicit(&pages[fd / PAGE], memory_order_acquire);
    if (!page) {
        page = calloc(PAGE, sizeof(*page));
        if (!page)
            return false;
        atomic_store_explicit(&pages[fd / PAGE], page, memory_order_release);
    }
    atomic_store_explicit(&page[fd % PAGE], tap, memory_order_release);
    return true;
}

void head_tap_off(int fd, struct head_tap *tap)
{
    if (tap_of(fd) == tap)
        atomic_store_explicit(
            &atomic_load_explicit(&pages[fd / PAGE], memory_order_acquire)[fd % PAGE], NULL,
            memory_order_release);
    head_done(&tap->head);
    free(tap->kept);
    tap->kept = NULL;
}

const struct head_refusal *head_tap_refusal(const struct head_tap *tap, uint64_t request)
{
    const struct head_refusal *r = tap->head.refusal;

    return r && r->request == request ? r : NULL;
}

bool head_tap_waits(const struct head_tap *tap)
{
    return head_begun(&tap->head, tap->n - tap->ready);
}

/* ---- reading ---- */

/* Reads from the client. A negative result is what the function that libmicrohttpd calls would
 * say. */
static ssize_t tap_read(struct head_tap *t, int fd, void *p, size_t n)
{
    unsigned char seq[8];

    return t->tls ? gnutls_record_recv_seq(t->tls, p, n, seq) : recvfrom(fd, p, n, 0, NULL, NULL);
}

static ssize_t tap_nothing_yet(const struct head_tap *t)
{
    if (t->tls)
        return GNUTLS_E_AGAIN;
    errno = EAGAIN;
    return -1;
}

/* Moves what is ready, and then the stand-in, to the n bytes at p. Returns how much. */
static size_t take_ready(struct head_tap *t, char *p, size_t n)
{
    size_t k = t->ready < n ? t->ready : n, m;

    if (k) {
        memcpy(p, t->kept, k);
        memmove(t->kept, t->kept + k, t->n - k);
        t->ready -= k;
        t->n -= k;
    }
    if (t->kept && !t->n) { /* most connections rest without it */
        free(t->kept);
        t->kept = NULL;
        t->cap = 0;
    }
    if (t->ready)
        return k;
    m = t->head.n_standin < n - k ? t->head.n_standin : n - k;
    if (m) {
        memcpy(p + k, t->head.standin, m);
        t->head.standin += m;
        t->head.n_standin -= m;
    }
    return k + m;
}

/* Makes room for `more` bytes behind what is kept. False: no memory. */
static bool head_tap_make_room(struct head_tap *t, size_t more)
{
    size_t cap = t->cap ? t->cap : KEPT_FIRST;
    char *p;

    while (cap < t->n + more && cap < KEPT_LAST)
        cap *= 2;
    if (cap == t->cap)
        return true;
    p = realloc(t->kept, cap);
    if (!p)
        return false;
    t->kept = p;
    t->cap = cap;
    return true;
}

static bool keep_rest(struct head_tap *t, const char *p, size_t n)
{
    if (!n)
        return true;
    if (!head_tap_make_room(t, n + ROOM_MIN))
        return false;
    memcpy(t->kept, p, n);
    t->n = n;
    t->ready = 0;
    return true;
}

/* Reads and drops what is behind the end of what counts, so that the client can read its answer
 * before a reset. p: n bytes of room. */
static ssize_t tap_drop(struct head_tap *t, int fd, char *p, size_t n)
{
    ssize_t got = 1;

    if (!t->head.refusal && !t->head.last)
        return 0; /* there was no memory for a refusal */
    while (got > 0 && t->dropped < DROPPED_MAX) {
        got = tap_read(t, fd, p, n);
        t->dropped += got > 0 ? (size_t)got : 0;
    }
    return got > 0 ? 0 : got;
}

/* Ends a connection for which there is no memory, so that bytes are lost. Nothing that comes
 * behind them counts: it could be read in another way. */
static ssize_t tap_lost(struct head_tap *t)
{
    t->head.phase = HEAD_OVER;
    return 0;
}

struct tap_turn { /* one call of libmicrohttpd */
    char *p;
    size_t out, n;
    bool dry; /* the socket has no more for now */
};

/* Reads once, behind what is kept or into the caller's buffer. Returns what tap_read() did; or 1
 * and more when bytes were judged. */
static ssize_t tap_step(struct head_tap *t, int fd, struct tap_turn *turn)
{
    bool own = t->kept || turn->n - turn->out < ROOM_MIN;
    size_t room, used, ready;
    ssize_t got;
    char *to;

    if (own && !head_tap_make_room(t, ROOM_MIN))
        return tap_lost(t);
    to = own ? t->kept + t->n : turn->p + turn->out;
    room = own ? t->cap - t->n : turn->n - turn->out;
    got = tap_read(t, fd, to, room);
    if (got <= 0)
        return got;
    turn->dry = !t->tls && (size_t)got < room; /* a TLS record may be followed by others */
    if (!own) {
        ready = head_filter(&t->head, to, (size_t)got, &used);
        turn->out += ready;
        return keep_rest(t, to + used, (size_t)got - used) ? got : tap_lost(t);
    }
    t->n += (size_t)got;
    ready = head_filter(&t->head, t->kept, t->n, &used);
    memmove(t->kept + ready, t->kept + used, t->n - used);
    t->n -= used - ready;
    t->ready = ready;
    return got;
}

/* Tells whether a message has begun that has not come whole. */
static bool tap_is_within(const struct head_tap *t)
{
    return t->head.phase == HEAD_LINES ? head_tap_waits(t) : t->head.phase != HEAD_OVER;
}

/* Makes one more edge of epoll for a socket that has ended, for the call that is told of the end:
 * the end may have come together with the bytes that were read, and then there is none. */
static void tap_wake(int fd)
{
    shutdown(fd, SHUT_RD);
}

/* Fills the buffer, or reads the socket until it is empty: libmicrohttpd takes a call that does
 * not fill its buffer as the sign that the socket is empty, and waits for the next edge of
 * epoll. Within a message the socket is asked whether it has ended, or the connection, and what
 * the request holds, would stay until its time is over. */
static ssize_t tap_fill(struct head_tap *t, int fd, char *p, size_t n)
{
    struct tap_turn turn = {.p = p, .n = n};
    ssize_t got;

    for (;;) {
        turn.out += take_ready(t, p + turn.out, n - turn.out);
        if (turn.out == n)
            return (ssize_t)n;
        if (turn.dry && !tap_is_within(t))
            return turn.out ? (ssize_t)turn.out : tap_nothing_yet(t);
        if (t->head.phase == HEAD_OVER)
            got = tap_drop(t, fd, p + turn.out, n - turn.out);
        else
            got = tap_step(t, fd, &turn);
        if (got == 0 && turn.out && tap_is_within(t))
            tap_wake(fd);
        if (got <= 0)
            return turn.out ? (ssize_t)turn.out : got;
    }
}

/* ---- what libmicrohttpd calls ---- */

ssize_t head_tap_recv(int fd, void *buf, size_t n, int flags)
{
    struct head_tap *t = tap_of(fd);

    if (!t || t->tls || !n) /* under TLS it is GnuTLS that reads records */
        return recvfrom(fd, buf, n, flags, NULL, NULL);
    return tap_fill(t, fd, buf, n);
}

ssize_t head_tap_record_recv(gnutls_session_t session, void *buf, size_t n)
{
    int fd = gnutls_transport_get_int(session);
    struct head_tap *t = tap_of(fd);
    unsigned char seq[8];

    if (!t || t->tls != session || !n)
        return gnutls_record_recv_seq(session, buf, n, seq);
    return tap_fill(t, fd, buf, n);
}

/* ---- the check at start ---- */

static enum MHD_Result check_handler(void *cls, struct MHD_Connection *c, const char *url,
    const char *method, const char *version, const char *data, size_t *n, void **request)
{
    (void)cls, (void)c, (void)url, (void)method, (void)version, (void)data, (void)n, (void)request;
    return MHD_NO;
}

struct check {
    struct head_tap tap;
    bool seen; /* what came was judged by it */
};

static void check_peer(void *cls, struct MHD_Connection *c, void **socket_context,
    enum MHD_ConnectionNotificationCode code)
{
    int fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    struct check *check = cls;

    (void)socket_context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        head_tap_put(fd, NULL, &check->tap);
        return;
    }
    check->seen = check->tap.head.refusal != NULL;
    head_tap_off(fd, &check->tap);
}

/* Tells whether a broken request of one connection came by the tap, with a library of its own. */
static bool reads_by_tap(void)
{
    static const char broken[] = "GET / HTTP/1.1\n\n";
    struct sockaddr address = {.sa_family = AF_UNIX};
    struct check check = {.seen = false};
    struct MHD_Daemon *d;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return false;
    d = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, check_handler,
        NULL, MHD_OPTION_NOTIFY_CONNECTION, check_peer, &check, MHD_OPTION_END);
    if (d && MHD_add_connection(d, pair[0], &address, sizeof(address)) == MHD_YES &&
        write(pair[1], broken, sizeof(broken) - 1) == (ssize_t)sizeof(broken) - 1) {
        for (int i = 0; i < 8 && !check.seen; i++)
            MHD_run(d);
    } else if (!d) {
        close(pair[0]);
    }
    if (d)
        MHD_stop_daemon(d);
    close(pair[1]);
    return check.seen;
}

bool head_tap_check(bool tls, const char **ret_why)
{
    if (dlsym(RTLD_DEFAULT, "recv") != (void *)head_tap_recv || !reads_by_tap()) {
        *ret_why = "libmicrohttpd does not read by the program's recv(), so that requests can't be "
                   "judged: link it as a shared library, without -Bsymbolic, and preload no "
                   "library that brings recv()";
        return false;
    }
    if (tls && dlsym(RTLD_DEFAULT, "gnutls_record_recv") != (void *)head_tap_record_recv) {
        *ret_why =
            "libmicrohttpd does not read by the program's gnutls_record_recv(), so that "
            "requests can't be judged: link it and GnuTLS as shared libraries, without -Bsymbolic";
        return false;
    }
    return true;
}
