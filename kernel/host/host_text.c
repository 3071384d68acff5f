/* host_text.c - the service wharf.text (plugin-api/wharf/service/text.h). */
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "util/digest.h"
#include "util/search_form.h"
#include "util/str.h"
#include "wharf/service/text.h"

static wharf_str t_search_form(wharf_req *req, wharf_str text, const char *keep)
{
    return search_form(req->arena, text, keep);
}

/* ---- hashes ---- */

static unsigned char hash_key[crypto_shorthash_KEYBYTES];

static void make_hash_key(void)
{
    crypto_shorthash_keygen(hash_key);
}

static uint64_t t_hash(wharf_str bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t hash;

    pthread_once(&once, make_hash_key);
    crypto_shorthash((unsigned char *)&hash, (const unsigned char *)bytes.p, bytes.n, hash_key);
    return hash;
}

struct wharf_digest {
    crypto_hash_sha256_state state;
};

static wharf_digest *t_digest(wharf_req *req)
{
    wharf_digest *d = ARENA_NEW(req->arena, wharf_digest);

    crypto_hash_sha256_init(&d->state);
    return d;
}

static void t_digest_add(wharf_digest *d, wharf_str bytes)
{
    crypto_hash_sha256_update(&d->state, (const unsigned char *)bytes.p, bytes.n);
}

static wharf_str in_digits(wharf_req *req, const unsigned char hash[DIGEST_BYTES])
{
    char *hex = arena_alloc(req->arena, 2 * DIGEST_BYTES + 1);

    sodium_bin2hex(hex, 2 * DIGEST_BYTES + 1, hash, DIGEST_BYTES);
    return (wharf_str){hex, 2 * DIGEST_BYTES};
}

static wharf_str t_digest_end(wharf_req *req, wharf_digest *d)
{
    unsigned char hash[DIGEST_BYTES];

    crypto_hash_sha256_final(&d->state, hash);
    return in_digits(req, hash);
}

static wharf_str t_sha256(wharf_req *req, wharf_str bytes)
{
    unsigned char hash[DIGEST_BYTES];

    digest_sha256(&bytes, 1, hash);
    return in_digits(req, hash);
}

/* ---- forms ---- */

static bool t_data_url(wharf_req *req, wharf_str url, wharf_str *ret_type, wharf_str *ret_bytes)
{
    static const char mark[] = ";base64,";
    const char *comma = url.n > 5 && strncasecmp(url.p, "data:", 5) == 0 ? memchr(url.p, ',', url.n)
                                                                         : NULL;
    size_t head = comma ? (size_t)(comma + 1 - url.p) : 0, n = url.n - head, got;
    char *bytes;

    if (!comma || head < 5 + strlen(mark) ||
        strncasecmp(comma + 1 - strlen(mark), mark, strlen(mark)) != 0)
        return false;
    bytes = malloc(n / 4 * 3 + 4); /* may be much: not of the request's budget */
    if (!bytes)
        return false;
    arena_keep_apart(req->arena, bytes);
    if (sodium_base642bin((unsigned char *)bytes, n / 4 * 3 + 3, comma + 1, n, " \t\r\n", &got,
            NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    bytes[got] = 0;
    *ret_type = arena_dup(req->arena, url.p + 5, (size_t)(comma - url.p) - 5 - (strlen(mark) - 1));
    *ret_bytes = (wharf_str){bytes, got};
    return true;
}

static wharf_str t_type_param(wharf_req *req, wharf_str type, const char *name)
{
    const char *end = type.p + type.n, *p = memchr(type.p, ';', type.n);
    size_t n = strlen(name);

    for (; p; p = memchr(p, ';', (size_t)(end - p))) {
        const char *stop;

        for (p++; p < end && *p == ' '; p++)
            ;
        if ((size_t)(end - p) <= n || strncasecmp(p, name, n) != 0 || p[n] != '=')
            continue;
        p += n + 1;
        stop = memchr(p, ';', (size_t)(end - p));
        stop = stop ? stop : end;
        if (stop - p > 1 && *p == '"' && stop[-1] == '"')
            return arena_dup(req->arena, p + 1, (size_t)(stop - p) - 2);
        return arena_dup(req->arena, p, (size_t)(stop - p));
    }
    return str_z("");
}

static bool t_is_text(wharf_str bytes)
{
    return utf8_valid(bytes.p, bytes.n) && !memchr(bytes.p, 0, bytes.n);
}

const wharf_text_api host_text = {WHARF_HEAD(wharf_text_api), t_search_form, t_sha256, t_data_url,
    t_is_text, t_hash, t_digest, t_digest_add, t_digest_end, t_type_param};
