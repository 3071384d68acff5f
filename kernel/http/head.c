/* head.c - where heads, bodies, chunks and trailers begin and end on a connection. See head.h. */
#include "http/head.h"

#include <stdlib.h>
#include <string.h>

/* A request of our own in the place of a broken one. Its body never ends: what the client sends
 * behind is dropped while it reads the refusal. No client can send it so that it counts: the
 * refusal names its number. */
static const char standin_request[] =
    "GET / HTTP/1.1\r\nHost: refused\r\nTransfer-Encoding: chunked\r\n\r\n";
/* One more byte of a body that is broken, so that its handler is called and sees the refusal. */
static const char standin_byte[] = "1\r\n!", standin_byte_after_data[] = "\r\n1\r\n!";

struct span { /* of one call: what was read up to `in` is written up to `out` */
    char *p;
    size_t in, out, n;
};

void head_init(struct head *h)
{
    *h = (struct head){.phase = HEAD_LINES};
}

void head_done(struct head *h)
{
    free(h->refusal);
    h->refusal = NULL;
}

bool head_begun(const struct head *h, size_t n_left_over)
{
    return n_left_over && h->phase == HEAD_LINES;
}

void head_show_query(char *target)
{
    char *mark = strchr(target, '#');

    if (mark)
        *mark = '?';
}

static void pass(struct span *s, size_t n)
{
    if (s->in != s->out)
        memmove(s->p + s->out, s->p + s->in, n);
    s->in += n;
    s->out += n;
}

/* Refuses the head at `head`, or the body when that is NULL; nothing of the connection counts from
 * here on. */
static void refuse_head(
    struct head *h, const char *head, enum head_verdict verdict, const char *why)
{
    const struct head_known *k = &h->known;
    struct head_refusal *r = calloc(1, sizeof(*r));

    h->phase = HEAD_OVER;
    h->refusal = r;
    if (!r) /* the connection ends without an answer (head_tap.c) */
        return;
    r->verdict = verdict;
    r->why = why;
    r->in_body = !head;
    r->request = head ? ++h->given : h->given;
    if (!head)
        return;
    h->standin = standin_request;
    h->n_standin = sizeof(standin_request) - 1;
    memcpy(r->method, head, k->n_method);
    for (size_t i = 0; i < k->n_target && i < HEAD_SHOWN_MAX && head[k->target + i] != '?'; i++)
        r->path[i] = (char)(head[k->target + i] > ' ' && head[k->target + i] < 0x7F
                                ? head[k->target + i]
                                : '?');
}

static void refuse_body(struct head *h, const char *why, bool after_data)
{
    refuse_head(h, NULL, HEAD_MALFORMED, why);
    h->standin = after_data ? standin_byte_after_data : standin_byte;
    h->n_standin = (after_data ? sizeof(standin_byte_after_data) : sizeof(standin_byte)) - 1;
}

/* Finds the length of the line at `at` of n bytes, without its end; *ret_why: what is wrong with
 * its end. Returns false when it is not complete. *looked: how far was searched before. */
static bool find_line(
    const char *p, size_t at, size_t n, size_t *looked, size_t *ret_length, const char **ret_why)
{
    const char *end = memchr(p + *looked, '\n', n - *looked);

    *ret_why = NULL;
    if (!end) {
        *looked = n;
        return false;
    }
    *looked = (size_t)(end - p) + 1;
    if (end == p + at || end[-1] != '\r') {
        *ret_why = "A line ends with LF alone; end lines with CR LF";
        return true;
    }
    *ret_length = (size_t)(end - p) - at - 1;
    return true;
}

static void body_follows(struct head *h)
{
    struct head_known *k = &h->known;

    h->given++;
    h->chunked = k->chunked;
    h->left = k->length;
    h->last = k->says_close || (!k->minor && !k->says_keep);
    h->phase = h->chunked ? HEAD_SIZE : h->left ? HEAD_BODY : h->last ? HEAD_OVER : HEAD_LINES;
    *k = (struct head_known){0};
}

static void body_ended(struct head *h)
{
    h->phase = h->last ? HEAD_OVER : HEAD_LINES;
    h->known = (struct head_known){0};
}

/* Skips empty lines before a request line, which some clients send behind a body. Returns false
 * when more bytes are needed, or it is broken. */
static bool skip_empty_lines(struct head *h, struct span *s)
{
    while (s->in < s->n && s->p[s->in] == '\r') {
        if (s->in + 1 == s->n)
            return false;
        if (s->p[s->in + 1] != '\n' || ++h->known.n_empty > HEAD_EMPTY_MAX) {
            refuse_head(h, s->p + s->in, HEAD_MALFORMED,
                "Empty lines or a CR alone stand before the request line");
            return false;
        }
        s->in += 2;
    }
    return s->in < s->n;
}

/* Tells whether the bytes are too many already while no line end came yet; refuses them then. */
static bool head_too_much(struct head *h, const char *head, size_t n)
{
    const struct head_known *k = &h->known;

    if (!k->line && n > HEAD_TARGET_MAX + HEAD_METHOD_MAX + 16) {
        refuse_head(h, head, HEAD_TARGET_LONG, NULL);
        return true;
    }
    if (k->line && n - k->n_request > HEAD_FIELDS_MAX) {
        refuse_head(h, head, HEAD_FIELDS_LARGE, NULL);
        return true;
    }
    return false;
}

/* Takes the next line of the head. Returns false when more bytes are needed, the head is complete,
 * or it is broken. */
static bool head_take_line(struct head *h, struct span *s)
{
    struct head_known *k = &h->known;
    char *head = s->p + s->in;
    enum head_verdict verdict = HEAD_MALFORMED;
    size_t at = k->line, length = 0, n;
    const char *why;

    if (!find_line(head, at, s->n - s->in, &k->looked, &length, &why)) {
        head_too_much(h, head, s->n - s->in);
        return false;
    }
    n = k->looked;
    if (head_too_much(h, head, n))
        return false;
    k->line = n;
    if (!why && !at)
        why = head_request_line(k, head, at, length, &verdict);
    else if (!why && length)
        why = head_field_line(k, head + at, length, &verdict);
    else if (!why)
        why = head_whole(k, &verdict);
    if (why || (verdict != HEAD_MALFORMED)) {
        refuse_head(h, head, verdict, why);
        return false;
    }
    if (!at)
        k->n_request = n;
    if (length)
        return true;
    length = k->edited ? head_rewrite(k, head, n) : n;
    if (!k->edited && k->n_target) { /* see head_show_query() */
        char *mark = memchr(head + k->target, '?', k->n_target);

        if (mark)
            *mark = '#';
    }
    if (s->in != s->out)
        memmove(s->p + s->out, head, length);
    s->in += n;
    s->out += length;
    body_follows(h);
    return false;
}

static bool head_take(struct head *h, struct span *s)
{
    uint64_t given = h->given;

    if (!h->known.looked) {
        if (!skip_empty_lines(h, s))
            return false;
        /* also who speaks TLS to a plain listener need not wait */
        if (!head_may_begin(s->p[s->in])) {
            refuse_head(
                h, s->p + s->in, HEAD_MALFORMED, "The request line does not begin with a method");
            return false;
        }
    }
    while (head_take_line(h, s))
        ;
    return h->given != given && h->phase != HEAD_OVER;
}

/* Passes bytes that go through as they are. */
static void data_take(struct head *h, struct span *s)
{
    size_t n = s->n - s->in < h->left ? s->n - s->in : (size_t)h->left;

    pass(s, n);
    h->left -= n;
    if (h->left)
        return;
    if (h->phase == HEAD_DATA)
        h->phase = HEAD_DATA_END;
    else
        body_ended(h);
}

static bool data_end_take(struct head *h, struct span *s)
{
    const char *p = s->p + s->in;

    if (p[0] != '\r' || (s->n - s->in > 1 && p[1] != '\n')) {
        refuse_body(h, "A chunk is not followed by CR LF; its size is wrong", true);
        return false;
    }
    if (s->n - s->in < 2)
        return false;
    pass(s, 2);
    h->phase = HEAD_SIZE;
    h->known = (struct head_known){0};
    return true;
}

/* Takes a trailer behind the size line of the last chunk: trailers are judged and dropped. Returns
 * false when more bytes are needed, the body is complete, or it is broken. */
static bool take_trailer(struct head *h, struct span *s)
{
    struct head_known *k = &h->known;
    char *unit = s->p + s->in;
    size_t at = k->line, length = 0;
    const char *why;
    bool whole = find_line(unit, at, s->n - s->in, &k->looked, &length, &why);

    if (k->looked - k->n_request > HEAD_FIELDS_MAX || k->n_lines > HEAD_LINES_MAX)
        why = "The trailer section is too large";
    else if (!whole)
        return false;
    else if (!why && length)
        why = head_trailer_line(unit + at, length);
    if (why) {
        refuse_body(h, why, false);
        return false;
    }
    k->n_lines++;
    k->line = k->looked;
    if (length)
        return true;
    memcpy(s->p + s->out, "0\r\n\r\n", 5);
    s->out += 5;
    s->in += k->line;
    body_ended(h);
    return false;
}

/* Takes a size line, which goes through without extensions; the last one waits for the end of the
 * trailers. */
static bool size_take(struct head *h, struct span *s)
{
    struct head_known *k = &h->known;
    char *line = s->p + s->in;
    size_t length = 0, digits = 0;
    const char *why = NULL;
    bool whole;

    if (!k->line) {
        whole = find_line(line, 0, s->n - s->in, &k->looked, &length, &why);
        if (!why && k->looked > HEAD_CHUNK_LINE_MAX)
            why = "The line of a chunk's size is too long";
        else if (!why && whole)
            why = head_chunk_line(line, length, &h->left);
        if (why) {
            refuse_body(h, why, false);
            return false;
        }
        if (!whole)
            return false;
        k->line = k->n_request = k->looked;
    }
    if (!h->left) {
        while (take_trailer(h, s))
            ;
        return !h->known.looked && h->phase == HEAD_LINES;
    }
    for (digits = 0; line[digits] != '\r' && line[digits] != ';' && line[digits] != ' ' &&
                     line[digits] != '\t';)
        digits++;
    length = k->looked;
    memmove(s->p + s->out, line, digits);
    s->out += digits;
    s->p[s->out++] = '\r';
    s->p[s->out++] = '\n';
    s->in += length;
    h->phase = HEAD_DATA;
    return true;
}

size_t head_filter(struct head *h, char *p, size_t n, size_t *ret_used)
{
    struct span s = {.p = p, .n = n};
    bool more = true;

    while (more && s.in < s.n) {
        switch (h->phase) {
        case HEAD_LINES:
            more = head_take(h, &s);
            break;
        case HEAD_BODY:
        case HEAD_DATA:
            data_take(h, &s);
            break;
        case HEAD_SIZE:
            more = size_take(h, &s);
            break;
        case HEAD_DATA_END:
            more = data_end_take(h, &s);
            break;
        case HEAD_OVER:
            more = false;
            break;
        }
    }
    if (h->phase == HEAD_OVER)
        s.in = s.n;
    *ret_used = s.in;
    return s.out;
}
