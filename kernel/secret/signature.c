/* signature.c - see signature.h. */
#include "secret/signature.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "util/id.h"
#include "util/str.h"

static const char prefix[] = "whsec_";
enum { PREFIX = sizeof(prefix) - 1, VARIANT = sodium_base64_VARIANT_ORIGINAL, RANDOM_BYTES = 32 };

static bool key_of(wharf_str secret, unsigned char key[SIGNATURE_KEY_MAX], size_t *ret_n)
{
    const char *end = NULL;

    if (secret.n <= PREFIX || memcmp(secret.p, prefix, PREFIX) != 0)
        return false;
    if (sodium_base642bin(key, SIGNATURE_KEY_MAX, secret.p + PREFIX, secret.n - PREFIX, NULL, ret_n, &end, VARIANT) !=
        0)
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
    bool good = key_of(secret, key, &n);

    sodium_memzero(key, sizeof(key));
    return good;
}

void signature_hmac(const void *key, size_t key_bytes, wharf_str data, unsigned char out[32])
{
    crypto_auth_hmacsha256_state state;

    crypto_auth_hmacsha256_init(&state, key, key_bytes);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)data.p, data.n);
    crypto_auth_hmacsha256_final(&state, out);
}

/* "v1," and the signature, with a NUL. False: the secret is not valid. */
static bool entry(wharf_str secret, wharf_str id, wharf_str timestamp, wharf_str body, char out[SIGNATURE_ENTRY + 1])
{
    unsigned char key[SIGNATURE_KEY_MAX], hash[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    size_t n;

    if (!key_of(secret, key, &n))
        return false;
    crypto_auth_hmacsha256_init(&state, key, n);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)id.p, id.n);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)".", 1);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)timestamp.p, timestamp.n);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)".", 1);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)body.p, body.n);
    crypto_auth_hmacsha256_final(&state, hash);
    sodium_memzero(key, sizeof(key));
    memcpy(out, "v1,", sizeof("v1,"));
    sodium_bin2base64(out + 3, SIGNATURE_ENTRY + 1 - 3, hash, sizeof(hash), VARIANT);
    return true;
}

size_t signature_make(
    const wharf_str *secrets, size_t n, wharf_str id, int64_t timestamp_s, wharf_str body, char *out, size_t room)
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

enum signature_verdict signature_check(wharf_str secret, wharf_str id, wharf_str timestamp, wharf_str header,
    wharf_str body, int64_t now_s, int64_t tolerance_s)
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
    return tolerance_s && (at > now_s + tolerance_s || at < now_s - tolerance_s) ? SIGNATURE_LATE : SIGNATURE_GOOD;
}
