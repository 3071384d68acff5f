/* secret.c - sealing and opening. See secret.h. */
#include <sodium.h>
#include <stdio.h>

#include "secret/ring.h"
#include "util/str.h"

enum {
    NONCE = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    TAG = crypto_aead_xchacha20poly1305_ietf_ABYTES,
    PREFIX = 3 + SECRET_KEY_ID + 1, /* "s1." id "." */
    VARIANT = sodium_base64_VARIANT_URLSAFE_NO_PADDING
};
_Static_assert(SECRET_KEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
    "master keys are keys of the cipher");

/* Returns table, column and id with a NUL behind each: no two places read the same. */
static wharf_str place_text(struct arena *a, const struct secret_place *at)
{
    return arena_printf(a, "%s%c%s%c%.*s%c", at->table, 0, at->column, 0, STR_ARG(at->id), 0);
}

bool secret_seal(struct arena *a, const struct secret_place *at, wharf_str plain, wharf_str *ret)
{
    const struct ring *ring = ring_get();
    wharf_str place = place_text(a, at);
    size_t n = NONCE + plain.n + TAG, most = sodium_base64_ENCODED_LEN(n, VARIANT);
    unsigned char *raw;
    unsigned long long sealed;
    char *out;

    if (!ring)
        return false;
    raw = arena_alloc(a, n);
    out = arena_alloc(a, PREFIX + most);
    randombytes_buf(raw, NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(raw + NONCE, &sealed, (const unsigned char *)plain.p,
        plain.n, (const unsigned char *)place.p, place.n, NULL, raw, ring->keys[0].bytes);
    snprintf(out, PREFIX + 1, "s1.%s.", ring->keys[0].id);
    sodium_bin2base64(out + PREFIX, most, raw, NONCE + sealed, VARIANT);
    *ret = str_z(out);
    return true;
}

static const struct master_key *secret_key_of(const struct ring *ring, wharf_str sealed)
{
    if (sealed.n <= PREFIX || memcmp(sealed.p, "s1.", 3) != 0 || sealed.p[PREFIX - 1] != '.')
        return NULL;
    for (size_t i = 0; ring && i < ring->n; i++) {
        if (memcmp(sealed.p + 3, ring->keys[i].id, SECRET_KEY_ID) == 0)
            return &ring->keys[i];
    }
    return NULL;
}

bool secret_open(struct arena *a, const struct secret_place *at, wharf_str sealed, wharf_str *ret)
{
    const struct master_key *key = secret_key_of(ring_get(), sealed);
    wharf_str place = place_text(a, at);
    unsigned char *raw, *plain;
    unsigned long long n_plain;
    size_t n;

    if (!key)
        return false;
    raw = arena_alloc(a, sealed.n);
    plain = arena_alloc(a, sealed.n + 1);
    if (sodium_base642bin(
            raw, sealed.n, sealed.p + PREFIX, sealed.n - PREFIX, NULL, &n, NULL, VARIANT) != 0 ||
        n < NONCE + TAG)
        return false;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, &n_plain, NULL, raw + NONCE, n - NONCE,
            (const unsigned char *)place.p, place.n, raw, key->bytes) != 0)
        return false;
    *ret = (wharf_str){(const char *)plain, (size_t)n_plain};
    return true;
}
