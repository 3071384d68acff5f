/* wharf/service/fetch.h - outgoing HTTP with the address guard: service "wharf.fetch", version 1.2.
 *
 * Requests reach public addresses only, and what the operator opened with net.allow: every name,
 * every address and every redirect is checked before anything is sent (docs/reference/net.md). A
 * fetch belongs to the request that started it and ends with it at the latest. Nothing here may be
 * called on the event loop; start() returns at once, wait(), next() and get() block until the
 * request's deadline. Rules of this header: wharf/plugin.h. All functions are [worker]. */
#ifndef WHARF_SERVICE_FETCH_H
#define WHARF_SERVICE_FETCH_H

#include "wharf/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wharf_fetch wharf_fetch; /* one transfer */

enum wharf_fetch_option {
    WHARF_FETCH_HTTP = 1, /* http:// as well as https:// */
    WHARF_FETCH_PORT_80 = 2, /* port 80 beside 443 and those from 1024 on */
    WHARF_FETCH_NO_FRAGMENT = 4, /* a URL with '#' is refused; else the fragment is dropped */
    /* Content-Encoding: gzip is taken and decoded; otherwise any coding is refused */
    WHARF_FETCH_GZIP = 8,
    /* keep the connection for the next fetch of this host: many small requests */
    WHARF_FETCH_REUSE = 16,
    /* the body goes to a file without a name, see file(); else to memory, see text() */
    WHARF_FETCH_TO_FILE = 32,
    /* an answer is an answer: code() is empty whatever its status, redirect or body */
    WHARF_FETCH_ANY_STATUS = 64,
    WHARF_FETCH_ANY_BODY = 128, /* an empty body is no failure */
    /* http:// when the operator has said so: net.allow_http. Since 1.1 */
    WHARF_FETCH_HTTP_IF_SET = 256
};

/* Zero and NULL mean the value in parentheses. Times are milliseconds. */
typedef struct wharf_fetch_request {
    wharf_head head;
    const char *method; /* (GET) */
    wharf_str url;
    /* ("file") first part of the codes url, protocol, hostname and unreachable, which must be
     * declared; of "file" the last is not_available */
    const char *family;
    /* "Name: value"; names for which header_reserved() is true end the fetch before it is sent */
    const char *const *headers;
    size_t n_headers;
    wharf_str body; /* must live until the fetch is over */
    uint32_t flags; /* WHARF_FETCH_* */
    uint32_t redirects; /* of GET and HEAD (0) */
    int64_t max_bytes; /* of the decoded body (10,000,000) */
    int64_t connect_ms; /* name, connection and TLS, of each hop (5,000) */
    int64_t first_byte_ms; /* until the answer begins (the stall limit) */
    int64_t stall_ms, stall_bytes; /* fewer bytes than these in that time (5,000 and 1,024) */
    int64_t total_ms; /* everything (20,000) */
    uint32_t per_host; /* transfers at once to the same host and port (net.per_host) */
    uint32_t reserved;
    void *tag; /* the caller's own, see tag(); since 1.1 */
    /* (the request's) whose fetch it is; since 1.2. A kept connection serves fetches of one
     * organization only, and none is kept without one */
    wharf_str organization;
} wharf_fetch_request;

typedef struct wharf_fetch_api {
    wharf_head head;
    /* Begins. Whatever is wrong with the URL shows when it is over. */
    wharf_status (*start)(wharf_req *req, const wharf_fetch_request *r, wharf_fetch **ret_fetch);
    /* Waits until it is over; at the request's deadline it is given up with the code of
     * timeouts. */
    wharf_status (*wait)(wharf_req *req, wharf_fetch *f);
    /* The next one of this request's fetches that is over and that neither wait() nor next() has
     * returned; NULL when none is over within wait_ms or none is under way. */
    wharf_fetch *(*next)(wharf_req *req, int64_t wait_ms);
    void (*cancel)(wharf_req *req, wharf_fetch *f);
    /* Frees it and its body before the request ends; f is gone. */
    void (*done)(wharf_req *req, wharf_fetch *f);

    /* Read a finished fetch: */
    /* "" or what went wrong: "file.too_large", "inference.hostname" */
    wharf_str (*code)(const wharf_fetch *f);
    /* for delivery records: done, blocked_address, no_such_name, timeout, tls, ... */
    wharf_str (*outcome)(const wharf_fetch *f);
    uint32_t (*status)(const wharf_fetch *f); /* of the last answer; 0: none */
    /* "" when the answer has none */
    wharf_str (*header)(wharf_req *req, const wharf_fetch *f, const char *name);
    wharf_str (*text)(const wharf_fetch *f); /* the body in memory; until done() */
    /* the body's descriptor, at its beginning; until done(). -1 without WHARF_FETCH_TO_FILE */
    int (*file)(const wharf_fetch *f);
    int64_t (*size)(const wharf_fetch *f); /* of the body */
    int64_t (*elapsed_us)(const wharf_fetch *f);
    /* Adds the problem with its code and the path of the field that held the URL; WHARF_OK when
     * there is none. */
    wharf_status (*fail)(wharf_req *req, const wharf_fetch *f, const char *path);

    /* start, wait and fail in one. */
    wharf_status (*get)(
        wharf_req *req, const wharf_fetch_request *r, const char *path, wharf_fetch **ret_fetch);
    /* Only what can be said about the URL without asking anybody: scheme, form, name. Adds the
     * problem. */
    wharf_status (*check)(wharf_req *req, const wharf_fetch_request *r, const char *path);

    /* Since 1.1: */
    void *(*tag)(const wharf_fetch *f);
    /* Status line and headers of the last answer as they came, with CRLF; empty without an
     * answer. Until done(). */
    wharf_str (*answer_head)(const wharf_fetch *f);
    /* How many of the request's fetches were started and are not yet done(). Fetches outlive the
     * memory scope that they were started in. */
    size_t (*under_way)(wharf_req *req);

    /* Since 1.2: */
    /* [any] Tells whether no caller may send this header: Host, Connection, Content-Length,
     * Transfer-Encoding and what else says where a request ends, whom it is for or what becomes
     * of the connection. */
    bool (*header_reserved)(wharf_str name);

    /* Since 1.3: */
    /* Reads Retry-After of the last answer, seconds or a date. Returns milliseconds, at most a
     * day; 0: it asks for nothing. */
    int64_t (*retry_after_ms)(wharf_req *req, const wharf_fetch *f);
} wharf_fetch_api;

#ifdef __cplusplus
}
#endif
#endif
