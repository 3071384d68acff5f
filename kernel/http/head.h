/* head.h - judges what clients send before libmicrohttpd reads it: RFC 9112 and RFC 9110, in
 * full and strictly.
 *
 * A pure state machine over the bytes of one connection: request lines, fields, lengths, chunks,
 * trailers. It lets only such bytes through as can be read in one way, in one canonical form.
 * Behind the first broken byte nothing of the connection is let through: a stand-in request of
 * our own comes instead, which its handler refuses (exchange.c). Leaves to others: sockets
 * (head_tap.c), what a request means (http_check.c). docs/reference/http.md says what is accepted;
 * docs/spec/01-platform.md section 2.1 check 1. */
#ifndef WHARF_HTTP_HEAD_H
#define WHARF_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAD_TARGET_MAX = 16 * 1024, /* of a request's target */
    /* of all field lines of one head, line ends included; also of a trailer section */
    HEAD_FIELDS_MAX = 32 * 1024, /* bytes of all headers */
    HEAD_LINES_MAX = 100, /* field lines of one head; also of a trailer section */
    HEAD_METHOD_MAX = 32, /* bytes of the method */
    HEAD_HOST_MAX = 262, /* a name of 253 characters, a colon and a port */
    HEAD_EMPTY_MAX = 8, /* empty lines before a request line */
    HEAD_CHUNK_LINE_MAX = 1024, /* a chunk's size with its extensions */
    HEAD_SHOWN_MAX = 1024, /* of a refused target, for the answer */
    /* The name of a Cookie header goes through with this in the place of its C: libmicrohttpd
     * would take the cookies apart, each in memory of the connection. No client can send such a
     * name. */
    HEAD_COOKIE = 1,
    /* Bytes kept until a head can be judged: a head just short of every limit. */
    HEAD_KEPT_MAX = HEAD_TARGET_MAX + HEAD_FIELDS_MAX + HEAD_METHOD_MAX + 64
};

enum head_phase {
    HEAD_LINES, /* request line and fields */
    HEAD_BODY, /* a body of known length */
    HEAD_SIZE, /* a chunk's size; with the last one the trailers */
    HEAD_DATA, /* a chunk's data */
    HEAD_DATA_END, /* the line end behind it */
    /* nothing more is read: a broken byte, or the last request of the connection was let through */
    HEAD_OVER
};

enum head_verdict {
    HEAD_MALFORMED = 1, /* 400 */
    HEAD_TARGET_LONG, /* 414 */
    HEAD_FIELDS_LARGE, /* 431 */
    HEAD_BODY_LARGE, /* 413: a Content-Length beyond any number */
    HEAD_EXPECTATION, /* 417 */
    HEAD_CODING, /* 501: a transfer coding besides chunked */
    HEAD_METHOD, /* 501 */
    HEAD_VERSION /* 505 */
};

struct head_refusal {
    enum head_verdict verdict;
    const char *why; /* for the client: what to send instead; constant */
    uint64_t request; /* its number on the connection, from 1 */
    bool in_body; /* the head was good and was let through */
    char method[HEAD_METHOD_MAX + 1]; /* empty: it has none that can be read */
    char path[HEAD_SHOWN_MAX + 1]; /* of its target, as sent; empty: it has none */
};

/* Facts about a head that is not complete. Offsets count from its first byte. */
struct head_known {
    size_t line; /* here begins the line that is not judged yet */
    size_t looked; /* no line end before this */
    size_t target, n_target, n_request; /* the target, and the request line with its end */
    unsigned n_lines, n_empty, n_hosts, n_lengths;
    uint8_t n_method, minor; /* minor: of the version */
    bool is_options, absolute, edited; /* edited: the canonical form differs */
    bool coded, chunked, coding_unknown, coding_twice;
    bool expects_else, says_close, says_keep;
    uint64_t length;
};

struct head {
    enum head_phase phase;
    uint64_t given; /* requests that were let through, and the stand-in */
    uint64_t left; /* bytes of a body or a chunk */
    bool last; /* the connection ends after this request */
    bool chunked; /* of the request whose body is read */
    struct head_known known;
    const char *standin; /* to be let through before anything else */
    size_t n_standin;
    struct head_refusal *refusal; /* owned; NULL: nothing was broken, or there was no memory */
};

void head_init(struct head *h);
void head_done(struct head *h);

/* Judges the n bytes at p, which begin with those that were left over before. Returns how many
 * canonical bytes stand at p now. *ret_used: how many of the n were judged; the others are an
 * incomplete line or head and come again at the beginning of the next call, with more behind
 * them. After the call the stand-in, if there is one, goes behind the canonical bytes. */
size_t head_filter(struct head *h, char *p, size_t n, size_t *ret_used);

/* Tells whether bytes of a head came and its end did not. */
bool head_begun(const struct head *h, size_t n_left_over);

/* Puts the '?' back into a target. A target goes through with '#' in the place of its '?', so that
 * libmicrohttpd takes no arguments out of it, which cost it memory of the connection. */
void head_show_query(char *target);

/* Tells whether a request line may begin with this character (head_line.c). */
bool head_may_begin(char c);
/* Judges one line, n bytes without its end, which begins at `at` of its head. Returns NULL when it
 * is good; else what is wrong, and *ret_verdict. */
const char *head_request_line(
    struct head_known *k, char *head, size_t at, size_t n, enum head_verdict *ret_verdict);
const char *head_field_line(
    struct head_known *k, const char *line, size_t n, enum head_verdict *ret_verdict);
/* Judges a line of a trailer: its syntax only. Returns NULL when it is good, else what is wrong. */
const char *head_trailer_line(const char *line, size_t n);
/* Judges, at the empty line, what only all lines together tell. Returns NULL when it is good, else
 * what is wrong, and *ret_verdict. */
const char *head_whole(struct head_known *k, enum head_verdict *ret_verdict);
/* Reads a chunk's size line into *ret_size. Returns NULL when it is good, else what is wrong. */
const char *head_chunk_line(const char *line, size_t n, uint64_t *ret_size);
/* Writes the canonical form of a good head of n bytes over it. Returns its length, which is not
 * more. */
size_t head_rewrite(const struct head_known *k, char *head, size_t n);

#endif
