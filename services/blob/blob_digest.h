/* blob_digest.h - digests of bytes that lie in a file. Leaves to others: when they are wanted
 * (blob_store.h, blob_hasher.c, scrub_job.c). */
#ifndef WHARF_BLOB_BLOB_DIGEST_H
#define WHARF_BLOB_BLOB_DIGEST_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins a digest; aborts when libcrypto has no memory. Free it with EVP_MD_CTX_free(). */
EVP_MD_CTX *blob_digest_new(const EVP_MD *kind);
/* Adds length bytes of the file, from `at` on, to each digest; NULL members are left out. False:
 * some can't be read; errno says why, 0: there are fewer. */
bool blob_digest_add(
    int fd, uint64_t at, uint64_t length, EVP_MD_CTX *const *digests, size_t n_digests);
/* Computes one digest of them into ret, which has room for it. False: as above. */
bool blob_digest_of(const EVP_MD *kind, int fd, uint64_t at, uint64_t length, unsigned char *ret);

#endif
