/* net_request.c - a transfer before it starts and after it is over: copies of what was asked,
 * what came back. See client.h. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/transfer.h"
#include "util/str.h"

static char *net_request_copy(const char *p, size_t n)
{
    char *to = malloc(n + 1);

    if (!to)
        abort();
    memcpy(to, p, n);
    to[n] = 0;
    return to;
}

/* Returns the longer list; NULL when the line may not be sent, or without memory. A line without
 * a value is written "Name;" for libcurl, which drops "Name:". */
static struct curl_slist *append_header(struct curl_slist *list, const char *line)
{
    const char *colon = strchr(line, ':');
    char name[256];

    if (!colon || !net_header_valid((wharf_str){line, (size_t)(colon - line)}, str_z(colon + 1)))
        return NULL;
    if (colon[1 + strspn(colon + 1, " \t")])
        return curl_slist_append(list, line);
    if ((size_t)(colon - line) > sizeof(name) - 2)
        return NULL;
    memcpy(name, line, (size_t)(colon - line));
    memcpy(name + (colon - line), ";", 2);
    return curl_slist_append(list, name);
}

static void copy_headers(struct net_transfer *t, const struct net_request *r)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        struct curl_slist *longer = append_header(t->headers, r->headers[i]);

        if (!longer)
            t->outcome = NET_BAD_HEADER;
        else
            t->headers = longer;
    }
}

static bool method_shape(const char *method)
{
    size_t n = strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return n && n <= 16 && !method[n];
}

struct net_transfer *transfer_new(
    struct net_client *c, struct net_queue *q, const struct net_request *r)
{
    struct net_transfer *t = calloc(1, sizeof(*t));
    const char *method = r->method ? r->method : "GET";

    if (!t)
        abort();
    t->client = c;
    t->queue = q;
    t->r = *r;
    t->r.headers = NULL;
    t->r.url.p = net_request_copy(r->url.p, r->url.n);
    t->r.method = net_request_copy(method, strlen(method));
    t->r.owner.p = net_request_copy(r->owner.n ? r->owner.p : "", r->owner.n);
    t->r.aws_sigv4 = r->aws_sigv4 ? net_request_copy(r->aws_sigv4, strlen(r->aws_sigv4)) : NULL;
    t->r.credentials = r->credentials ? net_request_copy(r->credentials, strlen(r->credentials))
                                      : NULL;
    buf_init(&t->head, HEADERS_MAX_BYTES);
    buf_init(&t->body, r->limits.bytes && r->limits.bytes < MEMORY_BODY_MAX
                           ? (size_t)r->limits.bytes + 1
                           : (size_t)MEMORY_BODY_MAX);
    if (!method_shape(method))
        t->outcome = NET_BROKEN;
    copy_headers(t, r);
    return t;
}

void net_transfer_free(struct net_transfer *t)
{
    if (!t)
        return;
    net_url_done(&t->url);
    curl_slist_free_all(t->headers);
    buf_done(&t->head);
    buf_done(&t->body);
    free((char *)t->r.url.p);
    free((char *)t->r.method);
    free((char *)t->r.owner.p);
    free((char *)t->r.aws_sigv4);
    free((char *)t->r.credentials);
    free(t);
}

enum net_outcome net_outcome(const struct net_transfer *t)
{
    return t->outcome;
}

wharf_str net_head(const struct net_transfer *t)
{
    return buf_str(&t->head);
}

int net_status(const struct net_transfer *t)
{
    return t->status;
}

const char *net_header(struct net_transfer *t, const char *name)
{
    size_t n = strlen(name), size;

    for (const char *line = buf_str(&t->head).p; *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncasecmp(line, name, n) != 0 || line[n] != ':')
            continue;
        line += n + 1;
        line += strspn(line, " \t");
        size = strcspn(line, "\r\n");
        while (size && (line[size - 1] == ' ' || line[size - 1] == '\t'))
            size--;
        if (size >= sizeof(t->header_value))
            size = sizeof(t->header_value) - 1;
        memcpy(t->header_value, line, size);
        t->header_value[size] = 0;
        return t->header_value;
    }
    return "";
}

wharf_str net_text(const struct net_transfer *t)
{
    return buf_str(&t->body);
}

uint64_t net_received(const struct net_transfer *t)
{
    return t->received;
}

void *net_arg(const struct net_transfer *t)
{
    return t->r.arg;
}

const char *net_trouble(const struct net_transfer *t)
{
    return t->curl_error[0] ? t->curl_error : net_outcome_name(t->outcome);
}

int64_t net_elapsed_us(const struct net_transfer *t)
{
    return t->start_us ? t->end_us - t->start_us : 0;
}

const char *net_outcome_name(enum net_outcome o)
{
    switch (o) {
    case NET_DONE:
        return "done";
    case NET_BAD_URL:
        return "bad_url";
    case NET_BAD_PROTOCOL:
        return "bad_protocol";
    case NET_BAD_HOST:
        return "bad_host";
    case NET_BLOCKED:
        return "blocked_address";
    case NET_NO_NAME:
        return "no_such_name";
    case NET_NO_ADDRESS:
        return "no_address";
    case NET_NO_CONNECTION:
        return "no_connection";
    case NET_NO_TRUST:
        return "tls";
    case NET_TIMEOUT:
        return "timeout";
    case NET_TOO_LARGE:
        return "too_large";
    case NET_ENCODED:
        return "content_encoding";
    case NET_REDIRECTS:
        return "redirects";
    case NET_BAD_HEADER:
        return "bad_header";
    case NET_BROKEN:
        return "broken";
    case NET_SINK:
        return "not_stored";
    case NET_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}
