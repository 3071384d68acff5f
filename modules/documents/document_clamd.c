/* document_clamd.c - asks a virus scanner, clamd, about files before they become documents: the
 * command zINSTREAM of its protocol (clamd(8)), on a socket of this machine or by TCP.
 *
 * A file is good only when the scanner was given all of it and has said so in a whole answer.
 * Anything else stores nothing: 503. Leaves what is done with a rejected file to
 * document_content.c and document_upload.c, rules of plugins to document_scan.c
 * (docs/spec/05-documents-and-templates.md section 2.1). */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "documents.h"
#include "documents.gen.h"

enum {
    CHUNK_BYTES = 64 * 1024,
    ANSWER_MAX = 1024,
    HOST_MAX = 255,
    PORT_MAX = 5,
    AGAIN_MS = 20, /* between two tries while the queue of a socket is full */
    SPARE_US = 1000000, /* before the request's deadline, for its answer */
    RETRY_AFTER_S = 5 /* clients wait when the scanner is away */
};
#define LIMIT_SAID "INSTREAM size limit exceeded."

/* The scanner as the settings say it; written by clamd_start(), before any request. */
static struct {
    wharf_plugin *self;
    wharf_str said; /* the setting; empty: no scanner */
    struct sockaddr_un place; /* sun_family 0: host and port */
    char host[HOST_MAX + 1], port[PORT_MAX + 1];
    int64_t timeout_us;
} clamd;

/* A conversation about one file. */
struct talk {
    wharf_req *req;
    int64_t until_us; /* monotonic */
    int fd;
    bool complete; /* the scanner has all bytes */
    char answer[ANSWER_MAX];
    size_t n;
};

/* ---- the setting ---- */

static wharf_status bad_setting(wharf_plugin *self, wharf_req *req)
{
    const char *text = W->mem
                           ->format(req,
                               "documents.clamd is \"%.*s\", which is no address of a clamd; write "
                               "unix:/path/of/socket, "
                               "host:port, [address]:port, or nothing for no virus scanner",
                               (int)clamd.said.n, clamd.said.p)
                           .p;

    W->log->write(self, req, WHARF_LOG_ERROR, "documents.clamd", "%s", text);
    return W->err->fail(req, ERR_VALIDATION_FAILED, NULL, "%s", text);
}

/* Reads the path of a socket. Returns whether it can be one. */
static bool document_clamd_read_path(wharf_str path)
{
    if (path.n < 2 || path.p[0] != '/' || path.n >= sizeof(clamd.place.sun_path) ||
        memchr(path.p, 0, path.n))
        return false;
    clamd.place.sun_family = AF_UNIX;
    memcpy(clamd.place.sun_path, path.p, path.n);
    return true;
}

static bool is_port(wharf_str s)
{
    char digits[PORT_MAX + 1] = "";

    if (!s.n || s.n > PORT_MAX || s.p[0] == '0')
        return false;
    memcpy(digits, s.p, s.n);
    return strspn(digits, "0123456789") == s.n && strtol(digits, NULL, 10) <= 65535;
}

/* Reads "host:port", an IPv6 address in brackets. Returns whether it is one. */
static bool read_host(wharf_str s)
{
    const char *colon = memrchr(s.p, ':', s.n);
    size_t n = colon ? (size_t)(colon - s.p) : 0;
    wharf_str host = {s.p, n}, port = {s.p + n + 1, s.n - n - (colon != NULL)};
    bool bracket = n > 2 && host.p[0] == '[' && host.p[n - 1] == ']';

    if (!colon || !is_port(port))
        return false;
    if (bracket)
        host = (wharf_str){host.p + 1, n - 2};
    if (!host.n || host.n > HOST_MAX || (!bracket && memchr(host.p, ':', host.n)))
        return false;
    memcpy(clamd.host, host.p, host.n);
    memcpy(clamd.port, port.p, port.n);
    return strspn(clamd.host,
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%") == host.n;
}

static bool document_clamd_begins(wharf_str s, const char *with, wharf_str *ret_rest)
{
    size_t n = strlen(with);

    if (s.n < n || memcmp(s.p, with, n) != 0)
        return false;
    *ret_rest = (wharf_str){s.p + n, s.n - n};
    return true;
}

wharf_status clamd_start(wharf_plugin *self, wharf_req *req)
{
    wharf_str rest;
    bool good;

    clamd.self = self;
    clamd.timeout_us = documents_config->integer(self, "clamd_timeout_s") * SECOND_US;
    if (!documents_config->text(self, "clamd", &clamd.said) || !clamd.said.n)
        return WHARF_OK;
    if (document_clamd_begins(clamd.said, "unix:", &rest))
        good = document_clamd_read_path(rest);
    else
        good = read_host(document_clamd_begins(clamd.said, "tcp:", &rest) ? rest : clamd.said);
    return good ? WHARF_OK : bad_setting(self, req);
}

/* ---- problems ---- */

/* Refuses to store what was not looked at; problem: for the log, in words. */
static wharf_status unavailable(wharf_req *req, const char *problem)
{
    W->log->write(clamd.self, req, WHARF_LOG_ERROR, "documents.scanner",
        "clamd=%.*s problem=\"%s\"", (int)clamd.said.n, clamd.said.p, problem);
    documents_http->answer_header(
        req, WHARF_S("Retry-After"), W->mem->format(req, "%d", RETRY_AFTER_S));
    return W->err->fail(req, ERR_DOCUMENT_SCANNER_UNAVAILABLE, NULL, NULL);
}

static wharf_status over_limit(wharf_req *req, int64_t size)
{
    W->log->write(clamd.self, req, WHARF_LOG_ERROR, "documents.scanner",
        "clamd=%.*s problem=\"a file of %lld bytes is over its StreamMaxLength\"",
        (int)clamd.said.n, clamd.said.p, (long long)size);
    return W->err->fail(req, ERR_DOCUMENT_SCANNER_LIMIT, NULL,
        "The virus scanner takes no file of %lld bytes, so nothing was stored; its operator raises "
        "StreamMaxLength (and MaxFileSize, MaxScanSize) in clamd.conf",
        (long long)size);
}

static wharf_status late(struct talk *t)
{
    return unavailable(t->req, "it does not answer in time");
}

/* ---- sockets ---- */

static int64_t monotonic_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

/* Returns the milliseconds that are left, rounded up; 0: the time is over. */
static int document_clamd_left_ms(const struct talk *t)
{
    int64_t left = t->until_us - monotonic_us();

    return left > 0 ? (int)((left + 999) / 1000) : 0;
}

/* Waits for one of the events. Returns those that came; 0: the time is over. */
static short document_clamd_wait_for(const struct talk *t, short events)
{
    struct pollfd p = {.fd = t->fd, .events = events};
    int ms, n = -1;

    while (n < 0 && (ms = document_clamd_left_ms(t)) > 0) {
        n = poll(&p, 1, ms);
        if (n < 0 && errno != EINTR)
            return 0;
    }
    return n > 0 ? p.revents : 0;
}

/* Connects to one address. Returns 0, or an errno. */
static int document_clamd_connect_to(struct talk *t, const struct sockaddr *address, socklen_t n)
{
    socklen_t size = sizeof(int);
    int error = 0;

    t->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->fd < 0)
        return errno;
    while (connect(t->fd, address, n) != 0) {
        if (errno == EINPROGRESS)
            error = !document_clamd_wait_for(t, POLLOUT)                          ? ETIMEDOUT
                    : getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 ? errno
                                                                                  : error;
        else if (errno == EAGAIN && document_clamd_left_ms(t) > 0 && poll(NULL, 0, AGAIN_MS) == 0)
            continue;
        else
            error = errno;
        break;
    }
    if (error) {
        close(t->fd);
        t->fd = -1;
    }
    return error;
}

/* ---- names of hosts ---- */

/* A question to the resolver, on the heap: it may outlive the request that asks. */
struct lookup {
    struct gaicb asked;
    struct addrinfo hints;
    struct lookup *next;
};

/* Questions that nobody waits for any more. */
static struct {
    pthread_mutex_t lock;
    struct lookup *list;
} left_behind = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lookup_free(struct lookup *l)
{
    if (l->asked.ar_result)
        freeaddrinfo(l->asked.ar_result);
    free(l);
}

/* Frees those that are answered by now, and takes one more; NULL: none. */
static void leave_behind(struct lookup *more)
{
    pthread_mutex_lock(&left_behind.lock);
    for (struct lookup **at = &left_behind.list, *l; (l = *at);) {
        if (gai_error(&l->asked) == EAI_INPROGRESS) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        lookup_free(l);
    }
    if (more) {
        more->next = left_behind.list;
        left_behind.list = more;
    }
    pthread_mutex_unlock(&left_behind.lock);
}

/* Asks for the addresses of the host, for as long as there is time: getaddrinfo() itself knows no
 * end. Returns NULL when there are none. */
static struct lookup *document_clamd_look_up(const struct talk *t)
{
    struct lookup *l = calloc(1, sizeof(*l));
    struct gaicb *list[] = {l ? &l->asked : NULL};
    int error = EAI_INPROGRESS, ms;

    leave_behind(NULL);
    if (!l)
        return NULL;
    l->hints = (struct addrinfo){.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    l->asked = (struct gaicb){
        .ar_name = clamd.host, .ar_service = clamd.port, .ar_request = &l->hints};
    if (getaddrinfo_a(GAI_NOWAIT, list, 1, NULL) != 0) {
        free(l);
        return NULL;
    }
    while (
        (error = gai_error(&l->asked)) == EAI_INPROGRESS && (ms = document_clamd_left_ms(t)) > 0) {
        const struct timespec wait = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

        gai_suspend((const struct gaicb *const *)list, 1, &wait);
    }
    if (error == 0)
        return l;
    gai_cancel(&l->asked);
    leave_behind(l);
    return NULL;
}

static wharf_status open_talk(struct talk *t)
{
    struct lookup *l;
    int error = EHOSTUNREACH;

    if (clamd.place.sun_family) {
        error = document_clamd_connect_to(
            t, (const struct sockaddr *)&clamd.place, sizeof(clamd.place));
    } else if ((l = document_clamd_look_up(t))) {
        for (const struct addrinfo *a = l->asked.ar_result; a && error; a = a->ai_next)
            error = document_clamd_connect_to(t, a->ai_addr, a->ai_addrlen);
        lookup_free(l);
    }
    return error == 0 ? WHARF_OK
                      : unavailable(t->req,
                            W->mem->format(t->req, "it can't be reached: %s", strerror(error)).p);
}

/* ---- the conversation ---- */

/* Sends bytes, until the scanner speaks. Returns whether all of them are sent; false: see whether
 * it has said something. */
static bool document_clamd_send_all(struct talk *t, const void *bytes, size_t n)
{
    const char *p = bytes;

    while (n) {
        short came = document_clamd_wait_for(t, POLLIN | POLLOUT);
        ssize_t sent;

        if (!came || came & POLLIN)
            return false;
        sent = send(t->fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (sent > 0) {
            p += sent;
            n -= (size_t)sent;
        }
    }
    return true;
}

/* Sends the file in chunks, each behind its length, and a chunk of nothing. */
static wharf_status document_clamd_send_file(struct talk *t, const wharf_document_file *file)
{
    unsigned char *chunk = W->mem->alloc(t->req, 4 + CHUNK_BYTES);
    int64_t done = 0;
    bool on = document_clamd_send_all(t, "zINSTREAM", sizeof("zINSTREAM"));

    while (on && !t->complete) {
        size_t want = file->size - done < CHUNK_BYTES ? (size_t)(file->size - done) : CHUNK_BYTES;
        ssize_t n = want ? pread(file->fd, chunk + 4, want, (off_t)(file->at + done)) : 0;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (want && !n))
            return unavailable(t->req, "the file for it can't be read");
        for (int i = 0; i < 4; i++)
            chunk[i] = (unsigned char)((size_t)n >> (24 - 8 * i));
        on = document_clamd_send_all(t, chunk, 4 + (size_t)n);
        done += n;
        t->complete = on && !want;
    }
    return WHARF_OK;
}

/* Reads the answer, which a NUL ends. Returns whether it is whole. */
static bool document_clamd_read_answer(struct talk *t)
{
    while (t->n < sizeof(t->answer)) {
        ssize_t n;

        if (!document_clamd_wait_for(t, POLLIN))
            return false;
        n = recv(t->fd, t->answer + t->n, sizeof(t->answer) - t->n, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0)
            return false;
        t->n += (size_t)n;
        if (memchr(t->answer, 0, t->n))
            return t->answer[t->n - 1] == 0 && strlen(t->answer) == t->n - 1;
    }
    return false;
}

/* Returns what the scanner said, for people: its bytes are not trusted. */
static wharf_str readable(wharf_req *req, const char *p, size_t n)
{
    wharf_str s = W->mem->dup(req, p, n);

    for (size_t i = 0; i < n; i++)
        ((char *)s.p)[i] = (char)(p[i] >= ' ' && p[i] < 0x7f && p[i] != '"' ? p[i] : '?');
    return s;
}

/* Judges the answer: "stream: OK", "stream: NAME FOUND", or an error. */
static wharf_status document_clamd_judge(
    struct talk *t, const wharf_document_file *file, wharf_str *ret_rejected)
{
    static const char found[] = " FOUND";
    const size_t found_n = sizeof(found) - 1;
    wharf_str answer = {t->answer, t->n - 1}, said;

    if (document_clamd_begins(answer, LIMIT_SAID, &said))
        return over_limit(t->req, file->size);
    if (document_clamd_begins(answer, "stream: ", &said) && is(said, "OK") && t->complete)
        return WHARF_OK;
    if (document_clamd_begins(answer, "stream: ", &said) && said.n > found_n &&
        memcmp(said.p + said.n - found_n, found, found_n) == 0) {
        wharf_str name = readable(t->req, said.p, said.n - found_n);

        W->log->write(clamd.self, t->req, WHARF_LOG_WARN, "documents.virus",
            "organization=%s document=%s found=%s", W->req->organization(t->req).p,
            file->document_id.n ? file->document_id.p : "-", name.p);
        *ret_rejected = W->mem->format(t->req, "the virus scanner found %s", name.p);
        return WHARF_OK;
    }
    return unavailable(
        t->req, W->mem
                    ->format(t->req, "its answer %sis not understood: %s",
                        t->complete ? "" : "before it has all bytes ",
                        readable(t->req, answer.p, answer.n < 200 ? answer.n : 200).p)
                    .p);
}

wharf_status clamd_scan(wharf_req *req, const wharf_document_file *file, wharf_str *ret_rejected)
{
    int64_t deadline = W->req->deadline_us(req);
    struct talk t = {.req = req, .until_us = monotonic_us() + clamd.timeout_us, .fd = -1};
    wharf_status s;

    if (!clamd.said.n)
        return WHARF_OK;
    if (deadline && t.until_us > deadline - SPARE_US)
        t.until_us = deadline - SPARE_US;
    s = open_talk(&t);
    if (s == WHARF_OK)
        s = document_clamd_send_file(&t, file);
    if (s == WHARF_OK)
        s = document_clamd_read_answer(&t) ? document_clamd_judge(&t, file, ret_rejected)
            : document_clamd_left_ms(&t)   ? unavailable(req, "it ends before a whole answer")
                                           : late(&t);
    if (t.fd >= 0)
        close(t.fd);
    return s;
}
