/* etag.c - entity tags of rows that are read or written, and 304 (docs/spec/01-platform.md
 * section 8.2). If-Match is answered where the row is locked (resource/precondition.c). */
#include <stdio.h>
#include <xxhash.h>

#include "http/exchange.h"
#include "resource/write.h"
#include "util/str.h"

enum {
    TAGGED_MAX = 8 << 20, /* bytes of an answer that gets an ETag */
    HALF_DIGITS = 11
};

/* Writes 64 bits as 11 digits of base 62. */
static char *etag_digits(uint64_t v, char *out)
{
    static const char set[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    for (int i = HALF_DIGITS; i-- > 0; v /= 62)
        out[i] = set[v % 62];
    return out + HALF_DIGITS;
}

/* Writes the tag "v3-<22 digits>", without quotes. What a page says of its list counts too:
 * has_more may change alone. The hash is a fast one, seeded with what only the servers of this
 * installation know, so that nobody writes two rows of one tag. */
static void write_tag(const struct wharf_req *req, char out[ETAG_MAX])
{
    const struct req_reply *reply = &req->reply;
    char *p = out + snprintf(out, ETAG_MAX, "v%lld-", (long long)reply->version);
    XXH128_hash_t parts[2], hash;
    uint64_t seed;

    memcpy(&seed, req->engine->cursor_key, sizeof(seed));
    hash = parts[0] = XXH3_128bits_withSeed(reply->out.p, reply->out.n, seed);
    if (reply->pagination.n) {
        parts[1] = XXH3_128bits_withSeed(reply->pagination.p, reply->pagination.n, seed);
        hash = XXH3_128bits_withSeed(parts, sizeof(parts), seed);
    }
    p = etag_digits(hash.low64, etag_digits(hash.high64, p));
    *p = 0;
}

static bool etag_listed(const char *header, const char *tag)
{
    enum tag_kind kind;
    wharf_str got;

    while ((kind = tag_next(&header, &got)) != TAG_END) {
        if (kind == TAG_ANY)
            return true;
        if (got.n > 3 && memcmp(got.p + got.n - 3, "-gz", 3) == 0)
            got.n -= 3;
        if (str_eqz(got, tag))
            return true;
    }
    return false;
}

/* Tells whether the answer is what was read, and may be known to the client. */
static bool is_read(const struct exchange *x)
{
    const struct wharf_req *req = &x->req;

    return req->reply.status == 200 && (!strcmp(req->head.method, "GET") || x->head_only) &&
           !(req->route->kind == ROUTE_KERNEL && req->route->silent);
}

/* Tells whether the answer of a write shows the row: the tag has the version for the next one. */
static bool shows_written(const struct wharf_req *req)
{
    return req->reply.answered && req->reply.version && req->reply.out.n;
}

bool etag_build(struct exchange *x)
{
    const struct wharf_req *req = &x->req;
    const char *known;
    bool read = is_read(x);

    if (req->problems.n || req->reply.foreign || req->reply.out.n > TAGGED_MAX ||
        !(read || shows_written(req)))
        return false;
    write_tag(req, x->etag);
    if (!read)
        return false;
    known = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "If-None-Match");
    return known && etag_listed(known, x->etag);
}
