/* etag.c - entity tags of reads, and 304 (docs/spec/01-platform.md section 8.2). If-Match is answered where the row is locked
 * (resource/precondition.c). */
#include <openssl/sha.h>
#include <stdio.h>

#include "http/exchange.h"
#include "resource/write.h"
#include "util/str.h"

enum { TAGGED_MAX = 1 << 20, HALF_DIGITS = 11 };

/* 11 digits of base 62 hold 64 bits. */
static char *digits(const unsigned char *bytes, char *out)
{
    static const char set[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint64_t v = 0;

    for (int i = 0; i < 8; i++)
        v = v << 8 | bytes[i];
    for (int i = HALF_DIGITS; i-- > 0; v /= 62)
        out[i] = set[v % 62];
    return out + HALF_DIGITS;
}

/* "v3-<22 digits>, without quotes. What a page says of its list counts too: has_more may change alone. */
static void write_tag(const struct wharf_req *req, char out[ETAG_MAX])
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    char *p = out + snprintf(out, ETAG_MAX, "v%lld-", (long long)req->version);

    if (req->pagination.n) {
        unsigned char parts[2 * SHA256_DIGEST_LENGTH];

        SHA256((const unsigned char *)req->out.p, req->out.n, parts);
        SHA256((const unsigned char *)req->pagination.p, req->pagination.n, parts + SHA256_DIGEST_LENGTH);
        SHA256(parts, sizeof(parts), hash);
    } else {
        SHA256((const unsigned char *)req->out.p, req->out.n, hash);
    }
    p = digits(hash + 8, digits(hash, p));
    *p = 0;
}

static bool listed(const char *header, const char *tag)
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

bool etag_build(struct exchange *x)
{
    const struct wharf_req *req = &x->req;
    const char *known;

    if (req->n_problems || req->status != 200 || req->foreign || req->out.n > TAGGED_MAX ||
        (strcmp(req->method, "GET") != 0 && !x->head_only) || (req->route->kind == ROUTE_KERNEL && req->route->silent))
        return false;
    write_tag(req, x->etag);
    known = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "If-None-Match");
    return known && listed(known, x->etag);
}
