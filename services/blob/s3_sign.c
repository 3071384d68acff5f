/* s3_sign.c - see s3_sign.h. */
#include "blob/s3_sign.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/buf.h"
#include "util/str.h"

enum { HASH_BYTES = 32, HASH_TEXT = 2 * HASH_BYTES + 1, TEXT_MAX = 1 << 20 };

static const char algorithm[] = "AWS4-HMAC-SHA256";

/* ---- texts ---- */

void s3_add_escaped(struct buf *b, wharf_str s, bool path)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            c == '-' || c == '.' || c == '_' || c == '~' || (path && c == '/')) {
            buf_addc(b, (char)c);
        } else {
            buf_addc(b, '%');
            buf_addc(b, hex[c >> 4]);
            buf_addc(b, hex[c & 15]);
        }
    }
}

/* Adds a header's value as it is signed: no blanks around it, one where several stood. */
static void add_trimmed(struct buf *b, wharf_str s)
{
    bool blank = false;
    size_t start = b->n;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == ' ' || s.p[i] == '\t') {
            blank = true;
            continue;
        }
        if (blank && b->n > start)
            buf_addc(b, ' ');
        blank = false;
        buf_addc(b, s.p[i]);
    }
}

static void add_parameter(struct buf *b, const char *name, wharf_str value)
{
    if (b->n)
        buf_addc(b, '&');
    s3_add_escaped(b, str_z(name), false);
    buf_addc(b, '=');
    s3_add_escaped(b, value, false);
}

/* ---- hashes ---- */

static void hash_hex(wharf_str text, char ret[HASH_TEXT])
{
    unsigned char raw[EVP_MAX_MD_SIZE];

    EVP_Digest(text.p, text.n, raw, NULL, EVP_sha256(), NULL);
    sodium_bin2hex(ret, HASH_TEXT, raw, HASH_BYTES);
}

static void keyed(const void *key, size_t n, wharf_str text, unsigned char ret[HASH_BYTES])
{
    unsigned char raw[EVP_MAX_MD_SIZE];

    HMAC(EVP_sha256(), key, (int)n, (const unsigned char *)text.p, text.n, raw, NULL);
    memcpy(ret, raw, HASH_BYTES);
}

/* Signs a text with the key of the day, the region and the service. day: its first 8 characters
 * count. */
static void sign_text(
    struct arena *a, const struct s3_link *l, const char *day, wharf_str text, char ret[HASH_TEXT])
{
    wharf_str first = arena_printf(a, "AWS4%s", l->secret);
    unsigned char key[HASH_BYTES];

    keyed(first.p, first.n, (wharf_str){day, 8}, key);
    keyed(key, sizeof(key), str_z(l->region), key);
    keyed(key, sizeof(key), str_z("s3"), key);
    keyed(key, sizeof(key), str_z("aws4_request"), key);
    keyed(key, sizeof(key), text, key);
    sodium_bin2hex(ret, HASH_TEXT, key, sizeof(key));
    sodium_memzero(key, sizeof(key));
    sodium_memzero((char *)first.p, first.n);
}

/* ---- the link ---- */

/* A base URL in its parts. */
struct place {
    wharf_str origin; /* "https://host:port" */
    wharf_str host; /* as clients send it: lower case, without the port that the scheme implies */
    wharf_str path; /* from the first slash on */
};

static struct place s3_sign_place_of(struct arena *a, wharf_str base)
{
    struct place p;
    size_t at = str_starts(base, "https://") ? 8 : 7, slash = at;
    wharf_str usual = str_z(at == 8 ? ":443" : ":80");

    while (slash < base.n && base.p[slash] != '/')
        slash++;
    p.host = utf8_lower(a, arena_dup(a, base.p + at, slash - at));
    if (str_ends(p.host, usual.p))
        p.host.n -= usual.n;
    p.origin = arena_printf(a, "%.*s%.*s", (int)at, base.p, STR_ARG(p.host));
    p.path = (wharf_str){base.p + slash, base.n - slash};
    return p;
}

/* Makes the query without the signature. */
static wharf_str query_of(
    struct arena *a, const struct s3_link *l, const char *moment, wharf_str signed_names)
{
    int64_t seconds = l->seconds < S3_LINK_MAX_S ? l->seconds : S3_LINK_MAX_S;
    struct buf b;
    wharf_str s;

    buf_init(&b, TEXT_MAX);
    add_parameter(&b, "X-Amz-Algorithm", str_z(algorithm));
    add_parameter(&b, "X-Amz-Credential",
        arena_printf(a, "%s/%.8s/%s/s3/aws4_request", l->key, moment, l->region));
    add_parameter(&b, "X-Amz-Date", str_z(moment));
    add_parameter(&b, "X-Amz-Expires", arena_printf(a, "%lld", (long long)seconds));
    add_parameter(&b, "X-Amz-SignedHeaders", signed_names);
    for (size_t i = 0; i < l->n_query; i++)
        add_parameter(&b, l->query[i].name, l->query[i].value);
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}

/* Lists the signed headers: names by semicolon, or lines. "host" stands behind what sorts before
 * it, as all headers of ours do. */
static wharf_str s3_sign_headers_of(
    struct arena *a, const struct s3_link *l, const struct place *place, bool lines)
{
    struct buf b;
    wharf_str s;

    buf_init(&b, TEXT_MAX);
    for (size_t i = 0; i <= l->n_headers; i++) {
        const struct s3_pair host = {"host", place->host},
                             *h = i < l->n_headers ? &l->headers[i] : &host;

        if (!lines && i)
            buf_addc(&b, ';');
        buf_addz(&b, h->name);
        if (!lines)
            continue;
        buf_addc(&b, ':');
        add_trimmed(&b, h->value);
        buf_addc(&b, '\n');
    }
    s = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    return s;
}

wharf_str s3_link_sign(struct arena *a, const struct s3_link *l)
{
    struct place place = s3_sign_place_of(a, l->base);
    wharf_str names = s3_sign_headers_of(a, l, &place, false), query, path, text;
    char moment[20], hash[HASH_TEXT], signature[HASH_TEXT];
    time_t now = (time_t)l->now_s;
    struct buf b;
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(moment, sizeof(moment), "%Y%m%dT%H%M%SZ", &tm);
    query = query_of(a, l, moment, names);
    buf_init(&b, TEXT_MAX);
    buf_adds(&b, place.path);
    s3_add_escaped(&b, l->object, true);
    path = arena_dup_str(a, buf_str(&b));
    buf_done(&b);
    text = arena_printf(a, "%s\n%.*s\n%.*s\n%.*s\n%.*s\nUNSIGNED-PAYLOAD", l->method, STR_ARG(path),
        STR_ARG(query), STR_ARG(s3_sign_headers_of(a, l, &place, true)), STR_ARG(names));
    hash_hex(text, hash);
    text = arena_printf(
        a, "%s\n%s\n%.8s/%s/s3/aws4_request\n%s", algorithm, moment, moment, l->region, hash);
    sign_text(a, l, moment, text, signature);
    return arena_printf(a, "%.*s%.*s?%.*s&X-Amz-Signature=%s", STR_ARG(place.origin), STR_ARG(path),
        STR_ARG(query), signature);
}
