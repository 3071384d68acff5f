/* http_body.c - the request's body and query, decoded and parsed (docs/spec/01-platform.md
 * section 2.3). */
#include <stdlib.h>
#include <zlib.h>

#include "http/exchange.h"
#include "util/str.h"
#include "wharf/errors.h"

/* Unpacks the body. The limit applies to the decompressed size. */
static bool inflate_body(struct exchange *x, struct buf *out)
{
    z_stream z = {.next_in = (unsigned char *)x->body.p, .avail_in = (unsigned)x->body.n};
    unsigned char chunk[16384];
    int r = Z_OK;

    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return false;
    while (r == Z_OK) {
        z.next_out = chunk;
        z.avail_out = sizeof(chunk);
        r = inflate(&z, Z_NO_FLUSH);
        buf_add(out, chunk, sizeof(chunk) - z.avail_out);
        if (out->failed || (r == Z_OK && z.avail_out && !z.avail_in))
            break;
    }
    inflateEnd(&z);
    if (out->failed)
        req_fail(&x->req, ERR_BODY_TOO_LARGE, NULL,
            "The body has more than %zu bytes when decompressed", x->body_limit);
    else if (r != Z_STREAM_END || z.avail_in)
        req_fail(&x->req, ERR_BODY_MALFORMED, NULL, "The body is not one complete gzip stream");
    return r == Z_STREAM_END && !z.avail_in && !out->failed;
}

static const struct wharf_json empty_object = {.type = JSON_OBJECT};

bool raw_body(const struct route *r)
{
    return r->declared && r->declared->flags & WHARF_R_RAW_BODY;
}

static enum MHD_Result keep_line(
    void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct wharf_req *req = cls;
    struct header_line *line = &req->head.lines[req->head.n_lines];
    size_t n = value ? strlen(value) : 0;
    char *shown = arena_alloc(req->arena, n + 1);

    (void)kind;
    for (size_t i = 0; i < n; i++)
        shown[i] = value[i];
    if (!utf8_valid(shown, n)) {
        for (size_t i = 0; i < n; i++)
            shown[i] = (unsigned char)shown[i] < 0x80 ? shown[i] : '?';
    }
    *line = (struct header_line){
        name[0] == HEAD_COOKIE ? str_z("Cookie") : arena_dupz(req->arena, name), {shown, n}};
    req->head.n_lines++;
    return MHD_YES;
}

void keep_address(struct exchange *x)
{
    char text[IP_TEXT];
    struct ip ip;

    if (!client_ip(x, &ip))
        return;
    ip_text(&ip, text);
    x->req.head.remote_addr = arena_dupz(x->req.arena, text);
}

/* Copies what the handler may need: it may go on when its connection is gone. */
void keep_request(struct exchange *x)
{
    int n = MHD_get_connection_values(x->connection, MHD_HEADER_KIND, NULL, NULL);

    if (x->req.head.lines)
        return;
    keep_address(x);
    x->req.head.lines = ARENA_ARRAY(x->req.arena, struct header_line, (size_t)n + 1);
    MHD_get_connection_values(x->connection, MHD_HEADER_KIND, keep_line, &x->req);
}

/* Parses the body. text lives as long as the request. */
static bool parse_body(struct exchange *x, wharf_str text)
{
    struct wharf_req *req = &x->req;
    struct json_error e;

    req->body = &empty_object;
    req->body_text = text;
    if (raw_body(req->route) || !text.n)
        return true;
    req->body = json_parse(req->arena, req->body_text, &e);
    if (!req->body && e.no_memory) {
        req_fail(req, ERR_REQUEST_TOO_LARGE, NULL,
            "The body has more values than one request may have; send less at once");
        return false;
    }
    if (!req->body) {
        req_fail(req, ERR_BODY_MALFORMED, NULL,
            "The body is not JSON as RFC 8259 has it: %s at byte %zu", e.message, e.offset);
        return false;
    }
    if (req->body->type != JSON_OBJECT &&
        !(req->route->array_body && req->body->type == JSON_ARRAY)) {
        req_fail(req, ERR_BODY_MALFORMED, NULL, "The body's top level must be an object");
        return false;
    }
    return true;
}

bool body_is_large(const struct exchange *x)
{
    return x->body.n > LOOP_BODY || (x->gzip_body && x->body.n);
}

bool read_body(struct exchange *x)
{
    struct wharf_req *req = &x->req;
    struct buf plain;
    wharf_str bad;
    bool ok = true;
    char *own;
    size_t n;

    x->body_read = true;
    if (x->gzip_body) {
        buf_init(&plain, x->body_limit);
        ok = inflate_body(x, &plain);
        own = buf_take(&plain, &n);
        arena_keep_apart(req->arena, own);
        ok = ok && parse_body(x, own ? (wharf_str){own, n} : str_z(""));
    } else {
        ok = parse_body(x, buf_str(&x->body));
    }
    if (!ok)
        return false;
    if (req->head.raw_query.n &&
        !query_split(req->arena, req->head.raw_query, &req->head.pairs, &req->head.n_pairs, &bad) &&
        req->route->kind != ROUTE_LIST && req->route->kind != ROUTE_RETRIEVE) {
        req_problem(req, ERR_PARAM_INVALID, bad, NULL,
            str_z("A parameter has a broken %-escape, is not UTF-8, or has brackets where they "
                  "mean nothing"));
        return false;
    }
    return true;
}
