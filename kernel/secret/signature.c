/* signature.c - see signature.h. */
#include "secret/signature.h"

#include <inttypes.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/id.h"
#include "util/str.h"

static const char prefix[] = "whsec_";
enum {
    PREFIX = sizeof(prefix) - 1,
    VARIANT = sodium_base64_VARIANT_ORIGINAL,
    RANDOM_BYTES = 32,
    HASH_BYTES = 32
};

/* ---- HMAC-SHA256 of parts, with the processor's instructions for it; looking an algorithm up
 * costs more than a short text ---- */

static EVP_MAC_CTX *without_key;
static pthread_once_t looked_up = PTHREAD_ONCE_INIT;

static void signature_look_up(void)
{
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end()};

    without_key = mac ? EVP_MAC_CTX_new(mac) : NULL;
    if (!without_key || EVP_MAC_CTX_set_params(without_key, params) != 1) {
        fputs("wharf: libcrypto has no HMAC-SHA256\n", stderr);
        abort();
    }
    EVP_MAC_free(mac);
}

static void signature_hmac_parts(const void *key, size_t key_bytes, const wharf_str *parts,
    size_t n, unsigned char out[HASH_BYTES])
{
    static const unsigned char empty[1];
    size_t size = 0;
    EVP_MAC_CTX *c;
    bool ok;

    pthread_once(&looked_up, signature_look_up);
    c = EVP_MAC_CTX_dup(without_key);
    ok = c && EVP_MAC_init(c, key_bytes ? key : empty, key_bytes, NULL) == 1;
    for (size_t i = 0; ok && i < n; i++)
        ok = EVP_MAC_update(c, (const unsigned char *)parts[i].p, parts[i].n) == 1;
    if (!ok || EVP_MAC_final(c, out, &size, HASH_BYTES) != 1) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    EVP_MAC_CTX_free(c);
}

void signature_hmac(
    const void *key, size_t key_bytes, wharf_str data, unsigned char out[HASH_BYTES])
{
    signature_hmac_parts(key, key_bytes, &data, 1, out);
}

/* ---- secrets ---- */

static bool signature_key_of(wharf_str secret, unsigned char key[SIGNATURE_KEY_MAX], size_t *ret_n)
{
    const char *end = NULL;

    if (secret.n <= PREFIX || memcmp(secret.p, prefix, PREFIX) != 0)
        return false;
    if (sodium_base642bin(key, SIGNATURE_KEY_MAX, secret.p + PREFIX, secret.n - PREFIX, NULL, ret_n,
            &end, VARIANT) != 0)
        return false;
    return end == secret.p + secret.n && *ret_n >= SIGNATURE_KEY_MIN;
}

void signature_secret(char out[SIGNATURE_SECRET_TEXT])
{
    unsigned char key[RANDOM_BYTES];

    random_bytes(key, sizeof(key));
    memcpy(out, prefix, sizeof(prefix));
    sodium_bin2base64(out + PREFIX, SIGNATURE_SECRET_TEXT - PREFIX, key, sizeof(key), VARIANT);
    sodium_memzero(key, sizeof(key));
}

bool signature_secret_valid(wharf_str secret)
{
    unsigned char key[SIGNATURE_KEY_MAX];
    size_t n;
    bool good = signature_key_of(secret, key, &n);

    sodium_memzero(key, sizeof(key));
    return good;
}

/* ---- signatures ---- */

/* Writes "v1," and the signature, with a NUL. Returns false when the secret is not valid. */
static bool entry(wharf_str secret, wharf_str id, wharf_str timestamp, wharf_str body,
    char out[SIGNATURE_ENTRY + 1])
{
    const wharf_str parts[] = {id, WHARF_S("."), timestamp, WHARF_S("."), body};
    unsigned char key[SIGNATURE_KEY_MAX], hash[HASH_BYTES];
    size_t n;

    if (!signature_key_of(secret, key, &n))
        return false;
    signature_hmac_parts(key, n, parts, 5, hash);
    sodium_memzero(key, sizeof(key));
    memcpy(out, "v1,", sizeof("v1,"));
    sodium_bin2base64(out + 3, SIGNATURE_ENTRY + 1 - 3, hash, sizeof(hash), VARIANT);
    return true;
}

size_t signature_make(const wharf_str *secrets, size_t n, wharf_str id, int64_t timestamp_s,
    wharf_str body, char *out, size_t room)
{
    char timestamp[24];
    size_t used = 0;

    snprintf(timestamp, sizeof(timestamp), "%" PRId64, timestamp_s);
    if (!n || room < n * (SIGNATURE_ENTRY + 1))
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (i)
            out[used++] = ' ';
        if (!entry(secrets[i], id, str_z(timestamp), body, out + used))
            return 0;
        used += SIGNATURE_ENTRY;
    }
    return used;
}

static bool seconds(wharf_str text, int64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9' || i > 14)
            return false;
        *ret = *ret * 10 + (text.p[i] - '0');
    }
    return text.n != 0;
}

enum signature_verdict signature_check(wharf_str secret, wharf_str id, wharf_str timestamp,
    wharf_str header, wharf_str body, int64_t now_s, int64_t tolerance_s)
{
    char want[SIGNATURE_ENTRY + 1];
    bool found = false;
    int64_t at;

    if (!seconds(timestamp, &at) || !entry(secret, id, timestamp, body, want))
        return SIGNATURE_MALFORMED;
    for (size_t i = 0; i < header.n;) {
        const char *space = memchr(header.p + i, ' ', header.n - i);
        size_t end = space ? (size_t)(space - header.p) : header.n;

        if (end - i == SIGNATURE_ENTRY && sodium_memcmp(header.p + i, want, SIGNATURE_ENTRY) == 0)
            found = true;
        i = end + 1;
    }
    if (!found)
        return SIGNATURE_WRONG;
    return tolerance_s && (at > now_s + tolerance_s || at < now_s - tolerance_s) ? SIGNATURE_LATE
                                                                                 : SIGNATURE_GOOD;
}
