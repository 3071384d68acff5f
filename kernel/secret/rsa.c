/* rsa.c - see rsa.h. */
#include "secret/rsa.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

/* Refuses keys with a passphrase; without this, OpenSSL would ask for it at the terminal. */
static int no_passphrase(char *buf, int size, int for_writing, void *arg)
{
    (void)buf, (void)size, (void)for_writing, (void)arg;
    return -1;
}

static EVP_PKEY *rsa_read_key(wharf_str pem)
{
    BIO *bio = pem.n < INT_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;

    BIO_free(bio);
    if (key &&
        (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || EVP_PKEY_get_bits(key) < RSA_BITS_MIN)) {
        EVP_PKEY_free(key);
        return NULL;
    }
    return key;
}

bool rsa_sha256(struct arena *a, wharf_str pem, wharf_str text, wharf_str *ret_signature)
{
    EVP_PKEY *key = rsa_read_key(pem);
    EVP_MD_CTX *ctx = key ? EVP_MD_CTX_new() : NULL;
    const unsigned char *data = (const unsigned char *)text.p;
    unsigned char *out;
    size_t n = 0;
    bool good = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
                EVP_DigestSign(ctx, NULL, &n, data, text.n) == 1;

    if (good) {
        out = arena_alloc(a, n + 1);
        good = EVP_DigestSign(ctx, out, &n, data, text.n) == 1;
        out[n] = 0;
        *ret_signature = (wharf_str){(const char *)out, n};
    }
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return good;
}
