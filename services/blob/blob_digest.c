/* blob_digest.c - see blob_digest.h. */
#include "blob/blob_digest.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { DIGEST_CHUNK = 64 * 1024 };

EVP_MD_CTX *blob_digest_new(const EVP_MD *kind)
{
    EVP_MD_CTX *digest = EVP_MD_CTX_new();

    if (!digest || EVP_DigestInit_ex(digest, kind, NULL) != 1)
        abort();
    return digest;
}

bool blob_digest_add(
    int fd, uint64_t at, uint64_t length, EVP_MD_CTX *const *digests, size_t n_digests)
{
    unsigned char chunk[DIGEST_CHUNK];

    while (length) {
        ssize_t n = pread(
            fd, chunk, length < DIGEST_CHUNK ? (size_t)length : DIGEST_CHUNK, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n ? errno : 0;
            return false;
        }
        for (size_t i = 0; i < n_digests; i++) {
            if (digests[i] && EVP_DigestUpdate(digests[i], chunk, (size_t)n) != 1)
                abort();
        }
        at += (uint64_t)n;
        length -= (uint64_t)n;
    }
    return true;
}

bool blob_digest_of(const EVP_MD *kind, int fd, uint64_t at, uint64_t length, unsigned char *ret)
{
    EVP_MD_CTX *digest = blob_digest_new(kind);
    bool good = blob_digest_add(fd, at, length, &digest, 1) &&
                EVP_DigestFinal_ex(digest, ret, NULL) == 1;
    int error = errno;

    EVP_MD_CTX_free(digest);
    errno = error;
    return good;
}
