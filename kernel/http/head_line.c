/* head_line.c - the grammar of single lines: RFC 9112 sections 3, 5, 6, 7 and RFC 9110 sections
 * 4, 5, 7, 10. See head.h. */
#include "http/head.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

enum { TOKEN = 1, PATH = 2, QUERY = 4, HOST = 8, TEXT = 16, DIGIT = 32, HEX = 64, SPACE = 128 };

#define T (TOKEN | TEXT)
#define U                                                                                          \
    (TOKEN | PATH | QUERY | HOST |                                                                 \
        TEXT) /* unreserved of RFC 3986, and sub-delims that are token characters */
#define D (U | DIGIT | HEX)
#define X (U | HEX)
#define L (PATH | QUERY | HOST | TEXT) /* other sub-delims */

/* A query may hold some characters that RFC 3986 wants escaped and browsers and client libraries
 * do not escape: [ ] { } | \ ^ `. */
static const uint8_t classes[256] = {['\t'] = TEXT | SPACE,
    [' '] = TEXT | SPACE,
    ['!'] = U,
    ['"'] = TEXT,
    ['#'] = T,
    ['$'] = U,
    ['%'] = U,
    ['&'] = U,
    ['\''] = U,
    ['('] = L,
    [')'] = L,
    ['*'] = U,
    ['+'] = U,
    [','] = L,
    ['-'] = U,
    ['.'] = U,
    ['/'] = PATH | QUERY | TEXT,
    ['0' ... '9'] = D,
    [':'] = PATH | QUERY | TEXT,
    [';'] = L,
    ['<'] = TEXT,
    ['='] = L,
    ['>'] = TEXT,
    ['?'] = QUERY | TEXT,
    ['@'] = PATH | QUERY | TEXT,
    ['A' ... 'F'] = X,
    ['G' ... 'Z'] = U,
    ['['] = QUERY | TEXT,
    ['\\'] = QUERY | TEXT,
    [']'] = QUERY | TEXT,
    ['^'] = T | QUERY,
    ['_'] = U,
    ['`'] = T | QUERY,
    ['a' ... 'f'] = X,
    ['g' ... 'z'] = U,
    ['{'] = QUERY | TEXT,
    ['|'] = T | QUERY,
    ['}'] = QUERY | TEXT,
    ['~'] = U,
    [0x80 ... 0xFF] = TEXT};

#undef T
#undef U
#undef D
#undef X
#undef L

static bool head_line_is(char c, unsigned class)
{
    return (classes[(unsigned char)c] & class) != 0;
}

/* Counts how many of the n characters from p on are of the class, without a gap. */
static size_t head_line_run(const char *p, size_t n, unsigned class)
{
    size_t i = 0;

    while (i < n && head_line_is(p[i], class))
        i++;
    return i;
}

bool head_may_begin(char c)
{
    return head_line_is(c, TOKEN);
}

static bool head_line_equal(const char *p, size_t n, const char *word)
{
    return n == strlen(word) && !strncasecmp(p, word, n);
}

/* Tells whether every % is followed by two hexadecimal digits. */
static bool escapes_whole(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '%' &&
            (n - i < 3 || !head_line_is(p[i + 1], HEX) || !head_line_is(p[i + 2], HEX)))
            return false;
    }
    return true;
}

/* ---- Host ---- */

/* Returns the length of [IPv6 address] at p; 0 when it is none. */
static size_t literal_run(const char *p, size_t n)
{
    const char *end = memchr(p, ']', n);
    char text[INET6_ADDRSTRLEN] = "";
    struct in6_addr address;

    if (!end || (size_t)(end - p) > sizeof(text))
        return 0;
    memcpy(text, p + 1, (size_t)(end - p) - 1);
    return inet_pton(AF_INET6, text, &address) == 1 ? (size_t)(end - p) + 1 : 0;
}

/* Tells whether it is a name, an IPv4 address, or [IPv6 address], and perhaps a port. */
static bool host_good(const char *p, size_t n)
{
    size_t i;

    if (n > HEAD_HOST_MAX)
        return false;
    if (n && p[0] == '[') {
        i = literal_run(p, n);
        if (!i)
            return false;
    } else {
        i = head_line_run(p, n, HOST);
        if (!escapes_whole(p, i))
            return false;
    }
    if (i < n && p[i] == ':')
        i += 1 + head_line_run(p + i + 1, n - i - 1, DIGIT);
    return i == n;
}

/* ---- the request line ---- */

static const char *path_and_query(const char *p, size_t n)
{
    size_t path = head_line_run(p, n, PATH), query = 0;

    if (path < n && p[path] == '?')
        query = head_line_run(p + path, n - path, QUERY);
    if (path + query != n)
        return "The target holds a character that must be percent-encoded";
    return escapes_whole(p, path) ? NULL
                                  : "A % in the path is not followed by two hexadecimal digits";
}

/* Finds the authority of an absolute target. *ret_host: where it begins. Returns its length; 0
 * when the target is no such. */
static size_t absolute_host(const char *p, size_t n, size_t *ret_host)
{
    size_t at = n > 7 && !strncasecmp(p, "http://", 7)    ? 7
                : n > 8 && !strncasecmp(p, "https://", 8) ? 8
                                                          : 0;
    size_t end = at;

    *ret_host = at;
    while (at && end < n && p[end] != '/' && p[end] != '?')
        end++;
    return end - at;
}

static const char *target_line(struct head_known *k, const char *p, size_t n)
{
    size_t host, n_host;

    if (p[0] == '/')
        return path_and_query(p, n);
    if (n == 1 && p[0] == '*')
        return k->is_options ? NULL : "The target * is for OPTIONS only";
    n_host = absolute_host(p, n, &host);
    if (!n_host || p[host] == ':' || !host_good(p + host, n_host))
        return "The target must be a path that begins with /, or http:// and a host before it";
    k->absolute = k->edited = true;
    return path_and_query(p + host + n_host, n - host - n_host);
}

/* Reads the version. Returns NULL for version 1.x, whose minor is set; else what is wrong. */
static const char *version_part(
    struct head_known *k, char *p, size_t n, enum head_verdict *ret_verdict)
{
    if (n != 8 || memcmp(p, "HTTP/", 5) != 0 || !head_line_is(p[5], DIGIT) || p[6] != '.' ||
        !head_line_is(p[7], DIGIT))
        return "The request line must be a method, a target and HTTP/1.1, with one blank between "
               "them";
    if (p[5] != '1') {
        *ret_verdict = HEAD_VERSION;
        return "This server speaks HTTP/1.1 and HTTP/1.0";
    }
    k->minor = p[7] != '0';
    if (k->minor) /* a later 1.x is answered as 1.1 (RFC 9110 section 2.5) */
        p[7] = '1';
    return NULL;
}

const char *head_request_line(
    struct head_known *k, char *head, size_t at, size_t n, enum head_verdict *ret_verdict)
{
    char *p = head + at;
    size_t method = head_line_run(p, n, TOKEN), target = method + 1, end;
    const char *why;

    if (!method || method >= n || p[method] != ' ')
        return "The request line must be a method, a target and HTTP/1.1, with one blank between "
               "them";
    if (method <= HEAD_METHOD_MAX)
        k->n_method = (uint8_t)method;
    for (end = target; end < n && p[end] != ' ';)
        end++;
    k->target = at + target;
    k->n_target = end - target;
    if (k->n_target > HEAD_TARGET_MAX) {
        *ret_verdict = HEAD_TARGET_LONG;
        return NULL;
    }
    if (!k->n_target || end == n)
        return "The request line must be a method, a target and HTTP/1.1, with one blank between "
               "them";
    why = version_part(k, p + end + 1, n - end - 1, ret_verdict);
    if (why)
        return why;
    if (method > HEAD_METHOD_MAX || (method == 7 && !memcmp(p, "CONNECT", 7))) {
        *ret_verdict = HEAD_METHOD;
        return "This server knows no such method";
    }
    k->is_options = method == 7 && !memcmp(p, "OPTIONS", 7);
    return target_line(k, p + target, k->n_target);
}

/* ---- fields ---- */

/* Takes the next member of a list. Returns false when there is none any more. Empty members are
 * passed over. */
static bool head_line_next_member(const char **p, size_t *n, const char **ret, size_t *ret_n)
{
    size_t k = 0;

    while (*n && (**p == ',' || head_line_is(**p, SPACE)))
        (*p)++, (*n)--;
    if (!*n)
        return false;
    *ret = *p;
    while (k < *n && (*p)[k] != ',')
        k++;
    *p += k;
    *n -= k;
    while (k && head_line_is((*ret)[k - 1], SPACE))
        k--;
    *ret_n = k;
    return true;
}

static const char *length_field(
    struct head_known *k, const char *p, size_t n, enum head_verdict *ret_verdict)
{
    if (++k->n_lengths > 1)
        return "Send one Content-Length";
    if (!n || head_line_run(p, n, DIGIT) != n)
        return "Content-Length is a decimal number";
    for (size_t i = 0; i < n; i++) {
        if (k->length > (uint64_t)INT64_MAX / 10 - 1) {
            *ret_verdict = HEAD_BODY_LARGE;
            return "Content-Length is larger than any body this server takes";
        }
        k->length = k->length * 10 + (uint64_t)(p[i] - '0');
    }
    return NULL;
}

static void coding_field(struct head_known *k, const char *p, size_t n)
{
    const char *member;
    size_t length;

    k->coded = true;
    if (!head_line_equal(p, n, "chunked"))
        k->edited = true;
    while (head_line_next_member(&p, &n, &member, &length)) {
        if (k->chunked) /* chunked comes once, and last */
            k->coding_twice = true;
        if (head_line_equal(member, length, "chunked"))
            k->chunked = true;
        else
            k->coding_unknown = true;
    }
}

static void list_field(struct head_known *k, bool connection, const char *p, size_t n)
{
    const char *member;
    size_t length;

    while (head_line_next_member(&p, &n, &member, &length)) {
        if (!connection)
            k->expects_else |= !head_line_equal(member, length, "100-continue");
        else if (head_line_equal(member, length, "close"))
            k->says_close = true;
        else if (head_line_equal(member, length, "keep-alive"))
            k->says_keep = true;
    }
}

/* Reads the fields that say where a request ends and for whom it is. */
static const char *known_field(struct head_known *k, const char *name, size_t n_name, const char *p,
    size_t n, enum head_verdict *ret_verdict)
{
    if (head_line_equal(name, n_name, "Host")) {
        if (++k->n_hosts > 1)
            return "Send one Host header";
        return host_good(p, n) ? NULL : "Host is a name or an address, and perhaps a port";
    }
    if (head_line_equal(name, n_name, "Content-Length"))
        return length_field(k, p, n, ret_verdict);
    if (head_line_equal(name, n_name, "Transfer-Encoding"))
        coding_field(k, p, n);
    else if (head_line_equal(name, n_name, "Connection"))
        list_field(k, true, p, n);
    else if (head_line_equal(name, n_name, "Expect"))
        list_field(k, false, p, n);
    else if (head_line_equal(name, n_name, "Cookie"))
        k->edited = true;
    return NULL;
}

/* Splits a line. *ret_value, *ret_n: without blanks around it. */
static const char *field_parts(
    const char *line, size_t n, size_t *ret_name, const char **ret_value, size_t *ret_n)
{
    size_t name = head_line_run(line, n, TOKEN), from, to = n;

    if (!name && head_line_is(line[0], SPACE))
        return "A header goes on in the next line; send each header in one line";
    if (!name || name == n || line[name] != ':')
        return "A header is a name, a colon directly behind it, and a value";
    from = name + 1;
    if (head_line_run(line + from, n - from, TEXT) != n - from)
        return "A header's value holds a control character";
    while (from < to && head_line_is(line[from], SPACE))
        from++;
    while (to > from && head_line_is(line[to - 1], SPACE))
        to--;
    *ret_name = name;
    *ret_value = line + from;
    *ret_n = to - from;
    return NULL;
}

const char *head_field_line(
    struct head_known *k, const char *line, size_t n, enum head_verdict *ret_verdict)
{
    const char *value, *why;
    size_t name, length, before;

    why = field_parts(line, n, &name, &value, &length);
    if (why)
        return why;
    if (++k->n_lines > HEAD_LINES_MAX) {
        *ret_verdict = HEAD_FIELDS_LARGE;
        return "The request has more than 100 headers";
    }
    before = (size_t)(value - line) - name - 1;
    if (before > 1 || (before && *(value - 1) != ' ') || before + name + 1 + length != n)
        k->edited = true;
    switch (name) {
    case 4: /* Host */
    case 6: /* Expect, Cookie */
    case 10: /* Connection */
    case 14: /* Content-Length */
    case 17: /* Transfer-Encoding */
        return known_field(k, line, name, value, length, ret_verdict);
    default:
        return NULL;
    }
}

const char *head_trailer_line(const char *line, size_t n)
{
    const char *value;
    size_t name, length;

    return field_parts(line, n, &name, &value, &length);
}

const char *head_whole(struct head_known *k, enum head_verdict *ret_verdict)
{
    if (k->minor && !k->n_hosts)
        return "Send a Host header";
    if (k->coded && !k->minor)
        return "HTTP/1.0 has no Transfer-Encoding";
    if (k->coded && k->n_lengths)
        return "Send Content-Length or Transfer-Encoding: chunked but not both";
    if (k->coded && (k->coding_twice || !k->chunked))
        return "The last transfer coding must be chunked, once";
    if (k->coding_unknown) {
        *ret_verdict = HEAD_CODING;
        return "This server knows no transfer coding but chunked";
    }
    if (k->expects_else && k->minor) {
        *ret_verdict = HEAD_EXPECTATION;
        return "This server can meet no expectation but 100-continue";
    }
    return NULL;
}

/* ---- chunks ---- */

/* Measures a quoted string that begins at p. Returns its length; 0 when it is broken. */
static size_t quoted_run(const char *p, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (p[i] == '"')
            return i + 1;
        if (p[i] == '\\' && ++i == n)
            return 0;
        if (!head_line_is(p[i], TEXT))
            return 0;
    }
    return 0;
}

/* Judges ;name=value ... behind a chunk's size. */
static bool extensions_good(const char *p, size_t n)
{
    size_t i = 0, part;

    while (i < n) {
        i += head_line_run(p + i, n - i, SPACE);
        if (i == n || p[i++] != ';')
            return false;
        i += head_line_run(p + i, n - i, SPACE);
        part = head_line_run(p + i, n - i, TOKEN);
        if (!part)
            return false;
        i += part;
        part = head_line_run(p + i, n - i, SPACE);
        if (i + part == n || p[i + part] != '=') {
            if (part && i + part == n)
                return false;
            continue;
        }
        i += part + 1;
        i += head_line_run(p + i, n - i, SPACE);
        part = i < n && p[i] == '"' ? quoted_run(p + i, n - i) : head_line_run(p + i, n - i, TOKEN);
        if (!part)
            return false;
        i += part;
    }
    return true;
}

const char *head_chunk_line(const char *line, size_t n, uint64_t *ret_size)
{
    size_t digits = head_line_run(line, n, HEX);
    uint64_t size = 0;

    if (!digits)
        return "A chunk begins with its size in hexadecimal digits";
    for (size_t i = 0; i < digits; i++) {
        unsigned c = (unsigned char)line[i] | 0x20;

        if (size >> 58)
            return "A chunk's size is larger than any body this server takes";
        size = size << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (!extensions_good(line + digits, n - digits))
        return "Behind a chunk's size stands something that is no extension";
    *ret_size = size;
    return NULL;
}

/* ---- the canonical form ---- */

struct rewriting {
    char *p;
    size_t in, out;
    char host[HEAD_HOST_MAX];
    /* of an absolute target, which counts instead of the Host header (RFC 9112 section 3.2.2) */
    size_t n_host;
};

static void keep_run(struct rewriting *w, const char *from, size_t n)
{
    memmove(w->p + w->out, from, n);
    w->out += n;
}

/* Rewrites an absolute target as its path; of OPTIONS without a path, as *. */
static void rewrite_target(const struct head_known *k, struct rewriting *w)
{
    const char *target = w->p + k->target, *end = target + k->n_target;
    size_t host, n_host = absolute_host(target, k->n_target, &host);
    const char *rest = target + host + n_host;
    char *mark;

    w->out = k->target;
    if (n_host) {
        memcpy(w->host, target + host, n_host);
        w->n_host = n_host;
        if (rest == end)
            w->p[w->out++] = k->is_options ? '*' : '/';
        else if (*rest == '?')
            w->p[w->out++] = '/';
        keep_run(w, rest, (size_t)(end - rest));
    } else {
        w->out = k->target + k->n_target;
    }
    mark = memchr(w->p + k->target, '?', w->out - k->target);
    if (mark)
        *mark = '#';
    keep_run(w, end, k->n_request - k->target - k->n_target);
    w->in = k->n_request;
}

static void rewrite_field(struct rewriting *w, size_t n)
{
    const char *line = w->p + w->in, *value = line;
    size_t name = 0, length = 0;
    bool blank, cookie;

    field_parts(line, n, &name, &value, &length);
    blank = value > line + name + 1;
    cookie = head_line_equal(line, name, "Cookie");
    w->in += n + 2;
    if (head_line_equal(line, name, "Transfer-Encoding")) {
        const char *member = value;
        size_t left = length;

        if (!head_line_next_member(&value, &left, &member, &length)) /* an empty list */
            return;
        value = member;
    }
    keep_run(w, line, name + 1);
    if (cookie)
        w->p[w->out - name - 1] = HEAD_COOKIE;
    if (w->n_host && head_line_equal(w->p + w->out - name - 1, name, "Host")) {
        w->p[w->out++] = ' ';
        keep_run(w, w->host, w->n_host);
    } else {
        if (blank)
            w->p[w->out++] = ' ';
        keep_run(w, value, length);
    }
    w->p[w->out++] = '\r';
    w->p[w->out++] = '\n';
}

size_t head_rewrite(const struct head_known *k, char *head, size_t n)
{
    struct rewriting w = {.p = head};

    rewrite_target(k, &w);
    while (w.in + 2 < n) {
        const char *end = memchr(head + w.in, '\r', n - w.in);

        rewrite_field(&w, (size_t)(end - head) - w.in);
    }
    keep_run(&w, head + n - 2, 2);
    return w.out;
}
