/* digest.c - see digest.h. */
#include "util/digest.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Looked up once: that costs more than a short text. */
static EVP_MD *sha256;
static pthread_once_t looked_up = PTHREAD_ONCE_INIT;

static void digest_look_up(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!sha256) {
        fputs("wharf: libcrypto has no SHA-256\n", stderr);
        abort();
    }
}

void digest_sha256(const wharf_str *parts, size_t n, unsigned char ret[DIGEST_BYTES])
{
    EVP_MD_CTX *c;
    bool ok;

    pthread_once(&looked_up, digest_look_up);
    c = EVP_MD_CTX_new();
    ok = c && EVP_DigestInit_ex2(c, sha256, NULL) == 1;
    for (size_t i = 0; ok && i < n; i++)
        ok = EVP_DigestUpdate(c, parts[i].p, parts[i].n) == 1;
    if (!ok || EVP_DigestFinal_ex(c, ret, NULL) != 1) {
        fputs("wharf: out of memory\n", stderr);
        abort();
    }
    EVP_MD_CTX_free(c);
}
